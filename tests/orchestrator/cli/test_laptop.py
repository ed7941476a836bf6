"""A sweep whose data are not on this machine, and its laptop variant; without Ray."""

import json
import shutil
from pathlib import Path

import pytest
import yaml
from commands import TINY, WithoutRay

import fsl_sweep
from fsl_sweep.orchestrator.cli import invoke
from fsl_sweep.orchestrator.errors import MissingData
from fsl_sweep.orchestrator.planning.variant import prepare_variant
from fsl_sweep.orchestrator.sweep import execute

GLYPHS = yaml.safe_load(TINY)["benchmark"]
SMALL = {"benchmark": GLYPHS, "methods": {"RR": {"epochs": 1}, "PN": {"epochs": 1}}, "seeds": [0]}
SWEEP = {**yaml.safe_load(TINY), "benchmark": {"name": "cifar-fs"}, "laptop": SMALL}
TITLE = "tiny-laptop (glyphs stands in for cifar-fs)"
SAID = "Running the laptop variant tiny-laptop: glyphs stands in for cifar-fs"


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FSL_SWEEP_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(execute, "RayProcess", WithoutRay)
    Path("s.yaml").write_text(yaml.safe_dump(SWEEP, sort_keys=False))
    return tmp_path


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The folder of a command that found no data: its output, and what it said first."""
    place = tmp_path_factory.mktemp("laptop")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        patch.setenv("FSL_SWEEP_HOME", str(place / "home"))
        patch.setattr(execute, "RayProcess", WithoutRay)
        Path("s.yaml").write_text(yaml.safe_dump(SWEEP, sort_keys=False))
        assert invoke(["run", "s.yaml", "--no-progress"]) == 0
    return place


def prepared(*overrides, **options):
    """The name of what is prepared, and what was said."""
    said = []
    result = prepare_variant("s.yaml", None, overrides, notify=said.append, **options)
    return result.sweep.config.name, " ".join(said)


@pytest.mark.parametrize(
    ("overrides", "options", "name", "why"),
    [
        ([], {}, "tiny-laptop", "fsl-sweep data prepare cifar-fs --from PATH"),
        ([], {"laptop": True}, "tiny-laptop", ""),
        ([], {"laptop": False}, "tiny", None),
        (["laptop=null"], {}, "tiny", None),
        # Data that somebody names are the ones to run on.
        (["benchmark.root=nowhere"], {}, "tiny", None),
        (["benchmark={name: omniglot}"], {}, "tiny", None),
        # Data that are here, of the sweep and of a further protocol; and those of which one is not.
        (["laptop.seeds=[1]", "benchmark={name: glyphs}"], {}, "tiny", None),
        (["measure={x: {benchmark: {name: glyphs}}}"], {}, "tiny-laptop", "cifar-fs"),
    ],
)
@pytest.mark.usefixtures("place")
def test_the_variant_is_taken_where_it_is_asked_for_or_data_are_missing(
    overrides, options, name, why
):
    chosen, said = prepared(*overrides, **options)
    assert chosen == name
    if why is None:
        assert said == ""
    else:
        assert why in said
        assert said.endswith(f"{SAID}{'; --no-laptop refuses that' if why else ''}.")


@pytest.mark.parametrize(("key", "taken"), [("root: nowhere", True), ("root: .", False)])
def test_files_that_the_sweep_names_are_missing_too_where_their_folder_is(place, key, taken):
    (benchmark,) = yaml.safe_load(f"[{{name: image-folder, {key}}}]")
    Path("s.yaml").write_text(yaml.safe_dump({**SWEEP, "benchmark": benchmark}))
    assert prepared()[0] == ("tiny-laptop" if taken else "tiny")
    further = {"x": {"benchmark": benchmark}}
    Path("s.yaml").write_text(yaml.safe_dump({**SWEEP, "benchmark": GLYPHS, "measure": further}))
    assert prepared()[0] == ("tiny-laptop" if taken else "tiny")


def test_a_run_folder_keeps_its_variant(place, made, refused):
    shutil.copytree(made / "runs", "runs")
    resumes = "`fsl-sweep run runs/tiny-laptop/sweep.yaml -o runs/tiny-laptop --laptop`"
    assert resumes in refused("run", "runs/tiny-laptop")
    for folder in ("tiny", "mine"):
        shutil.copytree("runs/tiny-laptop", f"runs/{folder}")
    # The command with -o goes on with what it holds, though the data came meanwhile.
    data = ["benchmark={name: glyphs, seed: 5}"]
    mine = prepare_variant("s.yaml", Path("runs/mine"), data)
    assert (mine.sweep.config.name, mine.ledger.path) == ("tiny-laptop", Path("runs/mine"))
    assert prepare_variant("s.yaml", Path("runs/new"), data).sweep.config.name == "tiny"
    assert prepared()[0] == "tiny-laptop"  # runs/tiny holds a variant, whoever put it there
    # A folder of the whole sweep is never continued with the variant.
    fsl_sweep.run_sweep({**SWEEP, "benchmark": GLYPHS}, "runs/whole", only=["PN"])
    whole = prepare_variant("s.yaml", Path("runs/whole"))
    assert whole.sweep.config.name == "tiny"


@pytest.mark.usefixtures("place")
def test_without_data_a_cluster_and_python_are_refused_as_before(refused):
    for option in ("--no-laptop", "--address=127.0.0.1:1"):
        assert "are not on this machine" in refused("run", "s.yaml", option)
    with pytest.raises(MissingData):
        fsl_sweep.run_sweep("s.yaml")
    assert not Path("runs").exists()
    Path("t.yaml").write_text(TINY)
    assert refused("run", "t.yaml", "--laptop").startswith("t.yaml: laptop: the file has no such")


def test_every_format_says_in_its_title_what_stands_in_for_what(place, made, capsys):
    shutil.copytree(made / "runs", "runs")
    run = "runs/tiny-laptop"
    for form, line in (
        ("terminal", f"{TITLE}: complete"),
        ("markdown", f"# {TITLE}: complete"),
        ("latex", f"% {TITLE}: complete"),
        ("html", f"<title>{TITLE}: complete"),
    ):
        assert invoke(["report", run, "--format", form]) == 0
        assert line in capsys.readouterr().out.splitlines()[0], form
    assert invoke(["report", run, "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["run"]["name"] == TITLE
    for command in (["compare", run, "PN", "RR"], ["status", run]):
        invoke(command)
        assert TITLE in capsys.readouterr().out, command


def test_the_commands_around_a_run_know_the_variant(said, place, snapshot):
    shown = said(
        "run s.yaml --dry-run --only PN --set seeds=[3]",
        "run s.yaml --dry-run --no-laptop --only PN",
        "trial s.yaml --index 1",
        "run s.yaml --laptop --no-progress --only PN",
    )
    assert shown.replace(str(place), "PLACE") == snapshot


def test_python_runs_the_variant_where_it_is_asked_for(place):
    run = fsl_sweep.run_sweep("s.yaml", laptop=True, only=["PN"], overrides=["laptop.seeds=[2]"])
    assert (run.name, run.path) == (TITLE, Path("runs/tiny-laptop"))
    assert {trial.seed for trial in run.histories} == {2}
