"""Our benchmarks pass the contract, and the contract notices what it is for."""

from typing import ClassVar

import numpy as np
import pytest
from pools import encoded
from pydantic import BaseModel, ConfigDict, Field

from fsl_sweep.datasets.benchmark import Benchmark
from fsl_sweep.datasets.benchmarks.glyphs.glyphs import Glyphs
from fsl_sweep.datasets.benchmarks.image_folder import ImageFolder
from fsl_sweep.datasets.files.digests import canonical_digest
from fsl_sweep.datasets.pool import ImagePool
from fsl_sweep.datasets.source import AbstractBenchmark
from fsl_sweep.datasets.tasks.classes import ClassTasks
from fsl_sweep.datasets.testing import BenchmarkContract
from fsl_sweep.orchestrator.errors import MissingData, UserError


class TestGlyphs(BenchmarkContract):
    benchmark = Glyphs
    options: ClassVar = {f"{split}_alphabets": 1 for split in ("base", "val", "novel")}
    options |= {"classes_per_alphabet": 4, "examples": 6, "image_size": 12}


class TestImageFolder(BenchmarkContract):
    benchmark = ImageFolder
    options: ClassVar = {"image_size": 8, "base": 0.4, "val": 0.3, "novel": 0.3}

    def root(self, tmp_path):
        rng = np.random.default_rng(0)
        for number in range(10):
            folder = tmp_path / f"class{number}"
            folder.mkdir()
            for image in range(10):
                pixels = rng.integers(0, 256, (8, 9, 3), dtype=np.uint8)
                (folder / f"{image}.png").write_bytes(encoded(pixels))
        return tmp_path


class CarefulOptions(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    size: int = Field(4, description="side of the images in pixels")


class LaxOptions(BaseModel):
    model_config = ConfigDict(frozen=True)

    size: int = 4


class Careless(AbstractBenchmark):
    """Has the fault that a test chooses: eight classes of six rows of one file of bytes."""

    name, version, download = "careless", 1, "the file pixels"
    Options = CarefulOptions
    fault = ""

    def pool_options(self, options):
        return {"size": (options.size,)} if self.fault == "json" else {"size": options.size}

    def signature(self, options, root):
        if root is None or not (root / "pixels").is_file():
            if self.fault == "silent":
                return "nothing"
            raise MissingData(f"There is no file pixels in {root}.")
        return canonical_digest((root / "pixels").stat().st_size)

    def prepare(self, options, root, writer, progress):
        content = (root / "pixels").read_bytes() if (root / "pixels").is_file() else bytes(768)
        pixels = np.frombuffer(content, np.uint8).reshape(48, 1, 4, 4)
        if self.fault == "place":
            pixels = pixels ^ np.uint8(len(root.name))
        if self.fault == "touch":
            (root / "notes").write_text("I was here")
        pool = writer.pool((1, 4, 4))
        for label in range(8):
            pool.append(pixels[6 * label : 6 * label + 6], label)
            if self.fault != "progress":
                progress((6 * label + 6) if self.fault != "back" else 48 - label, 48)
        pool.describe([f"class {label}" for label in range(8)])

    def assemble(self, options, pools):
        pool = pools["main"]
        novel = [4, 5, 6] if self.fault == "classes" else [6, 7]
        rows = np.arange(24).reshape(4, 6)
        again = pool
        if self.fault == "leak":
            names = [f"{name}!" for name in pool.class_names]
            again = ImagePool.in_memory(pool.images, pool.labels, names)
        held = rows if self.fault == "leak" else rows[:, 4:]
        if self.fault == "few":
            held = rows[:, 5:]
        return Benchmark.of(
            self.name,
            ClassTasks(pool, np.arange(4), rows[:, :4].ravel()),
            ClassTasks(again, np.arange(4), held.ravel()),
            ClassTasks(pool, np.array([4, 5])),
            ClassTasks(pool, np.array(novel)),
        )

    def expected(self, options):
        return {"base": 5 if self.fault == "counts" else 4, "val": 2}


BREAKS = {
    "json": BenchmarkContract.test_options_are_frozen_described_and_read_back,
    "options": BenchmarkContract.test_an_unknown_option_is_refused,
    "classes": BenchmarkContract.test_base_val_and_novel_share_nothing,
    "leak": BenchmarkContract.test_no_training_example_is_in_base,
    "counts": BenchmarkContract.test_counts_are_the_expected_ones,
    "few": BenchmarkContract.test_every_split_fills_well_formed_episodes,
    "place": BenchmarkContract.test_the_fingerprint_is_of_the_content_alone,
    "silent": BenchmarkContract.test_missing_files_are_named_with_what_to_do,
    "progress": BenchmarkContract.test_an_interrupted_preparation_counts_for_nothing,
    "back": BenchmarkContract.test_preparing_reports_its_progress,
    "touch": BenchmarkContract.test_preparing_reports_its_progress,
}


def contract_of(fault):
    members = {"fault": fault, **({"Options": LaxOptions} if fault == "options" else {})}

    def root(self, tmp_path):
        pixels = np.random.default_rng(0).integers(0, 256, 768, dtype=np.uint8)
        (tmp_path / "pixels").write_bytes(pixels.tobytes())
        return tmp_path

    broken = type("Broken", (Careless,), members)
    return type("Contract", (BenchmarkContract,), {"benchmark": broken, "root": root})()


@pytest.mark.parametrize("fault", BREAKS)
def test_the_contract_notices(fault, tmp_path, tmp_path_factory):
    (tmp_path / "without").mkdir()
    (tmp_path / "with").mkdir()

    def check(contract, folder):
        test = BREAKS[fault]
        given = {"tmp_path": folder, "tmp_path_factory": tmp_path_factory}
        wanted = test.__code__.co_varnames[1 : test.__code__.co_argcount]
        test(contract, **{name: given[name] for name in wanted})

    check(contract_of(""), tmp_path / "without")
    with pytest.raises((AssertionError, UserError)):
        check(contract_of(fault), tmp_path / "with")
