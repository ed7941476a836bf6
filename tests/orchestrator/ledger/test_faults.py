"""A file system that fails once, at any call: one message, and the same report when run again.

Seeded. ``FAULTS=300 pytest ...`` tries more than the usual 8 calls.
"""

import errno
import json
import os
import random
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from commands import TINY

from fsl_sweep.orchestrator.cli import invoke

COUNT = int(os.environ.get("FAULTS", "8"))
ERRORS = (errno.ENOSPC, errno.EIO, errno.EROFS, errno.ESTALE, errno.EACCES)
CALLS = (
    *((os, name) for name in ("open", "fsync", "utime", "listdir", "lstat")),
    *((Path, name) for name in ("open", "replace", "mkdir", "unlink", "read_bytes")),
)
SHORT = {"epochs: 3": "epochs: 2", "{grid: [1, 2]}": "1", "[0, 1]": "[0]"}


@contextmanager
def failing(at: int, number: int) -> Iterator[list[str]]:
    """Let the call of that number that names the run folder fail; yields the calls so far."""
    calls: list[str] = []

    def wrapped(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def faulty(*arguments: Any, **options: Any) -> Any:
            if name == "fsync" or "run" in Path(str(arguments[0])).parts:
                calls.append(name)
                if len(calls) - 1 == at:
                    raise OSError(number, os.strerror(number), str(arguments[0]))
            return call(*arguments, **options)

        return faulty

    with pytest.MonkeyPatch.context() as patch:
        for owner, name in CALLS:
            patch.setattr(owner, name, wrapped(name, getattr(owner, name)))
        yield calls


def numbers(capsys: pytest.CaptureFixture[str]) -> Any:
    assert invoke(["report", "run", "--format", "json", "--bootstrap", "0"]) == 1
    return json.loads(capsys.readouterr().out)


@pytest.mark.timeout(120 + 10 * COUNT)
def test_one_failed_call_is_one_message_and_the_run_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    text = TINY
    for long, short in SHORT.items():
        text = text.replace(long, short)
    Path("s.yaml").write_text(text)
    trial = ["trial", "s.yaml", "--index", "0", "-o", "run"]
    with failing(-1, 0) as calls:
        assert invoke(trial) == 0
    capsys.readouterr()
    usual, rng, wrong, refused = numbers(capsys), random.Random(0), list[str](), 0
    for _ in range(COUNT):
        shutil.rmtree("run")
        at, number = rng.randrange(len(calls)), rng.choice(ERRORS)
        what = f"call {at}, {calls[at]}: {errno.errorcode[number]}"
        try:
            with failing(at, number):
                code = invoke(trial)
        except OSError as failure:
            wrong.append(f"{what}: a traceback of {failure!r}")
            code = 0
        err = capsys.readouterr().err
        refused += code in (2, 3)
        if code not in (0, 2, 3) or (code and not err.splitlines()[-1].startswith("fsl-sweep: ")):
            wrong.append(f"{what}: exit code {code}: {err}")
        if invoke(trial) != 0 or (capsys.readouterr(), numbers(capsys))[1] != usual:
            wrong.append(f"{what}: another report when it is run again")
    assert wrong == []
    assert refused > COUNT / 4
