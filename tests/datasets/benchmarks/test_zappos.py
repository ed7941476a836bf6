"""On a made corpus in the official layout: 66 attributes, zips or folders, the official table."""

import csv
import io
import shutil
from functools import cache
from typing import ClassVar

import numpy as np
import pytest
from PIL import Image
from pools import counts_of, encoded, write_files, write_zip

from fsl_sweep.datasets.benchmark import SPLITS
from fsl_sweep.datasets.benchmarks.zappos import ZapposOod, published_sets, read_table
from fsl_sweep.datasets.preparing.inventory import check
from fsl_sweep.datasets.preparing.opening import open_benchmark
from fsl_sweep.datasets.tasks.attributes import feasible_pairs
from fsl_sweep.datasets.testing import BenchmarkContract

SMALL = {"image_size": 8, "min_images": 2, "training_tasks": 30}
FIRST_SET, SECOND_SET = published_sets()
NAMES = [*FIRST_SET, *SECOND_SET]
BINS = {
    "HeelHeight.Short.heel": "HeelHeight.1in...1.3.4in",
    "HeelHeight.High.heel": "HeelHeight.4in...4.3.4in",
}
EMPTY_BINS = ("HeelHeight.Flat", "HeelHeight.Under.1in", "HeelHeight.5in...over")
COUNT = 300
DATA, IMAGES = "ut-zap50k-data", "ut-zap50k-images-square"
TABLE = f"{DATA}/meta-data-bin.csv"
FIRST = f"{IMAGES}/Shoes/Oxfords/Clarks/100000.0.jpg"


def column(name):
    """As the official table spells it: toe styles with blanks."""
    kind, _, value = BINS.get(name, name).partition(".")
    return f"{kind}.{value.replace('.', ' ')}" if kind == "ToeStyle" else f"{kind}.{value}"


@cache
def made_rows():
    """By CID, shoes that carry many attributes of one set and hardly any of the other."""
    rng, in_first = np.random.default_rng(0), np.isin(NAMES, FIRST_SET)
    return {
        f"{100000 + n // 3}-{7 * n}": rng.random(66) < np.where(in_first == bool(n % 2), 0.4, 0.01)
        for n in range(COUNT)
    }


def table(old="", new="") -> bytes:
    stream = io.StringIO()
    writer = csv.writer(stream)
    writer.writerow(["CID", "Insole.Gel", *map(column, NAMES), *EMPTY_BINS])
    writer.writerows(
        [cid, 1, *carried.astype(int), 0, 0, 0] for cid, carried in made_rows().items()
    )
    assert old in stream.getvalue()
    return stream.getvalue().replace(old, new or old).encode()


def shoe(number) -> bytes:
    pixels = np.random.default_rng(number).integers(0, 256, (6, 8, 3), dtype=np.uint8)
    return encoded(pixels, "JPEG")


@cache
def made_files() -> dict[str, bytes]:
    brands = ("Clarks", "Neil M%2E", "Levi's®")
    files = {TABLE: table(), f"{DATA}/image-path.mat": b"MATLAB"}
    for number, cid in enumerate(made_rows()):
        name = f"{brands[number % 3]}/{cid.replace('-', '.')}.jpg"
        files[f"{IMAGES}/Shoes/Oxfords/{name}"] = shoe(number)
    return files


class TestZapposOod(BenchmarkContract):
    """Base, val and novel share attributes and combinations, but no image."""

    benchmark = ZapposOod
    options: ClassVar = {**SMALL, "partition": "spectral"}

    def root(self, tmp_path):
        return write_files(tmp_path, made_files())

    def kinds(self, distribution):
        return set(distribution.examples.tolist())


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """The made corpus, and where it is prepared once for all tests."""
    root, home = (tmp_path_factory.mktemp(name) for name in ("zappos", "home"))
    return write_files(root, made_files()), home


@pytest.fixture
def zappos(corpus):
    return lambda name, **options: open_benchmark(name, {**SMALL, **options}, *corpus)


def test_counts_and_unseen_pairs_are_reported(zappos, corpus):
    zappos("zappos-ood")
    checked = check("zappos-ood", SMALL, *corpus)
    counts = counts_of(checked.benchmark)
    assert (counts["val"], counts["novel"], counts["train"][1]) == ((36, 60), (30, 60), 120)
    assert checked.benchmark.train.unit == checked.benchmark.novel.unit == "attributes"
    assert checked.problems == ()
    assert "in no training task" in checked.remarks[0]
    few = check("zappos-ood", {**SMALL, "min_images": 5}, *corpus)
    assert any("attributes; 36 are expected" in problem for problem in few.problems)


def test_tasks_are_what_the_table_says(zappos):
    benchmark = zappos("zappos-id")
    pool, rows = benchmark.novel.pool, made_rows()
    columns = [NAMES.index(name) for name in pool.attribute_names]
    carried = np.array([rows[cid] for cid in sorted(rows)])[:, columns]
    np.testing.assert_array_equal(pool.attributes[pool.labels], carried)
    assert sorted(columns) == [*range(66)]
    assert len(pool) == COUNT
    assert len({tuple(pair) for pair in benchmark.train.pairs.tolist()}) <= 30
    # Images are those of their names: a blue of the first shoe is not that of another.
    square = Image.open(io.BytesIO(shoe([*rows].index(sorted(rows)[5])))).convert("RGB")
    assert abs(pool.images[5, :, 1:7].mean() - np.asarray(square).mean()) < 6
    assert (pool.images[5, :, 0] > 200).mean() > 0.5  # white above a wide image


@pytest.mark.parametrize(("name", "least"), [("zappos-id", 2), ("zappos-ood", 6)])
def test_pairs_are_of_the_published_sets_and_have_enough_shoes(zappos, name, least):
    """Of the real table 315 pairs in A and 153 in A'."""
    benchmark = zappos(name, images="shared", min_images=least)
    pool = benchmark.novel.pool
    for split, names in (("val", FIRST_SET), ("novel", (FIRST_SET, SECOND_SET)[least == 6])):
        columns = np.flatnonzero(np.isin(pool.attribute_names, names))
        expected = feasible_pairs(pool, columns, [np.arange(COUNT)], least)
        np.testing.assert_array_equal(benchmark.distribution(split).pairs, expected)
        assert len(expected)
    assert {*map(tuple, benchmark.train.pairs)} <= {*map(tuple, benchmark.val.pairs)}
    # The spectral cut finds the planted sets of Table 3.
    cuts = [zappos(name, partition=partition) for partition in ("published", "spectral")]
    assert cuts[0].fingerprint == cuts[1].fingerprint


def test_all_tasks_draw_from_all_images_where_they_are_shared(zappos, snapshot):
    benchmark, apart = zappos("zappos-id", images="shared"), zappos("zappos-id")
    for split in SPLITS:
        assert benchmark.distribution(split).examples.tolist() == list(range(COUNT))
    assert not benchmark.fresh_base
    assert benchmark.cautions == snapshot
    assert (apart.fresh_base, apart.cautions) == (True, ())


def test_zips_and_extracted_folders_are_one_data_set(corpus, tmp_path):
    root, zipped, other = corpus[0], tmp_path / "zips", tmp_path / "plain"
    zipped.mkdir()
    for part in (DATA, IMAGES):
        files = {path: content for path, content in made_files().items() if path.startswith(part)}
        write_zip(zipped / f"{part}.zip", files)
    shutil.copytree(root / IMAGES, other / "ut-zap50k-images")
    shutil.copytree(root / DATA, other / DATA)
    opened = [open_benchmark("zappos-id", SMALL, form, tmp_path) for form in (root, zipped, other)]
    assert len({benchmark.fingerprint for benchmark in opened}) == 1


def test_a_table_that_is_not_the_official_one_is_refused(refused, snapshot):
    changes = [
        ("CID,", "shoe,"),
        ("Closure.Toggle", "Closure.Togle"),
        ("HeelHeight.1in...1.3.4in", "Heel"),
        ("HeelHeight.Flat", "Flat"),
        ("100001-21,1,", "100000-7,1,"),
        ("100001-21,1,0", "100001-21,1,x"),
        ("100001-21,1,", "100001-21,"),
    ]
    tables = [*(table(*change) for change in changes), b"", b"\xff\xfe\x00", b'CID,"a\n1,2']
    assert [refused(read_table, content, "meta-data-bin.csv") for content in tables] == snapshot


def test_heels_of_two_and_three_inches_are_neither_short_nor_high():
    """As the paper's authors have it."""
    bins = ["Flat", "Under.1in", "1in...1.3.4in", "2in...2.3.4in"]
    bins += ["3in...3.3.4in", "4in...4.3.4in", "5in...over"]
    others = [name for name in NAMES if name not in BINS]
    rows = [["CID", *others, *(f"HeelHeight.{name}" for name in bins)]]
    for number in range(7):
        rows.append([f"{number}-1", *["0"] * 64, *("01"[place == number] for place in range(7))])
    text = "\n".join(",".join(row) for row in rows)
    _, names, carried = read_table(text.encode(), "meta-data-bin.csv")
    carried = dict(zip(names, carried.T.tolist(), strict=True))
    assert carried.pop("HeelHeight.Short.heel") == 3 * [True] + 4 * [False]
    assert carried.pop("HeelHeight.High.heel") == 5 * [False] + 2 * [True]
    assert not np.any(list(carried.values()))
    # A table with Table 3's names is taken at its word.
    high = text.replace("HeelHeight.2in...2.3.4in", "HeelHeight.High heel")
    assert read_table(high.encode(), "meta-data-bin.csv")[2][3].sum() == 1


def test_files_that_are_missing_or_do_not_match_are_named(refusals, snapshot):
    data, images = ([path for path in made_files() if path.startswith(f)] for f in (DATA, IMAGES))
    cases = {
        "no table": {TABLE: None},
        "no images": dict.fromkeys(images),
        "no data": dict.fromkeys(data),
        "no shoe": {FIRST: None},
        "cut off": {FIRST: shoe(0)[:90]},
        "twice": {f"{IMAGES}/100000.0.jpg": shoe(0)},
    }
    assert refusals("zappos-id", cases, made_files(), **SMALL) == snapshot
