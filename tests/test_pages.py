"""Every block of code in the README and under docs/ runs as it stands, or says here why not."""

import importlib
import shlex
import shutil
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import tables
import yaml
from commands import WithoutRay, finished
from pages import PAGES, block, blocks, written_package
from PIL import Image
from places import ROOT

import fsl_sweep
from fsl_sweep.orchestrator.cli import invoke
from fsl_sweep.orchestrator.sweep import execute
from fsl_sweep.orchestrator.sweepfile.grammar import SweepConfig
from fsl_sweep.orchestrator.sweepfile.reading import load_sweep

pytestmark = pytest.mark.slow

INSTALLS = "installs from the package index, as `make test` did before this test ran"
CLUSTER = "needs machines of a cluster"
NOT_RUN = {
    ("README.md", "make demo"): INSTALLS,
    ("README.md", "make test"): INSTALLS,
    ("README.md", "pip install "): INSTALLS,
    ("README.md", "export PIP_EXTRA_INDEX_URL="): INSTALLS,
    ("docs/architecture.md", " cli "): "a drawing, which test_documentation.py compares with rules",
    ("docs/cluster.md", "head$"): CLUSTER,
    ("docs/cluster.md", "all$"): CLUSTER,
    ("docs/cluster.md", "worker$"): CLUSTER,
    ("docs/cluster.md", "docker build"): CLUSTER,
    ("docs/cluster.md", "ray "): CLUSTER,
    ("docs/cluster.md", "kubectl "): CLUSTER,
    ("docs/cluster.md", "import fsl_sweep"): "test_sweep.py runs such a callback on Ray",
    ("docs/pretrained.md", "import torch"): "test_documentation.py runs it in a new interpreter",
    ("docs/run-folder.md", "RUN/"): "a drawing of a folder",
    ("docs/use-a-model.md", ""): "test_documentation.py runs it, and looks at the answers",
}
"""Why lines of commands that begin so, and other blocks, are not run here."""

SMALLER = {
    "docs/first-sweep.md": {
        "image_size: 28": "image_size: 16, examples: 20",
        "epochs: 5": "epochs: 1",
        "batches: 50 ": "batches: 2 ",
        "_tasks: 600": "_tasks: 20",
        "seeds: [0, 1, 2]": "seeds: [0, 1]",
        "width: 32": "width: 8",
    },
    "docs/flips.md": {
        "--examples 100": "--examples 8",
        " PN RR": " PN RR --sets 2 --tasks 40",
        '"sets": 100, "tasks": 20_000': '"sets": 2, "tasks": 40',
    },
    "docs/measuring.md": {"--tasks 10000": "--tasks 30"},
    "docs/run-folder.md": {"epochs=20": "epochs=3"},
}
"""What is replaced in the blocks of a page, so that it takes no longer than a second or two."""

SWEEP = """
name: mine
benchmark: {name: glyphs, base_alphabets: 2, val_alphabets: 2, novel_alphabets: 4,
            classes_per_alphabet: 10, examples: 40, image_size: 16}
episode: {way: 5, shot: 1, query: 2}
evaluation: {selection_tasks: 20, report_tasks: 20}
defaults:
  backbone: {name: conv4, width: 8}
  optimizer: {name: sgd, lr: 0.1}
  epochs: 2
  batches: 2
  train: {way: 5, shot: 1, query: 2, tasks_per_batch: 1}
methods:
  PN: {learner: {name: protonet}}
  RR: {learner: {name: ridge}}
seeds: [0, 1]
"""
"""What the readers of these pages have run."""

READERS = {"features": np.ones((40, 3)), "labels": [0, 1] * 20, "split": None}
"""What the readers of these pages have in variables."""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the runs, tables and images that the pages speak of."""
    home = tmp_path_factory.mktemp("home")
    sweep = yaml.safe_load(SWEEP)
    finished(home / "runs" / "mine", sweep)
    for name, seeds in {"seeds-0-2": [0, 1], "seeds-3-5": [3, 4]}.items():
        finished(
            home / "runs" / name,
            sweep | {"seeds": seeds, "methods": {"PN": sweep["methods"]["PN"]}},
        )
    shutil.copytree(home / "runs" / "mine", home / "runs" / "quickstart")
    records = tables.made(benchmark="cub")
    others = records.assign(benchmark="cars", accuracy=1 - records["accuracy"])
    tables.written(pd.concat([records, others]), home / "logs.csv")
    generator = np.random.default_rng(0)
    for name in (f"kind-{number}" for number in range(30)):
        folder = home / "fungi" / name
        folder.mkdir(parents=True)
        for number in range(10):
            pixels = generator.integers(0, 255, (16, 16), dtype=np.uint8)
            Image.fromarray(pixels).save(folder / f"{number}.png")
    return home


@pytest.fixture
def reader(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of that folder, which is the current one."""
    place = Path(shutil.copytree(home, tmp_path / "home"))
    monkeypatch.chdir(place)
    monkeypatch.setenv("HOME", str(place))
    monkeypatch.setattr(execute, "RayProcess", WithoutRay)
    return place


def shell(code: str, excused: Callable[[str], bool]) -> None:
    """Call each command in this process; it succeeds."""
    for line in filter(str.strip, code.splitlines()):
        if excused(line):
            continue
        program, *words = shlex.split(line, comments=True)
        assert program == "fsl-sweep", f"neither run nor excused: {line}"
        words = [str(Path(word).expanduser()) if word.startswith("~") else word for word in words]
        assert invoke(words) == 0, line


def sweep_file(code: str) -> None:
    """Save a whole file; read a part of one as a part of another, of its method if need be."""
    part = yaml.safe_load(code)
    if "name" in part:
        Path(f"{part['name']}.yaml").write_text(code)
        load_sweep(f"{part['name']}.yaml")
        return
    whole = yaml.safe_load(SWEEP)
    if part.keys() <= SweepConfig.model_fields.keys() | {"laptop"}:
        whole |= {**part, "defaults": whole["defaults"] | part.get("defaults", {})}
    else:
        whole["methods"]["PN"] |= part
    sweep = load_sweep(whole)
    if "laptop" in part:
        assert sweep.laptop is not None
        sweep.laptop()


def entry_points(code: str) -> None:
    for points in tomllib.loads(code)["project"]["entry-points"].values():
        for place in points.values():
            module, _, name = place.partition(":")
            assert hasattr(importlib.import_module(module), name)


def table(code: str) -> None:
    head = block("docs/replay.md", "csv", "method,").partition("\n")[0]
    Path("block.csv").write_text(code if code.startswith(head) else f"{head}\n{code}")
    assert fsl_sweep.load_run("block.csv").report(bootstrap=0).selected is not None


KINDS: dict[str, Callable[[str], object]] = {
    "yaml": sweep_file,
    "toml": entry_points,
    "csv": table,
}
"""What is done with a block of a language."""


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page)])
def test_the_blocks_of_a_page_run_in_order(
    page: str, reader: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    used, names = set(), dict[str, Any](READERS, __name__=page)

    def excused(line: str) -> bool:
        found = [key for key in NOT_RUN if key[0] == page and line.startswith(key[1])]
        used.update(found)
        return bool(found)

    text = "".join(code for _, code in blocks(page))
    assert not [old for old in SMALLER.get(page, {}) if old not in text]
    assert (ROOT / page).read_text().count("```") == 2 * len(blocks(page)), "a block is not found"
    if page == "docs/figures.md":
        assert invoke(["measure", "runs/quickstart", "--shot", "5"]) == 0
    if page == "docs/extending.md":
        monkeypatch.syspath_prepend(written_package(reader / "package"))
    kinds = KINDS | {"python": lambda code: exec(compile(code, page, "exec"), names)}
    for language, code in blocks(page):
        for old, new in SMALLER.get(page, {}).items():
            code = code.replace(old, new)
        if language in ("bash", "console"):
            shell(code, excused)
        elif not excused(code):
            kinds[language](code)
    assert used == {key for key in NOT_RUN if key[0] == page}
