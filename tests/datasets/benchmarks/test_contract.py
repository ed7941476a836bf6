"""Our benchmarks pass the contract, and the contract notices what it is for."""

import inspect
from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest
from pools import encoded, pool_of, write_files
from pydantic import BaseModel, ConfigDict

from fsl_sweep.datasets.benchmarks.glyphs.glyphs import Glyphs
from fsl_sweep.datasets.benchmarks.image_folder import ImageFolder
from fsl_sweep.datasets.tasks.classes import ClassTasks
from fsl_sweep.datasets.tasks.episodes import EpisodeShape
from fsl_sweep.datasets.tasks.query_counts import MultinomialQueries
from fsl_sweep.datasets.testing import BenchmarkContract, _check_episodes
from fsl_sweep.orchestrator.errors import UserError


class TestGlyphs(BenchmarkContract):
    benchmark = Glyphs
    options: ClassVar = {f"{split}_alphabets": 1 for split in ("base", "val", "novel")}
    options |= {"classes_per_alphabet": 4, "examples": 6, "image_size": 12}


class TestImageFolder(BenchmarkContract):
    benchmark = ImageFolder
    options: ClassVar = {"image_size": 8, "base": 0.4, "val": 0.3, "novel": 0.3}

    def root(self, tmp_path):
        rng = np.random.default_rng(0)
        pixels = rng.integers(0, 256, (10, 10, 8, 9, 3), dtype=np.uint8)
        files = {f"class{c}/{n}.png": encoded(pixels[c, n]) for c in range(10) for n in range(10)}
        return write_files(tmp_path, files)


def assembles(**changes):
    """Assembles a benchmark that is sound but for some splits."""

    def assemble(self, options, pools):
        sound = ImageFolder.assemble(self, options, pools)
        return replace(sound, **{split: change(sound) for split, change in changes.items()})

    return assemble


def prepares(side=lambda root: 8, progress=lambda report: report, also=lambda root: None):
    """Prepares images of another size, reports its progress in another way, or does more."""

    def prepare(self, options, root, writer, report):
        also(root)
        options = options.model_copy(update={"image_size": side(root)})
        ImageFolder.prepare(self, options, root, writer, progress(report))

    return prepare


class Lax(BaseModel):
    model_config = ConfigDict(frozen=True)


def renamed(tasks):
    pool = tasks.pool
    other = pool_of(pool.images, pool.labels, [f"{n}!" for n in pool.class_names])
    return ClassTasks(other, tasks.classes, tasks.examples)


def first_of_each(tasks):
    _, first = np.unique(tasks.pool.labels[tasks.examples], return_index=True)
    return ClassTasks(tasks.pool, tasks.classes, tasks.examples[first])


def backwards(report):
    return lambda done, total: report(total - done, total)


FAULTS = [
    ("read_back", {"pool_options": lambda self, options: {"size": (8,)}}),
    ("unknown_option", {"Options": Lax}),
    ("share_nothing", {"assemble": assembles(novel=lambda b: b.val)}),
    ("training_example", {"assemble": assembles(base=lambda b: renamed(b.train))}),
    ("counts_are", {"expected": lambda self, options: {"base": 5}}),
    ("well_formed_episodes", {"assemble": assembles(base=lambda b: first_of_each(b.base))}),
    ("fingerprint", {"prepare": prepares(side=lambda root: 8 + len(root.name))}),
    ("missing_files", {"signature": lambda *_: "nothing", "prepare": lambda *_: None}),
    ("interrupted", {"prepare": prepares(progress=lambda report: lambda *_: None)}),
    ("reports_its_progress", {"prepare": prepares(progress=backwards)}),
    (
        "reports_its_progress",
        {"prepare": prepares(also=lambda root: (root / "class0" / "0.png").touch())},
    ),
]


@pytest.mark.parametrize(("word", "fault"), FAULTS)
def test_the_contract_notices(word, fault, tmp_path_factory):
    (name,) = (name for name in vars(BenchmarkContract) if word in name)

    def check(members):
        broken = type("Broken", (ImageFolder,), members)
        contract = type("Contract", (TestImageFolder,), {"_shared": None, "benchmark": broken})()
        fixtures = {"tmp_path": tmp_path_factory.mktemp("x"), "tmp_path_factory": tmp_path_factory}
        wanted = inspect.signature(getattr(contract, name)).parameters
        if "prepared" in wanted:
            fixtures["prepared"] = contract._prepared(tmp_path_factory)
        getattr(contract, name)(**{argument: fixtures[argument] for argument in wanted})

    check({})
    with pytest.raises((AssertionError, UserError, pytest.fail.Exception)):
        check(fault)


@pytest.mark.parametrize("absent", [["support"], ["query"], ["support", "classes"]])
def test_the_contract_notices_padding_that_makes_no_sense(pool, absent):
    tasks = MultinomialQueries(ClassTasks(pool, np.arange(6)))
    drawn = tasks.sample(3, EpisodeShape(2, 1, 1), np.random.default_rng(0))
    _check_episodes(tasks, drawn)
    for part in absent:
        getattr(drawn, part)[0, slice(None) if part == "query" else 0] = -1
    with pytest.raises(AssertionError, match=r"a class has a part|no queries|padding has"):
        _check_episodes(tasks, drawn)
