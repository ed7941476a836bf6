"""The parts of a question: each study that heeds one answers by it, and every mistake is named."""

import json
import re
from html import escape
from pathlib import Path

import made
import numpy as np
import pandas as pd
import pytest
import tables

from fsl_sweep import load_run
from fsl_sweep.orchestrator.cli import invoke
from fsl_sweep.orchestrator.errors import ConfigError, UnknownName
from fsl_sweep.orchestrator.selection.question import is_configuration
from fsl_sweep.orchestrator.studies.catalogue import SHORT, STUDIES

MEASURE = {"5-shot": {"episode": {"shot": 5}}, "mixture": {"mixture": [0, 1]}}
QUERIES = {"examples": 12000, "classes": 20}


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three methods of two configurations and three seeds."""
    path = tmp_path_factory.mktemp("question") / "run"
    specs = [made.spec(seed, way) for way in (5, 20) for seed in range(3)]
    trials = [
        made.planned(spec.model_copy(update={"batches": batches}), method)
        for batches, method in enumerate("ABC", 2)
        for spec in specs
    ]
    made.recorded(path, *trials)
    return path


@pytest.fixture(scope="module")
def frame(three: Path, tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    """The same as a table."""
    return pd.read_csv(tables.exported(load_run(three), tmp_path_factory.mktemp("t") / "all.csv"))


@pytest.fixture(scope="module")
def protocols(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two methods of two configurations and two seeds, all of it under further protocols too."""
    path = tmp_path_factory.mktemp("question") / "protocols"
    made.with_protocols(path, measure=MEASURE, seeds=(0, 1))
    return path


def plain(path: Path, name: str, **options: object) -> object:
    """What a study gives, to 9 decimals: a table has fewer than a run folder."""
    text = load_run(path).study(name, **options).written("json")
    return json.loads(text, parse_float=lambda number: round(float(number), 9))


def claims(path: Path, **question: object) -> list[object]:
    """What three studies claim of A and C, or of all methods, without times and names of tasks."""
    compared = plain(path, "compare", a="A", b="C", **question)
    planned = [{**pair, "ways": None} for pair in plain(path, "plan-next", **question)]
    return [compared["methods"], planned, plain(path, "base-and-novel", **question)]


@pytest.mark.parametrize(
    ("question", "column", "note_of"),
    [
        ({"method": ["A", "C"]}, "method", "methods A, C"),
        ({"configuration": "way=5"}, "configuration", "configurations with way=5"),
    ],
    ids=["method", "configuration"],
)
def test_only_a_part_is_studied_as_if_there_were_nothing_else(
    three, frame, tmp_path, question, column, note_of
) -> None:
    """Holm's correction too is of the pairs that take part: of three, or of one."""
    part = question.get("method") or {
        t.configuration for t in load_run(three).histories if t.hyperparameters == {"train.way": 5}
    }
    alone = tables.written(frame[frame[column].isin(part)], tmp_path / "alone.csv")
    every, some = claims(three), claims(three, **question)
    assert some == claims(alone)
    assert some != every
    note = load_run(three).study("compare", **question).document.banner[0].text
    assert note == f"Only {note_of} take part."


def chosen_scores(path: Path, protocol: str, by: str, weight: float) -> dict[str, list[float]]:
    """The mixture, under a protocol, of what has the best ValGen by another, looked up."""
    source = load_run(path)._source
    trials = source.histories(source.protocol(protocol), source.protocol(by))
    best: dict[tuple[str, int], tuple[float, float]] = {}
    for trial in trials:
        val = trial.scores["val", "selection"].means
        base, novel = (trial.scores[measure, "report"].means for measure in ("base", "novel"))
        at = int(np.argmax(val))
        case = (float(val[at]), float(weight * base[at] + (1 - weight) * novel[at]))
        key = trial.method, trial.seed
        best[key] = max(best.get(key, (0.0, 0.0)), case, key=lambda pair: pair[0])
    return {m: [best[m, seed][1] for seed in (0, 1)] for m in ("PN", "RR")}


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ({}, ("main", "main", 0.0)),
        ({"protocol": "5-shot"}, ("5-shot", "main", 0.0)),
        ({"choose_by": "5-shot"}, ("main", "5-shot", 0.0)),
        ({"protocol": "5-shot", "choose_by": "5-shot"}, ("5-shot", "5-shot", 0.0)),
        ({"metric": "mixture(0.3)"}, ("main", "main", 0.3)),
    ],
    ids=lambda value: ",".join(value) if isinstance(value, dict) else "",
)
def test_protocols_and_the_metric_are_those_of_the_numbers(protocols, question, expected) -> None:
    scores = chosen_scores(protocols, *expected)
    difference = np.mean(scores["PN"]) - np.mean(scores["RR"])
    methods = plain(protocols, "compare", a="PN", b="RR", **question)["methods"]
    assert methods["values"] == [pytest.approx(scores["PN"]), pytest.approx(scores["RR"])]
    (pair,) = plain(protocols, "plan-next", **question)
    assert abs(pair["now"]["effect"]) == pytest.approx(abs(difference))
    if "metric" not in question:
        cells = plain(protocols, "base-and-novel", **question)["methods"]
        assert [cell["novel"] for cell in cells] == pytest.approx(
            [np.mean(scores[cell["method"]]) for cell in cells]
        )
    if "protocol" not in question:
        with pytest.raises(UnknownName, match="option 'protocol'"):
            plain(protocols, "mixtures", protocol="5-shot")


def test_tasks_are_sized_and_mixed_by_the_protocols(protocols) -> None:
    sizes = [plain(protocols, "queries", **QUERIES, **q)[0] for q in ({}, {"protocol": "5-shot"})]
    assert [size["shot"] for size in sizes] == [1, 5]
    for by in ("main", "5-shot"):
        at = plain(protocols, "mixtures", choose_by=by)["methods"][0]["at"]
        for lambda_, point in zip(("0", "1"), at, strict=True):
            scores = chosen_scores(protocols, f"mixture({lambda_})", by, 0.0)
            assert point["seeds"] == pytest.approx(scores["PN"])


def test_the_rope_and_the_resamples(three) -> None:
    def methods(**question: object) -> dict:
        return plain(three, "compare", a="A", b="B", **question)["methods"]

    assert methods(bootstrap=40)["verdict"] == "undecided"
    assert methods(bootstrap=40, rope=0.9)["verdict"] == "equivalent"
    ends = {n: methods(bootstrap=n)["low"] for n in (40, 41)}
    assert ends[40] != ends[41]
    assert ends[40] == methods(bootstrap=40)["low"]
    assert "selection" in methods(bootstrap=0)["caution"]
    parts = [plain(three, "plan-next", bootstrap=n)[0]["components"] for n in (0, 40)]
    assert [part["selection"] > 0 for part in parts] == [False, True]


NAMES = {
    "method": ({"method": "AB"}, UnknownName, "unknown method 'AB'; "),
    "configuration": ({"configuration": "way=6"}, UnknownName, "; did you mean 'train.way=5'?"),
    "of another": ({"method": "A", "configuration": "lr=5"}, UnknownName, "configuration 'lr=5'; "),
    "choose_by": ({"choose_by": "mian"}, UnknownName, "'mian'; did you mean 'main'?"),
    "protocol": ({"protocol": "5-shot"}, UnknownName, "unknown protocol '5-shot'; "),
    "metric": ({"metric": "vall"}, UnknownName, "unknown metric 'vall'; known: mixture, novel"),
    "rope": ({"rope": 2}, ConfigError, "--rope: 2 is no difference of accuracies; 0.01 is 1 "),
    "bootstrap": ({"bootstrap": 1}, ConfigError, "--bootstrap: 1 resamples cannot be made: "),
    "last": ({"last": 2}, UnknownName, "unknown option 'last'"),
    "an argument": ({"a": 1}, ConfigError, "A: input should be a valid string, not 1"),
    "an option": ({"protocoll": 1}, UnknownName, "'protocoll'; did you mean 'protocol'?"),
}


@pytest.mark.parametrize(("options", "error", "message"), NAMES.values(), ids=NAMES)
def test_mistakes_have_one_message(three, options, error, message) -> None:
    with pytest.raises(error, match=re.escape(message)):
        load_run(three).study("compare", **options)


def test_how_a_configuration_is_written() -> None:
    values = {"optimizer.lr": 0.1, "train.steps": [1, 2], "optimizer.nesterov": True}
    for name in ("c1", "lr=1e-1", "optimizer.lr=0.1, steps=[1, 2]", "steps=[1, 2],nesterov=true"):
        assert is_configuration("c1", values, name), name
    for name in ("lr=0.1,nesterov=false", "steps=[1, 3]", "r=0.1", "lr", ""):
        assert not is_configuration("c1", values, name), name


def test_an_unknown_study(three, refused) -> None:
    message = "unknown study 'compre'; did you mean 'compare'?"
    assert refused("analyze", "compre", three) == message
    assert refused("report", three, "--with", "compre") == message
    with pytest.raises(UnknownName, match=re.escape(message)):
        load_run(three).study("compre")


def test_help_lists_every_study_and_the_options_of_each(said) -> None:
    text, short = said("analyze --help"), said("--help")
    for listing in STUDIES.listings():
        assert re.search(rf"^  {listing.name} +{re.escape(listing.description)}$", text, re.M)
    assert all(re.search(rf"^  {name} +\S", short, re.M) for name in SHORT)
    for name in STUDIES.names():
        text = said(f"analyze {name} --help")
        assert ("--plot" in text) == (
            name in {"classes", "mixtures", "losses", "queries", "novel-classes"}
        )
        assert all(f"--{key.replace('_', '-')}" in text for key in STUDIES.find(name).cls.heeds)


def test_a_report_with_studies(three, capsys) -> None:
    wanted = ["--with", "compare, plan-next", "--method", "A", "--method", "B"]
    question = {"method": ["A", "B"]}
    findings = [load_run(three).study(name, **question) for name in ("compare", "plan-next")]

    def written(form: str) -> str:
        assert invoke(["report", str(three), *wanted, "--format", form]) == 0
        return capsys.readouterr().out

    content = json.loads(written("json"))
    assert content["studies"] == {f.study.name: json.loads(f.written("json")) for f in findings}
    assert content["run"]["methods"] == ["A", "B"]
    page, text = written("html"), written("markdown")
    for finding in findings:
        assert f'id="{finding.study.name}"' in page
        assert f"\n## {finding.document.headline}\n" in text
        sentence = finding.document.answer[0].text
        assert sentence in " ".join(text.replace("\\", "").split())
        for section in finding.document.sections:
            assert escape(section.title) in page


def test_a_notebook_shows_a_finding_as_a_page(three) -> None:
    finding = load_run(three).study("compare", a="A", b="B")
    shown = finding._repr_html_()
    assert finding.document.headline in shown
    assert finding.document.answer[0].text in shown
    assert "<table" in shown
    assert "<html" not in shown


def test_a_page_of_a_study_is_open_and_its_figure_has_a_legend(protocols) -> None:
    page = load_run(protocols).study("mixtures").written("html")
    assert page.count("<details open>") == page.count("<details") == 3
    (legend,) = re.findall('<div class="legend">(.*?)</div>', page)
    assert re.findall(r"</b> (\w+)</span>", legend) == ["PN", "RR"]
