"""Memory that a step frees is kept by a process that trains, unless its user says otherwise."""

import ctypes
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from faulty import mapped

from fsl_sweep.orchestrator.trial import allocator

SWEEP = """
name: tiny
benchmark: {name: glyphs, image_size: 28, examples: 12, classes_per_alphabet: 5}
episode: {way: 5, shot: 1, query: 2}
evaluation: {selection_tasks: 4, report_tasks: 4}
methods:
  PN:
    learner: {name: protonet}
    backbone: {name: conv4, width: 64}
    optimizer: {lr: 0.1}
    epochs: 2
    batches: 2
    train: {way: 5, shot: 1, query: 5, tasks_per_batch: 4}
"""
THRESHOLDS = ("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "MALLOC_MMAP_MAX_")
ADAPTIVE = {"MALLOC_MMAP_THRESHOLD_": "131072"}
TUNABLE = {"GLIBC_TUNABLES": "glibc.malloc.trim_threshold=1000:glibc.cpu.hwcaps=x"}


class Glibc:
    """Notes what is set; without ``calls``, another library."""

    def __init__(self, calls=None, refuses=()):
        if calls is not None:
            self.gnu_get_libc_version = None
            self.mallopt = lambda name, value: calls.append(name) or name not in refuses


@pytest.fixture
def plain(monkeypatch):
    """A machine without a GPU and an environment that says nothing of memory."""
    for name in (allocator.SWITCH, "GLIBC_TUNABLES", "MALLOC_TOP_PAD_", *THRESHOLDS):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("THP_MEM_ALLOC_ENABLE", "")  # so that it is put back
    monkeypatch.delenv("THP_MEM_ALLOC_ENABLE")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    return monkeypatch


@pytest.mark.parametrize(
    ("environment", "set_", "pages"),
    [
        ({}, [-3, -1], "1"),
        ({allocator.SWITCH: "1"}, [-3, -1], "1"),
        ({"THP_MEM_ALLOC_ENABLE": "0"}, [-3, -1], "0"),
        ({"GLIBC_TUNABLES": "glibc.cpu.hwcaps=x", "MALLOC_ARENA_MAX": "2"}, [-3, -1], "1"),
        ({allocator.SWITCH: "0"}, [], None),
        (ADAPTIVE, [], None),
        (TUNABLE, [], None),
    ],
)
def test_both_thresholds_or_none_are_set_and_the_users_win(plain, environment, set_, pages):
    for name, value in environment.items():
        plain.setenv(name, value)
    calls = []
    plain.setattr(ctypes, "CDLL", lambda _: Glibc(calls))
    assert allocator.keep_freed_memory() == bool(set_)
    assert (calls, os.environ.get("THP_MEM_ALLOC_ENABLE")) == (set_, pages)


@pytest.mark.parametrize("where", ["another library", "another system", "a GPU", "a refusal"])
def test_elsewhere_nothing_is_changed(plain, where):
    calls = []
    library = Glibc(None if where == "another library" else calls, refuses=[-3])
    plain.setattr(ctypes, "CDLL", lambda _: library)
    if where == "another system":
        plain.setattr(sys, "platform", "darwin")
    plain.setattr(torch.cuda, "is_available", lambda: where == "a GPU")
    assert not allocator.keep_freed_memory()
    assert calls == ([-3] if where == "a refusal" else [])
    assert "THP_MEM_ALLOC_ENABLE" not in os.environ


@pytest.mark.slow
@pytest.mark.skipif(mapped() is None, reason="needs glibc 2.33")
def test_a_trial_process_keeps_memory_and_its_snapshots_are_the_same_bytes(tmp_path, plain):
    """Where it is kept, a large tensor is not mapped from the system."""
    Path(tmp_path, "s.yaml").write_text(SWEEP)
    program = (
        "import json, sys; sys.path[:] = json.loads(sys.argv[2])\n"
        "from fsl_sweep.orchestrator.cli import invoke\n"
        "assert invoke(['trial', 's.yaml', '--index', '0', '-o', sys.argv[1]]) == 0\n"
        "from faulty import mapped\n"
        "print(mapped())"
    )
    kept, snapshots = {}, {}
    for name, setting in {"kept": {}, "user": ADAPTIVE}.items():
        done = subprocess.run(
            [sys.executable, "-c", program, name, json.dumps(sys.path)],
            cwd=tmp_path,
            env={**os.environ, "CUDA_VISIBLE_DEVICES": "", **setting},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        kept[name] = done.stdout.splitlines()[-1]
        files = sorted(Path(tmp_path, name).rglob("*.safetensors"))
        snapshots[name] = [file.read_bytes() for file in files]
    assert kept == {"kept": "0", "user": "1"}
    assert len(snapshots["kept"]) == 2
    assert snapshots["kept"] == snapshots["user"]
