"""A third party's selector that does wrong: one message with its name, origin and place."""

import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

import pytest
from made import planned, recorded, spec

from fsl_sweep.orchestrator.cli import invoke
from fsl_sweep.orchestrator.errors import SelectorFault
from fsl_sweep.orchestrator.selectors import SnapshotSelector, apply
from fsl_sweep.orchestrator.selectors.history import History
from fsl_sweep.orchestrator.selectors.third_party import broken_promise, faults_named

PLUGIN = """
    from fsl_sweep.orchestrator.catalogue import Info
    from fsl_sweep.orchestrator.selectors import *
    from fsl_sweep.orchestrator.selectors.best import BestSnapshot

    class One(SnapshotSelector):
        name, needs = "one", frozenset({"val"})
        def select(self, history):
            ANSWER

    class Two(HyperparameterSelector):
        name, needs = "two", frozenset({"val"})
        def select(self, candidates):
            ANSWER

    class Front(FrontSelector):
        name, needs = "front", frozenset({"val"})
        def select(self, candidates):
            ANSWER

    class Best(BestSnapshot):
        name, needs = "best", frozenset({"val"})
        def score(self, scores):
            ANSWER

    class Built(One):
        name = "built"
        def __init__(self):
            ANSWER

    class Greedy(One):
        name, needs = "greedy", frozenset({"wisdom"})

    class Silent(SnapshotSelector):
        name = "silent"
        def select(self, history):
            return 1

    CLASSES = (One, Two, Front, Best, Built, Greedy, Silent)
    INFOS = {cls.name: Info(cls.name, cls, "", "") for cls in CLASSES}
    one, two, front, best, built, greedy, silent = INFOS.values()
    odd = Info("odd", Two, "", "")
"""
FIRST = ("one", "best", "built", "greedy", "silent", "odd")
SECOND = ("two", "front")
CALLED = ("one", "two", "front", "best", "built")


@pytest.fixture
def install(tmp_path, monkeypatch) -> Callable[[str], Path]:
    """Install a distribution whose selectors all do the same wrong thing; give its module."""

    def install(answer: str) -> Path:
        # A name of its own each time: modules stay imported.
        name = f"wrong_{abs(hash((answer, str(tmp_path))))}"
        metadata = tmp_path / f"{name}-1.2.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: wrong\nVersion: 1.2\n")
        points = [
            f"[fsl_sweep.{kind}_selectors]\n" + "".join(f"{one} = {name}:{one}\n" for one in names)
            for kind, names in (("snapshot", FIRST), ("hyperparameter", SECOND))
        ]
        (metadata / "entry_points.txt").write_text("".join(points))
        module = tmp_path / f"{name}.py"
        module.write_text(textwrap.dedent(PLUGIN).lstrip().replace("ANSWER", answer))
        monkeypatch.syspath_prepend(str(tmp_path))
        return module

    return install


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> str:
    """A run folder of one method, two configurations and three epochs, all done."""
    trials = [planned(spec(way=way)) for way in (5, 10)]
    return str(recorded(tmp_path_factory.mktemp("run") / "run", *trials).path)


def told(capsys, run: str, selector: str) -> str:
    """The one message of a report that asks for a selector."""
    option = "--snapshot" if selector in FIRST else "--hyperparameter"
    assert invoke(["report", run, option, selector]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    return err.removeprefix("fsl-sweep: ").rstrip("\n")


@pytest.mark.parametrize(
    ("selector", "answer", "what"),
    [
        *((one, "return 1 // 0", "raised ZeroDivisionError: integer division") for one in CALLED),
        ("two", "raise KeyError('a\\nb' * 500)", "raised KeyError: 'a"),
    ],
)
def test_an_error_of_its_own(install, run, capsys, selector, answer, what):
    module = install(answer)
    message = told(capsys, run, selector)
    assert message.startswith(f"Selector '{selector}' of wrong 1.2 {what}")
    assert f"({module}, line " in message
    assert message.endswith("). Correct it, or compare strategies without it.")
    assert len(message) < 500
    lines = module.read_text().splitlines()
    number = int(message.rpartition("line ")[2].partition(")")[0])
    assert lines[number - 1].strip() == answer
    assert f"class {selector.capitalize()}(" in "\n".join(lines[number - 7 : number])


@pytest.mark.parametrize(
    ("selector", "answer", "what"),
    [
        ("one", "return 99", "chose 99, which is not a recorded epoch: it must return one of "),
        ("one", "return 2.0", "chose 2.0, which is not a recorded epoch"),
        ("one", "return True", "chose True, which is not a recorded epoch"),
        ("two", "return None", "chose None, which is not one of the candidates: it must return"),
        ("front", "return []", "chose no candidate at all: if there is nothing to choose it "),
        ("front", "return None", "raised TypeError: 'NoneType' object is not iterable"),
        ("best", "return 'high'", "raised "),
        ("greedy", "pass", "declares `needs` of frozenset({'wisdom'}): it must be a frozenset of"),
        ("odd", "pass", "is listed as a SnapshotSelector, but is not one"),
        ("silent", "pass", "declares no `needs`: it must be a frozenset of some of "),
    ],
)
def test_an_answer_that_is_none(install, run, capsys, selector, answer, what):
    module = install(answer)
    message = told(capsys, run, selector)
    own = selector.replace("odd", "two")
    assert message.startswith(f"Selector '{own}' of wrong 1.2 {what}")
    assert f"({module}, line " in message


def test_a_sealed_read_is_the_callers_to_mend(install, run, capsys):
    install("return int(history.epochs[history.scores['novel'].argmax()])")
    assert told(capsys, run, "one") == (
        "Selector 'one' read 'novel', which it did not declare. Add 'novel' to its `needs`, or "
        "choose without it."
    )


def test_nothing_to_choose_from_leaves_the_strategy_out(install, run, capsys):
    error = "__import__('fsl_sweep.orchestrator.errors', fromlist=['']).SelectionError"
    install(f"raise {error}('No epoch is good enough.')")
    assert invoke(["report", run, "--snapshot", "one", "--snapshot", "val", "--full"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "one / any, seed 0: No epoch is good enough." in out


class Lasts(SnapshotSelector):
    name: ClassVar[str] = "lasts"
    needs: ClassVar[frozenset[str]] = frozenset()

    def select(self, history: History) -> int:
        raise ZeroDivisionError("mine")


def test_defects_of_ours_stay_tracebacks(monkeypatch):
    history = History.from_arrays(epochs=[1, 2])
    with pytest.raises(SelectorFault) as caught:
        apply(Lasts(), history)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    monkeypatch.setattr(Lasts, "__module__", "fsl_sweep.orchestrator.selectors.snapshot.lasts")
    with pytest.raises(ZeroDivisionError, match="mine"):
        apply(Lasts(), history)
    monkeypatch.setattr(Lasts, "select", lambda self, history: 99)
    with pytest.raises(RuntimeError, match="'lasts' chose 99, which is not a recorded epoch"):
        apply(Lasts(), history)
    assert isinstance(broken_promise(Lasts, "does"), RuntimeError)
    with pytest.raises(KeyboardInterrupt), faults_named(Lasts):
        raise KeyboardInterrupt
