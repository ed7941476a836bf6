"""The code in the documentation works as it stands there."""

import ast
import builtins
import re
import shlex
import subprocess
import sys
import textwrap
import tomllib
from pathlib import Path
from typing import Any

import floors
import nested
import numpy as np
import pytest
import torch
import yaml
from installed import distribution
from PIL import Image
from places import ROOT
from typer.main import get_command

import fsl_sweep
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


def blocks(file, language):
    text = (ROOT / file).read_text()
    return re.findall(rf"^```{language}\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)


def block(file, language, word):
    (found,) = [code for code in blocks(file, language) if word in code]
    return found


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """A distribution made of the documentation's selector, study, learner and program."""
    folder = tmp_path_factory.mktemp("package")
    (folder / "my_package").mkdir(parents=True)
    (folder / "my_package" / "__init__.py").write_text("")
    (folder / "my_package" / "late.py").write_text(
        block("docs/extending.md", "python", "class Late(SnapshotSelector)")
    )
    (folder / "my_package" / "stops.py").write_text(
        block("docs/extending.md", "python", "class Stops(Study[")
    )
    info = """
        from fsl_sweep.orchestrator.catalogue import Info

        INFO = Info("cosine-net", CosineNet, "", "nearest class mean by cosine similarity")
        """
    learner = block("docs/extending.md", "python", "class CosineNet(EpisodicLearner)")
    (folder / "my_package" / "cosine.py").write_text(learner + textwrap.dedent(info))
    (folder / "my_package" / "eigen.py").write_text(
        block("docs/extending.md", "python", "class Eigen(Submission)")
    )
    (folder / "my_package" / "near_best.py").write_text(
        block("docs/extending.md", "python", "class NearBest(Searcher)")
    )
    distribution(
        folder,
        "my-package",
        "1.2",
        "[fsl_sweep.snapshot_selectors]\n"
        "late = my_package.late:INFO\n"
        "broken = my_package.nowhere:INFO\n"
        "misnamed = my_package.late:INFO\n"
        "[fsl_sweep.learners]\n"
        "cosine-net = my_package.cosine:INFO\n"
        "ridge = my_package.cosine:INFO\n"
        "[fsl_sweep.metadl]\n"
        "eigen = my_package.eigen:INFO\n"
        "[fsl_sweep.searchers]\n"
        "near-best = my_package.near_best:INFO\n"
        "[fsl_sweep.studies]\n"
        "stops = my_package.stops:INFO\n",
    )
    return folder


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
    for code in blocks("docs/use-a-model.md", "python"):
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


def test_the_sweep_file_of_the_readme_is_valid(tmp_path):
    path = tmp_path / "readme.yaml"
    path.write_text(block("README.md", "yaml", "name: my-sweep"))
    config = load_sweep(str(path)).config
    assert list(config.methods) == ["PN", "FIX-PN"]


def test_links_lead_somewhere():
    installed = {".venv", "node_modules"}
    for file in (path for path in ROOT.glob("**/*.md") if not installed & {*path.parts}):
        for target in re.findall(r"\]\(([^)#]+)[^)]*\)", file.read_text()):
            assert "://" in target or file.parent.joinpath(target).exists(), (file, target)


def test_the_picture_of_the_floors_is_that_of_the_contracts() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text()
    rules = (ROOT / "pyproject.toml").read_text()
    assert floors.drawn(page) == floors.enforced(rules)
    assert floors.drawn(page) != floors.enforced(rules.replace('"replay | measuring"', '"replay"'))


PAGES = ["README.md", *(f"docs/{page.name}" for page in sorted((ROOT / "docs").glob("*.md")))]
READERS = {"my_package", "features", "labels", "split"}
"""Names in the documentation's code that are the reader's own."""


def names_and_imports(code: str) -> tuple[set[str], set[str], list[ast.Import | ast.ImportFrom]]:
    """The names that code defines anywhere, those that it reads, and its imports."""
    nodes = list(ast.walk(ast.parse(code)))
    imports = [node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)]
    defined = {alias.asname or alias.name.split(".")[0] for i in imports for alias in i.names}
    defined |= {node.arg for node in nodes if isinstance(node, ast.arg)}
    defined |= {n.name for n in nodes if isinstance(n, ast.FunctionDef | ast.ClassDef)}
    named = [node for node in nodes if isinstance(node, ast.Name)]
    defined |= {node.id for node in named if isinstance(node.ctx, ast.Store)}
    return defined, {node.id for node in named} - defined, imports


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "python")])
def test_the_python_of_a_page_defines_and_imports_all_that_it_names(page: str) -> None:
    known = READERS | vars(builtins).keys()
    for code in blocks(page, "python"):
        defined, read, imports = names_and_imports(code)
        assert read <= known
        known |= defined
        for statement in imports:
            names = {alias.name.partition(".")[0] for alias in statement.names}
            module = getattr(statement, "module", None) or ""
            # Without the guard of `load_timm` these do not load beside a CPU build of torch.
            assert not {*names, module.partition(".")[0]} & {"timm", "torchvision"}
            if module.partition(".")[0] not in READERS:
                exec(ast.unparse(statement))
        for name in re.findall(r"\bfsl_sweep\.(\w+)\(", code):
            assert hasattr(fsl_sweep, name)


@pytest.mark.parametrize("page", PAGES)
def test_the_commands_of_a_page_have_the_arguments_that_are_written(page: str) -> None:
    for text in [*blocks(page, "bash"), *blocks(page, "console")]:
        for line in re.findall(r"^(?:\w+\$ *)?fsl-sweep (.*)", text, flags=re.MULTILINE):
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


def test_the_readme_compares_methods_and_configurations_of_its_example() -> None:
    trials = plan_sweep(load_sweep("quickstart")).trials
    readme = (ROOT / "README.md").read_text()
    commands = re.findall(r"`(fsl-sweep [^`]* runs/quickstart [^`]*)`", readme)
    assert len(commands) == 3
    assert not re.search(r"\bRUN (--method|PN)", readme)
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
