"""Every mistake of a user: one message, exit code 2, no traceback, nothing half-written."""

import json
import re
import shlex
import shutil
from pathlib import Path

import made
import pytest
import yaml

import fsl_sweep
from fsl_sweep.orchestrator.cli import invoke

SWEEP = """
name: tiny
benchmark:
  {name: glyphs, base_alphabets: 2, val_alphabets: 1, novel_alphabets: 1, classes_per_alphabet: 5,
   examples: 12, image_size: 16}
episode: {way: 3, shot: 1, query: 2}
evaluation: {selection_tasks: 50, report_tasks: 40}
defaults: {backbone: {name: conv4, width: 8}, optimizer: {lr: 0.1}, epochs: 2, batches: 2}
methods:
  PN: {learner: {name: protonet}, train: {way: 3, shot: 1, query: 2, tasks_per_batch: 1}}
"""


@pytest.fixture
def run(tmp_path, capsys, monkeypatch):
    """Run a command on a sweep file with changes; give exit code, output and errors."""
    monkeypatch.setenv("FSL_SWEEP_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)

    def run(*changes, arguments=("run", "s.yaml")):
        tree = yaml.safe_load(SWEEP)
        for path, value in changes:
            *parents, last = path.split(".")
            place = tree
            for part in parents:
                place = place.setdefault(part, {})
            place[last] = value
        Path("s.yaml").write_text(yaml.safe_dump(tree))
        code = invoke(list(arguments))
        shown = capsys.readouterr()
        return code, shown.out, shown.err

    return run


def mistake(run, *changes, **options):
    """The message of a mistake, once it is certain that it is one and left nothing behind."""
    code, out, err = run(*changes, **options)
    assert code == 2, (code, out, err)
    assert "Traceback" not in err
    assert err.count("\n") == 1
    assert not Path("runs").exists()
    return err.removeprefix("fsl-sweep: ").removesuffix("\n")


GRID = "is one value; to train with each of these, write"
LEARNER, SHOTS = "methods.PN.learner", "1-shot tasks with 4 queries need 5 examples a class"
SNAPSHOT, HYPERPARAMETER = "selectors.snapshot", "selectors.hyperparameter"
IN_THE_FILE = [  # the key that is changed, its value, and what the message says after file and key
    (f"{LEARNER}.name", "protonett", "unknown learner 'protonett'; did you mean 'protonet'?"),
    ("defaults.backbone.name", "conv5", "unknown backbone 'conv5'; did you mean 'conv4'?"),
    ("benchmark.name", "omnigloth", "unknown benchmark 'omnigloth'; did you mean 'omniglot'?"),
    (SNAPSHOT, ["mixture(2)"], "snapshot selector 'mixture(2)' cannot be used: the weight of a"),
    (SNAPSHOT, ["vall"], "unknown snapshot selector 'vall'; did you mean 'val'?"),
    (HYPERPARAMETER, ["budgeted-oracle(3, best)"], "hyperparameter selector 'budgeted-oracle(3, b"),
    (HYPERPARAMETER, ["cv(aligned)"], "'cv(aligned)' needs class folds; add `cross_validation: {f"),
    (HYPERPARAMETER, ["cv(all)"], "hyperparameter selector 'cv(all)' cannot be used"),
    ("selectors.metric", "mixture", "metric 'mixture' cannot be used: write novel, or mixture(w)"),
    ("defaults.augment", "flip", "unknown augmentation 'flip'; "),
    (f"{LEARNER}.scal", 3, "unknown key 'scal'; did you mean 'scale'?"),
    ("defaults.batch", 3, "unknown key 'batch'; did you mean 'batches'?"),
    ("methods.PN.train.ways", 3, "unknown key 'ways'; did you mean 'way'?"),
    ("benchmark.clases", 3, "unknown key 'clases'; "),
    ("defaults.epochs", "ten", "input should be a valid integer, not 'ten'"),
    ("methods.PN.epochs", 0, "input should be greater than or equal to 1, not 0"),
    ("defaults.optimizer.lr", {"grid": []}, "a grid needs a list of at least one value, not []"),
    ("defaults.optimizer.lr", {"grid": [1, 1.0]}, "the grid repeats a value: [1, 1.0]"),
    (LEARNER, "ridge", "must be a mapping such as {name: ridge}, not 'ridge'"),
    (LEARNER, 5, ""),
    ("methods", {}, "at least one entry is needed, not {}"),
    ("cross_validation.folds", 1, "input should be greater than or equal to 2, not 1"),
    ("benchmark.root", "/etc", "'glyphs' is generated and reads no files; leave it out"),
    ("defaults.backbone.width", 10**6, "input should be less than or equal to 4096, not 1000"),
    # The commonest slips are answered by what to write.
    ("defaults.optimizer.lr", [0.1, 0.02], f"{GRID} {{grid: [0.1, 0.02]}}"),
    (f"{LEARNER}.metric", ["euclidean", "cosine"], f"{GRID} {{grid: [euclidean, cosine]}}"),
    ("defaults.schedule", [{20: 0.1}, {30: 0.1}], f"{GRID} {{grid: [{{20: 0.1}}, {{30: 0.1}}]}}"),
    ("defaults.schedule", [0.1, 0.01], "input should be a valid dictionary, not [0.1, 0.01]"),
    ("episode.way", [3, 5], "is one value, not the list [3, 5]"),
    ("seeds", 3, "is a list: for 3 seeds write [0, 1, 2], for the seed 3 only [3]"),
    ("seeds", 42, "is a list: for 42 seeds write [0, 1, ..., 41], for the seed 42 only [42]"),
    ("seeds", 0, "is a list: write [0]"),
    (SNAPSHOT, "val", "is a list: write [val]"),
    ("defaults.backbone.name", "resnet18", "unknown backbone 'resnet18'; did you mean 'torchvis"),
    ("defaults.backbone", "resnet18", "must be a mapping such as {name: resnet18}, not 'resnet18'"),
]


@pytest.mark.parametrize(("key", "value", "problem"), IN_THE_FILE)
def test_mistakes_in_the_file_name_the_key_and_say_what_to_write(run, key, value, problem):
    message = mistake(run, (key, value))
    assert message.startswith(f"s.yaml: {key}")
    assert f": {problem}" in message


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"defaults.schedule": {0: 0.5}}, "s.yaml: defaults.schedule.0: sets 0.5, but optimizer."),
        ({"defaults.schedule": {"soon": 0.5}}, "s.yaml: defaults.schedule.soon: 'soon' is not an"),
        (
            {"defaults.train": {"way": 3}, "methods.SB": {"learner": {"name": "supervised"}}},
            "s.yaml: defaults.train.way: unknown key 'way'; known: batch_size (SB: supervised "
            "trains on batches; methods that differ in this need a 'train' of their own each)",
        ),
        ({"episode.way": 6}, "PN, val tasks: 6-way tasks need 6 classes, but only 5 are there."),
        (
            {"methods.PN.train.way": 11},
            "PN, train tasks: 11-way tasks need 11 classes, but only 10",
        ),
        ({"episode.query": 4}, f"PN, base tasks: {SHOTS}, but class "),
        ({"cross_validation.fold": 2}, "s.yaml: cross_validation.folds: this key is missing"),
        (
            {"cross_validation": {"folds": 2, "over": "val"}},
            "s.yaml: cross_validation.over: input should be 'base' or 'base+val', not 'val'",
        ),
        (
            {"cross_validation": {"folds": 11}},
            "11 folds by class need at least 11 classes, but base of 'glyphs' has 10. Use fewer",
        ),
        (
            {"cross_validation": {"folds": 4}},
            "PN, fold 2 of 4, val tasks: 3-way tasks need 3 classes, but only 2 are there. Use "
            "fewer folds.",
        ),
        (
            {"cross_validation": {"folds": 2}, "methods.PN.train.way": 6},
            "PN, fold 0 of 2, train tasks: 6-way tasks need 6 classes, but only 5 are there. Use "
            "more folds.",
        ),
        (
            {"benchmark": {"name": "omniglot", "root": "${NO_SUCH_PLACE}/x"}},
            "s.yaml: benchmark.root: the environment variable NO_SUCH_PLACE in ",
        ),
        ({"benchmark.image_size": 8}, "PN: backbone: conv4 halves its images 4 times, so both"),
        ({"benchmark": {"name": "omniglot", "root": "/nowhere"}}, "There is nothing at /nowhere. "),
    ],
)
def test_mistakes_of_several_keys_or_of_the_data(run, changes, message):
    assert mistake(run, *changes.items()).startswith(message)


def test_missing_data_says_where_it_looked_and_what_mends_it(run, tmp_path):
    message = mistake(run, ("benchmark", {"name": "omniglot"}))
    assert str(tmp_path / "home") in message
    assert "fsl-sweep data prepare omniglot --from PATH" in message
    code, out, err = run(
        ("benchmark", {"name": "omniglot"}), arguments=("run", "s.yaml", "--dry-run")
    )
    assert code == 2
    assert "tiny: 1 trial of 1 method" in out
    assert "fsl-sweep data prepare omniglot" in err


def test_a_dry_run_reports_every_obstacle(run):
    Path("taken").write_text("")
    for folder, reason in (
        ("taken", "Not a directory"),
        ("taken/run", "Not a directory"),
        ("/proc/run", "No such file or directory"),
    ):
        code, out, err = run(
            ("episode.way", 6), arguments=("run", "s.yaml", "--dry-run", "-o", folder)
        )
        first, second = err.splitlines()
        assert code == 2
        assert "tiny: 1 trial of 1 method" in out
        assert first == (
            f"fsl-sweep: this plan cannot run: The run folder {folder} cannot be written: "
            f"{reason}. Choose another with -o, or correct its permissions."
        )
        assert "PN, val tasks: 6-way tasks need 6 classes" in second
        code, _, err = run(arguments=("run", "s.yaml", "-o", folder))
        assert (code, f"The run folder {folder} cannot be written: " in err) == (2, True)
    assert Path("taken").read_text() == ""


def test_a_dry_run_leaves_nothing_where_it_looked(run):
    before = sorted(Path().iterdir())
    code, _, err = run(arguments=("run", "s.yaml", "--dry-run", "-o", "new/run"))
    assert (code, err) == (0, "")
    assert {p.name for p in Path().iterdir()} - {p.name for p in before} == {"s.yaml", "home"}


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("run none.yaml", "none.yaml: no such file"),
        ("run quickstat", "quickstat: neither a file nor a preset; did you mean 'quickstart'?"),
        ("run s.yaml --only RR", "s.yaml: --only: unknown method 'RR'; "),
        ("run s.yaml --set epochs", "--set: epochs: write it as KEY=VALUE"),
        (
            "run s.yaml --set defaults.epohs=3",
            "--set: defaults.epohs: unknown key 'epohs'; did you",
        ),
        ("run s.yaml --set defaults.epochs=ten", "--set: defaults.epochs: input should be a valid"),
        (
            "run s.yaml --set defaults.epochs=1 --set selectors.snapshot=[vall]",
            "--set: selectors.snapshot.0: unknown snapshot selector 'vall'; did you mean 'val'?",
        ),
        ("run s.yaml --set seeds=[1,1]", "s.yaml with --set: seeds repeats a value: [1, 1]"),
        (
            "run s.yaml --set defaults.optimizer.lr=[0.1,0.02]",
            f"--set: defaults.optimizer.lr: {GRID} {{grid: [0.1, 0.02]}}",
        ),
        ("trial s.yaml --index 1", "--index: 1: the plan's trials are numbered 0 to 0"),
        ("report nowhere", "There is nothing at nowhere; give "),
        ("status nowhere", "nowhere is not a run folder"),
        ("data check omniglott", "unknown benchmark 'omniglott'; did you mean 'omniglot'?"),
        (
            "data check glyphs --set exampels=3",
            "--set: exampels: unknown key 'exampels'; did you mean 'examples'?",
        ),
    ],
)
def test_mistakes_on_the_command_line(run, command, message):
    assert mistake(run, arguments=command.split()).startswith(message)


def test_a_folder_that_is_not_there_is_named_whole(run, tmp_path):
    nothing = f"There is nothing at {tmp_path}/nowhere. "
    prepare = ("data", "prepare", "omniglot", "--from", "nowhere")
    assert mistake(run, arguments=prepare).startswith(nothing)
    changed = ("benchmark", {"name": "omniglot", "root": "nowhere"})
    assert mistake(run, changed).startswith(nothing)


def test_where_a_list_may_stand_no_grid_is_advised(run):
    given = ("methods.MD", {"learner": {"name": "metadelta", "encoders": ["conv4"]}})
    assert "grid" not in mistake(run, given)


@pytest.mark.parametrize("arguments", [["runn"], ["run"], ["run", "s.yaml", "--sett", "a=1"], []])
def test_usage_errors_exit_with_2(run, arguments):
    code, _, err = run(arguments=arguments)
    assert code == 2
    assert "Traceback" not in err


def test_the_version_is_shown(run):
    assert run(arguments=("--version",)) == (0, f"fsl-sweep {fsl_sweep.__version__}\n", "")


def test_a_run_folder_of_another_sweep_is_refused(run):
    assert run(arguments=("trial", "s.yaml", "--index", "0", "-o", "mine"))[0] == 0
    before = {p: p.read_bytes() for p in Path("mine").rglob("*") if p.is_file()}
    code, _, err = run(("name", "other"), arguments=("run", "s.yaml", "-o", "mine"))
    assert (code, "holds the sweep 'tiny', not 'other'" in err) == (2, True)
    code, _, err = run(("name", "other"), arguments=("run", "s.yaml", "-o", "mine", "--dry-run"))
    assert (code, "holds the sweep 'tiny', not 'other'" in err) == (2, True)
    # A trial that the folder's plan does not name must not replace the plan.
    code, _, err = run(
        ("defaults.epochs", 3), arguments=("trial", "s.yaml", "--index", "0", "-o", "mine")
    )
    assert (code, "was planned without this trial" in err) == (2, True)
    code, _, err = run(("benchmark.seed", 5), arguments=("run", "s.yaml", "-o", "mine"))
    assert (code, "was measured on other data" in err) == (2, True)
    assert {p: p.read_bytes() for p in Path("mine").rglob("*") if p.is_file()} == before


def test_a_run_folder_in_place_of_a_sweep_says_how_to_continue(run):
    """The command that it tells plans exactly what the folder holds, overrides included."""
    settings = ("--set", "seeds=[0, 1]", "--set", "defaults.epochs=1")
    run(arguments=("trial", "s.yaml", "--index", "0", "-o", "my runs/tiny", *settings))
    before = Path("my runs/tiny/sweep.yaml").read_text()
    code, _, err = run(arguments=("run", "my runs/tiny"))
    assert code == 2
    assert err.startswith("fsl-sweep: my runs/tiny: is a run folder, not a sweep file; to resume ")
    program, *command = shlex.split(err.partition("`")[2].partition("`")[0])
    assert program == "fsl-sweep"
    code, out, err = run(arguments=(*command, "--dry-run"))
    assert (code, err) == (0, "")
    assert "done already: 1; to run: 1" in out
    assert "no longer planned" not in out
    run(arguments=("trial", *command[1:], "--index", "1"))
    assert Path("my runs/tiny/sweep.yaml").read_text() == before
    # Without the overrides it is another plan, which is said, and how to undo it.
    code, out, _ = run(
        arguments=("run", "my runs/tiny/sweep.yaml", "-o", "my runs/tiny", "--dry-run")
    )
    assert out.count("no longer planned, left out of the report: ") == 2
    assert "come back when the sweep is run with the file and the --set that planned them" in out


def test_a_corrupt_record_is_named_and_its_trial_runs_again(run, capsys):
    arguments = ("trial", "s.yaml", "--index", "0", "-o", "mine")
    assert run(arguments=arguments)[0] == 0
    assert run(arguments=("report", "mine", "--format", "json"))[0] == 0
    (records,) = Path("mine").glob("trials/*/measured/*.parquet")
    whole = records.read_bytes()
    records.write_bytes(whole[:-10])
    code, out, err = run(arguments=("report", "mine"))
    assert code == 1
    assert "Traceback" not in err
    assert records.name in out.replace("\n", "")
    code, out, _ = run(arguments=("status", "mine"))
    assert (code, "damaged, " in out) == (1, True)
    assert run(arguments=arguments)[0] == 0
    assert run(arguments=("report", "mine"))[0] == 0


def test_damaged_weights_of_a_finished_trial_are_made_again_as_verify_says(run):
    arguments = ("trial", "s.yaml", "--index", "0", "-o", "mine")
    assert run(arguments=arguments)[0] == 0
    report = run(arguments=("report", "mine", "--format", "json"))[1]
    (weights,) = Path("mine").glob("trials/*/snapshots/0001.safetensors")
    whole = weights.read_bytes()
    made.flip(weights)
    line, summary = run(arguments=("verify", "mine"))[1].splitlines()
    assert summary == "mine: 1 damaged, missing or refused"
    advised = re.search("remove the folder (.*) and run the sweep again", line)
    assert advised is not None
    shutil.rmtree(advised[1])
    assert run(arguments=arguments)[0] == 0
    assert run(arguments=("verify", "mine"))[:2] == (0, "mine: nothing is damaged\n")
    assert weights.read_bytes() == whole
    again = json.loads(run(arguments=("report", "mine", "--format", "json"))[1])
    assert again["summary"] == json.loads(report)["summary"]


def test_an_image_that_does_not_decode_is_named(run):
    for split in ("a", "b", "c", "d", "e", "f", "g", "h", "i"):
        folder = Path("tree") / split
        folder.mkdir(parents=True)
        for number in range(4):
            (folder / f"{number}.png").write_bytes(b"not an image")
    message = mistake(run, ("benchmark", {"name": "image-folder", "root": "tree"}))
    assert "tree/a/0.png" in message
