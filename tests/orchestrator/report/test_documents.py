"""A document that is no report, in every format: what studies of a run are shown by."""

from html import unescape

import pytest
from syrupy.assertion import SnapshotAssertion

from fsl_sweep.orchestrator.report.document.blocks import (
    Bar,
    Bullets,
    Document,
    Forest,
    Group,
    Paragraph,
    Row,
    Section,
    Table,
    numbers,
    words,
)
from fsl_sweep.orchestrator.report.figures.panel import Figure, Panel
from fsl_sweep.orchestrator.report.formats.html import page
from fsl_sweep.orchestrator.report.formats.latex import latex
from fsl_sweep.orchestrator.report.formats.markdown import markdown
from fsl_sweep.orchestrator.report.formats.terminal import text

BARS = Bar("PN", ("val / val",), 60, 55, 65), Bar("PN", ("oracle",), 64, 50, 70, reference=True)
TABLE = Table(
    (*words("method"), *numbers(["queries", "half-width"])),
    (Group("", (Row(("PN", "2", "1.25")), Row(("<RR>", "15", "-0.75"), reference=True))),),
)
STUDY = Document(
    headline="queries of made",
    answer=(Paragraph("Set 2 queries."), Forest("NovelGen, %", BARS, "Intervals: 95 %.")),
    sections=(
        Section("table", "Half-widths", (TABLE, Paragraph("In points.", "note"))),
        Section(
            "more",
            "How to go on",
            (
                Paragraph("Measure", "heading"),
                Paragraph("fsl-sweep  measure RUN \\", "command"),
                Bullets(("one", "two")),
            ),
        ),
        Section("empty", "Nothing to see", ()),
    ),
    warnings=("The run is incomplete.",),
)


@pytest.mark.parametrize("form", [text, markdown, latex])
def test_a_document_as_text(form, snapshot: SnapshotAssertion) -> None:
    shown = form(STUDY)
    assert shown == snapshot
    assert "Nothing to see" not in shown


def test_where_only_the_answer_is_printed() -> None:
    shown = text(STUDY, 60, more="`--full`: the rest.")
    assert shown.splitlines()[:3] == ["queries of made", "  ! The run is incomplete.", ""]
    assert shown.splitlines()[-1] == "`--full`: the rest."
    assert "Half-widths" not in shown


def test_a_page_of_a_document(undrawn: None) -> None:
    figure = Figure("queries", "A caption.", (), [Panel("", lambda axes: None)])
    whole = page(STUDY, {"answer": [figure], "empty": [figure]})
    assert "<title>queries of made. Set 2 queries.</title>" in whole
    assert whole.count("<figcaption>A caption.</figcaption>") == 2
    assert '<pre class="wide" tabindex="0">fsl-sweep  measure RUN \\</pre>' in whole
    assert "<h3>Measure</h3>" in whole
    assert "<td>&lt;RR&gt;</td>" in whole
    # A section without blocks is there for its figure, or not at all.
    assert ("Nothing to see" in whole, "Nothing to see" in page(STUDY)) == (True, False)


def test_a_document_is_a_section_of_another_one(undrawn: None) -> None:
    section = STUDY.as_section("queries")
    assert section.title == STUDY.headline
    shown = unescape(page(Document("made", sections=(section,))))
    for expected in ("<h2>queries of made</h2>", "<h3>Half-widths</h3>", "Set 2 queries.", "<RR>"):
        assert expected in shown
