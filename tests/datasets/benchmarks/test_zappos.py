"""On a made corpus in the official layout: 66 attributes, zips or folders, the official table."""

import csv
import io
import shutil
import zipfile
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from PIL import Image
from pools import encoded

from fsl_sweep.datasets.benchmark import SPLITS
from fsl_sweep.datasets.benchmarks.zappos import ZapposOod, published_sets, read_table
from fsl_sweep.datasets.preparing.inventory import check
from fsl_sweep.datasets.preparing.opening import open_benchmark
from fsl_sweep.datasets.testing import BenchmarkContract
from fsl_sweep.orchestrator.errors import BadData, MissingData

SMALL = {"image_size": 8, "min_images": 2, "training_tasks": 30}
BINS = {
    "HeelHeight.Short.heel": "HeelHeight.1in...1.3.4in",
    "HeelHeight.High.heel": "HeelHeight.4in...4.3.4in",
}
EMPTY_BINS = ("HeelHeight.Flat", "HeelHeight.Under.1in", "HeelHeight.5in...over")
COUNT = 300
DATA, IMAGES = "ut-zap50k-data", "ut-zap50k-images-square"
FIRST = f"{IMAGES}/Shoes/Oxfords/Clarks/100000.0.jpg"


def column(name):
    """As the official table spells it: toe styles with blanks."""
    kind, _, value = BINS.get(name, name).partition(".")
    return f"{kind}.{value.replace('.', ' ')}" if kind == "ToeStyle" else f"{kind}.{value}"


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


def table(changes=()) -> bytes:
    names, rows = made_rows()
    stream = io.StringIO()
    writer = csv.writer(stream)
    writer.writerow(["CID", "Insole.Gel", *map(column, names), *EMPTY_BINS])
    for cid, carried in rows:
        writer.writerow([cid, 1, *carried.astype(int), 0, 0, 0])
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
    _, rows = made_rows()
    files = {
        "ut-zap50k-data/meta-data-bin.csv": table(),
        "ut-zap50k-data/image-path.mat": b"MATLAB",
    }
    for number, (cid, _) in enumerate(rows):
        brand = ("Clarks", "Neil M%2E", "Levi's®")[number % 3]
        path = f"Shoes/Oxfords/{brand}/{cid.replace('-', '.')}.jpg"
        files[f"ut-zap50k-images-square/{path}"] = shoe(number)
    return files


@pytest.fixture(scope="module")
def corpus(tmp_path_factory) -> Path:
    return write(made_files(), tmp_path_factory.mktemp("zappos"))


def write(files, root, zipped=False) -> Path:
    for folder in {path.partition("/")[0] for path in files} if zipped else ():
        with zipfile.ZipFile(root / f"{folder}.zip", "w") as archive:
            for path, content in files.items():
                if path.startswith(f"{folder}/"):
                    archive.writestr(path, content)
    for path, content in () if zipped else files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(content)
    return root


class Images:
    """Base, val and novel share attributes and combinations, but no image."""

    def kinds(self, distribution):
        return set(distribution.examples.tolist())


class TestZapposOod(Images, BenchmarkContract):
    benchmark = ZapposOod
    options: ClassVar = {**SMALL, "partition": "spectral"}

    def root(self, tmp_path):
        return write(made_files(), tmp_path)


def test_counts_and_unseen_pairs_are_reported(corpus, tmp_path):
    open_benchmark("zappos-ood", SMALL, corpus, tmp_path)
    checked = check("zappos-ood", SMALL, None, tmp_path)
    counts = {split: (c.classes, c.images, c.unit) for split, c in checked.benchmark.counts.items()}
    assert counts["val"] == (36, 60, "attributes")
    assert counts["novel"] == (30, 60, "attributes")
    assert counts["train"][1:] == (120, "attributes")
    assert checked.problems == ()
    assert "in no training task" in checked.remarks[0]
    few = check("zappos-ood", {**SMALL, "min_images": 5}, None, tmp_path)
    assert any("attributes; 36 are expected" in problem for problem in few.problems)


@pytest.mark.parametrize("name", ["zappos-id", "zappos-ood"])
def test_the_spectral_cut_finds_the_planted_sets_of_table_3(corpus, tmp_path, name):
    published, spectral = (
        open_benchmark(name, {**SMALL, "partition": partition}, corpus, tmp_path)
        for partition in ("published", "spectral")
    )
    assert published.fingerprint == spectral.fingerprint


def test_tasks_are_what_the_table_says(corpus, tmp_path):
    benchmark = open_benchmark("zappos-id", SMALL, corpus, tmp_path)
    pool = benchmark.novel.pool
    names, rows = made_rows()
    position = dict(rows)
    for example, cid in enumerate(sorted(position)):
        got = dict(zip(pool.attribute_names, pool.attributes[pool.labels[example]], strict=True))
        assert got == dict(zip(names, position[cid].tolist(), strict=True))
    assert len(pool) == COUNT
    trained = {tuple(pair) for pair in benchmark.train.pairs.tolist()}
    assert len(trained) <= 30
    # Images are those of their names: a blue of the first shoe is not that of another.
    number = [cid for cid, _ in rows].index(sorted(position)[5])
    square = np.asarray(Image.open(io.BytesIO(shoe(number))).convert("RGB"))
    assert abs(pool.images[5, :, 1:7].mean() - square.mean()) < 6
    assert (pool.images[5, :, 0] > 200).mean() > 0.5  # white above a wide image


@pytest.mark.parametrize(("name", "least"), [("zappos-id", 2), ("zappos-ood", 6)])
def test_pairs_are_of_two_properties_and_have_enough_shoes_with_both_and_without(
    corpus, tmp_path, name, least
):
    """Counted shoe by shoe in the table; of the real one 315 pairs in A and 153 in A'."""
    options = {**SMALL, "images": "shared", "min_images": least}
    benchmark = open_benchmark(name, options, corpus, tmp_path)
    names, rows = made_rows()
    worn = {name: {cid for cid, carried in rows if carried[n]} for n, name in enumerate(names)}

    def feasible(group):
        return {
            frozenset(pair)
            for pair in combinations(group, 2)
            if pair[0].split(".")[0] != pair[1].split(".")[0]
            and least <= len(worn[pair[0]] & worn[pair[1]]) <= COUNT - least
        }

    first, second = map(feasible, published_sets())
    assert first
    assert second
    for split, expected in (("val", first), ("novel", first if name == "zappos-id" else second)):
        pool, pairs = benchmark.novel.pool, benchmark.distribution(split).pairs
        assert {frozenset(pool.attribute_names[a] for a in pair) for pair in pairs} == expected
    trained = {tuple(pair) for pair in benchmark.train.pairs}
    assert trained <= {tuple(pair) for pair in benchmark.val.pairs}


def test_all_tasks_draw_from_all_images_where_they_are_shared(corpus, tmp_path):
    benchmark = open_benchmark("zappos-id", {**SMALL, "images": "shared"}, corpus, tmp_path)
    for split in SPLITS:
        assert benchmark.distribution(split).examples.tolist() == list(range(COUNT))
    assert not benchmark.fresh_base
    (caution,) = benchmark.cautions
    assert "of unseen tasks, not of unseen images" in caution
    apart = open_benchmark("zappos-id", SMALL, corpus, tmp_path)
    assert (apart.fresh_base, apart.cautions) == (True, ())


def test_zips_extracted_folders_and_either_folder_are_one_data_set(corpus, tmp_path):
    zipped = tmp_path / "zips"
    zipped.mkdir()
    write(made_files(), zipped, zipped=True)
    beside = tmp_path / "plain"
    shutil.copytree(corpus / "ut-zap50k-images-square", beside / "ut-zap50k-images")
    shutil.copytree(corpus / "ut-zap50k-data", beside / "ut-zap50k-images" / "ut-zap50k-data")
    inside = corpus / "ut-zap50k-images-square", zipped / "ut-zap50k-data.zip"
    prints = {
        open_benchmark("zappos-id", SMALL, root, tmp_path / str(number)).fingerprint
        for number, root in enumerate((corpus, zipped, beside, *inside))
    }
    assert len(prints) == 1


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ([("CID,", "shoe,")], "first column must be 'CID'"),
        ([("Closure.Toggle", "Closure.Togle")], "no column 'Closure.Toggle' for .*; did you mean"),
        ([("HeelHeight.1in...1.3.4in", "Heel")], "for 'HeelHeight.Short.heel'; did"),
        ([("HeelHeight.Flat", "Flat")], "no column 'HeelHeight.Flat' for 'HeelHeight.Short.heel'"),
        ([("100001-21,1,", "100000-7,1,")], "lists the shoe 100000-7 twice"),
        ([("100001-21,1,0", "100001-21,1,x")], "row of 100001-21 has a value other than 0 or 1"),
        ([("100001-21,1,", "100001-21,")], "row 5: the table is cut off"),
        *((text, r"meta-data-bin\.csv") for text in (b"", b"\xff\xfe\x00", b'CID,"a\n1,2')),
    ],
)
def test_a_table_that_is_not_the_official_one_is_refused(changes, message):
    content = changes if isinstance(changes, bytes) else table(changes)
    with pytest.raises(BadData, match=message):
        read_table(content, "meta-data-bin.csv")


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


@pytest.mark.parametrize(
    ("gone", "added", "message"),
    [
        (f"{DATA}/meta-data-bin.csv", {}, "has no meta-data-bin.csv.* Get ut-zap50k"),
        (IMAGES, {}, "has no images of UT Zappos50K .* Get ut-zap50k"),
        (DATA, {}, "has no meta-data-bin.csv of UT Zappos50K .* Get ut-zap50k"),
        (FIRST, {}, "no image of 1 of the 300 shoes"),
        (FIRST, {FIRST: shoe(0)[:90]}, "cannot be decoded"),
        ("-", {f"{IMAGES}/100000.0.jpg": shoe(0)}, "two images of the shoe 100000-0"),
    ],
)
def test_files_that_are_missing_or_do_not_match_are_named(tmp_path, gone, added, message):
    files = {path: content for path, content in made_files().items() if not path.startswith(gone)}
    root = write({**files, **added}, tmp_path / "root")
    with pytest.raises((BadData, MissingData), match=message):
        open_benchmark("zappos-id", SMALL, root, tmp_path)
