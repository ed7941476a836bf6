from collections import Counter

import pytest
from places import REAL_DATA

from fsl_sweep.datasets.benchmarks.imagenet.folders import mini_classes, tiered_classes

FILES = {"base": "train", "val": "val", "novel": "test"}


def test_counts_of_the_published_lists():
    mini, tiered = mini_classes(), tiered_classes()
    assert Counter(c.split for c in mini) == {"base": 64, "val": 16, "novel": 20}
    assert Counter(c.split for c in tiered) == {"base": 351, "val": 97, "novel": 160}
    groups = {(c.split, c.superclass) for c in tiered}
    assert Counter(split for split, _ in groups) == {"base": 20, "val": 6, "novel": 8}
    assert len({superclass for _, superclass in groups}) == 34
    for classes in (mini, tiered):
        names = [c.name for c in classes]
        assert names == sorted(set(names))


def test_the_lists_are_those_that_were_handed_down():
    if not (REAL_DATA / "splits").is_dir():
        pytest.skip(f"the published lists are not at {REAL_DATA}: ours are NOT compared")
    for split, file in FILES.items():
        mini = (REAL_DATA / "splits" / f"mini_imagenet_{file}.txt").read_text().split()
        assert sorted(mini) == [c.name for c in mini_classes() if c.split == split]
        rows = (REAL_DATA / "splits" / f"tiered_imagenet_{file}.csv").read_text().split()
        ours = [f"{c.name},{c.superclass}" for c in tiered_classes() if c.split == split]
        assert sorted(rows) == ours
