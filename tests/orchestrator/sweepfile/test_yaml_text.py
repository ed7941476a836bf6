"""Texts that are no sweep file, or that no person would write: one line each, at once."""

from pathlib import Path

import pytest

from fsl_sweep.orchestrator.cli import invoke
from fsl_sweep.orchestrator.sweepfile.yaml_text import parsed

HEAD = "name: tiny\nbenchmark: {name: glyphs}\n"
TAIL = "methods:\n  PN: {learner: {name: protonet}}\n"
DOUBLED = "".join(f"  a{i}: &a{i} {{x: *a{i - 1}, y: *a{i - 1}}}\n" for i in range(1, 40))
HOSTILE = {
    "nothing": "",
    "a list": "- 1\n",
    "an open bracket": HEAD + "seeds: [1\n" + TAIL,
    "a key twice": HEAD + "name: again\n" + TAIL,
    "an object": HEAD + "retries: !!python/object:os.system {}\n" + TAIL,
    "NUL": HEAD + "x: a\0b\n" + TAIL,
    "escape": HEAD + "x: a\x1b[31m\n" + TAIL,
    "open brackets": HEAD + "x: " + "[" * 500,
    "braces": HEAD + "x: " + "{a: " * 99 + "1" + "}" * 99 + "\n" + TAIL,
    "aliases": HEAD + "defaults:\n  a0: &a0 {x: 1}\n" + DOUBLED + TAIL,
    "an alias of itself": HEAD + "x: &x {a: *x}\n" + TAIL,
    "a long number": HEAD + "seed: " + "9" * 5000 + "\n" + TAIL,
    "a long clock": HEAD + "seed: 1" + ":59" * 3000 + "\n" + TAIL,
    "an escaped name": HEAD + 'defaults: {"a\\x1b[2Jb": 1}\n' + TAIL,
    "an escaped value": HEAD + 'defaults: {augment: "\\0"}\n' + TAIL,
    "two lines": HEAD + 'defaults: {augment: "a\\nfsl-sweep: all is well"}\n' + TAIL,
    "right to left": HEAD + 'defaults: {augment: "\u202e"}\n' + TAIL,
    "Latin 1": b"name: caf\xe9\n",
    "UTF-16": (HEAD + TAIL).encode("utf-16"),
    "no text": b"\x80" * 99,
    "a megabyte": "# " + "x" * 10**6,
}
CONTROL = ["methods.P\x1bN.learner.name=protonet", "defaults.a\nb=protonet", 'x="\\x1b"']


def test_what_no_person_would_write(tmp_path, monkeypatch, refused, snapshot):
    monkeypatch.chdir(tmp_path)
    told = []
    for name, content in HOSTILE.items():
        Path("s.yaml").write_bytes(content if isinstance(content, bytes) else content.encode())
        told.append(f"{name}: {refused('run', 's.yaml')}")
    Path("s.yaml").write_text(HEAD + TAIL)
    told += [f"{change!r}: {refused('run', 's.yaml', '--set', change)}" for change in CONTROL]
    assert all(message.isprintable() for message in told)
    assert not Path("runs").exists()
    assert "\n".join(told) == snapshot


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_what_windows_writes_is_read(tmp_path, monkeypatch, capsys, encoding, end):
    monkeypatch.chdir(tmp_path)
    learner = "  PN: {learner: {name: protonet}, optimizer: {lr: 0.1}, backbone: {name: conv4}}"
    text = f"{HEAD}methods:\n{learner}\n".replace("\n", end)
    Path("s.yaml").write_bytes(text.encode(encoding))
    assert invoke(["run", "s.yaml", "--dry-run"]) == 0
    assert "tiny: 1 trial of 1 method\n" in capsys.readouterr().out


def test_aliases_that_a_person_writes_are_read():
    text = "a: &a {x: [1, 2], y: 1e-3}\nb: *a\nc: [*a, *a]\n"
    one = {"x": [1, 2], "y": 1e-3}
    assert parsed(text, "here") == {"a": one, "b": one, "c": [one, one]}
    assert parsed("", "here") is None
