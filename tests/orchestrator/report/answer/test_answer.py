"""The answer of a report, word for word, on made records of each situation."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import made
import numpy as np
import pytest
from numpy.typing import ArrayLike
from syrupy.assertion import SnapshotAssertion
from trials import trial

from fsl_sweep.orchestrator.records.measures import ScoreTable, TrialEnd, TrialHistory
from fsl_sweep.orchestrator.report import Report, RunInfo, build, to_json, to_text
from fsl_sweep.orchestrator.report.answer.deciding import about, would_decide
from fsl_sweep.orchestrator.report.cautions import grave_cautions
from fsl_sweep.orchestrator.report.wording import some

INFO = RunInfo("made", "abcd", None, ("last", "val", "oracle"), ("val", "oracle"))
FAILED = TrialEnd("failed", "loss is NaN")


def method(
    name: str,
    scores: ArrayLike,
    last: float = -0.01,
    oracle: float = 0.003,
    ends: Sequence[TrialEnd | None] = (),
    base: float = 0.7,
) -> list[TrialHistory]:
    """A trial a seed, by NovelGen in percent of what `val` chooses.

    `last` and `oracle` are by how much the choices of those two are better. Where `last` is 0,
    every strategy chooses the last epoch.
    """
    found = []
    for seed, score in enumerate(np.asarray(scores) / 100):
        novel = [score + oracle, score, score + last]
        val = [0.5, 0.7, 0.6] if last else [0.5, 0.6, 0.7]
        own = trial(name, "x", seed, base=[base] * 3, val=val, novel=novel)
        found.append(replace(own, end=ends[seed]) if ends else own)
    return found


def timed(trials: Sequence[TrialHistory], seconds: float) -> list[TrialHistory]:
    """The same, with so many seconds an epoch."""
    both = {name: np.full(3, seconds / 2) for name in ("train_seconds", "evaluation_seconds")}
    return [replace(one, curves={**one.curves, **both}) for one in trials]


def report(trials: Sequence[TrialHistory], **options: Any) -> Report:
    """Build the report; options are those of ``build``, or parts of the run's information."""
    parts = {key: options.pop(key) for key in [*options] if hasattr(INFO, key)}
    return build(replace(INFO, **parts), trials, **{"bootstrap": 20, **options})


def means(trials: Sequence[TrialHistory]) -> list[TrialHistory]:
    """The same without scores by task."""
    return [
        replace(one, scores={key: ScoreTable.from_means(t.means) for key, t in one.scores.items()})
        for one in trials
    ]


def single_snapshots(trials: Sequence[TrialHistory]) -> list[TrialHistory]:
    """The first snapshots alone."""
    return [
        replace(
            one,
            epochs=one.epochs[:1],
            curves={name: curve[:1] for name, curve in one.curves.items()},
            scores={
                key: ScoreTable.from_accuracies(table.load()[:1])
                for key, table in one.scores.items()
            },
        )
        for one in trials
    ]


FIVE = np.array([0, 0.4, -0.4, 0.2, -0.2])
"""Seeds about their mean, in points."""

PN, RR, Q = method("PN", 60 + FIVE), method("RR", 64 + FIVE), method("Q", 45 + FIVE)
THIRD = method("MAML", [40, 80, 60, 50, 70])
CLOSE = method("CLOSE", [60.1])
DONE = TrialEnd("done")


def again(trials: Sequence[TrialHistory], **changes: Any) -> list[TrialHistory]:
    """The same, changed."""
    return [replace(one, **changes) for one in trials]


def several(names: str) -> list[TrialHistory]:
    """Methods a point apart with three seeds; which of two the last epoch favours alternates."""
    return [
        one
        for n, name in enumerate(names)
        for one in method(name, 60 + n + FIVE[:3], 0.01 * (1 + n / 10) * (-1) ** n)
    ]


def without_val(one: TrialHistory) -> TrialHistory:
    """The trial, which ValGen cannot choose in."""
    unknown = ScoreTable.from_means(np.full(len(one.epochs), np.nan))
    return replace(one, scores={**one.scores, ("val", "selection"): unknown})


def without_loss(one: TrialHistory) -> TrialHistory:
    """The trial, of a method that trains nothing."""
    return replace(one, curves={**one.curves, "train_loss": np.full(len(one.epochs), np.nan)})


def without_tasks(one: TrialHistory) -> TrialHistory:
    """The trial, measured on fewer tasks than others."""
    scores = {
        key: ScoreTable(table.means, lambda table=table: table.load()[:, :30])
        for key, table in one.scores.items()
    }
    return replace(one, scores=scores)


def worse_on_report_tasks(one: TrialHistory) -> TrialHistory:
    """The trial, whose oracle's choice scores less on the report tasks."""
    tasks = one.scores["novel", "selection"].load()[1][None] + np.array([[-0.03], [0], [-0.01]])
    return replace(
        one, scores=one.scores | {("novel", "report"): ScoreTable.from_accuracies(tasks)}
    )


SITUATIONS = {
    "clear winner of three": [*PN, *RR, *Q],
    "the winner depends on the strategy": [
        *method("PN", 60 + FIVE, last=0.05),
        *method("RR", 64 + FIVE, last=-0.05),
    ],
    "equal under another strategy": [
        *method("PN", 60 + FIVE, last=0.0),
        *method("RR", 64 + FIVE, last=-0.04),
    ],
    "a method that the strategy cannot choose for": [
        *(*PN, *RR),
        *map(without_val, method("C", 80 + FIVE)),
    ],
    "one seed of one method": [*method("PN", [60]), *method("RR", [61, 62])],
    "one seed of a third method": [*method("PN", 62 + FIVE), *RR, *method("MAML", [40])],
    "seeds that are copies": [*method("PN", [60, 60, 60]), *RR],
    "an image classifier": [*PN, *again(RR, among_all=True)],
    "saturated": [*method("PN", [98.5, 98.9, 98.1]), *method("RR", [98.6, 98.7, 99])],
    "two of three seeds so far": [
        *method("PN", [60, 61, 62], ends=[DONE, DONE, None]),
        *method("RR", [64, 65, 66], ends=[DONE, DONE, None]),
    ],
    "so far one seed of one method, and none of another": [
        *method("PN", [60, 61, 62], ends=[DONE, None, None]),
        *method("RR", [64, 65, 66], ends=[DONE, DONE, None]),
        *method("Q", [1, 2, 3], ends=[None] * 3),
    ],
    "so far one method": [*method("PN", [60, 61]), *method("RR", [64], ends=[None])],
    "nothing whole yet": [
        *method("PN", [60, 61], ends=[None] * 2),
        *method("RR", [64], ends=[None]),
    ],
    "all failed": method("PN", [60, 61], ends=[FAILED] * 2),
    "strategies that chose alike": [
        *method("PN", 60 + FIVE, last=0),
        *method("RR", 64 + FIVE, last=0),
    ],
    "methods that draw nothing": again((PN[0], RR[0]), draws_nothing=True),
    "methods that draw nothing, too close": again((PN[0], CLOSE[0]), draws_nothing=True),
    "one seed, and a method that draws nothing": [PN[0], replace(RR[0], draws_nothing=True)],
    "five seeds, and a method that draws nothing": [*PN, replace(RR[0], draws_nothing=True)],
    "a method that draws nothing in the last place": [*PN, *RR, replace(Q[0], draws_nothing=True)],
    "copies": [*PN, *RR, *(replace(one, seed=one.seed + 5) for one in RR)],
    "copies only": [*PN, *(replace(RR[0], seed=seed) for seed in range(3))],
    "two seeds of six methods": [
        one for n, name in enumerate("ABCDEF") for one in method(name, (50 + 3 * n) + FIVE[:2])
    ],
    "one configuration and snapshot, without tasks": means(single_snapshots([*PN, *RR])),
    "chosen, without tasks": means([*PN, *RR]),
    "one snapshot": PN[:1],
    "decided against some": [
        *method("PN", 63.8 + FIVE),
        *RR,
        *method("MAML", 50 + FIVE),
        *Q,
    ],
    "decided against the second, and not against a third": [
        *method("PN", 62 + FIVE),
        *(*RR, *THIRD),
    ],
    "lost by Holm's correction": [
        *method("PN", [60, 61, 62]),
        *method("RR", [63.8, 65, 65.9]),
        *(one for name in "CDEFGH" for one in method(name, [20, 60, 90])),
    ],
    "a tie": [*PN, *again(PN, method="RR")],
    "a tie of snapshots": [*PN[:1], *again(PN[:1], method="RR")],
    "none is better over seven": several("ABCDEFG"),
    "tasks that are not common": [*map(without_tasks, PN), *RR],
    "the oracle chose worse": [
        worse_on_report_tasks(one)
        for name, mean in (("PN", 60), ("RR", 64))
        for one in method(name, mean + FIVE, oracle=0.02)
    ],
}
"""Trials."""

FURTHER: dict[str, tuple[list[TrialHistory], dict[str, Any]]] = {
    "equivalent to one and better than another": (
        [*method("PN", 63.9 + FIVE), *RR, *Q],
        {"rope": 0.01},
    ),
    "a tie in another report": (
        SITUATIONS["a tie"],
        {
            **{"snapshot": ("last",), "hyperparameter": ("val",), "metric": "mixture(0.4)"},
            **{"protocol": made.FIVE_SHOT, "chosen_by": made.MAIN_PROTOCOL},
            "places": ("my run", "table.csv"),
        },
    ),
    "only means are known": (means([*PN, *RR]), {"bootstrap": 0}),
    "no resamples": ([*PN, *RR], {"bootstrap": 0}),
    "a mixture": ([*PN, *RR], {"metric": "mixture(0.4)"}),
    "only oracles": ([*PN, *RR], {"snapshot": ("oracle",)}),
    "a strategy that has two of the three methods": (
        [*PN, *RR, *map(without_loss, Q)],
        {"snapshot": ("train_loss", "val")},
    ),
    "a strategy that has one of the two methods": (
        [*PN, *map(without_loss, RR)],
        {"snapshot": ("train_loss", "last", "val"), "hyperparameter": ("val",)},
    ),
    "one strategy": ([*PN, *RR], {"snapshot": ("val",), "hyperparameter": ("val",)}),
    "a front": ([*PN, *RR], {"hyperparameter": ("pareto",)}),
    "nothing that can choose": ([*PN, *RR], {"snapshot": ("cv-epoch",)}),
}
"""Trials, and what is asked of the report."""


@pytest.mark.parametrize("name", [*SITUATIONS, *FURTHER])
def test_the_answer_word_for_word(name: str, snapshot: SnapshotAssertion) -> None:
    trials, options = FURTHER[name] if name in FURTHER else (SITUATIONS[name], {})
    found = report(trials, **options)
    answer = found.answer
    assert "\n".join(answer.sentences) == snapshot
    # Best and better are said only where it is decided.
    first = answer.sentences[0]
    head = first.split(";")[0]
    assert answer.decided == ("is better than" in head or "is the best" in head)
    if "an incomplete run" in first or "no comparison" in first:  # nor do the tables decide it
        assert {one.result.verdict for one in found.differences} == {"undecided"}
    unknown = (" same mean", "Nothing", "a reference")
    assert (answer.best is None) == any(said in head for said in unknown)


def test_the_answer_in_json() -> None:
    found = report(SITUATIONS["decided against the second, and not against a third"])
    plain, sentences = json.loads(to_json(found))["answer"], [*found.answer.sentences]
    assert set(plain) == {"sentences", "best", "decided", "strategy", "needs"}
    assert (plain["sentences"], plain["best"], plain["decided"]) == (sentences, "RR", False)
    assert plain["strategy"] == {"snapshot_selector": "val", "hyperparameter_selector": "val"}
    (need,) = plain["needs"]
    assert {need["a"], need["b"]} == {"RR", "MAML"}
    nothing = json.loads(to_json(report(SITUATIONS["nothing whole yet"])))["answer"]
    assert (nothing["best"], nothing["strategy"], nothing["needs"]) == (None, None, [])


def test_what_would_decide_in_words() -> None:
    trials = timed([*method("PN", [60, 62]), *method("RR", [61, 64, 63])], 30)
    (found,) = report(trials).answer.needs
    ways = {way.what: way for way in found.ways}
    seeds, tasks = replace(ways["seeds"], seconds=None, between=()), ways["tasks"]

    def said(*ways, **changes):
        return would_decide(replace(found, effect=0.02, ways=ways, **changes))

    if_so = "If PN and RR truly differ by 2.0 points,"
    seeds = replace(seeds, required=4)
    assert said(seeds) == f"{if_so} 2 more seeds of PN and 1 of RR would show it (80 %)."
    assert said(replace(seeds, between=(3, None))).endswith(
        "At the ends of its 80 % interval it takes 3 seeds, or no number that anybody trains."
    )
    assert said(replace(seeds, between=(3, 9))).endswith("80 % interval it takes 3 seeds, or 9.")
    assert said(replace(seeds, required=3)) == f"{if_so} 1 more seed of PN would show it (80 %)."
    assert said(replace(seeds, have=(3, 3)), power=0.9) == (
        f"{if_so} 1 more seed of each would show it (90 %)."
    )
    assert (
        said(replace(seeds, required=2))
        == f"{if_so} what there is shows it with a chance of at least 80 %."
    )
    assert said(tasks, replace(seeds, required=None)) == (
        f"{if_so} neither more seeds only nor more tasks only would show it."
    )
    more = replace(tasks, required=2040, seconds=7000.0)
    assert said(more, replace(seeds, required=None)) == (
        f"{if_so} 2,000 more tasks would show it (80 %, about 2 hours); more seeds would not."
    )


def test_times_are_rounded() -> None:
    assert ", ".join(map(about, (0, 40, 307, 5300, 7000, 4e5))) == (
        "less than a minute, about 1 minute, about 5 minutes, about 88 minutes, about 2 hours, "
        "about 5 days"
    )


def test_few_names_are_shown() -> None:
    shown = [some([*"ABCDE"[:count]]) for count in range(1, 6)]
    assert shown == ["A", "A and B", "A, B and C", "A, B and 2 more", "A, B, C and 2 more"]


def test_a_method_whose_selection_is_not_repeated_keeps_all_undecided() -> None:
    whole = report([*method("A", [60, 61, 62]), *method("B", [50, 51, 52])])
    assert "nothing is decided" not in whole.answer.sentences[0]
    part = replace(whole, resampled=tuple(c for c in whole.resampled if c.method == "A"))
    assert "nothing is decided unless the selection is repeated" in part.answer.sentences[0]


def test_what_has_no_training_loss_is_told_in_a_line_that_is_not_grave() -> None:
    trials = map(without_loss, [*method("PN", 60 + FIVE), *method("NCC", 50 + FIVE)])
    found = report([*RR, *trials], snapshot=("train_loss", "val"))
    told = "PN and NCC have no training loss, and no snapshot that is chosen by it."
    assert grave_cautions(found) == ()
    assert [c for c in found.cautions if "left out" in c or "training loss" in c] == [told]
    assert "Left out: " not in to_text(found)
    # What the training loss is not to blame for is told.
    trials = [without_val(without_loss(one)) for one in (*method("PN", [60]), *method("Q", [50]))]
    lost = grave_cautions(report([*RR, *trials]))
    assert lost == (
        "PN and Q are left out under last / val, val / val, val / oracle, oracle / val.",
    )
