"""Every mistake of a user: one message, exit code 2, no traceback, nothing half-written."""

import json
import re
import shlex
import shutil
from pathlib import Path

import made
import pytest
import submitted
import torch
import yaml
from commands import WithoutRay
from planning_of import SMALL, changed

import fsl_sweep
from fsl_sweep.learners.building import build_backbone
from fsl_sweep.orchestrator.cli import invoke
from fsl_sweep.orchestrator.sweep import execute

DATA = (
    "benchmark={name: glyphs, base_alphabets: 2, val_alphabets: 1, novel_alphabets: 1, "
    "classes_per_alphabet: 5, examples: 12, image_size: 16}"
)

MISTAKES = {
    "parts": """
M.learner.name=protonett
M.learner=ridge ; 5 ; {name: metadelta, encoders: [conv4]}
M.learner.scal=3
M.learner.metric=[euclidean, cosine]
M.train.ways=3
M.train.way=11
M.train={way: all, query_counts: multinomial} ; {query: rest, query_counts: multinomial}
M.train.queries_from=all
M.epochs=0
M.epocs=3
M.optimizer={name: adam, lr: 0.1, momentum: {grid: [0.5, 0.9]}} ; {name: adamw, lr: 0}
M.optimizer={name: adamw, lr: 0.1, nesterov: {grid: [true, false]}}
methods={}
benchmark.name=omnigloth
benchmark.clases=3
benchmark.root=/etc
benchmark.image_size=8
benchmark={name: omniglot, root: nowhere} ; {name: omniglot, root: "${NO_SUCH_PLACE}/x"}
benchmark={name: omniglot, root: 5}
defaults.backbone=resnet18
defaults.backbone.name=conv5 ; resnet18
defaults.backbone.name
defaults.backbone.width=1000000
defaults.augment=flip
defaults.batch=3
defaults.epochs=ten ; [2, 3]
defaults.optimizer
defaults.optimizer.lr=[0.1, 0.02]
""",
    "axes and schedules": """
defaults.optimizer.lr={grid: []} ; {grid: [1, 1.0]} ; {grid: 5} ; {uniform: [0, 1]}
M.train={grid: [{way: 3}, {way: 3}]}
M.train.way={grid: [2, true, 1]} ; {grid: [5], choice: [3]}
samples=2 | defaults.optimizer.lr={loguniform: [0, 1]} ; {uniform: [1, 1]} ; {uniform: [a, 1]}
samples=2 | defaults.optimizer.lr={uniform: [0, 1, 2]} ; {choice: [2, 2]}
defaults.schedule={0: 0.5} ; {soon: 0.5} ; {2: 0} ; {relative: 1, 2: 0.5} ; [0.1, 0.01]
defaults.schedule=[{20: 0.1}, {30: 0.1}] ; cosine ; {cosine: 5} ; {cosin: {warmup: 5}}
defaults.schedule={cosine: {warmup: 2}, 20: 0.1} ; {cosine: {warmup: 4}} ; {cosine: {warmup: -1}}
defaults.schedule={cosine: {warm_up: 2}} ; {cosine: {warmup: [0, 2]}}
""",
    "what learners train on": """
defaults.train={way: 3} | M.train | methods.SB={learner: {name: supervised}}
M.learner.name=supervised ; meta-baseline ; classifier
M.learner.name=maml | M.train.way=20
M.learner.name=fomaml | M.train.way=20 ; all ; 5
M.learner.name=fomaml | M.train={query: rest} ; {query_counts: multinomial}
M.learner.name=fomaml | M.train.way=5 | episode.way=all
M.learner.name=meta-baseline | M.train={meta: {epochs: 4}} ; {meta: {epoch: 3}}
M.learner.name=classifier | benchmark={name: "in-distribution:glyphs"} | cross_validation={folds: 2}
M.learner={name: metadl} ; {name: metadl, submission: proto} ; {name: metadl, submission: broken}
M.train | defaults.optimizer | M.learner={name: metadl, submission: protos, options: {rate: 1}}
M.learner={name: metadl, submission: protos, mode: both}
M.learner={name: metadl, submission: protos, mode: batch}
M.learner={name: metadl, submission: protos} | M.optimizer={lr: 1}
M.learner={name: metadl, submission: protos} | benchmark.tasks=writers | episode.way=all
M.learner={name: metadl, submission: protos} | benchmark.tasks=writers | episode.query=rest
""",
    "nothing to train, weights of a file": """
defaults={backbone: {name: identity}} | M.learner.name=ridge ; svm ; meta-baseline
defaults={backbone: {name: identity}} | M.learner={name: fomaml, way: 3}
defaults={backbone: {name: identity}} | M.learner={name: protonet, learn_scale: true}
defaults={backbone: {name: identity}} | M.learner={name: metadelta, encoders: [{name: conv4}]}
defaults={backbone: {name: identity}} | M={learner: {name: ncc}, epocs: 3} ; {learner: {nme: ncc}}
M.learner.name=ncc | M.backbone={name: conv4, frozen: true, normalisation: foo}
M.learner.name=ncc | M.backbone={name: conv4, frozen: true, normalisation: imagenet}
M.learner.name=ncc | M.backbone={name: conv4, frozen: maybe}
M.learner.name=ncc | M.backbone={name: conv4, frozen: true, widht: 8}
M.backbone={name: conv4, frozen: true} | M.learner={name: ncc, foo: 1}
M.learner.name=ncc | M.backbone={name: identity, weights: w.pt} ; {name: identity, frozen: true}
defaults.backbone.frozen=true | defaults.optimizer | M.learner.name=ridge
defaults.backbone.frozen=true | M.learner={name: finetune} ; {name: fomaml, way: 3}
M.learner={name: metadelta, encoders: [{name: conv4, frozen: true}]}
M.learner={name: metadelta} | defaults.backbone.weights=w.pt
defaults.backbone.weights=no.pt ; "s3://a/w.pt"
defaults.backbone.weights_sha256=CHECKSUM
defaults.backbone={name: conv4, width: 8, weights: w.pt, weights_sha256: CHECKSUM}
defaults.backbone.normalisation=cifar ; {mean: [0.5], std: [0]} ; {mean: [0.5], std: [1, 1]}
""",
    "sections": """
episode.way=6 ; 1 ; every ; [3, 5]
episode.query=4
episode.lr=0.1
episode=null
resources.seed=3
resources.gpu=some
options=3
retries=1.0
name
name=../up
seeds=3 ; 42 ; 0 ; [1, 1]
cross_validation.fold=2
cross_validation.folds=1
cross_validation={folds: 2, over: val} ; {folds: 11} ; {folds: 4}
cross_validation={folds: 2} | M.train.way=6
selectors.snapshot=val ; [vall] ; ["mixture(2)"]
selectors.hyperparameter=["budgeted-oracle(3, best)"] ; ["cv(aligned)"] ; ["cv(all)"]
selectors.metric=mixture
""",
    "protocols": """
measure.x.shot=5
measure.x.mixtures=1
measure.x.episode.shots=5
measure.x.evaluation.every=2
measure.x.mixture=1.5 ; [0.5, 0.5] ; []
measure.x.snapshots=best ; last
measure.x.classes=[a, b, a] ; nowhere.txt ; steering.txt
measure.x.benchmark={name: glyph} ; {name: glyphs, sed: 1}
measure.x={preset: oops, episode: {shot: 3}}
measure={x: {mixture: 0}, y: {mixture: 0}}
measure={main: {mixture: 0}} ; {a b: {mixture: 0}} ; {0123456789abcdef: {mixture: 0}}
M.learner={name: fomaml, way: 3} | measure.x.episode.way=5
benchmark={name: "in-distribution:glyphs"} | M={learner: {name: classifier}} | measure.x.mixture=[1]
""",
}
"""What a user writes into a small sweep file, values of one key beside each other. The snapshot has
the message of each."""


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A current folder for sweep files, whose trials run in this process."""
    monkeypatch.setenv("FSL_SWEEP_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(execute, "RayProcess", WithoutRay)
    return tmp_path


@pytest.fixture
def run(place, capsys):
    """Run a command on a sweep file with changes; give exit code, output and errors."""

    def run(*changes, arguments=("run", "s.yaml")):
        Path("s.yaml").write_text(yaml.safe_dump(changed(SMALL, DATA, *changes), sort_keys=False))
        code = invoke(list(arguments))
        shown = capsys.readouterr()
        return code, shown.out, shown.err

    return run


@pytest.fixture
def mistake(run, place):
    """The message of a mistake, once it is certain that it is one and left nothing behind."""

    def mistake(*changes, **options):
        code, out, err = run(*changes, **options)
        assert code == 2, (changes, code, out, err)
        assert err.count("\n") == 1
        assert not Path("runs").exists()
        return err.removeprefix("fsl-sweep: ").removesuffix("\n").replace(str(place), "HERE")

    return mistake


@pytest.mark.parametrize("about", MISTAKES)
def test_mistakes_in_the_file_name_the_key_and_say_what_to_write(
    about, mistake, place, monkeypatch, snapshot
):
    submitted.install(place / "site", monkeypatch)
    Path("steering.txt").write_text("a\x1b\n")
    torch.save(build_backbone({"name": "conv4", "width": 8}, (1, 16, 16))[0].state_dict(), "w.pt")
    told = []
    for line in MISTAKES[about].strip().splitlines():
        *others, last = line.split(" | ")
        key, equals, values = last.partition("=")
        for value in values.split(" ; "):
            changes = [*others, f"{key}{equals}{value}"]
            message = mistake(*(change.replace("CHECKSUM", "a" * 64) for change in changes))
            message = re.sub(LISTED, "...", re.sub("[0-9a-f]{64}", "SHA256", message))
            told.append(f"{' | '.join(changes)}\n  {message}")
    assert "\n".join(told) == snapshot


LISTED = r"(?<=known: |ne of: )[^()]*, [^()]*(?= \(|$)|(?<=does not load: ).*"
"""What grows with the catalogues, and what Python says of an import."""


COMMANDS = """
run none.yaml
run quickstat
run s.yaml --only RR
run s.yaml --set epochs
run s.yaml --set defaults.epohs=3
run s.yaml --set defaults.epochs=ten
run s.yaml --set defaults.epochs=1 --set selectors.snapshot=[vall]
run s.yaml --set seeds=[1,1]
run s.yaml --set defaults.optimizer.lr=[0.1,0.02]
run s.yaml --set name.x=1
run s.yaml --set episode.way=6 --only M
trial s.yaml --index 1
report nowhere
status nowhere
measure nowhere
data check omniglott
data check glyphs --set exampels=3
data prepare omniglot --from nowhere
"""


def test_mistakes_on_the_command_line(run, place, snapshot):
    told = []
    for line in COMMANDS.strip().splitlines():
        code, out, err = run(arguments=line.split())
        assert (code, out, "Traceback" in err, Path("runs").exists()) == (2, "", False, False)
        told.append(f"{line}\n{err}".replace(str(place), "HERE"))
    assert "".join(told) == snapshot
    for arguments in (["runn"], ["run"], ["run", "s.yaml", "--sett", "a=1"], []):
        code, _, err = run(arguments=arguments)
        assert (code, "Traceback" in err) == (2, False)
    assert run(arguments=("--version",)) == (0, f"fsl-sweep {fsl_sweep.__version__}\n", "")


def test_missing_data_says_where_it_looked_and_what_mends_it(run, mistake):
    message = mistake("benchmark={name: omniglot}")
    assert "HERE/home" in message
    assert "fsl-sweep data prepare omniglot --from PATH" in message
    code, out, err = run("benchmark={name: omniglot}", arguments=("run", "s.yaml", "--dry-run"))
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
        arguments = ("run", "s.yaml", "-o", folder)
        code, out, err = run("episode.way=6", arguments=(*arguments, "--dry-run"))
        first, second = err.splitlines()
        assert code == 2
        assert "tiny: 1 trial of 1 method" in out
        assert first == (
            f"fsl-sweep: this plan cannot run: The run folder {folder} cannot be written: "
            f"{reason}. Choose another with -o, or correct its permissions."
        )
        assert "M, val tasks: 6-way tasks need 6 classes" in second
        code, _, err = run(arguments=arguments)
        assert (code, f"The run folder {folder} cannot be written: " in err) == (2, True)
    assert Path("taken").read_text() == ""


def test_a_dry_run_leaves_nothing_where_it_looked(run):
    before = {path.name for path in Path().iterdir()}
    code, _, err = run(arguments=("run", "s.yaml", "--dry-run", "-o", "new/run"))
    assert (code, err) == (0, "")
    assert {path.name for path in Path().iterdir()} - before == {"s.yaml", "home"}


TRIAL = ("trial", "s.yaml", "--index", "0", "-o", "mine")


def test_a_run_folder_of_another_sweep_is_refused(run):
    assert run(arguments=TRIAL)[0] == 0
    before = {p: p.read_bytes() for p in Path("mine").rglob("*") if p.is_file()}
    again, other = ("run", "s.yaml", "-o", "mine"), "holds the sweep 'tiny', not 'other'"
    for change, arguments, problem in (
        ("name=other", again, other),
        ("name=other", (*again, "--dry-run"), other),
        # A trial that the folder's plan does not name must not replace the plan.
        ("defaults.epochs=3", TRIAL, "was planned without this trial"),
        ("benchmark.seed=5", again, "was measured on other data"),
    ):
        code, _, err = run(change, arguments=arguments)
        assert (code, problem in err) == (2, True)
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


def test_a_corrupt_record_is_named_and_its_trial_runs_again(run):
    assert run(arguments=TRIAL)[0] == 0
    assert run(arguments=("report", "mine", "--format", "json"))[0] == 0
    (records,) = Path("mine").glob("trials/*/measured/*.parquet")
    whole = records.read_bytes()
    records.write_bytes(whole[:-10])
    code, out, err = run(arguments=("report", "mine"))
    assert (code, "Traceback" in err) == (1, False)
    assert records.name in out.replace("\n", "")
    code, out, _ = run(arguments=("status", "mine"))
    assert (code, "damaged, " in out) == (1, True)
    assert run(arguments=TRIAL)[0] == 0
    assert run(arguments=("report", "mine"))[0] == 0


def test_damaged_weights_of_a_finished_trial_are_made_again_as_verify_says(run):
    assert run(arguments=TRIAL)[0] == 0
    report = run(arguments=("report", "mine", "--format", "json"))[1]
    (weights,) = Path("mine").glob("trials/*/snapshots/0001.safetensors")
    whole = weights.read_bytes()
    made.flip(weights)
    line, summary = run(arguments=("verify", "mine"))[1].splitlines()
    assert summary == "mine: 1 damaged, missing or refused"
    advised = re.search("remove the folder (.*) and run the sweep again", line)
    assert advised is not None
    shutil.rmtree(advised[1])
    assert run(arguments=TRIAL)[0] == 0
    assert run(arguments=("verify", "mine"))[:2] == (0, "mine: nothing is damaged\n")
    assert weights.read_bytes() == whole
    again = json.loads(run(arguments=("report", "mine", "--format", "json"))[1])
    assert again["summary"] == json.loads(report)["summary"]


def test_an_image_that_does_not_decode_is_named(mistake):
    for split in "abcdefghi":
        folder = Path("tree") / split
        folder.mkdir(parents=True)
        for number in range(4):
            (folder / f"{number}.png").write_bytes(b"not an image")
    assert "tree/a/0.png" in mistake("benchmark={name: image-folder, root: tree}")
