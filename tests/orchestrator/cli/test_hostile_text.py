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


def safe(text: str) -> str:
    """The text, once it is certain that it steers nothing."""
    assert not STEERS.search(text), repr(text)
    return text


METHODS = [made.planned(made.spec(0, way), f"W{way}") for way in (5, 6)]


@cache
def hostile() -> Report:
    """A report of names that no plan and no table would let in."""
    scores = {"base": [0.6, 0.8], "val": [0.5, 0.6], "novel": [0.4, 0.5]}
    methods = [trial(f"{HOSTILE}{n}", HOSTILE, seed, **scores) for n in (1, 2) for seed in (0, 1)]
    lost = replace(trial("W", "0.1", **scores), end=TrialEnd("failed", HOSTILE))
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


def test_a_terminal_is_steered_only_by_our_own_codes() -> None:
    file = io.StringIO()
    console = SafeConsole(file=file, force_terminal=True, color_system="256", width=200)
    show(hostile(), console, full=True)
    assert "\x1b[1m" in file.getvalue()
    assert "[/z][bold]:smile:" in safe(RICH.sub("", file.getvalue()))


def test_reasons_and_file_names_of_a_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run"
    made.recorded(run, *METHODS, ends=[TrialEnd("failed", f"{HOSTILE}\nno run is active")])
    for form in FORMATS:
        assert invoke(["report", str(run), "--format", form, "--bootstrap", "0"]) == 1
        safe(capsys.readouterr().out)
    assert invoke(["status", str(run)]) == 1
    shown = safe(capsys.readouterr().out)
    assert shown.count("\nno run is active") == 1  # a reason forges no line
    assert r"y\u2028[/z]" in shown


def test_a_name_of_a_file_is_written_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = "method,configuration,seed,epoch,measure,accuracy\n" + "".join(
        f"PN,a,0,1,{measure},0.5\n" for measure in ("base", "val", "novel")
    )
    table = tmp_path / os.fsdecode(b"\xff\x1b[31mt.csv")
    table.write_text(rows)
    for form in FORMATS:
        assert invoke(["report", str(table), "--format", form]) == 0
        safe(capsys.readouterr().out)
        assert invoke(["report", str(table), "--format", form, "-o", str(tmp_path / form)]) == 0
        safe((tmp_path / form).read_text(encoding="utf-8"))
    table.write_text("")
    assert invoke(["report", str(table)]) == 2
    assert r"\udcff\x1b[31mt.csv" in safe(capsys.readouterr().err)


def test_a_plan_names_nothing_with_control_characters(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made.recorded(tmp_path, replace(METHODS[0], method=HOSTILE), METHODS[1])
    for command in ("report", "status", "tensorboard"):
        assert invoke([command, str(tmp_path)]) == 2
        said = safe(capsys.readouterr().err)
        assert "plan.json" in said
        assert r"holds the control character \x1b" in said


def test_names_of_classes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FSL_SWEEP_HOME", str(tmp_path / "home"))
    for name in ("a", "b\x1b[31m\x1b]0;owned\x07", "c"):
        (tmp_path / "images" / name).mkdir(parents=True)
        for number in range(2):
            image = tmp_path / "images" / name / f"{number}\x1b[2J.png"
            Image.new("L", (8, 8)).save(image)
    image.write_bytes(b"no image")
    assert invoke(["data", "prepare", "image-folder", "--from", str(tmp_path / "images")]) == 2
    assert r"1\x1b[2J.png" in safe(capsys.readouterr().err)
    image.unlink()
    code = invoke(["data", "check", "image-folder", "--root", str(tmp_path / "images")])
    assert code in (1, 2)
    safe(capsys.readouterr().err)


@pytest.mark.parametrize("mistake", [["report", f"--{HOSTILE[:20]}"], ["status", "a", "b\x1b[2J"]])
def test_what_the_parser_complains_of(
    mistake: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    mistake = [text.replace("\x00", "") for text in mistake]
    assert invoke(mistake) == 2
    assert r"\x1b" in safe(capsys.readouterr().err)


def test_progress_in_lines_and_live() -> None:
    planned = made.planned(made.spec(), f"{HOSTILE}\nforged: done")
    plan, file = made.plan(planned), io.StringIO()
    with PlainProgress(plan, [planned.id], file) as lines:
        lines.measured(planned.id, made.record(1))
        lines.failed_once(planned.id, f"{HOSTILE}\nforged: done")
        lines.ended(planned.id, TrialEnd("failed", HOSTILE))
    assert safe(file.getvalue()).count("\n") == 4
    assert "\nforged" not in file.getvalue()
    screen = io.StringIO()
    console = SafeConsole(file=screen, force_terminal=True, width=200)
    with LiveProgress(plan, [planned.id], console) as live:
        live.measured(planned.id, made.record(1))
        live.failed_once(planned.id, HOSTILE)
        live.ended(planned.id, TrialEnd("failed", HOSTILE))
    shown = safe(RICH.sub("", screen.getvalue()))
    assert "[/z][bold]:smile:" in shown


def test_tags_of_tensorboard(tmp_path: Path) -> None:
    scores = {"base": [0.6], "val": [0.5], "novel": [0.4]}
    one = trial(f"{HOSTILE}\udcff", HOSTILE, **scores)
    drawn = [figure for own in figures(hostile()).values() for figure in own]
    rebuild(tmp_path / "tb", [one], figures=drawn)
    events = EventMultiplexer(size_guidance={"tensors": 0})
    events.AddRunsFromDirectory(str(tmp_path / "tb")).Reload()
    assert len(events.Runs()) == 2
    for run, tags in events.Runs().items():
        safe(run + "".join(tags["tensors"]))
        for tag in tags["tensors"]:
            described = events.SummaryMetadata(run, tag)
            safe(described.display_name + described.summary_description)


def test_json_is_read_back_as_it_was() -> None:
    assert json.loads(FORMATS["json"](hostile()))["run"]["name"] == f"\udcff{HOSTILE}"
