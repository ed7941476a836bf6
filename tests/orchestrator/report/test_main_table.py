"""The table as papers print it: its numbers are those of the JSON, and bold is what is decided."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from pylatexenc.latexwalker import LatexWalker
from syrupy.assertion import SnapshotAssertion
from trials import trial

from fsl_sweep.orchestrator.cli import invoke
from fsl_sweep.orchestrator.records.measures import TrialEnd, TrialHistory
from fsl_sweep.orchestrator.report import BenchmarksReport, RunInfo, build, main_table, to_markdown
from fsl_sweep.orchestrator.report.building import build_over_benchmarks
from fsl_sweep.orchestrator.report.formats.as_json import to_plain
from fsl_sweep.orchestrator.testing.study import made_table

INFO = RunInfo("made_1", "a" * 16, "f00d", ("val",), ("val",))
NAMES = {"PN": "PN", "R_R": r"R\_R", "A&B": r"A\&B", "draws": "draws"}


def histories(
    seed: int, seeds: int, apart: float, methods: Sequence[str] = ("PN", "R_R", "A&B")
) -> list[TrialHistory]:
    """Each method is so much above the next one; seeds differ by about a point."""
    rng = np.random.default_rng(seed)
    return [
        trial(name, "x", s, base=[0.7], val=[0.6], novel=[mean + rng.normal(0, 0.01)], spread=0.01)
        for mean, name in zip(0.6 - apart * np.arange(len(methods)), methods, strict=True)
        for s in range(seeds)
    ]


@cache
def several() -> BenchmarksReport:
    """One benchmark decides, one does not, one has two seeds, a lost one and lacks a method."""
    few = histories(2, 2, 0.05, ("R_R", "A&B"))
    lost = replace(few[0], end=TrialEnd("diverged"), epochs=few[0].epochs[:0])
    none = {key: replace(t, means=t.means[:0]) for key, t in few[0].scores.items()}
    few[0] = replace(lost, scores=none, curves={k: v[:0] for k, v in few[0].curves.items()})
    fixed = replace(histories(4, 1, 0, ("draws",))[0], draws_nothing=True)
    given = {
        "mini": [*histories(0, 5, 0.1), fixed],
        "CIFAR-FS & co": histories(1, 5, 0.0005),
        "Omniglot": few,
    }
    reports = {
        name: build(replace(INFO, name=name), own, bootstrap=50) for name, own in given.items()
    }
    return build_over_benchmarks(" + ".join(given), reports, given)


def test_cells_are_those_of_the_json_and_bold_is_what_each_report_decides() -> None:
    report = several()
    source, markdown = main_table(report), main_table(report, "markdown")
    LatexWalker(source, tolerant_parsing=False).get_latex_nodes()
    assert source.count(r"\begin{tabular}") == source.count(r"\end{tabular}") == 1
    rows = [line.removesuffix(r" \\").split(" & ") for line in source.split("\n") if " & " in line]
    cells = {row[0]: row[1:] for row in rows if not row[0].startswith((r"\toprule", "%"))}
    plain = to_plain(report)["benchmarks"]
    bold = 0
    for at, content in enumerate(plain.values()):
        shown = {cell["method"]: cell for cell in content["summary"]}
        for method, name in NAMES.items():
            text = cells[name][at]
            if method not in shown:
                assert text == "-"
                continue
            cell, answer = shown[method], content["answer"]
            mean, low, high = (cell["novel"][key] for key in ("mean", "low", "high"))
            expected = f"{100 * mean:.2f}"
            if cell["novel"]["n"] > 2:
                expected += rf" $\pm$ {50 * (high - low):.2f}"
            inner = text.removeprefix(r"\textbf{").removesuffix("}")
            assert inner.split(";")[0].removeprefix(r"{\raggedright ") == expected
            assert ("1 of 2 seeds diverged" in inner) == bool(
                content["run"]["diverged"] and method == "R_R"
            )
            decided = answer["decided"] and answer["best"] == method
            assert (text != inner) == decided
            written = expected.replace(r"$\pm$", "+-")
            assert (f"**{written}**" in markdown) == decided
            bold += decided
    assert bold == 1


def test_word_for_word(snapshot: SnapshotAssertion) -> None:
    single = build(INFO, histories(0, 3, 0.1), bootstrap=50)
    trials = histories(0, 4, 0.1)
    unfinished = build(INFO, [replace(trials[0], end=None), *trials[1:]], bootstrap=50)
    nothing = build(INFO, [replace(t, end=None) for t in histories(0, 1, 0.1)], bootstrap=0)
    texts = [main_table(several()), main_table(several(), "markdown"), main_table(single)]
    texts += [main_table(content, "terminal") for content in (unfinished, nothing)]
    assert "\n".join(texts) == snapshot
    assert "<b>" in main_table(single, "html")
    assert "**" not in to_markdown(single)


def test_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(made_table(tmp_path / "logs.csv"))
    assert invoke(["report", path, "--table", "main", "--format", "latex"]) == 0
    assert capsys.readouterr().out.count(r"\begin{tabular}") == 1
    assert invoke(["report", path, "--table", "main"]) == 0
    assert "Nothing is in bold: no best" in " ".join(capsys.readouterr().out.split())
    for wrong in (["--format", "json"], ["--with", "compare"]):
        assert invoke(["report", path, "--table", "main", *wrong]) == 2
        assert "--table: " in capsys.readouterr().err
