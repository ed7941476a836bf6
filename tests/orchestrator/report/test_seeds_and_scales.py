"""What a report says of seeds that are copies or none, of chance, and of methods off the scale."""

import re
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from trials import trial

from fsl_sweep.orchestrator.records.measures import TrialHistory
from fsl_sweep.orchestrator.report import Report, RunInfo, build, to_text
from fsl_sweep.orchestrator.report.answer.chance import at_chance
from fsl_sweep.orchestrator.report.cautions import grave_cautions
from fsl_sweep.orchestrator.report.document.blocks import Bar, Forest, Table
from fsl_sweep.orchestrator.report.document.conclusions import comparisons, differences
from fsl_sweep.orchestrator.report.document.document import document
from fsl_sweep.orchestrator.report.document.forest import off_scale
from fsl_sweep.orchestrator.report.figures.forest import panel_of
from fsl_sweep.orchestrator.report.formats.as_json import to_plain
from fsl_sweep.orchestrator.report.formats.forest_text import drawn

INFO = RunInfo("made", "abcd", None, ("last", "val"), ("val",))


def seeds(name: str, *levels: float, **changes: Any) -> list[TrialHistory]:
    """A trial a seed; those of equal levels are equal on every task."""
    return [
        replace(
            trial(
                name,
                "x",
                seed,
                base=[0.7] * 3,
                val=[0.5, 0.7, 0.6],
                novel=[level, level + 0.01, level - 0.01],
            ),
            **changes,
        )
        for seed, level in enumerate(levels)
    ]


def built(*trials: list[TrialHistory]) -> Report:
    return build(INFO, [one for each in trials for one in each], bootstrap=20)


RR = seeds("RR", 0.5, 0.52, 0.51)
NCC, PT = (seeds(name, level, draws_nothing=True) for name, level in (("NCC", 0.4), ("PT", 0.45)))


@pytest.mark.parametrize(
    ("levels", "expected"),
    [
        ((0.6, 0.62, 0.61), []),
        (
            (0.6, 0.62, 0.61, 0.6),
            ["Seed 3 of PN is equal to seed 0 on every task: both count once."],
        ),
        (
            (0.6, 0.62, 0.61, 0.6, 0.6, 0.62),
            [
                "Seeds 3 and 4 of PN are equal to seed 0 on every task: they count once.",
                "Seed 5 of PN is equal to seed 1 on every task: both count once.",
            ],
        ),
        # What the answer says of.
        ((0.6, 0.6, 0.6), []),
    ],
)
def test_seeds_that_are_copies_are_named(levels, expected) -> None:
    report = built(seeds("PN", *levels), RR)
    named = [text for text in grave_cautions(report) if "equal to seed" in text]
    assert named == expected
    assert {*named} <= {*report.cautions}
    counted = {cell.method: len(cell.choices) for cell in report.summaries}
    assert counted["PN"] == (3 if len({*levels}) == 1 else len({*levels}))


def test_a_copy_under_one_strategy_is_named_with_it() -> None:
    first, second, third = seeds("PN", 0.6, 0.62, 0.6)
    other = seeds("PN", 0.58)[0].scores["novel", "report"]
    last = np.concatenate([third.scores["novel", "report"].load()[:2], other.load()[2:]])
    table = replace(third.scores["novel", "report"], means=last.mean(1), load=lambda: last)
    changed = replace(third, scores={**third.scores, ("novel", "report"): table})
    cautions = grave_cautions(built([first, second, changed], RR))
    assert [text for text in cautions if "equal" in text] == [
        "Seed 2 of PN is equal to seed 0 on every task under val / val: both count once."
    ]


def test_a_method_that_draws_nothing_has_no_seeds_in_words_or_numbers() -> None:
    report = built(RR, NCC, PT)
    titles = [
        group.title
        for make in (differences, comparisons)
        for block in make(report)
        for group in getattr(block, "groups", ())
    ]
    assert titles[:3] == [
        "RR minus NCC, over 3 seeds; NCC draws nothing",
        "RR minus PT, over 3 seeds; PT draws nothing",
        "NCC minus PT, over tasks of these classes; neither draws anything",
    ]
    (table,) = (
        block
        for section in document(report).sections
        for block in section.blocks
        if isinstance(block, Table) and section.key == "strategies"
        if any(name == "+- tasks" for name, _ in block.columns)
    )
    at = [name for name, _ in table.columns].index("+- seeds")
    of = {group.title: {row.cells[at] for row in group.rows} for group in table.groups}
    assert of["NCC"] == of["PT"] == {"draws nothing"}
    assert all(re.fullmatch(r"\d\.\d\d", cell) for cell in of["RR"])
    text = " ".join(to_text(report).split())
    assert not re.search("[Oo]ne seed|No claim about|1 seed", text)
    assert "Of methods that draw nothing: 95 %, over tasks and selection." in text
    plain = {cell["method"]: cell["draws_nothing"] for cell in to_plain(report)["summary"]}
    assert plain == {"RR": False, "NCC": True, "PT": True}
    # One seed of a method that draws is no claim, as before.
    assert "No claim about NCC: one seed" in " ".join(to_text(built(RR, seeds("NCC", 0.4))).split())


def test_no_difference_in_a_table_is_beyond_the_scale_of_accuracies() -> None:
    report = built(seeds("PN", 0.1, 0.9), seeds("RR", 0.9, 0.1))
    assert min(pair.result.effect.low for pair in report.differences) < -1
    ends = [
        float(cell)
        for block in differences(report)
        for group in getattr(block, "groups", ())
        for row in group.rows
        for cell in row.cells[4:6]
    ]
    assert len(ends) > 1
    assert (min(ends), max(ends)) == (-100, 100)


@pytest.mark.parametrize(
    ("way", "lows", "expected"),
    [
        (5, {"A": 0.19, "B": 0.201}, "A is not told from chance: over tasks, the 95 % interval"),
        (5, {"A": 0.2, "B": 0.1}, "A and B are not told from chance: over tasks, the 95 %"),
        (20, {"A": 0.06, "B": 0.04}, "B is not told from chance: over tasks, the 95 % interval"),
        (5, {"A": 0.21, "B": 0.5}, None),
        ("all", {"A": 0.01}, None),
        (None, {"A": 0.01}, None),
        (5, {"among all": 0.01, "none": None}, None),
    ],
)
def test_a_method_at_chance_is_named(way, lows, expected) -> None:
    episode = SimpleNamespace(protocol=SimpleNamespace(episode=SimpleNamespace(way=way)))
    report: Any = SimpleNamespace(info=SimpleNamespace(protocol=way and episode))
    cells: Any = [
        SimpleNamespace(
            method=name,
            among_all=name == "among all",
            novel_tasks=None if low is None else SimpleNamespace(low=low),
        )
        for name, low in lows.items()
    ]
    said = list(at_chance(report, cells))
    assert [text[: len(expected or "")] for text in said] == ([expected] if expected else [])
    if expected:
        assert said[0].endswith(f"reaches {100 / way:g} %, 1 of {way} ways.")


def bars(**means: float) -> list[Bar]:
    return [Bar(name, ("val / val",), mean, mean - 1, mean + 1) for name, mean in means.items()]


@pytest.mark.parametrize(
    ("means", "off"),
    [
        ({"A": 60, "B": 62, "C": 64, "D": 20}, ("D",)),
        ({"A": 60, "B": 62, "C": 64, "D": 66, "E": 61, "F": 20, "G": 25}, ("F", "G")),
        # Each is within reach of the others.
        ({"A": 60, "B": 62, "C": 64, "D": 55}, ()),
        # Of two none is the rule.
        ({"A": 60, "B": 20}, ()),
        # The one above is not cut off.
        ({"A": 20, "B": 22, "C": 21, "D": 60}, ()),
    ],
)
def test_methods_far_below_the_others_are_left_of_the_scale(means, off) -> None:
    every = bars(**means)
    assert off_scale(every) == off
    lines = drawn(Forest("NovelGen, %", tuple(every), "", off=off), 80)[1:]
    marked = {line.split()[0] for line in lines if re.search(r"/ val\s+<\s+\d", line)}
    assert marked == {*off}
    for bar in every:
        (line,) = (line for line in lines if line.split()[0] == bar.group)
        assert line.endswith(f"{bar.mean:.1f}")
    if off:
        assert min(line.count("-") for line in lines if re.search(r"\|-*o-*\|", line)) > 3


def test_a_figure_marks_what_is_left_of_its_scale() -> None:
    from matplotlib.figure import Figure

    def axes(off: tuple[str, ...]) -> Any:
        plane = Figure().add_subplot()
        panel_of(bars(A=60, B=62, C=64, D=20), "NovelGen, %", off=off).draw(plane)
        return plane

    cut, whole = axes(("D",)), axes(())
    assert 55 < cut.get_xlim()[0] < 59 < 65 < cut.get_xlim()[1] < 70
    assert whole.get_xlim()[0] < 20
    marks = [[text.get_text() for text in plane.texts].count("<") for plane in (cut, whole)]
    assert marks == [1, 0]
