"""Markdown, LaTeX and HTML: the same content as the terminal, escaped and reproducible."""

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from html import unescape
from html.parser import HTMLParser

import numpy as np
import pytest
from trials import rising

from fsl_sweep.orchestrator.records.measures import TrialEnd, TrialHistory
from fsl_sweep.orchestrator.report import (
    FORMATS,
    Report,
    RunInfo,
    build,
    to_html,
    to_latex,
    to_markdown,
    to_text,
)
from fsl_sweep.orchestrator.report.figures.figures import figures
from fsl_sweep.orchestrator.report.figures.painter import drawing
from fsl_sweep.orchestrator.report.formats import html, latex, markdown
from fsl_sweep.orchestrator.selectors.hyperparameter import front

INFO = RunInfo(
    name="glyphs",
    sweep_hash="abcdef0123456789",
    fingerprint="f00d",
    snapshot=("last", "val", "oracle"),
    hyperparameter=("val", "oracle", "budgeted-oracle(2)", "pareto"),
    versions={"torch": "2.13.0"},
)
HOSTILE = '<script>alert("1")</script>|`*_[x](http://a.b)$&%#{}~^\\'
WRITTEN: list[Callable[[Report], str]] = [to_markdown, to_latex, to_html]


class Tags(HTMLParser):
    """Every element of a page, and whether they are all closed again."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.names: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.open: list[str] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        self.attributes += attrs
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def runs(methods: tuple[str, ...] = ("PN", "RR")) -> list[TrialHistory]:
    return rising(methods, seeds=2, epochs=12)


@pytest.fixture
def drawn() -> None:
    """For tests that look at drawings, which take most of a page's time."""


@pytest.fixture(autouse=True)
def few_drawings(request: pytest.FixtureRequest) -> None:
    if "drawn" not in request.fixturenames:
        request.getfixturevalue("undrawn")


@pytest.fixture(scope="module")
def whole() -> Report:
    return build(INFO, runs(), bootstrap=20)


@cache
def incomplete() -> Report:
    given = runs()
    given[1] = replace(given[1], end=TrialEnd("failed", "loss is NaN at epoch 7"))
    return build(INFO, given, bootstrap=0)


def test_equal_records_give_equal_bytes(whole: Report) -> None:
    again = build(INFO, runs(), bootstrap=20)
    for name, form in FORMATS.items():
        assert form(again) == form(whole), name
        assert form(whole).endswith("\n"), name


@pytest.mark.parametrize(
    ("write", "escaped"),
    [(to_markdown, markdown.escaped), (to_latex, latex.escaped), (to_html, html.escaped)],
)
def test_every_part_of_the_terminal_is_there(
    whole: Report, write: Callable[[Report], str], escaped: Callable[[str], str]
) -> None:
    text = write(whole)
    titles = re.findall(r"^(\w.*?) ─+$", to_text(whole), re.MULTILINE)
    assert len(titles) == 12
    escaped = (lambda fact: fact) if write is to_latex else escaped  # a comment needs no escape
    facts = ["8 trials planned, 8 done", "abcdef0123456789", "torch 2.13.0"]
    numbers = [f"{100 * summary.novel.mean:.2f}" for summary in whole.summaries]
    for expected in (*titles, *facts, *numbers, *whole.cautions):
        assert escaped(expected) in text, expected


@pytest.mark.parametrize("write", WRITTEN)
def test_the_first_line_says_that_a_run_is_incomplete(
    whole: Report, write: Callable[[Report], str]
) -> None:
    text = write(incomplete())
    assert "glyphs: INCOMPLETE" in text.splitlines()[0]
    assert "8 trials planned, 7 done, 1 failed, 0 missing" in text
    assert "failed: loss is NaN at epoch 7" in text
    assert "1 of 2 seeds" in text
    assert "glyphs: complete" in write(whole).splitlines()[0]


def test_no_name_opens_a_tag_in_html(drawn: None) -> None:
    info = replace(INFO, name=HOSTILE)
    page = Tags(to_html(build(info, runs((HOSTILE, "RR")), bootstrap=0)))
    assert page.open == []
    assert set(page.names) <= {
        *("html", "head", "meta", "title", "style", "body", "main", "header"),
        *("h1", "h2", "p", "ul", "li", "b", "br", "div", "span", "figure", "figcaption"),
        *("details", "summary", "pre"),
        *("table", "thead", "tbody", "tr", "th", "td", "footer", "dl", "dt", "dd"),
        *("svg", "g", "defs", "use", "path", "text", "clippath", "rect"),
    }
    assert page.text.count(HOSTILE) > 10
    assert not [name for name, _ in page.attributes if name.startswith("on")]
    # Nothing is loaded from anywhere: links stay on the page.
    assert {v[0] for name, v in page.attributes if name in ("href", "xlink:href", "src") and v} == {
        "#"
    }


@pytest.mark.parametrize("write", [to_text, *WRITTEN])
def test_the_answer_comes_before_all_sections(write: Callable[[Report], str]) -> None:
    report = build(replace(INFO, name="answered"), runs(), bootstrap=20)
    text = " ".join(unescape(write(report)).replace("\\", "").split())
    first = [text.index(sentence) for sentence in report.answer.sentences]
    first.append(text.index(f"{report.info.name}: complete"))
    if write is not to_latex:
        first.append(text.index("<svg/>" if write is to_html else "last / "))
    assert max(first) < text.index("Methods and strategies")


def test_a_report_prints_itself(whole: Report) -> None:
    assert str(whole) == to_text(whole)


def test_a_notebook_shows_the_answer_and_the_tables_without_restyling_itself(
    whole: Report, drawn: None
) -> None:
    shown = whole._repr_html_()
    part = Tags(shown)
    assert part.open == []
    assert (part.names[0], part.attributes[0]) == ("div", ("class", "fsl-sweep"))
    assert not {"html", "head", "body", "script"} & {*part.names}
    assert part.names.count("title") == shown.count("<g><title>")  # those of drawings
    assert not [value for name, value in part.attributes if name == "id" and value == "strategies"]
    assert all(sentence in part.text for sentence in whole.answer.sentences)
    assert part.names.count("table") == to_html(whole).count("<table>")
    assert len(shown) < 150_000
    assert repr(whole) == "<Report of 'glyphs'>"
    # Each rule is within one that is for the class.
    style = shown.partition("<style>")[2].partition("</style>")[0]
    depth, outside = 0, ""
    for piece in re.split("([{}])", style):
        depth += {"{": 1, "}": -1}.get(piece, 0)
        outside += piece if depth == 0 and piece != "}" else ""
    assert outside.split() == [".fsl-sweep", "body.fsl-sweep"]


def test_a_page_names_its_drawings_and_its_parts_once(whole: Report, drawn: None) -> None:
    text = to_html(whole)
    page = Tags(text)
    ids = [value for name, value in page.attributes if name == "id"]
    assert len(ids) == len({*ids}) > 50
    inside = re.findall(r'(?:href="|url\()#([^")]+)', text)
    assert {*inside} <= {*ids}
    assert len({*inside}) > 20
    drawings = re.findall("<svg [^>]*>", text)
    names = [re.search('role="img" aria-label="([^"]+)"', svg) for svg in drawings]
    assert all(names)
    assert len({name[1] for name in names if name}) == len(drawings) > 5


def test_a_page_says_the_answer_in_its_title_and_explains_its_words(
    whole: Report, undrawn: None
) -> None:
    page = to_html(whole)
    title = unescape(page.partition("<title>")[2].partition("</title>")[0])
    assert title == f"glyphs: complete. {whole.answer.sentences[0]}"
    opened = re.findall(r"<details open><summary><h2>(.*?)</h2></summary>", page)
    assert opened == ["Cautions"]
    assert page.count("<details>") > 5
    foot = Tags(page.partition("<footer>")[2].partition("</footer>")[0])
    assert (foot.names.count("dt"), foot.names.count("dd")) == (8, 8)
    # As text writes it, but within a name.
    assert "+-" in to_text(whole)
    assert ("+-" in page, "± with selection" in page) == (False, True)
    named = build(replace(INFO, name="a+-b"), runs(), bootstrap=20)
    assert "<h1>a+-b: complete</h1>" in to_html(named)


def test_html_is_one_page_for_phones_and_dark_mode(whole: Report, drawn: None) -> None:
    page = to_html(whole)
    assert "width=device-width" in page
    assert "light-dark(" in page
    assert "default-src 'none'" in page
    assert "url(" not in page.replace("url(#", "")
    assert "@import" not in page
    # Every table scrolls in a container of its own.
    assert page.count("<table>") == page.count('<div class="wide" tabindex="0"><table>') > 5


def test_figures_are_well_formed_and_hold_their_data(whole: Report, drawn: None) -> None:
    page = to_html(whole)
    drawings = [
        drawing(panel, figure.caption.partition(". ")[0].removesuffix("."), f"{key}-{n}-{place}-")
        for key, each in figures(whole).items()
        for n, figure in enumerate(each)
        for place, panel in enumerate(figure.panels)
    ]
    for one in drawings:
        assert one in page
        assert [*ElementTree.fromstring(one).iter("{http://www.w3.org/2000/svg}path")]
    text = "".join(drawings)
    points = [p for one in whole.tradeoffs for p in one.points]
    assert all(f"BaseGen {100 * p.base:.2f}, NovelGen {100 * p.novel:.2f}" in text for p in points)
    for _, picks in whole.curves:
        for name, epoch in picks.items():
            assert f"<title>{name}: epoch {epoch} (seed " in text


def test_trade_offs(whole: Report) -> None:
    assert [one.snapshots for one in whole.tradeoffs] == [("last",), ("val",), ("oracle",)]
    assert [one.oracle for one in whole.tradeoffs] == [False, False, True]
    for one in whole.tradeoffs:
        points = np.array([(point.base, point.novel) for point in one.points])
        assert [point.on_front for point in one.points] == front(points).tolist()
    first = [t for t in runs() if (t.method, t.configuration) == ("PN", "0.1")]
    expected = np.mean([t.scores["novel", "report"].means[-1] for t in first])
    assert whole.tradeoffs[0].points[0].novel == pytest.approx(expected)


def test_points_are_of_whole_seeds_only() -> None:
    points = incomplete().tradeoffs[0].points
    assert [(p.method, len(p.seeds)) for p in points] == [
        ("PN", 1),
        ("PN", 1),
        ("RR", 2),
        ("RR", 2),
    ]


def test_markdown_tables_are_whole_whatever_the_names() -> None:
    text = to_markdown(build(INFO, runs((HOSTILE, "- RR", "````")), bootstrap=20))
    # What is in a block of code opens nothing, and none of its lines closes it.
    text, plots = re.subn(r"(?ms)^`{5}text\n.*<script>.*\n`{5}$", "", text)
    assert plots == 1
    tables = re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE)
    assert len(tables) > 8
    for table in tables:
        widths = {len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}
        assert len(widths) == 1, table
    assert "<script" not in text
    assert not re.search(r"(?<!\\)\[", text)
    assert set(re.findall(r"<[^>]*>", text)) <= {"<br>"}


def test_names_are_escaped() -> None:
    """A minus sign is no hyphen, two dashes are not joined, and a long word may break."""
    of_markdown = {
        "train_loss *": r"train\_loss \*",
        "a|b": r"a\|b",
        "<b>&": "&lt;b&gt;&amp;",
        "- x": r"\- x",
        "1. x": r"1\. x",
        "-0.5": "-0.5",
        "two\nlines": "two lines",
        "http://x.y": "http&#58;//x.y",
    }
    of_latex = {
        "100 %_#&$": r"100 \%\_\#\&\$",
        "\\end{x}": r"\textbackslash{}end\{x\}",
        "^~": r"\textasciicircum{}\textasciitilde{}",
        "a--b": "a-{}-b",
        "[1]*": "{[}1{]}{*}",
        "-0.25": "$-0.25$",
        "café": r"caf\'e",
        "学\n×": r"{[}U+5B66{]} \texttimes{}",
        "αΛ": r"\ensuremath{\alpha}\allowbreak{}\ensuremath{\Lambda}",
        "→ я": r"\textrightarrow{} {[}U+044F{]}",
        "a_path/of_more-than-20": r"a\_\allowbreak{}path/\allowbreak{}of\_\allowbreak{}more-"
        r"\allowbreak{}than-\allowbreak{}20",
    }
    assert {name: markdown.escaped(name) for name in of_markdown} == of_markdown
    assert {name: latex.escaped(name) for name in of_latex} == of_latex
