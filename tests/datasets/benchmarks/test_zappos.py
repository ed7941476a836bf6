"""On a made corpus in the official layout: 66 attributes, zips or folders, the official table."""

import csv
import io
import shutil
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from PIL import Image
from pools import encoded, write_files, write_zip

from fsl_sweep.datasets.benchmark import SPLITS
from fsl_sweep.datasets.benchmarks.zappos import ZapposOod, published_sets, read_table
from fsl_sweep.datasets.preparing.inventory import check
from fsl_sweep.datasets.preparing.opening import open_benchmark
from fsl_sweep.datasets.testing import BenchmarkContract

SMALL = {"image_size": 8, "min_images": 2, "training_tasks": 30}
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
    """Shoes that carry many attributes of one of Table 3's sets and hardly any of the other."""
    rng = np.random.default_rng(0)
    first, second = published_sets()
    names = [*first, *second]
    rows = []
    for number in range(COUNT):
        likely = np.isin(names, first if number % 2 else second)
        carried = rng.random(66) < np.where(likely, 0.4, 0.01)
        rows.append((f"{100000 + number // 3}-{7 * number}", carried))
    return names, rows


def table(*changes) -> bytes:
    names, rows = made_rows()
    stream = io.StringIO()
    writer = csv.writer(stream)
    writer.writerow(["CID", "Insole.Gel", *map(column, names), *EMPTY_BINS])
    writer.writerows([cid, 1, *carried.astype(int), 0, 0, 0] for cid, carried in rows)
    text = stream.getvalue()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return text.encode()


def shoe(number) -> bytes:
    pixels = np.random.default_rng(number).integers(0, 256, (6, 8, 3), dtype=np.uint8)
    return encoded(pixels, "JPEG")


@cache
def made_files() -> dict[str, bytes]:
    brands = ("Clarks", "Neil M%2E", "Levi's®")
    files = {TABLE: table(), f"{DATA}/image-path.mat": b"MATLAB"}
    for number, (cid, _) in enumerate(made_rows()[1]):
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
def corpus(tmp_path_factory) -> Path:
    return write_files(tmp_path_factory.mktemp("zappos"), made_files())


@pytest.fixture(scope="module")
def home(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture
def opened(corpus, home):
    """Opens a benchmark of the corpus, which is prepared once."""
    return lambda name, **options: open_benchmark(name, {**SMALL, **options}, corpus, home)


def test_counts_and_unseen_pairs_are_reported(opened, home):
    opened("zappos-ood")
    checked = check("zappos-ood", SMALL, None, home)
    counts = {split: (c.classes, c.images, c.unit) for split, c in checked.benchmark.counts.items()}
    assert counts["val"] == (36, 60, "attributes")
    assert counts["novel"] == (30, 60, "attributes")
    assert counts["train"][1:] == (120, "attributes")
    assert checked.problems == ()
    assert "in no training task" in checked.remarks[0]
    few = check("zappos-ood", {**SMALL, "min_images": 5}, None, home)
    assert any("attributes; 36 are expected" in problem for problem in few.problems)


@pytest.mark.parametrize("name", ["zappos-id", "zappos-ood"])
def test_the_spectral_cut_finds_the_planted_sets_of_table_3(opened, name):
    cuts = [opened(name, partition=partition) for partition in ("published", "spectral")]
    assert cuts[0].fingerprint == cuts[1].fingerprint


def test_tasks_are_what_the_table_says(opened):
    benchmark = opened("zappos-id")
    pool = benchmark.novel.pool
    names, rows = made_rows()
    for example, (_, carried) in enumerate(sorted(rows, key=lambda row: row[0])):
        has = dict(zip(pool.attribute_names, pool.attributes[pool.labels[example]], strict=True))
        assert has == dict(zip(names, carried.tolist(), strict=True))
    assert len(pool) == COUNT
    assert len({tuple(pair) for pair in benchmark.train.pairs.tolist()}) <= 30
    # Images are those of their names: a blue of the first shoe is not that of another.
    cids = [cid for cid, _ in rows]
    square = Image.open(io.BytesIO(shoe(cids.index(sorted(cids)[5])))).convert("RGB")
    assert abs(pool.images[5, :, 1:7].mean() - np.asarray(square).mean()) < 6
    assert (pool.images[5, :, 0] > 200).mean() > 0.5  # white above a wide image


@pytest.mark.parametrize(("name", "least"), [("zappos-id", 2), ("zappos-ood", 6)])
def test_pairs_are_of_two_properties_and_have_enough_shoes_with_both_and_without(
    opened, name, least
):
    """Counted shoe by shoe in the table; of the real one 315 pairs in A and 153 in A'."""
    benchmark = opened(name, images="shared", min_images=least)
    names, rows = made_rows()
    worn = dict(zip(names, np.array([carried for _, carried in rows]).T, strict=True))

    def feasible(group):
        return {
            frozenset(pair)
            for pair in combinations(group, 2)
            if len({name.split(".")[0] for name in pair}) == 2
            and least <= np.sum(worn[pair[0]] & worn[pair[1]]) <= COUNT - least
        }

    first, second = map(feasible, published_sets())
    assert first
    assert second
    known = benchmark.novel.pool.attribute_names
    for split, expected in (("val", first), ("novel", first if name == "zappos-id" else second)):
        pairs = benchmark.distribution(split).pairs
        assert {frozenset(known[a] for a in pair) for pair in pairs} == expected
    assert {*map(tuple, benchmark.train.pairs)} <= {*map(tuple, benchmark.val.pairs)}


def test_all_tasks_draw_from_all_images_where_they_are_shared(opened, snapshot):
    benchmark = opened("zappos-id", images="shared")
    for split in SPLITS:
        assert benchmark.distribution(split).examples.tolist() == list(range(COUNT))
    assert not benchmark.fresh_base
    assert benchmark.cautions == snapshot
    apart = opened("zappos-id")
    assert (apart.fresh_base, apart.cautions) == (True, ())


def test_zips_extracted_folders_and_either_folder_are_one_data_set(corpus, tmp_path):
    zipped, beside = tmp_path / "zips", tmp_path / "plain"
    zipped.mkdir()
    for part in (DATA, IMAGES):
        files = {path: content for path, content in made_files().items() if path.startswith(part)}
        write_zip(zipped / f"{part}.zip", files)
    shutil.copytree(corpus / IMAGES, beside / "ut-zap50k-images")
    shutil.copytree(corpus / DATA, beside / "ut-zap50k-images" / DATA)
    prints = {
        open_benchmark("zappos-id", SMALL, root, tmp_path / str(number)).fingerprint
        for number, root in enumerate(
            (corpus, zipped, beside, corpus / IMAGES, zipped / f"{DATA}.zip")
        )
    }
    assert len(prints) == 1


TABLES = [
    table(("CID,", "shoe,")),
    table(("Closure.Toggle", "Closure.Togle")),
    table(("HeelHeight.1in...1.3.4in", "Heel")),
    table(("HeelHeight.Flat", "Flat")),
    table(("100001-21,1,", "100000-7,1,")),
    table(("100001-21,1,0", "100001-21,1,x")),
    table(("100001-21,1,", "100001-21,")),
    b"",
    b"\xff\xfe\x00",
    b'CID,"a\n1,2',
]


def test_a_table_that_is_not_the_official_one_is_refused(refused, snapshot):
    assert [refused(read_table, content, "meta-data-bin.csv") for content in TABLES] == snapshot


def test_heels_of_two_and_three_inches_are_neither_short_nor_high():
    """As the paper's authors have it."""
    names = [name for group in published_sets() for name in group if name not in BINS]
    bins = ["Flat", "Under.1in", "1in...1.3.4in", "2in...2.3.4in"]
    bins += ["3in...3.3.4in", "4in...4.3.4in", "5in...over"]
    rows = [["CID", *names, *(f"HeelHeight.{name}" for name in bins)]]
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


CHANGES = {
    "no table": (TABLE, {}),
    "no images": (IMAGES, {}),
    "no data": (DATA, {}),
    "no shoe": (FIRST, {}),
    "cut off": (FIRST, {FIRST: shoe(0)[:90]}),
    "twice": ("-", {f"{IMAGES}/100000.0.jpg": shoe(0)}),
}


def test_files_that_are_missing_or_do_not_match_are_named(tmp_path, refused, snapshot):
    told = {}
    for what, (gone, added) in CHANGES.items():
        kept = {path: c for path, c in made_files().items() if not path.startswith(gone)}
        root = write_files(tmp_path / what.replace(" ", "-"), {**kept, **added})
        told[what] = refused(open_benchmark, "zappos-id", SMALL, root, tmp_path)
    assert told == snapshot
