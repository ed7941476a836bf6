"""The first screen on terminals of all kinds: short, aligned, and safe."""

import io
import re
from collections.abc import Sequence
from dataclasses import replace
from math import nan

import pytest
from made import MAIN_PROTOCOL
from rich.cells import cell_len
from syrupy.assertion import SnapshotAssertion
from trials import rising, trial

from fsl_sweep.orchestrator.records.measures import TrialEnd, TrialHistory
from fsl_sweep.orchestrator.report import Report, RunInfo, build, show, to_text
from fsl_sweep.orchestrator.report.document.blocks import Bar, Forest
from fsl_sweep.orchestrator.report.formats.forest_text import drawn
from fsl_sweep.orchestrator.text.console import SafeConsole

INFO = RunInfo("made", "abcd", None, ("last", "val", "oracle"), ("val", "oracle"))
WIDTHS = (60, 80, 135)
HOSTILE = ("名前の長い方法" * 9, "a\tb\x1b[2Jc" * 6, "long-name-" * 20, "é" * 50)


def runs(methods: Sequence[str] = ("PN", "RR"), seeds: int = 3) -> list[TrialHistory]:
    return [one for one in rising(methods, seeds, 6) if one.configuration == "0.1"]


def report(trials: Sequence[TrialHistory], **changes) -> Report:
    return build(replace(INFO, **changes), trials, bootstrap=10)


def screen(given: Report, width: int) -> list[str]:
    lines = to_text(given, width, full=False).splitlines()
    assert all(cell_len(line) <= width for line in lines), "a line is too wide"
    return lines


@pytest.mark.parametrize("methods", [("PN", "RR"), ("PN", "RR", "MAML")])
@pytest.mark.parametrize("seeds", [1, 2, 3])
def test_the_first_screen_has_24_lines(methods: Sequence[str], seeds: int) -> None:
    usual = {"snapshot": ("last", "base", "val", "oracle"), "hyperparameter": ("val", "oracle")}
    both = {"protocol": MAIN_PROTOCOL, "chosen_by": MAIN_PROTOCOL}
    given = report(runs(methods, seeds), **usual, **both)
    lines = screen(given, 80)
    assert len(lines) <= 24
    assert lines[0] == "made: complete"
    assert " ".join(given.answer.sentences) in " ".join(" ".join(lines).split())
    assert sum(line.startswith(f"  {name}  ") for line in lines for name in methods) == len(methods)
    assert lines[-1].startswith("`--full`: all tables and cautions.")


def test_the_first_screen_of_an_unfinished_run(snapshot: SnapshotAssertion) -> None:
    first, *others = runs()
    lost = [replace(one, end=None) if one.method == "PN" else one for one in others]
    lines = screen(report([first, *lost]), 80)
    assert len(lines) <= 26
    assert "\n".join(lines) == snapshot


@pytest.fixture(scope="module")
def largest() -> Report:
    """26 methods, 200 failed trials with reasons without end, 30 cautions, names from hell."""
    names = [*HOSTILE, *(f"method {n}" for n in range(22))]
    trials = runs(names)
    reason = TrialEnd("failed", "out of memory: " + "tried to allocate more; " * 50)
    lost = [replace(trial("lost", f"{n}"), end=reason) for n in range(200)]
    cautions = tuple(f"Something to know, number {n}: {'very ' * 40} important." for n in range(30))
    two = {"snapshot": ("val", "oracle"), "hyperparameter": ("val",)}
    return report([*trials, *lost], cautions=cautions, **two)


@pytest.mark.parametrize("width", [80, 135])
def test_no_answer_has_more_than_60_lines(largest: Report, width: int) -> None:
    lines = screen(largest, width)
    assert len(lines) <= 60
    text = "\n".join(lines)
    assert re.findall(r"\.\.\. and (\d+) more: --full", text)[0] == "197"
    assert text.count("\n  ! ") == 3
    assert "  ! Something to know, number 0" in text
    assert "\n  ... and 2 more\n" in text
    assert "\x1b" not in text
    marks = [line for line in lines if line.rstrip()[-4:-1].endswith(".") and "val / val" in line]
    assert len({cell_len(line) for line in marks}) == 1, "aligned"


def test_what_the_answer_leaves_out_is_in_the_whole_report(largest: Report) -> None:
    whole = to_text(largest)
    assert "number 29" in whole
    assert all(f"lost lr={n} " in whole for n in range(200))


@pytest.mark.parametrize("terminal", [True, False])
def test_consoles_that_know_ascii_only(terminal: bool) -> None:
    raw = io.BytesIO()
    file = io.TextIOWrapper(raw, encoding="ascii", write_through=True)
    console = SafeConsole(file=file, width=80, force_terminal=terminal, color_system=None)
    show(report(runs(("PN", "é"))), console, full=True)
    assert raw.getvalue().isascii()
    assert b"\nMethods and strategies ---" in raw.getvalue()
    assert b"\n  PN  val / val " in raw.getvalue()
    assert b"\\xe9 is better than PN" in raw.getvalue()


def test_a_terminal_is_told_how_to_see_the_rest() -> None:
    terminal = io.StringIO()
    console = SafeConsole(file=terminal, force_terminal=True, color_system=None, width=200)
    show(report(runs()), console, command="fsl-sweep report runs/made")
    lines = terminal.getvalue().splitlines()
    assert lines[-1].startswith("`fsl-sweep report runs/made --full`: all tables and cautions.")
    assert max(map(len, lines)) <= 100


def bar(mean: float, low: float = nan, high: float = nan, *seeds: float, **changes) -> Bar:
    name = changes.pop("name", "val / val")
    return replace(Bar("PN", (name,), mean, low, high, seeds), **changes)


def plot(*bars: Bar, width: int = 60) -> list[str]:
    lines = drawn(Forest("NovelGen, %", bars, ""), width)
    assert all(cell_len(line) <= width for line in lines)
    return lines


def test_strategies_that_are_not_shown_are_counted() -> None:
    usual = [bar(50 + n, name=f"s{n}", group="") for n in range(12)]
    oracles = [bar(70, name="oracle", group="", reference=True)] * 2
    lines = drawn(Forest("regret, points", (*usual, *oracles), ""), 60, short=True)
    assert [line.split()[0] for line in lines[1:11]] == [*(f"s{n}" for n in range(9)), "oracle"]
    assert lines[11] == "  ... and 4 more"


def test_a_bar_of_each_kind() -> None:
    assert plot(
        bar(60, 55, 65),
        bar(62, nan, nan, 61, 63, group="RR"),
        bar(64, 50, 70, reference=True, group="RR", name="oracle"),
        bar(58, group="MAML"),
    ) == [
        "NovelGen, %        55             60               65",
        "  PN    val / val  |---------------o----------------|   60.0",
        "  RR    val / val                      x  o  x          62.0",
        "        oracle                                   <>     64.0",
        "  MAML  val / val            o                          58.0",
        "  o mean   x each seed   |--| interval   <> oracle: reads",
        "  novel scores",
    ]


@pytest.mark.parametrize("width", WIDTHS)
def test_scales(width: int) -> None:
    # Intervals that no accuracy can have go on to the ends of the scale, and have none.
    (ticks, line, *_) = plot(bar(50, -300, 400), width=width)
    assert (ticks.split()[2], ticks.split()[-1]) == ("0", "100")
    assert "|" not in line
    assert line.count("-") == line.rindex("-") - line.index("-")
    # No width at all, one seed, one point from another.
    for bars in ([bar(66.6)], [bar(66.6, 66.6, 66.6)], [bar(66.66), bar(66.67)]):
        ticks, *lines, legend = plot(*bars, width=width)
        assert all("o" in line for line in lines)
        assert len({*ticks.split()[2:]}) == len(ticks.split()[2:]) >= 2
        assert legend.startswith("  o mean")
    assert plot(bar(nan), width=width) == []


def test_regrets_may_be_negative() -> None:
    bars = bar(-0.87, -4.11, 2.37), bar(-0.001, name="last"), bar(-0.3, -900, 1, name="base")
    (ticks, first, second, *_) = drawn(Forest("regret", bars[:2], "", least=-100), 80)
    assert ticks.split()[1:] == ["-5", "-4", "-3", "-2", "-1", "0", "1", "2", "3"]
    assert first.index("|") < first.index("o") < ticks.index(" 0 ") < first.rindex("|")
    assert abs(second.index("o") - ticks.index(" 0 ") - 1) <= 1
    assert second.split()[-1] == "0.0"
    assert drawn(Forest("regret", bars, "", least=-100), 80)[0].split()[1] == "-100"


def test_what_is_too_long_loses_its_middle() -> None:
    done = " (1 of 2 seeds)"
    for name in HOSTILE:
        lines = plot(bar(60, 55, 65, group=name + done), bar(61, group="RR" + done), width=100)
        assert "(1 of 2 seeds) " in lines[1]
        assert cell_len(lines[1]) == cell_len(lines[2])
        assert ".." in lines[1]
        assert lines[1].isprintable()


def test_of_many_methods_the_best_are_drawn() -> None:
    bars = [
        bar(50 + n, name=name, group=f"{n}", reference=name == "oracle")
        for n in range(30)
        for name in ("val", "last", "base", "oracle")
    ]

    def names(methods: int) -> list[str]:
        lines = drawn(Forest("", tuple(bars[: 4 * methods]), ""), 80, short=True)
        words = [line.split() for line in lines[1:-1]]
        return [next(w for w in own if w.isalpha()) for own in words]

    assert names(1) == ["val", "last", "base", "oracle"]
    assert names(2) == ["val", "last", "oracle"] * 2
    assert names(3) == names(12)[:6] == ["val", "oracle"] * 3
    assert names(13) == ["val"] * 13
    assert names(30) == [*["val"] * 24, "and"]
