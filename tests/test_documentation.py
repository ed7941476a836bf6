"""The code in the documentation works as it stands there, and so does its example plug-in."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import nested
import numpy as np
import pytest
import torch
import yaml
from installed import distribution
from PIL import Image
from places import ROOT

from fsl_sweep.datasets.catalogue import BENCHMARKS
from fsl_sweep.learners.backbones.catalogue import BACKBONES
from fsl_sweep.learners.building import build_learner
from fsl_sweep.learners.catalogue import LEARNERS
from fsl_sweep.orchestrator.cli import invoke
from fsl_sweep.orchestrator.sweepfile.reading import load_sweep


def blocks(file, language):
    return re.findall(rf"```{language}\n(.*?)```", (ROOT / file).read_text(), flags=re.DOTALL)


def block(word, language="python", file="docs/extending.md"):
    (code,) = [code for code in blocks(file, language) if word in code]
    return code


ENTRY_POINTS = """
[fsl_sweep.snapshot_selectors]
late = my_package.late:INFO
broken = my_package.nowhere:INFO
misnamed = my_package.late:INFO
[fsl_sweep.learners]
cosine-net = my_package.cosine:INFO
ridge = my_package.cosine:INFO
[fsl_sweep.metadl]
eigen = my_package.eigen:INFO
"""
INFO = """
from fsl_sweep.orchestrator.catalogue import Info
INFO = Info("cosine-net", CosineNet, "", "nearest class mean by cosine similarity")
"""
CONTRACTS = """
from fsl_sweep.learners.testing import LearnerContract, SubmissionContract
from my_package import cosine, eigen
TestCosineNet = type("TestCosineNet", (LearnerContract,), {"learner": cosine.CosineNet})
members = {"submission": eigen.Eigen, "modes": ("episode",)}
TestEigen = type("TestEigen", (SubmissionContract,), members)
"""
SWEEP = """
name: plugged
benchmark: {name: glyphs, base_alphabets: 1, val_alphabets: 1, novel_alphabets: 1,
            classes_per_alphabet: 4, examples: 12, image_size: 16}
episode: {way: 3, shot: 1, query: 2}
evaluation: {selection_tasks: 20, report_tasks: 20}
methods:
  CN: {learner: {name: cosine-net, scale: 5}, backbone: {name: conv4, width: 8}, epochs: 2,
       batches: 2, optimizer: {lr: 0.1}, train: {way: 3, shot: 1, query: 2, tasks_per_batch: 1}}
selectors: {snapshot: [late, val], hyperparameter: [val]}
"""


METHODS = yaml.safe_load(SWEEP)["methods"]


def write_sweep(**changes):
    Path("s.yaml").write_text(yaml.safe_dump(yaml.safe_load(SWEEP) | changes))


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """A distribution made of the documentation's selector, learner and program."""
    folder = tmp_path_factory.mktemp("package")
    parts = {
        "late": block("class Late(SnapshotSelector)"),
        "cosine": block("class CosineNet(EpisodicLearner)") + INFO,
        "eigen": block("class Eigen(Submission)"),
    }
    (folder / "my_package").mkdir()
    for name, code in parts.items():
        (folder / "my_package" / f"{name}.py").write_text(code)
    distribution(folder, "my-package", "1.2", ENTRY_POINTS)
    return folder


@pytest.fixture
def called(tmp_path, monkeypatch, capsys):
    """Call a command in an empty folder, check its exit code, and give what it shows."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments, code=0):
        assert invoke([*arguments]) == code
        return capsys.readouterr()

    return call


@pytest.fixture
def command(package, monkeypatch, called):
    monkeypatch.syspath_prepend(package)
    return called


def test_the_documented_plugins_are_found_run_and_recorded(command):
    program = yaml.safe_load(block("submission: eigen", "yaml")) | {"batches": 5}
    write_sweep(methods=METHODS | {"eigen": program})
    assert "my-package 1.2" in command("plugins").out
    # Plug-ins that fail to load or clash matter only where they are named.
    shown = [command("trial", "s.yaml", "--index", index).out for index in ("0", "1")]
    assert "loss -  BaseGen" in shown[1]
    parts = json.loads(Path("runs/plugged/plan.json").read_text())["parts"]
    for kind, name in (("learner", "cosine-net"), ("submission", "eigen")):
        assert {"name": name, "source": "my-package", "version": "1.2"} in parts[kind]
    report = command("report", "runs/plugged", "--format", "json").out
    assert "my-package" in report
    selections = json.loads(report)["selections"]
    means = {(s["method"], s["snapshot_selector"]): s["novel"]["mean"] for s in selections}
    assert means["eigen", "val"] > 1 / 3
    assert ("CN", "late") in means


def test_the_documented_learner_answers_where_features_are_zero(command):
    """As those of an image for which every unit of the network is dead."""
    learner = build_learner({"name": "cosine-net"}, {"name": "identity"}, (5, 1, 1), 2, 0)
    assert learner.head(torch.zeros(1, 3, 1, 5), torch.zeros(1, 4, 5)).isfinite().all()


def test_broken_plugins_are_named_by_check_and_where_they_are_used(command):
    text = " ".join(command("plugins", "--check", code=1).out.split())
    assert "No module named 'my_package.nowhere'" in text
    assert "has a name that fsl-sweep itself also uses" in text
    assert "named 'misnamed'" in text
    for changes, message in (
        (("[late, val]", "[broken, val]"), "plug-in 'broken' (my-package) does not load: "),
        (("name: cosine-net", "name: ridge"), "plug-in 'ridge' (my-package) has a name that"),
    ):
        Path("s.yaml").write_text(SWEEP.replace(*changes))
        errors = command("run", "s.yaml", code=2).err
        assert message in errors
        assert errors.count("\n") == 1


@pytest.mark.slow
def test_the_documented_parts_pass_their_contracts(package, tmp_path, monkeypatch):
    selector = block("class TestLate(SnapshotSelectorContract)")
    (tmp_path / "test_mine.py").write_text(CONTRACTS + selector)
    monkeypatch.syspath_prepend(package)
    suites = {name.split("::")[1] for name in nested.passed(tmp_path / "test_mine.py")}
    assert suites == {"TestCosineNet", "TestEigen", "TestLate"}


def test_the_documented_use_of_a_model_runs(command, capsys):
    method = METHODS["CN"] | {"learner": {"name": "protonet"}}
    selectors = {"snapshot": ["val"], "hyperparameter": ["val"]}
    write_sweep(name="my-sweep", methods={"PN": method}, seeds=[0, 1], selectors=selectors)
    for index in ("0", "1"):
        command("trial", "s.yaml", "--index", index)
    # Two classes that any learner tells apart: a large and a small square.
    Path("unknown").mkdir()
    for name, edge in (("large", 30), ("small", 8)):
        Path("examples", name).mkdir(parents=True)
        for number in range(6):
            picture = Image.new("RGB", (48, 40))
            picture.paste((200, 250, 220), (5 + number % 2, 5, 5 + edge, 5 + edge))
            picture.save(Path("examples", name, f"{number}.png"))
        picture.save(Path("unknown", f"{name}.png"))
    names = {}
    for code in blocks("docs/use-a-model.md", "python"):
        exec(code, names)
    shown = [line.split()[:2] for line in capsys.readouterr().out.splitlines()[2:]]
    assert shown == [["large.png", "large"], ["small.png", "small"]]
    assert [chosen.seed for chosen in names["chosen"]] == [0, 1]
    images = names["support"], names["pixels"](names["queries"])
    each = [chosen.load().classify(*images) for chosen in names["chosen"]]
    np.testing.assert_allclose(names["ensemble"], np.mean(each, axis=0))


def test_every_part_is_documented_and_every_option_of_a_benchmark_with_its_default():
    parts, text = ((ROOT / "docs" / f"{n}.md").read_text() for n in ("parts", "benchmarks"))
    for name in [*LEARNERS.names(), *BACKBONES.names(), *BENCHMARKS.names()]:
        assert f"| `{name}`" in parts
    for name in BENCHMARKS.names():
        section = text.partition(f"## `{name}`\n")[2].partition("\n## ")[0]
        for option, field in BENCHMARKS.find(name).cls.Options.model_fields.items():
            plain = field.default is None or isinstance(field.default, bool)
            default = str(field.default).lower() if plain else field.default
            assert f"| `{option}` | `{default}` |" in section


def test_the_sweep_file_of_the_readme_is_valid(tmp_path):
    path = tmp_path / "readme.yaml"
    path.write_text(block("name: my-sweep", "yaml", "README.md"))
    assert list(load_sweep(str(path)).config.methods) == ["PN", "FIX-PN"]


def test_links_lead_somewhere():
    for file in (path for path in ROOT.glob("**/*.md") if ".venv" not in path.parts):
        for target in re.findall(r"\]\(([^)#]+)[^)]*\)", file.read_text()):
            assert "://" in target or file.parent.joinpath(target).exists(), (file, target)


@pytest.mark.slow
def test_the_example_plugin_passes_its_tests_is_listed_and_used(called, tmp_path, monkeypatch):
    # From a copy: setuptools leaves build folders beside what it builds.
    shutil.copytree(ROOT / "docs" / "example-plugin", "source")
    options = "--disable-pip-version-check --no-deps --no-build-isolation --no-index --quiet"
    pip = [sys.executable, "-m", "pip", "install", *options.split(), "--target", "installed"]
    done = subprocess.run([*pip, "./source"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    rows = ["method,configuration,seed,epoch,measure,accuracy"]
    for epoch, accuracy in enumerate((0.1, 0.9, 0.1, 0.6, 0.7), 1):
        rows += [f"A,only,0,{epoch},{measure},{accuracy}" for measure in ("base", "val", "novel")]
    Path("logs.csv").write_text("\n".join(rows))
    chosen = ["--snapshot", "smoothed-val", "--hyperparameter", "near-best-val"]
    report = ["report", "logs.csv", *chosen, "--format", "json"]
    assert "unknown snapshot selector 'smoothed-val'" in called(*report, code=2).err
    monkeypatch.syspath_prepend(tmp_path / "installed")
    shown = called(*report).out
    assert '"epoch": 5' in shown
    assert '"source": "fsl-sweep-steady"' in shown
    checked = called("plugins", "--check").out
    for name in ("smoothed-val", "near-best-val"):
        assert "fsl-sweep-steady" in re.search(rf"^.* {name} .*$", checked, re.MULTILINE)[0]
    assert nested.passed(ROOT / "docs" / "example-plugin" / "test_fsl_sweep_steady.py")
