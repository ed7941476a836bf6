"""``fsl-sweep measure`` and ``prune``: nothing is trained, and mistakes are refused in time."""

import io
import json
import re
import shutil
import sys
from pathlib import Path
from unittest.mock import Mock

import made
import pytest
import yaml
from commands import TINY, WithoutRay, finished
from PIL import Image

import fsl_sweep
from fsl_sweep.orchestrator.errors import MachineFailure
from fsl_sweep.orchestrator.ledger.ledger import Ledger
from fsl_sweep.orchestrator.report.formats.as_json import to_json
from fsl_sweep.orchestrator.run import load_run
from fsl_sweep.orchestrator.selection.chosen import chosen_snapshots
from fsl_sweep.orchestrator.sweep import execute
from fsl_sweep.orchestrator.text.printed import on_disk

TREE = yaml.safe_load(TINY)
SWEEP = {
    **{key: TREE[key] for key in ("name", "benchmark", "episode", "resources")},
    "evaluation": {"selection_tasks": 8, "report_tasks": 5},
    "defaults": {
        **TREE["defaults"],
        "optimizer": {"name": "sgd", "lr": {"grid": [0.1, 0.02]}},
        **{"epochs": 4, "batches": 2},
        "train": {"way": 3, "shot": 1, "query": 2, "tasks_per_batch": 1},
    },
    "methods": {
        "PN": TREE["methods"]["PN"],
        "MAML": {
            "learner": {"name": "fomaml", "way": 3, "inner_steps": 1, "inner_steps_test": 1},
            **{"optimizer": {"lr": 0.1}, "epochs": 1},
        },
    },
    "selectors": {"snapshot": ["val", "last"], "hyperparameter": ["val"]},
}
TRIALS, EPOCHS, SNAPSHOTS = 3, 4, 2 * 4 + 1
RUN = Path("run")


class StoppedAfterThree(WithoutRay):
    """Measures three snapshots, then Ctrl-C."""

    def run(self, job, listeners):
        stops = Mock()
        stops.measured_again.side_effect = [None, None, KeyboardInterrupt]
        super().run(job, [*listeners, stops])


class StoppedAtOnce(WithoutRay):
    """Ctrl-C before anything is measured."""

    def run(self, job, listeners):
        raise KeyboardInterrupt


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A run of which all snapshots are kept."""
    return finished(tmp_path_factory.mktemp("trained") / "run", SWEEP)


@pytest.fixture
def run(trained, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(execute, "RayProcess", WithoutRay)
    shutil.copytree(trained, RUN)
    return RUN


def weights(folder):
    return {p.relative_to(folder): p.read_bytes() for p in folder.glob("trials/*/snapshots/*")}


def measured(folder, name):
    """The files of what was measured under a protocol, and of its tasks."""
    one = Ledger(folder).planned().protocol(name).id
    files = [*folder.glob(f"trials/*/measured/{one}.parquet"), *folder.glob(f"tasks/{one}/*")]
    return {path.relative_to(folder): path.read_bytes() for path in files}


def rerun(**changes):
    """Run the sweep again with other sections in its file."""
    return fsl_sweep.run_sweep({**SWEEP, **changes}, RUN)


def timeless(text):
    text = re.sub(r", about [^)]* left", "", text)
    return re.sub(r"(?<=about )[0-9.]+ s|(?<=snapshots in )[^;]*", "N s", text)


def test_a_protocol_has_the_same_bytes_whoever_asks_for_it_and_however_often_it_is_stopped(
    trained, run, monkeypatch, said, snapshot
):
    before, selected = weights(run), load_run(run).report().selected
    monkeypatch.setattr(execute, "RayProcess", StoppedAfterThree)
    stopped = "measure run --shot 2 --tasks 12 --no-progress"
    assert said(stopped).startswith(f"$ {stopped}: 130\n")
    assert not list(run.rglob(".unfinished*"))
    monkeypatch.setattr(execute, "RayProcess", WithoutRay)
    named = "measure run 2-shot-12-tasks"
    assert timeless(said(f"{named} --dry-run", named, stopped)) == snapshot
    by_command = measured(run, "2-shot-12-tasks")
    assert len(by_command) == TRIALS + 6
    assert (weights(run), load_run(run).report().selected) == (before, selected)
    shutil.rmtree(run)
    shutil.copytree(trained, run)
    rerun(measure={"other": {"episode": {"shot": 2}, "evaluation": {"report_tasks": 12}}})
    assert measured(run, "other") == by_command


def test_a_dry_run_counts_what_is_to_be_measured(run, said) -> None:
    dry_run = "run run/sweep.yaml -o run --dry-run"
    for more, done in (("", SNAPSHOTS), (" --set record=predictions", 0)):
        text = said(dry_run + more)
        assert f": {done} of {SNAPSHOTS} measured\n" in text
        assert ("expected to measure" in text) == (done == 0)
    # Images are embedded whatever the number of tasks, and no million of tasks is there.
    counts = [f"measure run --without-replacement --tasks {n} --dry-run" for n in (5, 1000000)]
    few, many = re.findall("expected to measure: .*", said(*counts))
    assert few == many
    # Of the snapshots that the file asks for.
    said("measure run --shot 2 --no-progress")
    few = {"2-shot": {"episode": {"shot": 2}, "snapshots": "chosen"}}
    Path("few.yaml").write_text(yaml.safe_dump({**SWEEP, "measure": few}))
    count = len(chosen(run))
    assert f"{count} of {count} measured" in said("run few.yaml -o run --dry-run")


OTHER = (
    "--benchmark glyphs --set=base_alphabets=1 --set=val_alphabets=1 --set=novel_alphabets=1 "
    "--set=image_size=20 --set=classes_per_alphabet=4 --snapshots last"
)
NAMES = ",".join(f"alphabet-00/character-0{i}" for i in range(4))
OPTIONS = f"""
--query 1 --seed 1 | --lambda 0 --lambda 0.5 | --classes few.txt | mine --classes {NAMES}
--without-replacement --tasks 3 --selection-tasks 2 | --preset oops --base-query 2 | {OTHER}
"""


def listed(text):
    return re.split(r"\s*[|\n]\s*", text.strip())


def test_options_make_protocols_and_their_names(run, said, snapshot):
    Path("few.txt").write_text("".join(f"alphabet-01/character-0{i}\n" for i in range(3)))
    commands = [f"measure run {options}" for options in listed(OPTIONS)]
    commands = [
        f"{c}{'' if 'last' in c else ' --snapshots chosen'} --no-progress" for c in commands
    ]
    # A name for several mixtures goes on with all of them; other snapshots are more to measure.
    # Options of a protocol that is known by another name go on with that one.
    commands += ["measure run lambda --snapshots all --no-progress"]
    commands += [f"measure run --classes {NAMES} --no-progress"]
    # Which snapshots are chosen is a matter of the last bits.
    assert re.sub(r"\d+ (?=snapshots in)", "", timeless(said(*commands))) == snapshot
    assert len(measured(run, "lambda(0.5)")) > TRIALS
    opened = load_run(run)
    for name in ("lambda", "mixture"):  # which was its name
        protocol = opened.question(protocol=f"{name}(0.5)").protocol
        assert protocol is not None
        assert protocol.name == "lambda(0.5)"
    assert "lambda(0), lambda(0.5): nothing was left" in said("measure run mixture --no-progress")
    named = {one.name: one for one in Ledger(run).planned().protocols}
    assert named["few"].protocol.classes == tuple(Path("few.txt").read_text().split())
    assert len(named["mine"].protocol.classes) == 4
    assert named["glyphs"].protocol.benchmark.options["image_size"] == 20
    oops = named["oops-2-base-query"].protocol
    assert (oops.episode.query, oops.tasks.base_query, oops.tasks.replacement) == (1, 2, False)
    assert (named["glyphs"].snapshots, named["few"].snapshots) == ("last", "chosen")


MISTAKES = """
nowhere --shot 2 | run | run tow | run two --shot 1 --query 1 | run again --shot 2
run a/b --shot 1 | run main --shot 2 | run --shot 0 | run --shot -1 | run --query few
run --base-query 0 | run --preset ops | run --preset oops --shot 3 | run --way 4 | run --shot 3
run --lambda 1.5 | run --mixture 1 --lambda 1 | run --snapshots some | run --classes none.txt
run --classes a,b,c | run --shot 4 | run --shot 11 | run --benchmark glyph | run --set seed=1
run --benchmark omniglot | run --benchmark glyphs --root . | run --benchmark glyphs --set sede=1
run --shot 1 --tasks 6 --root s3://b
"""


def test_mistakes_are_one_message_and_nothing_is_written(
    run, refusals, monkeypatch, tmp_path_factory, snapshot
):
    """Fewer queries are advised where they would do: of 3 shots, not of 4."""
    home = str(tmp_path_factory.mktemp("home"))
    monkeypatch.setenv("FSL_SWEEP_HOME", home)
    rerun(measure={"two": {"episode": {"shot": 2}, "snapshots": "last"}})
    text = refusals(*(f"measure {arguments}" for arguments in listed(MISTAKES)))
    plain = json.loads((run / "plan.json").read_text())
    plain["protocols"][0]["fingerprint"] = "e" * 16
    made.forge(run, "plan.json", plain)
    other_data = re.sub("[0-9a-f]{64}", "FINGERPRINT", refusals("measure run --shot 3"))
    assert f"{text}\n{other_data}".replace(home, "HOME") == snapshot


def test_what_cannot_be_measured_is_counted_with_its_reason(run, monkeypatch, said, snapshot):
    class Fails(WithoutRay):
        def run(self, job, listeners):
            for listener in listeners:
                listener.ended(job.trials[0], made.TrialEnd("failed", "the disk was on fire"))

    monkeypatch.setattr(execute, "RayProcess", Fails)
    assert said("measure run --shot 2 --no-progress") == snapshot
    with pytest.raises(MachineFailure, match="9 snapshots could not be measured: the disk was on"):
        fsl_sweep.measure_run(run, "2-shot")


def chosen(run):
    selectors = Ledger(run).planned().selectors
    return {
        Path("trials", trial, "snapshots", f"{epoch:04d}.safetensors")
        for trial, epoch in chosen_snapshots(load_run(run).histories, selectors)
    }


def test_prune_says_what_is_lost_and_leaves_what_was_asked_for(run, said, refused):
    before, report = weights(run), to_json(load_run(run).report())
    stay = len(chosen(run))
    head, first, second, third = said("prune run --keep chosen --dry-run").splitlines()
    assert head.endswith(": 0")
    match = re.fullmatch(
        rf"{SNAPSHOTS - stay} of {SNAPSHOTS} snapshots would be deleted, which frees (\d+) kB; "
        rf"{stay} stay \((\d+) kB\), and so does all that was measured.",
        first,
    )
    assert "A protocol with `snapshots: all` or `last`" in second
    states = [*run.glob("trials/*/resume.state")]
    assert states
    size = sum(path.stat().st_size for path in states)
    assert f"The states that {len(states)} trials would go on from would be deleted" in third
    assert f", {on_disk(size)}: with more `epochs`" in third
    size = sum(map(len, before.values()))
    assert sum(map(int, match.groups())) == pytest.approx(size / 1000, abs=1)
    assert weights(run) == before
    text = said("prune run --keep chosen", "verify run")
    assert text.count(": 0\n") == 2
    assert weights(run) == {path: before[path] for path in chosen(run)}
    assert [*run.glob("trials/*/resume.state")] == []
    assert to_json(load_run(run).report()) == report
    gone = f"{SNAPSHOTS - stay} of {SNAPSHOTS} snapshots are not there, because they were pruned"
    assert gone in refused("measure", "run", "--shot", "2")
    assert ": 0\n" in said("measure run --shot 2 --snapshots chosen")
    report = to_json(load_run(run).report())  # with a line for that protocol
    assert ": 0\n" in said("prune run --keep none --yes")
    assert weights(run) == {}
    rerun()  # nothing is trained again
    assert (weights(run), to_json(load_run(run).report())) == ({}, report)


NO_WEIGHTS = (
    "every model, every further protocol, losses, conclusion flips and more epochs need training "
    "again"
)


def test_without_a_terminal_all_weights_go_only_by_yes(run, said, refusals):
    before, prune = weights(run), "prune run --keep none"
    refusal = refusals(prune)
    assert NO_WEIGHTS in refusal
    assert "add --yes" in refusal
    assert "would be deleted" in said(f"{prune} --dry-run")
    assert weights(run) == before
    assert f"{SNAPSHOTS} of {SNAPSHOTS} snapshots are deleted" in said(f"{prune} --yes")
    assert weights(run) == {}


@pytest.mark.parametrize(("answer", "code"), [("", 1), ("\n", 1), ("no\n", 1), ("Y\n", 0)])
def test_on_a_terminal_prune_asks_before_all_weights_go(run, said, monkeypatch, answer, code):
    before, terminal = weights(run), io.StringIO(answer)
    monkeypatch.setattr(sys, "stdin", terminal)
    for stream in (terminal, sys.stdout):
        monkeypatch.setattr(stream, "isatty", lambda: True)
    text = " ".join(said("prune run --keep none").split())
    assert text.startswith(f"$ prune run --keep none: {code} {SNAPSHOTS} of {SNAPSHOTS} snapshots ")
    assert (
        text.index("would be deleted") < text.index(NO_WEIGHTS) < text.index("Delete them? [y/N]")
    )
    assert weights(run) == ({} if code == 0 else before)
    if code == 0:  # nothing is left to ask about
        assert "[y/N]" not in said("prune run --keep none")


def test_the_commands_that_are_printed_can_be_pasted(run, said, refused, monkeypatch):
    run = run.rename("my run (1)")
    monkeypatch.setattr(execute, "RayProcess", StoppedAtOnce)
    said("measure 'my run (1)' --mixture 0.5")
    commands = [
        said("prune 'my run (1)' --keep none --dry-run"),
        refused("report", run, "--choose-by", "mixture(0.5)"),
    ]
    monkeypatch.setattr(execute, "RayProcess", WithoutRay)
    for text in commands:
        (command,) = re.findall("`fsl-sweep (measure [^`]*)`", text)
        assert f"$ {command}: 0\n" in said(command)


def test_prune_waits_for_the_run_and_its_protocols(run, monkeypatch, refused):
    before, prune = weights(run), ["prune", "run", "--keep", "none", "--yes"]
    monkeypatch.setattr(execute, "RayProcess", StoppedAfterThree)
    with pytest.raises(KeyboardInterrupt):
        rerun(measure={"two": {"episode": {"shot": 2}, "snapshots": "all"}})
    asks = "6 snapshots must still be measured under two, as the sweep file asks"
    assert asks in refused(*prune)
    next(run.glob("trials/*/end.json")).unlink()
    assert "1 trial of 3 must still be trained" in refused(*prune)
    assert weights(run).items() >= before.items()


def test_a_failed_trial_keeps_the_weights_of_its_method_and_seed(run, said):
    """The method may become whole again, without that configuration."""
    plan = Ledger(run).planned()
    place = f"trials/{min(plan.ids_of(['PN']))}/end.json"
    end = json.loads((run / place).read_text())
    made.forge(run, place, {**end, "status": "failed", "reason": "NaN", "trained": None})
    assert ": 0\n" in said("prune run --keep chosen")
    left = [path.parts[1] for path in weights(run)]
    assert [left.count(trial) for trial in plan.ids_of(["PN"])] == [EPOCHS, EPOCHS]
    assert set(plan.ids_of(["MAML"])) <= set(left)


@pytest.mark.parametrize(
    ("measure", "most"),
    [
        # Of an ended trial at most val, last and oracle; of the running one all.
        ({"few": {"episode": {"shot": 2}, "snapshots": "last"}}, 3 + EPOCHS),
        ({"every": {"episode": {"shot": 2}, "snapshots": "all"}}, SNAPSHOTS),
    ],
)
def test_keeping_the_chosen_ones_bounds_the_peak(trained, tmp_path, monkeypatch, measure, most):
    monkeypatch.setattr(execute, "RayProcess", WithoutRay)
    folder, counts = tmp_path / "run", [0]
    events = ("started", "measured", "measured_again", "ended")
    note = lambda *_: counts.append(len(weights(folder)))  # noqa: E731
    listener = Mock(**{f"{event}.side_effect": note for event in events})
    sweep = {**SWEEP, "keep": "chosen", "measure": measure}
    with pytest.warns(UserWarning, match="keep: chosen. Only the snapshots that the file's"):
        fsl_sweep.run_sweep(sweep, folder, listeners=[listener])
    assert max(counts) <= most
    assert (max(counts) == SNAPSHOTS) == ("every" in measure)
    before = weights(trained)
    assert weights(folder) == {path: before[path] for path in chosen(folder)}
    assert load_run(folder).report().selected == load_run(trained).report().selected


def test_another_domain_may_move_but_not_change(run, tmp_path, monkeypatch, said, snapshot):
    monkeypatch.setenv("FSL_SWEEP_HOME", str(tmp_path / "home"))
    for folder, name, shade in (("grey", "class", 100), ("dark", "kind", 20)):
        for number in range(12):
            place = Path(folder, f"{name}{number}")
            place.mkdir(parents=True)
            for image in range(4):
                Image.new("RGB", (16, 16), (shade, number * 20, image)).save(place / f"{image}.png")
    names = [f"class{number}" for number in range(12)]
    Path("lists.json").write_text(
        json.dumps({"base": names[:2], "val": names[2:4], "novel": names[4:]})
    )
    folders = "--benchmark image-folder --set=image_size=16 --snapshots=last --no-progress"
    split = f"measure run {folders} --set=novel=0.3 --set=base=0.5 --set=val=0.2"
    text = said(
        f"{split} --root=grey",
        split,
        f"measure run listed {folders} --set=split_file=lists.json --root=grey",
    )
    options = Ledger(run).planned().protocol("listed").protocol.benchmark.options
    assert options["split_file"] == str(tmp_path / "lists.json")  # workers have other folders
    Path("grey").rename("moved")
    again = "measure run image-folder"
    text += said(again, f"{split} --root=moved", again, f"{split} --root=dark")
    text += said(split.replace("run", "run dark") + " --root=dark", again)
    assert Ledger(run).planned().places["image-folder"] == str(tmp_path / "moved")
    text = re.sub(r"\b[0-9a-f]{64}\b", "FINGERPRINT", timeless(text))
    assert text.replace(str(tmp_path), "HERE") == snapshot
