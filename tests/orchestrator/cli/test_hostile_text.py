"""Text that others wrote, with control characters in it, on every way to a terminal or a page."""

import io
import json
import os
import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import made
import pytest
from PIL import Image
from tensorboard.backend.event_processing.event_multiplexer import EventMultiplexer
from trials import trial

from fsl_sweep.orchestrator.cli import invoke
from fsl_sweep.orchestrator.cli.progress import LiveProgress, PlainProgress
from fsl_sweep.orchestrator.records.measures import TrialEnd
from fsl_sweep.orchestrator.report import FORMATS, Report, RunInfo, build, show
from fsl_sweep.orchestrator.report.figures.figures import figures
from fsl_sweep.orchestrator.tensorboard import rebuild
from fsl_sweep.orchestrator.text.console import SafeConsole

HOSTILE = "x\x1b]0;owned\x07\x1b[2J\x9b31m\x00\x7f\b\r\u202ey\u2028[/z][bold]:smile:"
"""Sets a title, clears the screen, turns letters red, moves back, turns the direction."""

STEERS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u2028\u2029\ud800-\udfff]"
)
RICH = re.compile(r"\x1b\[[0-9;]*m|\x1b\[\?25[lh]|\x1b\[2K|\x1b\[1A|\r")
FAILED = TrialEnd("failed", f"{HOSTILE}\nforged: done")
SCORES = {"base": [0.6, 0.8], "val": [0.5, 0.6], "novel": [0.4, 0.5]}
METHODS = [made.planned(made.spec(0, way), f"W{way}") for way in (5, 6)]


def safe(text: str) -> str:
    """The text, once it is certain that it steers nothing."""
    assert not STEERS.search(text), repr(text)
    return text


@pytest.fixture
def said(capsys):
    """All that a command says, which steers nothing."""

    def said(code, *arguments):
        assert invoke([*map(str, arguments)]) == code
        return safe("".join(capsys.readouterr()))

    return said


@cache
def hostile() -> Report:
    """A report of names that no plan and no table would let in."""
    methods = [trial(f"{HOSTILE}{n}", HOSTILE, seed, **SCORES) for n in (1, 2) for seed in (0, 1)]
    lost = replace(trial("W", "0.1", **SCORES), end=TrialEnd("failed", HOSTILE))
    info = RunInfo(
        name=f"\udcff{HOSTILE}",
        sweep_hash="abc",
        fingerprint=None,
        snapshot=("last", "val"),
        hyperparameter=("val", "oracle"),
        versions={HOSTILE: HOSTILE},
        cautions=(HOSTILE,),
    )
    return build(info, [*methods, lost], bootstrap=2)


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_writes_control_characters_out(name: str) -> None:
    text = safe(FORMATS[name](hostile()))
    text.encode()
    assert "owned" in text
    if name in ("terminal", "html"):
        assert r"x\x1b]0;owned" in text
    if name == "terminal":
        assert "[/z][bold]:smile:" in text  # names are no markup
    if name == "json":
        assert json.loads(text)["run"]["name"] == f"\udcff{HOSTILE}"


def test_a_terminal_is_steered_only_by_our_own_codes() -> None:
    file = io.StringIO()
    console = SafeConsole(file=file, force_terminal=True, color_system="256", width=200)
    show(hostile(), console, full=True)
    assert "\x1b[1m" in file.getvalue()
    assert "[/z][bold]:smile:" in safe(RICH.sub("", file.getvalue()))


def test_reasons_and_names_of_files_and_methods(tmp_path: Path, said) -> None:
    made.recorded(tmp_path / "run", *METHODS, ends=[FAILED])
    (tmp_path / "other").mkdir()
    made.recorded(tmp_path / "other", replace(METHODS[0], method=HOSTILE), METHODS[1])
    rows = [f"PN,a,0,1,{measure},0.5\n" for measure in ("base", "val", "novel")]
    table = tmp_path / os.fsdecode(b"\xff\x1b[31mt.csv")
    table.write_text("method,configuration,seed,epoch,measure,accuracy\n" + "".join(rows))
    for form in FORMATS:
        said(1, "report", tmp_path / "run", "--format", form, "--bootstrap", "0")
        said(0, "report", table, "--format", form)
        said(0, "report", table, "--format", form, "-o", tmp_path / form)
        safe((tmp_path / form).read_text(encoding="utf-8"))
    status = said(1, "status", tmp_path / "run")
    assert "\nforged" not in status  # a reason forges no line
    assert status.count("forged: done") == 1
    assert r"y\u2028[/z]" in status
    table.write_text("")
    assert r"\udcff\x1b[31mt.csv" in said(2, "report", table)
    for command in ("report", "status", "tensorboard"):
        message = said(2, command, tmp_path / "other")
        assert "plan.json" in message
        assert r"holds the control character \x1b" in message


def test_names_of_classes(tmp_path: Path, said, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FSL_SWEEP_HOME", str(tmp_path / "home"))
    for name in ("a", "b\x1b[31m\x1b]0;owned\x07", "c"):
        (tmp_path / "images" / name).mkdir(parents=True)
        for number in range(2):
            image = tmp_path / "images" / name / f"{number}\x1b[2J.png"
            Image.new("L", (8, 8)).save(image)
    image.write_bytes(b"no image")
    prepare = said(2, "data", "prepare", "image-folder", "--from", tmp_path / "images")
    assert r"1\x1b[2J.png" in prepare
    image.unlink()
    said(2, "data", "check", "image-folder", "--root", tmp_path / "images")


@pytest.mark.parametrize("mistake", [["report", f"--{HOSTILE[:20]}"], ["status", "a", "b\x1b[2J"]])
def test_what_the_parser_complains_of(mistake: list[str], said) -> None:
    assert r"\x1b" in said(2, *(text.replace("\x00", "") for text in mistake))


def test_progress_in_lines_and_live() -> None:
    planned = made.planned(made.spec(), f"{HOSTILE}\nforged: done")
    plan, file, screen = made.plan(planned), io.StringIO(), io.StringIO()
    console = SafeConsole(file=screen, force_terminal=True, width=200)
    for view in (
        PlainProgress(plan, [planned.id], file),
        LiveProgress(plan, [planned.id], console),
    ):
        with view as progress:
            progress.measured(planned.id, made.record(1))
            progress.failed_once(planned.id, FAILED.reason)
            progress.ended(planned.id, FAILED)
    assert safe(file.getvalue()).count("\n") == 4
    assert "\nforged" not in file.getvalue()
    assert "[/z][bold]:smile:" in safe(RICH.sub("", screen.getvalue()))


def test_tags_of_tensorboard(tmp_path: Path) -> None:
    one = trial(f"{HOSTILE}\udcff", HOSTILE, base=[0.6], val=[0.5], novel=[0.4])
    drawn = [figure for those in figures(hostile()).values() for figure in those]
    rebuild(tmp_path / "tb", [one], figures=drawn)
    events = EventMultiplexer(size_guidance={"tensors": 0})
    events.AddRunsFromDirectory(str(tmp_path / "tb")).Reload()
    assert len(events.Runs()) == 2
    for run, tags in events.Runs().items():
        safe(run + "".join(tags["tensors"]))
        for tag in tags["tensors"]:
            described = events.SummaryMetadata(run, tag)
            safe(described.display_name + described.summary_description)
