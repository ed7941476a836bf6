"""The answer of a report, word for word, on made records of each situation."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import made
import numpy as np
import pytest
from numpy.typing import ArrayLike
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


def report(trials: Sequence[TrialHistory], info: RunInfo = INFO, **options) -> Report:
    return build(info, trials, **{"bootstrap": 20, **options})


def means(trials: Sequence[TrialHistory]) -> list[TrialHistory]:
    """The same without scores by task."""
    return [
        replace(one, scores={key: ScoreTable.from_means(t.means) for key, t in one.scores.items()})
        for one in trials
    ]


FIVE = np.array([0, 0.4, -0.4, 0.2, -0.2])
"""Seeds about their mean, in points."""

PN, RR, Q = method("PN", 60 + FIVE), method("RR", 64 + FIVE), method("Q", 45 + FIVE)
LIKE_RR = method("PN", 63.8 + FIVE)
DONE = TrialEnd("done")
BOTH = "Both strategies rank the methods alike."
COST = "Choosing by val / val cost 0.30 points against the oracle (by others 1.3)"
SO_FAR = f"{BOTH} {COST}."
READS = "val / val reads no novel score."
TAKES = f"It takes 6 methods to tell which strategy is better, and these are 2; {READS}"
USUAL = f"{BOTH} {COST}. {TAKES}"
SHOWS = "If PN and RR truly differ by"
NONE = "No further run is needed to decide it under val / val."
ONE_SEED = f"Both strategies rank these snapshots alike. {COST}. {TAKES}"


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


SITUATIONS = {
    "clear winner of three": (
        [*PN, *RR, *Q],
        "RR is the best of 3 methods under val / val, over 5 seeds: 4.0 points above PN, the next "
        "(95 %: 3.5 to 4.5).",
        USUAL.replace("are 2", "are 3"),
        NONE,
    ),
    "the winner depends on the strategy": (
        [*method("PN", 60 + FIVE, last=0.05), *method("RR", 64 + FIVE, last=-0.05)],
        "RR is better than PN by 4.0 points under val / val, over 5 seeds (95 %: 3.5 to 4.5).",
        "Who leads depends on the strategy: PN leads under last / val. Choosing by val / val cost "
        f"2.7 points against the oracle (by others 2.6). {TAKES}",
        NONE,
    ),
    "equal under another strategy": (
        [*method("PN", 60 + FIVE, last=0.0), *method("RR", 64 + FIVE, last=-0.04)],
        "RR is better than PN by 4.0 points under val / val, over 5 seeds (95 %: 3.5 to 4.5).",
        "Who leads depends on the strategy: PN and RR are equal under last / val. Choosing by "
        f"val / val cost 0.30 points against the oracle (by others 2.3). {TAKES}",
        NONE,
    ),
    "a method that the strategy cannot choose for": (
        [*PN, *RR, *map(without_val, method("C", 80 + FIVE))],
        "RR leads PN by 4.0 points under val / val, over 5 seeds (95 %: 3.5 to 4.5); C cannot be "
        "compared: nothing is decided.",
        BOTH,
        "",
    ),
    "one seed of one method": (
        [*method("PN", [60]), *method("RR", [61, 62])],
        "RR's snapshots score 1.5 points above PN's under val / val, but one seed of PN says "
        "nothing about training it again.",
        ONE_SEED,
        "Add a second seed of PN: then the report can say how many would decide it.",
    ),
    "one seed of a third method": (
        [*method("PN", 62 + FIVE), *RR, *method("MAML", [40])],
        "RR leads PN by 2.0 points under val / val, but 5 seeds cannot tell it from MAML (MAML has "
        "one seed); it is better than PN.",
        USUAL.replace("are 2", "are 3"),
        "Add a second seed of MAML: then the report can say how many would decide it.",
    ),
    "seeds that are copies": (
        [*method("PN", [60, 60, 60]), *RR],
        "RR leads PN by 4.0 points under val / val, over 3 to 5 seeds; all seeds of PN have the "
        "same scores: nothing is decided.",
        USUAL,
        "",
    ),
    "an image classifier": (
        [*PN, *(replace(one, among_all=True) for one in RR)],
        "RR leads PN by 4.0 points under val / val, over 5 seeds (95 %: 3.5 to 4.5); RR classifies "
        "queries among all base classes, the others only among the classes of the task, which is "
        "easier: no comparison.",
        USUAL,
    ),
    "saturated": (
        [*method("PN", [98.5, 98.9, 98.1]), *method("RR", [98.6, 98.7, 99])],
        "RR leads PN by 0.27 points under val / val, but 3 seeds cannot decide it (95 %: -0.6 to "
        "1.1).",
        "All methods are above 98 %, so these tasks are too easy to tell them apart: try more ways "
        "or fewer shots.",
        f"{BOTH} {COST}, more than RR and PN differ. {TAKES}",
        f"{SHOWS} 0.27 points, 21 more seeds of each would show it (80 %, less than a minute); "
        "more tasks would not.",
    ),
    "two of three seeds so far": (
        [
            *method("PN", [60, 61, 62], ends=[DONE, DONE, None]),
            *method("RR", [64, 65, 66], ends=[DONE, DONE, None]),
        ],
        "So far, RR leads PN by 4.0 points under val / val, over 2 of 3 seeds (95 %: 0.6 to 7.4); "
        "an incomplete run decides nothing.",
        SO_FAR,
        "Finish the run first: 4 of 6 trials are done.",
    ),
    "so far one seed of one method, and none of another": (
        [
            *method("PN", [60, 61, 62], ends=[DONE, None, None]),
            *method("RR", [64, 65, 66], ends=[DONE, DONE, None]),
            *method("Q", [1, 2, 3], ends=[None] * 3),
        ],
        "So far, RR's snapshots score 4.5 points above PN's under val / val, but one seed of PN "
        "says nothing about training it again.",
        SO_FAR.replace("the methods", "these snapshots"),
        "Finish the run first: 3 of 9 trials are done. Without a complete seed: Q (0 of 3 trials).",
    ),
    "so far one method": (
        [*method("PN", [60, 61]), *method("RR", [64], ends=[None])],
        "So far, PN scores 60.5 % NovelGen under val / val, over 2 seeds; no other method can be "
        "compared with it.",
        f"{COST}.",
        "Finish the run first: 2 of 3 trials are done. Without a complete seed: RR (0 of 1 trial).",
    ),
    "nothing whole yet": (
        [*method("PN", [60, 61], ends=[None] * 2), *method("RR", [64], ends=[None])],
        "Nothing can be said: no method has a seed with all of its trials done.",
        "Finish the run first: 0 of 3 trials are done. Without a complete seed: PN (0 of 2 "
        "trials) and RR (0 of 1 trial).",
    ),
    "all failed": (
        method("PN", [60, 61], ends=[FAILED] * 2),
        "Nothing can be said: no method has a seed with all of its trials done.",
        "Seeds with a failed trial are left out: 0 of 2 trials are done. Without a complete seed: "
        "PN (0 of 2 trials).",
    ),
    "strategies that chose alike": (
        [*method("PN", 60 + FIVE, last=0), *method("RR", 64 + FIVE, last=0)],
        "RR is better than PN by 4.0 points under val / val, over 5 seeds (95 %: 3.5 to 4.5).",
        "Both strategies chose the same snapshots. Choosing by val / val cost 0.30 points against "
        "the oracle.",
        NONE,
    ),
    "one seed of methods that train nothing": (
        [replace(one, seedless=True) for one in (PN[0], RR[0])],
        "RR's snapshots score 4.0 points above PN's under val / val, but neither is trained.",
        ONE_SEED,
        "RR and PN have nothing to train, so more seeds change only the learner's own random "
        "draws. More tasks tell these snapshots apart, and other data say whether that holds "
        "elsewhere.",
    ),
    "one seed of which one method trains nothing": (
        [PN[0], replace(RR[0], seedless=True)],
        "RR's snapshots score 4.0 points above PN's under val / val, but one seed of PN says "
        "nothing about training it again.",
        ONE_SEED,
        "RR has nothing to train, so more seeds change only the learner's own random draws. "
        "More tasks tell these snapshots apart, and other data say whether that holds elsewhere.",
    ),
    "one snapshot": (
        PN[:1],
        "A snapshot of PN scores 60.0 % NovelGen under val / val, with one seed; there is no other "
        "method to compare it with.",
        f"{COST}. It takes 6 methods to tell which strategy is better, and this is one; {READS}",
    ),
    "decided against some": (
        [*LIKE_RR, *RR, *method("MAML", 50 + FIVE), *Q],
        "RR leads PN by 0.20 points under val / val, but 5 seeds cannot decide it (95 %: -0.3 to "
        "0.7); it is better than MAML and Q.",
        f"{BOTH} {COST}, more than RR and PN differ. {TAKES.replace('are 2', 'are 4')}",
        f"{SHOWS} 0.20 points, 58 more seeds of each would show it (80 %, about 1 minute); more "
        "tasks would not.",
    ),
    "decided against the second, and not against a third": (
        [*method("PN", 62 + FIVE), *RR, *method("MAML", [40, 80, 60, 50, 70])],
        "RR leads PN by 2.0 points under val / val, but 5 seeds cannot tell it from MAML (95 % "
        "against MAML: -20.7 to 28.7); it is better than PN.",
        USUAL.replace("are 2", "are 3"),
        "If RR and MAML truly differ by 4.0 points, it takes more than 100 more seeds of each to "
        "show it (80 %).",
    ),
    "lost by Holm's correction": (
        [
            *method("PN", [60, 61, 62]),
            *method("RR", [63.8, 65, 65.9]),
            *(one for name in "CDEFGH" for one in method(name, [20, 60, 90])),
        ],
        "RR leads PN by 3.9 points under val / val, but 3 seeds cannot tell it from PN, C, D and 4 "
        "more (95 % against PN: -3.1 to 10.9).",
        f"{BOTH} {COST}. Do not choose by last / val, which cost more than val / val, by more than "
        "chance.",
        f"{SHOWS} 3.9 points, 3 more seeds of each would show it (80 %, less than a minute); more "
        "tasks would not.",
    ),
    "a tie": (
        [*PN, *(replace(one, method="RR") for one in PN)],
        "PN and RR have the same mean under val / val, over 5 seeds.",
        f"{COST}. {TAKES}",
        "`fsl-sweep plan-next RUN --effect 0.01` says what would show 1 point.",
    ),
    "a tie of snapshots": (
        [*PN[:1], *(replace(one, method="RR") for one in PN[:1])],
        "PN and RR have snapshots of the same mean under val / val; one seed says nothing about "
        "training the methods again.",
        f"{COST}. {TAKES}",
        "Add a second seed of PN and RR: then the report can say how many would decide it.",
    ),
    "none is better over seven": (
        several("ABCDEFG"),
        "G leads F by 1.0 points under val / val, but 3 seeds cannot tell it from F and E (95 % "
        "against F: -1.1 to 3.1); it is better than D, C and 2 more.",
        "Both strategies have G first; the order behind it differs. Choosing by val / val cost "
        "0.87 points against the oracle (by others 0.69). These 7 methods do not show that one "
        f"strategy is better than another; {READS}",
        "If F and G truly differ by 1.0 points, 5 more seeds of each would show it (80 %, less "
        "than a minute); more tasks would not.",
    ),
}
"""Trials, and what the answer says."""


RR_LEADS = "RR leads PN by 4.0 points under val / val, over 5 seeds"
OPTIONS = {
    "equivalent to one and better than another": (
        [*method("PN", 63.9 + FIVE), *RR, *Q],
        {"rope": 0.01},
        "RR leads PN by 0.10 points under val / val, over 5 seeds; it is equivalent to PN within "
        "1.0 points and is better than Q.",
        f"{BOTH} {COST}, more than RR and PN differ. {TAKES.replace('are 2', 'are 3')}",
    ),
    "a tie in another report": (
        [*PN, *(replace(one, method="RR") for one in PN)],
        {
            "info": replace(
                INFO,
                snapshot=("last",),
                hyperparameter=("val",),
                metric="mixture(0.4)",
                protocol=made.FIVE_SHOT,
                chosen_by=made.MAIN_PROTOCOL,
            )
        },
        "PN and RR have the same mean under last / val, over 5 seeds.",
        "last / val is the only strategy here that reads no novel score. Choosing by last / val "
        "cost 1.3 points of NovelGen against the oracle.",
        "`fsl-sweep plan-next RUN --metric 'mixture(0.4)' --protocol 5-shot --snapshot last "
        "--hyperparameter val --effect 0.01` says what would show 1 point.",
    ),
    "only means are known": (
        means([*PN, *RR]),
        {"bootstrap": 0},
        "RR leads PN by 4.0 points under val / val, over 5 seeds; records without scores by task "
        "decide nothing.",
        USUAL,
    ),
    "no resamples": (
        [*PN, *RR],
        {"bootstrap": 0},
        f"{RR_LEADS}; nothing is decided unless the selection is repeated (`--bootstrap 1000`).",
        USUAL,
    ),
    "a mixture": (
        [*PN, *RR],
        {"info": replace(INFO, metric="mixture(0.4)")},
        "RR is better than PN by 2.4 points of 0.4 BaseGen + 0.6 NovelGen under val / val, over 5 "
        "seeds (95 %: 2.1 to 2.7).",
        USUAL.replace("points", "points of NovelGen"),
        NONE,
    ),
    "only oracles": (
        [*PN, *RR],
        {"info": replace(INFO, snapshot=("oracle",))},
        "RR leads PN by 4.0 points under oracle / val, over 5 seeds (95 %: 3.5 to 4.5), where "
        "novel scores choose: a reference, not a result.",
        "Every strategy here reads novel scores: none can be used where those are unknown.",
    ),
    "a strategy that has two of the three methods": (
        [*PN, *RR, *map(without_loss, Q)],
        {"info": replace(INFO, snapshot=("train_loss", "val"))},
        "RR is the best of 3 methods under val / val, over 5 seeds: 4.0 points above PN, the next "
        "(95 %: 3.5 to 4.5).",
        "Both strategies rank the methods alike, as far as they have them. Choosing by val / val "
        f"cost 0.30 points against the oracle. {TAKES.replace('are 2', 'are 3')}",
        NONE,
    ),
    "a strategy that has one of the two methods": (
        [*PN, *map(without_loss, RR)],
        {"info": replace(INFO, snapshot=("train_loss", "last", "val"), hyperparameter=("val",))},
        "RR is better than PN by 4.0 points under val / val, over 5 seeds (95 %: 3.5 to 4.5).",
        f"Both strategies with two methods or more rank the methods alike. {COST}. {TAKES}",
        NONE,
    ),
    "one strategy": (
        [*PN, *RR],
        {"info": replace(INFO, snapshot=("val",), hyperparameter=("val",))},
        "RR is better than PN by 4.0 points under val / val, over 5 seeds (95 %: 3.5 to 4.5).",
        "val / val is the only strategy here that reads no novel score. Choosing by val / val cost "
        "0.30 points against the oracle.",
        NONE,
    ),
    "a front": (
        [*PN, *RR],
        {"info": replace(INFO, hyperparameter=("pareto",))},
        "Nothing can be said of methods: a front keeps several snapshots of each seed.",
    ),
    "nothing that can choose": (
        [*PN, *RR],
        {"info": replace(INFO, snapshot=("cv-epoch",))},
        "Nothing can be said: no strategy could choose, or what it chose is not measured.",
    ),
}
"""Trials, what is asked of the report, and what the answer says."""


@pytest.mark.parametrize("name", [*SITUATIONS, *OPTIONS])
def test_the_answer_word_for_word(name: str) -> None:
    trials, *expected = SITUATIONS.get(name) or OPTIONS[name]
    options: dict[str, Any] = expected.pop(0) if name in OPTIONS else {}
    answer = report(trials, **options).answer
    assert [*answer.sentences] == [*filter(None, expected)]
    # Best and better are said only where it is decided.
    head = expected[0].split(";")[0]
    assert answer.decided == ("is better than" in head or "is the best" in head)
    if (
        "an incomplete run" in expected[0] or "no comparison" in expected[0]
    ):  # nor do the tables decide it
        assert {one.result.verdict for one in report(trials).differences} == {"undecided"}
    unknown = (" same mean", "Nothing", "a reference")
    assert (answer.best is None) == any(said in head for said in unknown)


def test_tasks_that_are_not_common_decide_nothing() -> None:
    fewer = [
        replace(
            one,
            scores={
                key: ScoreTable(table.means, lambda table=table: table.load()[:, :30])
                for key, table in one.scores.items()
            },
        )
        for one in PN
    ]
    answer = report([*fewer, *RR]).answer
    assert answer.sentences[0].endswith(
        "over 5 seeds, but has no tasks in common with PN: nothing is decided."
    )
    assert (answer.best, answer.decided, answer.needs) == ("RR", False, ())


def test_no_cost_where_the_oracle_chose_worse() -> None:
    trials = [*method("PN", 60 + FIVE, oracle=0.02), *method("RR", 64 + FIVE, oracle=0.02)]
    lower = np.array([-0.03, 0, -0.01])  # on the report tasks
    trials = [
        replace(
            one,
            scores=one.scores
            | {
                ("novel", "report"): ScoreTable.from_accuracies(
                    one.scores["novel", "selection"].load()[1][None] + lower[:, None]
                )
            },
        )
        for one in trials
    ]
    assert (
        "Choosing by val / val cost nothing: the oracle's own choice scored 3.0 points lower."
        in (report(trials).answer.sentences[1])
    )


def test_the_answer_in_json() -> None:
    trials, *sentences = SITUATIONS["decided against the second, and not against a third"]
    plain = json.loads(to_json(report(trials)))["answer"]
    assert set(plain) == {"sentences", "best", "decided", "strategy", "needs"}
    assert (plain["sentences"], plain["best"], plain["decided"]) == (sentences, "RR", False)
    assert plain["strategy"] == {"snapshot_selector": "val", "hyperparameter_selector": "val"}
    (need,) = plain["needs"]
    assert {need["a"], need["b"]} == {"RR", "MAML"}
    nothing = json.loads(to_json(report(SITUATIONS["nothing whole yet"][0])))["answer"]
    assert (nothing["best"], nothing["strategy"], nothing["needs"]) == (None, None, [])


def test_what_would_decide_in_words() -> None:
    trials = timed([*method("PN", [60, 62]), *method("RR", [61, 64, 63])], 30)
    (found,) = report(trials).answer.needs
    ways = {way.what: way for way in found.ways}
    seeds, tasks = replace(ways["seeds"], seconds=None), ways["tasks"]

    def said(*ways, **changes):
        return would_decide(replace(found, effect=0.02, ways=ways, **changes))

    if_so = "If PN and RR truly differ by 2.0 points,"
    seeds = replace(seeds, required=4)
    assert said(seeds) == f"{if_so} 2 more seeds of PN and 1 of RR would show it (80 %)."
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


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (0, "less than a minute"),
        (40, "about 1 minute"),
        (307, "about 5 minutes"),
        (5300, "about 88 minutes"),
        (7000, "about 2 hours"),
        (4e5, "about 5 days"),
    ],
)
def test_times_are_rounded(seconds: float, expected: str) -> None:
    assert about(seconds) == expected


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
    found = report([*RR, *trials], replace(INFO, snapshot=("train_loss", "val")))
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


def test_untrained_methods_whose_seeds_differ_are_answered_as_any() -> None:
    """`transfer` trains nothing, and draws its initial weights from the seed."""
    given = [*method("PN", [60, 61]), *method("RR", [60.5, 62])]
    untrained = [replace(one, seedless=True) for one in given]
    found = report(untrained)
    assert found.seedless == set()
    assert found.answer == report(given).answer
