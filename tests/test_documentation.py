"""The code in the documentation works as it stands there."""

import json
import re
import subprocess
import sys
import textwrap

import pytest
import yaml
from places import ROOT

from fsl_sweep.datasets.catalogue import BENCHMARKS
from fsl_sweep.learners.backbones.catalogue import BACKBONES
from fsl_sweep.learners.catalogue import LEARNERS
from fsl_sweep.orchestrator.sweepfile.reading import load_sweep


def blocks(file, language):
    text = (ROOT / file).read_text()
    return re.findall(rf"```{language}\n(.*?)```", text, flags=re.DOTALL)


def block(file, language, word):
    (found,) = [code for code in blocks(file, language) if word in code]
    return found


@pytest.fixture
def package(tmp_path):
    """A distribution made of the documentation's selector, learner and program."""
    folder = tmp_path / "site"
    (folder / "my_package").mkdir(parents=True)
    (folder / "my_package" / "__init__.py").write_text("")
    (folder / "my_package" / "late.py").write_text(
        block("docs/extending.md", "python", "class Late(SnapshotSelector)")
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
    metadata = folder / "my_package-1.2.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: my-package\nVersion: 1.2\n")
    (metadata / "entry_points.txt").write_text(
        "[fsl_sweep.snapshot_selectors]\n"
        "late = my_package.late:INFO\n"
        "broken = my_package.nowhere:INFO\n"
        "misnamed = my_package.late:INFO\n"
        "[fsl_sweep.learners]\n"
        "cosine-net = my_package.cosine:INFO\n"
        "ridge = my_package.cosine:INFO\n"
        "[fsl_sweep.metadl]\n"
        "eigen = my_package.eigen:INFO\n"
    )
    return folder


def python(package, *arguments):
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=package.parent,
        env={"PYTHONPATH": str(package), "PATH": "/usr/bin:/bin", "HOME": str(package.parent)},
    )


def command(package, *arguments):
    return python(package, "-m", "fsl_sweep.orchestrator.cli", *arguments)


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


@pytest.mark.slow
def test_the_documented_plugins_are_found_run_and_recorded(package):
    (package.parent / "s.yaml").write_text(SWEEP)
    listed = command(package, "plugins")
    assert listed.returncode == 0, listed.stderr
    assert "my-package 1.2" in listed.stdout
    # Plug-ins that fail to load or clash stop nobody who does not name them.
    done = command(package, "trial", "s.yaml", "--index", "0")
    assert done.returncode == 0, done.stderr
    report = command(package, "report", "runs/plugged", "--format", "json")
    assert report.returncode == 0, report.stderr
    assert '"snapshot_selector": "late"' in report.stdout
    assert "my-package" in report.stdout
    plan = (package.parent / "runs" / "plugged" / "plan.json").read_text()
    assert '"source": "my-package"' in plan
    assert '"version": "1.2"' in plan


@pytest.mark.slow
def test_the_documented_program_runs_as_a_trial_and_is_recorded(package):
    sweep = yaml.safe_load(SWEEP.replace("name: plugged", "name: program"))
    method = yaml.safe_load(block("docs/extending.md", "yaml", "submission: eigen"))
    sweep["methods"] = {"eigen": {**method, "batches": 5}}
    (package.parent / "s.yaml").write_text(yaml.safe_dump(sweep))
    done = command(package, "trial", "s.yaml", "--index", "0")
    assert done.returncode == 0, done.stderr
    assert "loss -  BaseGen" in done.stdout
    plan = json.loads((package.parent / "runs" / "program" / "plan.json").read_text())
    assert plan["parts"]["submission"] == [
        {"name": "eigen", "source": "my-package", "version": "1.2"}
    ]
    report = command(package, "report", "runs/program", "--format", "json")
    assert report.returncode == 0, report.stderr
    (selection,) = [
        one for one in json.loads(report.stdout)["selections"] if one["snapshot_selector"] == "val"
    ]
    assert selection["novel"]["mean"] > 1 / 3
    (package.parent / "test_eigen.py").write_text(
        "from fsl_sweep.learners.testing import SubmissionContract\n"
        "from my_package.eigen import Eigen\n\n\n"
        "class TestEigen(SubmissionContract):\n"
        "    submission = Eigen\n    modes = ('episode',)\n"
    )
    passed = python(package, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_eigen.py")
    assert passed.returncode == 0, passed.stdout


@pytest.mark.slow
def test_broken_plugins_are_told_by_check_and_when_they_are_named(package):
    checked = command(package, "plugins", "--check")
    assert checked.returncode == 1
    text = " ".join(checked.stdout.split())
    assert "No module named 'my_package.nowhere'" in text
    assert "has a name that fsl-sweep itself also uses" in text
    assert "named 'misnamed'" in text
    for changes, message in (
        (("[late, val]", "[broken, val]"), "plug-in 'broken' (my-package) does not load: "),
        (("name: cosine-net", "name: ridge"), "plug-in 'ridge' (my-package) has a name that"),
    ):
        (package.parent / "s.yaml").write_text(SWEEP.replace(*changes))
        failed = command(package, "run", "s.yaml")
        assert failed.returncode == 2
        assert message in failed.stderr
        assert failed.stderr.count("\n") == 1


@pytest.mark.slow
def test_the_documented_contract_passes(package):
    contract = block("docs/extending.md", "python", "class TestLate(SnapshotSelectorContract)")
    (package.parent / "test_late.py").write_text(contract)
    passed = python(package, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_late.py")
    assert passed.returncode == 0, passed.stdout


def test_every_option_of_every_benchmark_is_documented_with_its_default():
    text = (ROOT / "docs" / "benchmarks.md").read_text()
    for name in BENCHMARKS.names():
        section = text.partition(f"## `{name}`\n")[2].partition("\n## ")[0]
        for option, field in BENCHMARKS.find(name).cls.Options.model_fields.items():
            plain = field.default is None or isinstance(field.default, bool)
            default = str(field.default).lower() if plain else field.default
            assert f"| `{option}` | `{default}` |" in section


def test_every_learner_backbone_and_benchmark_is_documented():
    text = (ROOT / "docs" / "parts.md").read_text()
    for name in [*LEARNERS.names(), *BACKBONES.names(), *BENCHMARKS.names()]:
        assert f"| `{name}`" in text


def test_the_sweep_file_of_the_readme_is_valid(tmp_path):
    path = tmp_path / "readme.yaml"
    path.write_text(block("README.md", "yaml", "name: my-sweep"))
    config = load_sweep(str(path)).config
    assert list(config.methods) == ["PN", "FIX-PN"]


@pytest.mark.parametrize(
    "file", sorted(p.relative_to(ROOT) for p in ROOT.glob("**/*.md") if ".venv" not in p.parts)
)
def test_links_lead_somewhere(file):
    text = (ROOT / file).read_text()
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", text):
        if "://" not in target:
            assert (ROOT / file).parent.joinpath(target).exists(), target


def test_the_documented_learner_passes_the_learner_contract(package):
    test = (
        "from fsl_sweep.learners.testing import LearnerContract\n"
        "from my_package.cosine import CosineNet\n\n\n"
        "class TestCosineNet(LearnerContract):\n    learner = CosineNet\n"
    )
    (package.parent / "test_cosine.py").write_text(test)
    passed = python(package, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_cosine.py")
    assert passed.returncode == 0, passed.stdout
