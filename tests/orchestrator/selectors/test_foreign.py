"""A third party's selector that does wrong: one message with its name, origin and place."""

import re

import pytest
from choosing import selecting
from installed import distribution
from made import planned, recorded, spec

from fsl_sweep.orchestrator.cli import invoke
from fsl_sweep.orchestrator.errors import SelectorFault
from fsl_sweep.orchestrator.selectors import History, SnapshotSelector, apply
from fsl_sweep.orchestrator.selectors.third_party import broken_promise, faults_named

HEAD = """
from fsl_sweep.orchestrator.catalogue import Info
from fsl_sweep.orchestrator.errors import SelectionError
from fsl_sweep.orchestrator.selectors import *
from fsl_sweep.orchestrator.selectors.best import BestSnapshot
"""
SELECTOR = """
class {name}({kind}):
    name{declares}
    def {method}:
        {body}
{name}_info = Info("{name}", {name}, "", "")
"""
SNAPSHOT = ("SnapshotSelector", "select(self, history)")
BEST = ("BestSnapshot", "score(self, scores)")
CONFIGURATION = ("HyperparameterSelector", "select(self, candidates)")
FRONT = ("FrontSelector", "select(self, candidates)")
VAL = ", needs = '{name}', frozenset({'val'})"
RAISES = "raise ZeroDivisionError('{name}')"
WRONG = [  # name, kind, what it does, and what it declares; those up to "word" are of snapshots
    ("raises", SNAPSHOT, RAISES, VAL),
    ("raises_in_score", BEST, RAISES, VAL),
    ("not_built", ("raises", "__init__(self)"), RAISES, VAL),
    ("other_epoch", SNAPSHOT, "return 99", VAL),
    ("real_epoch", SNAPSHOT, "return 2.0", VAL),
    ("true_epoch", SNAPSHOT, "return True", VAL),
    ("reads_novel", SNAPSHOT, "return history.scores['novel'].argmax()", VAL),
    ("greedy", SNAPSHOT, "pass", VAL.replace("val", "wisdom")),
    ("silent", SNAPSHOT, "pass", " = '{name}'"),
    ("listed_elsewhere", CONFIGURATION, "pass", VAL),
    ("choosy", SNAPSHOT, "raise SelectionError('No epoch is good enough.')", VAL),
    ("word", BEST, "return 'high'", VAL),
    ("raises_too", CONFIGURATION, RAISES, VAL),
    ("raises_at_length", CONFIGURATION, "raise KeyError('a\\nb' * 500)", VAL),
    ("nothing", CONFIGURATION, "return None", VAL),
    ("front_raises", FRONT, RAISES, VAL),
    ("empty_front", FRONT, "return []", VAL),
    ("no_front", FRONT, "return None", VAL),
]
NAMES = [name for name, *_ in WRONG]
FIRST, SECOND = NAMES[: NAMES.index("word") + 1], NAMES[NAMES.index("word") + 1 :]


@pytest.fixture(scope="module")
def plugin(tmp_path_factory):
    """The module of an installed distribution whose selectors all do something wrong."""
    folder, text, points = tmp_path_factory.mktemp("installed"), HEAD, ""
    for name, (kind, method), body, declares in WRONG:
        parts = {"kind": kind, "method": method, "body": body, "declares": declares}
        text += SELECTOR.format(name="{name}", **parts).replace("{name}", name)
    for step, names in (("snapshot", FIRST), ("hyperparameter", SECOND)):
        points += f"[fsl_sweep.{step}_selectors]\n"
        points += "".join(f"{name} = wrong_selectors:{name}_info\n" for name in names)
    distribution(folder, "wrong", "1.2", points)
    (folder / "wrong_selectors.py").write_text(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        yield folder / "wrong_selectors.py"


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> str:
    """A run folder of one method, two configurations and three epochs, all done."""
    trials = [planned(spec(way=way)) for way in (5, 10)]
    return str(recorded(tmp_path_factory.mktemp("run") / "run", *trials).path)


def test_what_is_said_of_each(plugin, run, refused, snapshot) -> None:
    """Each message ends with the line of the class, or of what raised, in place of its number."""
    lines, messages = plugin.read_text().splitlines(), []

    def line(match: re.Match[str]) -> str:
        assert match[1] == str(plugin)
        return f"({lines[int(match[2]) - 1].strip()})"

    for name in (name for name in NAMES if name != "choosy"):
        option = "--snapshot" if name in FIRST else "--hyperparameter"
        said = re.sub(r"\(([^ ]+), line (\d+)\)", line, refused("report", run, option, name))
        messages.append(said)
        assert len(said) < 500
    (numpys,) = (said for said in messages if "'word'" in said)  # in words of its own
    assert numpys.startswith("Selector 'word' of wrong 1.2 raised ")
    messages.remove(numpys)
    assert "\n".join(messages) == snapshot


def test_nothing_to_choose_from_leaves_the_strategy_out(plugin, run, capsys) -> None:
    assert invoke(["report", run, "--snapshot", "choosy", "--snapshot", "val", "--full"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "Left out: PN; choosy / any; seed 0: No epoch is good enough." in out


def test_defects_of_ours_stay_tracebacks(monkeypatch) -> None:
    history = History.from_arrays(epochs=[1, 2], val=[0.5, 0.6])
    raises = selecting(SnapshotSelector, lambda _: {}["mine"])
    strays = selecting(SnapshotSelector, lambda _: 99)
    with pytest.raises(SelectorFault) as caught:
        apply(raises, history)
    assert isinstance(caught.value.__cause__, KeyError)
    for selector in (raises, strays):
        ours = "fsl_sweep.orchestrator.selectors.snapshot.lasts"
        monkeypatch.setattr(type(selector), "__module__", ours)
    with pytest.raises(KeyError, match="mine"):
        apply(raises, history)
    with pytest.raises(RuntimeError, match="'made' chose 99, which is not a recorded epoch"):
        apply(strays, history)
    assert isinstance(broken_promise(type(strays), "does"), RuntimeError)
    with pytest.raises(KeyboardInterrupt), faults_named(strays):
        raise KeyboardInterrupt
