"""``fsl-sweep measure`` and ``prune``: nothing is trained, and mistakes are refused in time."""

import json
import re
import shutil
from pathlib import Path

import made
import pytest
import yaml
from commands import TINY, WithoutRay, finished
from PIL import Image

import fsl_sweep
from fsl_sweep.orchestrator.cli import invoke
from fsl_sweep.orchestrator.errors import MachineFailure
from fsl_sweep.orchestrator.ledger.ledger import Ledger
from fsl_sweep.orchestrator.report.formats.as_json import to_json
from fsl_sweep.orchestrator.run import load_run
from fsl_sweep.orchestrator.selection.chosen import chosen_snapshots
from fsl_sweep.orchestrator.sweep import execute

TREE = yaml.safe_load(TINY)
MAML = {"name": "fomaml", "way": 3, "inner_steps": 1, "inner_steps_test": 1}
DEFAULTS = {
    **TREE["defaults"],
    "optimizer": {"name": "sgd", "lr": {"grid": [0.1, 0.02]}},
    "epochs": 4,
    "batches": 2,
    "train": {"way": 3, "shot": 1, "query": 2, "tasks_per_batch": 1},
}
SWEEP = {
    **{key: TREE[key] for key in ("name", "benchmark", "episode", "resources")},
    "evaluation": {"selection_tasks": 8, "report_tasks": 5},
    "defaults": DEFAULTS,
    "methods": {
        "PN": TREE["methods"]["PN"],
        "MAML": {"learner": MAML, "optimizer": {"lr": 0.1}, "epochs": 1},
    },
    "selectors": {"snapshot": ["val", "last"], "hyperparameter": ["val"]},
}
TRIALS, EPOCHS, SNAPSHOTS = 3, 4, 2 * 4 + 1
RUN = Path("run")


class StoppedAfterThree(WithoutRay):
    """Measures three snapshots, then Ctrl-C."""

    def run(self, job, listeners):
        class Stops:
            left = 3

            def __getattr__(self, event):
                return self.hear if event == "measured_again" else lambda *_: None

            def hear(self, *_):
                self.left -= 1
                if not self.left:
                    raise KeyboardInterrupt

        super().run(job, [*listeners, Stops()])


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


@pytest.fixture
def said(capsys):
    """Run commands that succeed: what they say, without times."""

    def said(*commands):
        text = ""
        for command in commands:
            capsys.readouterr()
            assert invoke(command.split()) == 0
            text += "\n".join([command, *capsys.readouterr()])
        return re.sub(r", about [^)]* left|(?<=about )[0-9.]+ s|(?<=snapshots in )[^;]*", "", text)

    return said


def test_a_protocol_has_the_same_bytes_whoever_asks_for_it_and_however_often_it_is_stopped(
    trained, run, monkeypatch, said, snapshot
):
    before, selected = weights(run), load_run(run).report().selected
    monkeypatch.setattr(execute, "RayProcess", StoppedAfterThree)
    stopped = "measure run --shot 2 --tasks 12 --no-progress"
    assert invoke(stopped.split()) == 130
    assert not list(run.rglob(".unfinished*"))
    monkeypatch.setattr(execute, "RayProcess", WithoutRay)
    named = "measure run 2-shot-12-tasks"
    assert said(f"{named} --dry-run", named, stopped) == snapshot
    by_command = measured(run, "2-shot-12-tasks")
    assert len(by_command) == TRIALS + 6
    assert (weights(run), load_run(run).report().selected) == (before, selected)
    shutil.rmtree(run)
    shutil.copytree(trained, run)
    rerun(measure={"other": {"episode": {"shot": 2}, "evaluation": {"report_tasks": 12}}})
    assert measured(run, "other") == by_command


def test_the_expected_time_knows_when_the_examples_are_used_up(run, capsys) -> None:
    """Images are embedded whatever the number of tasks, and no million of tasks is there."""
    expected = []
    for tasks in ("5", "1000000"):
        options = ["--without-replacement", "--tasks", tasks, "--dry-run"]
        assert invoke(["measure", "run", *options]) == 0
        expected += re.findall("expected to measure: .*", capsys.readouterr().out)
    assert len(expected) == 2
    assert expected[0] == expected[1]


def test_a_dry_run_counts_what_is_to_be_measured(run, capsys) -> None:
    def counted(*options):
        assert invoke(["run", *options, "-o", "run", "--dry-run"]) == 0
        return capsys.readouterr().out

    for more, done in (([], SNAPSHOTS), (["--set", "record=predictions"], 0)):
        out = counted("run/sweep.yaml", *more)
        assert f": {done} of {SNAPSHOTS} measured\n" in out
        assert ("expected to measure" in out) == (done == 0)
    # Of the snapshots that the file asks for.
    assert invoke(["measure", "run", "--shot", "2", "--no-progress"]) == 0
    few = {"2-shot": {"episode": {"shot": 2}, "snapshots": "chosen"}}
    Path("few.yaml").write_text(yaml.safe_dump({**SWEEP, "measure": few}))
    capsys.readouterr()
    count = len(chosen(run))
    assert f"{count} of {count} measured" in counted("few.yaml")


OTHER = (
    "--benchmark glyphs --set=base_alphabets=1 --set=val_alphabets=1 --set=novel_alphabets=1 "
    "--set=image_size=20 --set=classes_per_alphabet=4"
)
NAMES = ",".join(f"alphabet-00/character-0{i}" for i in range(4))
OPTIONS = {  # options, and the names of the protocols that they make
    "--query 1 --seed 1": "1-query-seed-1",
    "--mixture 0 --mixture 0.5": "mixture(0), mixture(0.5)",
    "--classes few.txt": "few",
    f"mine --classes {NAMES}": "mine",
    "--without-replacement --tasks 3 --selection-tasks 2": (
        "3-tasks-2-selection-tasks-without-replacement"
    ),
    "--preset oops --base-query 2": "oops-2-base-query",
    OTHER: "glyphs",
}


def test_options_make_protocols_and_their_names(run, capsys):
    Path("few.txt").write_text("".join(f"alphabet-01/character-0{i}\n" for i in range(3)))
    for options, names in OPTIONS.items():
        which = f"--snapshots {'last' if options == OTHER else 'chosen'} --no-progress"
        assert invoke(["measure", "run", *options.split(), *which.split()]) == 0
        assert capsys.readouterr().out.startswith(f"{names}: measured ")
    named = {one.name: one for one in Ledger(run).planned().protocols}
    assert named["few"].protocol.classes == tuple(Path("few.txt").read_text().split())
    assert len(named["mine"].protocol.classes) == 4
    assert named["glyphs"].protocol.benchmark.options["image_size"] == 20
    oops = named["oops-2-base-query"].protocol
    assert (oops.episode.query, oops.tasks.base_query, oops.tasks.replacement) == (1, 2, False)
    assert (named["glyphs"].snapshots, named["few"].snapshots) == ("last", "chosen")
    # A name for several mixtures goes on with all of them; other snapshots are more to measure.
    assert invoke(["measure", "run", "mixture", "--snapshots", "all", "--no-progress"]) == 0
    assert capsys.readouterr().out.startswith("mixture(0), mixture(0.5): measured ")
    assert len(measured(run, "mixture(0.5)")) > TRIALS
    # Options of a protocol that is known by another name go on with that one.
    assert invoke(["measure", "run", "--classes", NAMES]) == 0
    assert capsys.readouterr().out.startswith("mine: ")


MISTAKES = """
nowhere --shot 2 | run | run tow | run two --shot 1 --query 1 | run again --shot 2
run a/b --shot 1 | run main --shot 2 | run --shot 0 | run --shot -1 | run --query few
run --base-query 0 | run --preset ops | run --preset oops --shot 3 | run --way 4 | run --shot 3
run --mixture 1.5 | run --mixture 1 --mixture 1 | run --snapshots some | run --classes none.txt
run --classes a,b,c | run --shot 4 | run --shot 11 | run --benchmark glyph | run --set seed=1
run --benchmark omniglot | run --benchmark glyphs --root . | run --benchmark glyphs --set sede=1
run --shot 1 --tasks 6 --root s3://b
"""


def test_mistakes_are_one_message_and_nothing_is_written(run, refusals, monkeypatch, snapshot):
    """Fewer queries are advised where they would do: of 3 shots, not of 4."""
    monkeypatch.setenv("FSL_SWEEP_HOME", "/nowhere")
    rerun(measure={"two": {"episode": {"shot": 2}, "snapshots": "last"}})
    mistakes = re.split(r"\s*[|\n]\s*", MISTAKES.strip())
    text = refusals(*(f"measure {arguments}" for arguments in mistakes))
    plain = json.loads((run / "plan.json").read_text())
    plain["protocols"][0]["fingerprint"] = "e" * 16
    made.forge(run, "plan.json", plain)
    other_data = refusals("measure run --shot 3")
    assert f"{text}\n{re.sub('[0-9a-f]{64}', 'FINGERPRINT', other_data)}" == snapshot


def test_what_cannot_be_measured_is_counted_with_its_reason(run, monkeypatch, capsys):
    class Fails(WithoutRay):
        def run(self, job, listeners):
            for listener in listeners:
                listener.ended(job.trials[0], made.TrialEnd("failed", "the disk was on fire"))

    monkeypatch.setattr(execute, "RayProcess", Fails)
    assert invoke(["measure", "run", "--shot", "2", "--no-progress"]) == 1
    err = capsys.readouterr().err
    assert err == f"fsl-sweep: {SNAPSHOTS} snapshots could not be measured: the disk was on fire\n"
    with pytest.raises(MachineFailure, match="9 snapshots could not be measured: the disk"):
        fsl_sweep.measure_run(run, "2-shot")


def chosen(run):
    found = load_run(run)
    selectors = Ledger(run).planned().selectors
    return {
        Path("trials", trial, "snapshots", f"{epoch:04d}.safetensors")
        for trial, epoch in chosen_snapshots(found.histories, selectors)
    }


def test_prune_says_what_is_lost_and_leaves_what_was_asked_for(run, capsys, refused):
    whole, report = weights(run), to_json(load_run(run).report())
    size = sum(map(len, whole.values()))
    assert invoke(["prune", "run", "--keep", "chosen", "--dry-run"]) == 0
    first, second = capsys.readouterr().out.splitlines()
    stay = len(chosen(run))
    found = re.fullmatch(
        rf"{SNAPSHOTS - stay} of {SNAPSHOTS} snapshots would be deleted, which frees (\d+) kB; "
        rf"{stay} stay \((\d+) kB\), and so does all that was measured.",
        first,
    )
    assert sum(map(int, found.groups())) == pytest.approx(size / 1000, abs=1)
    assert "A protocol with `snapshots: all` or `last`" in second
    assert weights(run) == whole
    assert invoke(["prune", "run", "--keep", "chosen"]) == 0
    assert weights(run) == {path: whole[path] for path in chosen(run)}
    assert invoke(["verify", "run"]) == 0
    assert to_json(load_run(run).report()) == report
    capsys.readouterr()
    gone = f"{SNAPSHOTS - stay} of {SNAPSHOTS} snapshots are not there, because they were pruned"
    assert gone in refused("measure", "run", "--shot", "2")
    assert invoke(["measure", "run", "--shot", "2", "--snapshots", "chosen"]) == 0
    report = to_json(load_run(run).report())  # with a line for that protocol
    assert invoke(["prune", "run", "--keep", "none"]) == 0
    assert weights(run) == {}
    rerun()  # nothing is trained again
    assert (weights(run), to_json(load_run(run).report())) == ({}, report)


def test_prune_waits_for_the_run_and_its_protocols(run, monkeypatch, refused):
    whole, prune = weights(run), ["prune", "run", "--keep", "none"]

    monkeypatch.setattr(execute, "RayProcess", StoppedAfterThree)
    with pytest.raises(KeyboardInterrupt):
        rerun(measure={"two": {"episode": {"shot": 2}, "snapshots": "all"}})
    asks = "6 snapshots must still be measured under two, as the sweep file asks"
    assert asks in refused(*prune)
    for place in run.glob("trials/*/end.json"):
        place.unlink()
        break
    assert "1 trial of 3 must still be trained" in refused(*prune)
    assert weights(run).items() >= whole.items()


def test_a_failed_trial_keeps_the_weights_of_its_method_and_seed(run):
    """The method may become whole again, without that configuration."""
    plan = Ledger(run).planned()
    (failed,) = [t.id for t in plan.trials if t.method == "PN"][:1]
    place = f"trials/{failed}/end.json"
    end = json.loads((run / place).read_text())
    made.forge(run, place, {**end, "status": "failed", "reason": "NaN"})
    assert invoke(["prune", "run", "--keep", "chosen"]) == 0
    left = [path.parts[1] for path in weights(run)]
    assert {t.method: left.count(t.id) for t in plan.trials if t.method == "PN"} == {"PN": EPOCHS}
    assert sum(t in left for t in plan.ids_of(["MAML"])) == len(plan.ids_of(["MAML"]))


class Counts:
    """A listener that notes how many snapshots there are after each event."""

    def __init__(self, folder):
        self.folder, self.most = folder, 0

    def __getattr__(self, event):
        return self.note

    def note(self, *_):
        self.most = max(self.most, len(weights(self.folder)))


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
    folder, counts = tmp_path / "run", Counts(tmp_path / "run")
    with pytest.warns(UserWarning, match="keep: chosen. Only the snapshots that the file's"):
        fsl_sweep.run_sweep(
            {**SWEEP, "keep": "chosen", "measure": measure}, folder, listeners=[counts]
        )
    assert counts.most <= most
    assert (counts.most == SNAPSHOTS) == ("every" in measure)
    whole = weights(trained)
    assert weights(folder) == {path: whole[path] for path in chosen(folder)}
    assert load_run(folder).report().selected == load_run(trained).report().selected


def test_another_domain_may_move_but_not_change(run, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("FSL_SWEEP_HOME", str(tmp_path / "home"))
    for folder, shade in (("grey", 100), ("dark", 20)):
        for number in range(12):
            place = Path(folder, f"class{number}" if folder == "grey" else f"kind{number}")
            place.mkdir(parents=True)
            for image in range(4):
                Image.new("RGB", (16, 16), (shade, number * 20, image)).save(place / f"{image}.png")
    other = ["--benchmark", "image-folder", "--set=image_size=16", "--set=novel=0.3"]
    lists = {"base": ["class0", "class1"], "val": ["class2", "class3"]}
    lists["novel"] = [f"class{number}" for number in range(4, 12)]
    Path("lists.json").write_text(json.dumps(lists))
    listed = ["--benchmark=image-folder", "--set=image_size=16", "--set=split_file=lists.json"]
    other += ["--set=base=0.5", "--set=val=0.2", "--snapshots=last", "--no-progress"]

    def answer(*arguments):
        code = invoke(["measure", "run", *arguments])
        return code, "".join(capsys.readouterr())

    assert "image-folder: measured 3 snapshots" in answer(*other, "--root=grey")[1]
    assert "image-folder: nothing was left" in answer(*other)[1]
    assert "listed: measured 3" in answer("listed", *listed, "--root=grey", "--snapshots=last")[1]
    options = Ledger(run).planned().protocol("listed").protocol.benchmark.options
    assert options["split_file"] == str(tmp_path / "lists.json")  # workers have other folders
    Path("grey").rename("moved")
    code, told = answer("image-folder")
    assert (code, "There is nothing at" in told) == (2, True)
    assert "image-folder: nothing was left" in answer(*other, "--root=moved")[1]
    assert answer("image-folder")[0] == 0
    code, told = answer(*other, "--root=dark")
    assert (code, "The data of protocol 'image-folder' has the fingerprint" in told) == (2, True)
    assert "dark: measured 3 snapshots" in answer("dark", *other, "--root=dark")[1]
    assert Ledger(run).planned().places["image-folder"] == str(tmp_path / "moved")
    assert answer("image-folder")[0] == 0
