"""The code in the documentation works as it stands there."""

import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import floors
import nested
import numpy as np
import pytest
import torch
import yaml
from pages import PAGES, block, blocks, written_package
from PIL import Image
from places import ROOT
from typer.main import get_command

from fsl_sweep.datasets.catalogue import BENCHMARKS
from fsl_sweep.learners.backbones.catalogue import BACKBONES
from fsl_sweep.learners.backbones.conv4 import Conv4, Conv4Options
from fsl_sweep.learners.catalogue import LEARNERS
from fsl_sweep.orchestrator.cli import invoke
from fsl_sweep.orchestrator.cli.app import app
from fsl_sweep.orchestrator.planning.plan_sweep import plan_sweep
from fsl_sweep.orchestrator.selection.question import is_configuration
from fsl_sweep.orchestrator.studies.catalogue import STUDIES
from fsl_sweep.orchestrator.sweepfile.reading import load_sweep


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    return written_package(tmp_path_factory.mktemp("package"))


@pytest.fixture
def command(package, tmp_path, monkeypatch, capsys):
    """Call a command where the distribution is installed: its exit code, output and errors."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(package)

    def call(*arguments):
        code = invoke([*arguments])
        return code, *capsys.readouterr()

    return call


SWEEP = """
name: plugged
benchmark: {name: glyphs, base_alphabets: 1, val_alphabets: 1, novel_alphabets: 1,
            classes_per_alphabet: 4, examples: 12, image_size: 16}
episode: {way: 3, shot: 1, query: 2}
evaluation: {selection_tasks: 20, report_tasks: 20}
methods:
  CN:
    learner: {name: cosine-net, scale: 5}
    backbone: {name: conv4, width: 8}
    optimizer: {lr: 0.1}
    epochs: 2
    batches: 2
    train: {way: 3, shot: 1, query: 2, tasks_per_batch: 1}
selectors: {snapshot: [late, val], hyperparameter: [val]}
"""


def test_the_documented_plugins_are_found_run_and_recorded(command):
    Path("s.yaml").write_text(SWEEP)
    code, listed, _ = command("plugins")
    assert code == 0
    assert "my-package 1.2" in listed
    # Plug-ins that fail to load or clash matter only where they are named.
    assert command("trial", "s.yaml", "--index", "0")[0] == 0
    code, report, _ = command("report", "runs/plugged", "--format", "json")
    assert code == 0
    assert '"snapshot_selector": "late"' in report
    assert "my-package" in report
    code, shown, _ = command("report", "runs/plugged", "--with", "stops")
    assert code == 0
    assert "Late choices: CN " in shown
    plan = Path("runs/plugged/plan.json").read_text()
    assert '"source": "my-package"' in plan
    assert '"version": "1.2"' in plan


def test_the_documented_learner_answers_where_features_are_zero(command):
    """As those of an image for which every unit of the network is dead."""
    cls = LEARNERS.find("cosine-net").cls
    learner = cls(Conv4(Conv4Options(width=4), (1, 16, 16)), cls.Options(), 2)
    assert learner.head(torch.zeros(1, 3, 1, 5), torch.zeros(1, 4, 5)).isfinite().all()


def test_the_documented_program_is_planned_and_recorded(command):
    """That it runs, its contract says."""
    sweep = yaml.safe_load(SWEEP.replace("name: plugged", "name: program"))
    method = yaml.safe_load(block("docs/extending.md", "yaml", "submission: eigen"))
    sweep["methods"] = {"eigen": {**method, "batches": 5}}
    program = {"name": "eigen", "source": "my-package", "version": "1.2"}
    assert plan_sweep(load_sweep(sweep)).parts["submission"] == [program]


def test_broken_plugins_are_named_by_check_and_where_they_are_used(command):
    code, checked, _ = command("plugins", "--check")
    assert code == 1
    text = " ".join(checked.split())
    assert "No module named 'my_package.nowhere'" in text
    assert "has a name that fsl-sweep itself also uses" in text
    assert "named 'misnamed'" in text
    for changes, message in (
        (("[late, val]", "[broken, val]"), "plug-in 'broken' (my-package) does not load: "),
        (("name: cosine-net", "name: ridge"), "plug-in 'ridge' (my-package) has a name that"),
    ):
        Path("s.yaml").write_text(SWEEP.replace(*changes))
        code, _, errors = command("run", "s.yaml")
        assert code == 2
        assert message in errors
        assert errors.count("\n") == 1


CONTRACTS = """
from fsl_sweep.learners.testing import LearnerContract, SubmissionContract
from my_package.cosine import CosineNet
from my_package.eigen import Eigen
from my_package.near_best import NearBest
from my_package.stops import Stops
from fsl_sweep.orchestrator.testing import SearcherContract, StudyContract


class TestCosineNet(LearnerContract):
    learner = CosineNet


class TestEigen(SubmissionContract):
    submission = Eigen
    modes = ("episode",)


class TestNearBest(SearcherContract):
    searcher = NearBest


class TestStops(StudyContract):
    study = Stops
    options = {"late": 3}

"""


@pytest.mark.slow
def test_the_documented_parts_pass_their_contracts(package, tmp_path, monkeypatch):
    selector = block("docs/extending.md", "python", "class TestLate(SnapshotSelectorContract)")
    (tmp_path / "test_mine.py").write_text(CONTRACTS + selector)
    monkeypatch.syspath_prepend(package)
    passed = nested.passed(tmp_path / "test_mine.py")
    for name in ("TestCosineNet", "TestEigen", "TestLate", "TestNearBest", "TestStops"):
        assert any(f"::{name}::" in one for one in passed)


def test_the_documented_use_of_a_model_runs(command, capsys):
    sweep = yaml.safe_load(SWEEP.replace("name: plugged", "name: my-sweep"))
    sweep["methods"] = {"PN": {**sweep["methods"]["CN"], "learner": {"name": "protonet"}}}
    sweep |= {"seeds": [0, 1], "selectors": {"snapshot": ["val"], "hyperparameter": ["val"]}}
    Path("s.yaml").write_text(yaml.safe_dump(sweep))
    for index in ("0", "1"):
        assert command("trial", "s.yaml", "--index", index)[0] == 0
    # Two classes that any learner tells apart: a large and a small square.
    for name, edge in (("large", 30), ("small", 8)):
        Path("examples", name).mkdir(parents=True)
        Path("unknown").mkdir(exist_ok=True)
        for number in range(6):
            picture = Image.new("RGB", (48, 40))
            picture.paste((200, 250, 220), (5 + number % 2, 5, 5 + edge, 5 + edge))
            picture.save(Path("examples", name, f"{number}.png"))
        picture.save(Path("unknown", f"{name}.png"))
    names = {}
    for _, code in blocks("docs/use-a-model.md"):
        exec(code, names)
    shown = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in shown[2:]] == [
        ["large.png", "large"],
        ["small.png", "small"],
    ]
    assert [choice.snapshot.seed for choice in names["chosen"]] == [0, 1]
    images = names["support"], names["pixels"](names["queries"])
    each = [choice.load().classify(*images) for choice in names["chosen"]]
    np.testing.assert_allclose(names["ensemble"], np.mean(each, axis=0))


def test_every_option_of_every_benchmark_is_documented_with_its_default():
    text = (ROOT / "docs" / "benchmarks.md").read_text()
    for name in BENCHMARKS.names():
        section = text.partition(f"## `{name}`\n")[2].partition("\n## ")[0]
        for option, field in BENCHMARKS.find(name).cls.Options.model_fields.items():
            plain = field.default is None or isinstance(field.default, bool)
            default = str(field.default).lower() if plain else field.default
            assert f"| `{option}` | `{default}` |" in section


def test_every_learner_backbone_benchmark_and_study_is_documented():
    text = (ROOT / "docs" / "parts.md").read_text()
    for name in [
        name for table in (LEARNERS, BACKBONES, BENCHMARKS, STUDIES) for name in table.names()
    ]:
        assert f"| `{name}`" in text


def headings(page: Path) -> set[str]:
    """What follows ``#`` in links to the headings of a page, as GitHub makes it."""
    titles = re.findall(r"^#+ (.*)", page.read_text(), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title).lower().replace(" ", "-") for title in titles}


def test_links_lead_somewhere():
    installed = {".venv", "node_modules"}
    for file in (path for path in ROOT.glob("**/*.md") if not installed & {*path.parts}):
        links = re.findall(r"\]\(([^)#]*)#?([^)]*)\)", file.read_text())
        for target, heading in (link for link in links if "://" not in link[0]):
            page = file.parent.joinpath(target) if target else file
            assert page.exists(), (file, target)
            assert not heading or heading in headings(page), (file, target, heading)


def test_the_picture_of_the_floors_is_that_of_the_contracts() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text()
    rules = (ROOT / "pyproject.toml").read_text()
    assert floors.drawn(page) == floors.enforced(rules)
    assert floors.drawn(page) != floors.enforced(rules.replace('"replay | measuring"', '"replay"'))


def of_that_name(place: str) -> list[Path]:
    """Files or folders of the code whose path ends so."""
    end = f"/{place.rstrip('/')}"
    rooms = (ROOT / name for name in ("orchestrator", "learners", "datasets", "tests", "docs"))
    files = (path for room in rooms for path in (room, *room.rglob(Path(place).name)))
    return [path for path in files if str(path).endswith(end)]


def test_the_architecture_names_what_is_there() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text()
    places = re.findall(r"`([\w./]+(?:\.py|/))`", page)
    assert len(places) > 50
    assert not [place for place in places if not of_that_name(place)]
    named = re.findall(r"`([\w.]+)`(?:,? in|) \(?`([\w/]+\.py)`", page)
    assert len(named) > 40
    for name, place in named:
        (path,) = of_that_name(place)
        assert {*name.split(".")} <= {*re.findall(r"\w+", path.read_text())}, (name, place)


@pytest.mark.parametrize("page", PAGES)
def test_the_commands_of_a_page_have_the_arguments_that_are_written(page: str) -> None:
    """Those of blocks, also where they cannot be run; on the two indexes those of sentences too."""
    text = "".join(code for language, code in blocks(page) if language in ("bash", "console"))
    lines = re.findall(r"^(?:\w+\$ *)?fsl-sweep (.*)", text, flags=re.MULTILINE)
    if page.endswith("README.md"):
        inline = re.findall(r"`fsl-sweep ([^`]+ [^`]+)`", (ROOT / page).read_text())
        lines += [line for line in inline if not line.endswith("--help")]
    for line in lines:
        command: Any = get_command(app)
        words = shlex.split(line, comments=True)
        while hasattr(command, "get_command"):
            command = command.get_command(None, words.pop(0))
        command.make_context("fsl-sweep", words)


def test_the_readme_names_the_platforms_of_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    versions = [text.rpartition(" :: ")[2] for text in project["classifiers"]]
    first, *_, last = sorted((v for v in versions if v.startswith("3.")), key=lambda v: int(v[2:]))
    assert project["requires-python"] == f">={first}"
    assert {"Linux", "CPython"} <= {*versions}
    assert f"On Linux with CPython {first} to {last}" in (ROOT / "README.md").read_text()


def test_the_documentation_compares_methods_and_configurations_of_its_example() -> None:
    trials = plan_sweep(load_sweep("quickstart")).trials
    index = (ROOT / "docs" / "README.md").read_text()
    commands = re.findall(r"`(fsl-sweep [^`]* runs/quickstart [^`]*)`", index)
    assert len(commands) == 3
    assert not re.search(r"\bRUN (--method|PN)", index)
    for words in map(str.split, commands):
        assert {trial.method for trial in trials} <= {*words}
        if "--configuration" in words:
            asked = words[words.index("--configuration") + 1]
            assert any(is_configuration("", trial.hyperparameters, asked) for trial in trials)


@pytest.mark.slow
def test_the_documented_weights_of_another_library_are_renamed(tmp_path: Path) -> None:
    """In an interpreter in which nothing has imported torchvision yet."""
    code = block("docs/pretrained.md", "python", "lite0.pth")
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)
    assert "classifier.weight" in torch.load(tmp_path / "lite0.pth", weights_only=True)
