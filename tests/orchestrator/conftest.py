"""A run folder that several test modules copy, and a place for the files of Ray."""

import re
import shlex
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import hostile
import made
import pytest

from fsl_sweep.datasets.benchmark import Benchmark
from fsl_sweep.orchestrator.cli import invoke
from fsl_sweep.orchestrator.selection import resample


@pytest.fixture(scope="session")
def whole_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with every kind of file; copy it before changing anything."""
    return made.every_kind_of_file(tmp_path_factory.mktemp("whole") / "run")


@pytest.fixture(scope="session")
def data() -> Benchmark:
    """Images to train on, with one thread and the kernels of trials."""
    from fsl_sweep.orchestrator.trial.trial import use_threads

    use_threads(1)
    return made.benchmark()


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, whole_run: Path) -> Path:
    """A copy of ``whole_run`` in ``run``, in the current folder."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(whole_run, "run")
    return Path("run")


@pytest.fixture
def refused(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Call a command that is a mistake: the one line that it prints, without its beginning."""

    def refused(*arguments: object) -> str:
        assert invoke([*map(str, arguments)]) == 2
        out, err = capsys.readouterr()
        assert (out, err.count("\n")) == ("", 1), (out, err)
        return err.removeprefix("fsl-sweep: ").removesuffix("\n")

    return refused


@pytest.fixture
def refusals(refused: Callable[..., str], tmp_path: Path) -> Callable[..., str]:
    """Call commands that are mistakes and write nothing: each with its message beneath."""

    def refusals(*commands: str) -> str:
        before = hostile.state(tmp_path)
        said = [f"{command}\n    {refused(*shlex.split(command))}" for command in commands]
        assert hostile.state(tmp_path) == before
        return "\n".join(said)

    return refusals


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Call commands: what they print beneath each with its exit code, ids by number."""

    def said(*commands: str) -> str:
        text, numbers = "", dict[str, str]()
        for command in commands:
            capsys.readouterr()
            code = invoke(shlex.split(command))
            text += f"$ {command}: {code}\n{''.join(capsys.readouterr())}"
        number = lambda match: numbers.setdefault(match[0], f"ID{len(numbers)}")  # noqa: E731
        return re.sub(r"(?<![.\w])[0-9a-f]{16}\b", number, text)

    return said


@pytest.fixture
def all_resamples() -> None:
    """For tests of the usual number of resamples."""


@pytest.fixture(autouse=True)
def _few_resamples(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A report resamples its trials less often, where no number is asked for."""
    if "all_resamples" not in request.fixturenames:
        monkeypatch.setattr(resample, "RESAMPLES", 30)


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages without their drawings, which take most of the time."""
    drawing = "fsl_sweep.orchestrator.report.formats.html.drawing"
    monkeypatch.setattr(drawing, lambda *_: "<svg/>")


@pytest.fixture
def place():
    """A folder for temporary files whose path is short enough for Ray's; nothing is left in it."""
    with tempfile.TemporaryDirectory(prefix="fs", dir="/tmp") as folder:
        yield Path(folder)
        assert not [*Path(folder).iterdir()]
