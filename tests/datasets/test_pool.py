import dataclasses

import numpy as np
import pytest

from fsl_sweep.datasets.pool import ImagePool
from fsl_sweep.orchestrator.errors import BadData


def test_fingerprint_is_of_the_content(pool):
    parts = {name: getattr(pool, name) for name in ("images", "labels", "class_names")}
    assert ImagePool.in_memory(**parts).fingerprint == pool.fingerprint
    images, labels, names = pool.images.copy(), pool.labels.copy(), ["other", *pool.class_names[1:]]
    images[0, 0, 0, 0] ^= 1
    labels[0] = (labels[0] + 1) % 6
    for change in (
        {"images": images},
        {"labels": labels},
        {"class_names": names},
        {"superclasses": ["s"] * 6},
        {"writers": np.zeros(len(pool), np.int64)},
    ):
        assert ImagePool.in_memory(**{**parts, **change}).fingerprint != pool.fingerprint


def test_fingerprint_tells_a_reshaped_image_apart(pool):
    flat = pool.images.reshape(-1, 1, 2, 8)
    assert ImagePool.in_memory(flat, pool.labels, pool.class_names).fingerprint != pool.fingerprint


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("labels", np.zeros(3, np.int64), r"labels of a pool have shape \(3,\), not \(87,\)"),
        ("labels", np.full(87, 6), "from 0 to 5"),
        ("labels", np.full(87, -1), "from 0 to 5"),
        ("class_names", ("a",) * 6, "same name"),
        ("superclasses", ("a",), "superclasses of a pool have shape"),
        ("writers", np.zeros(2, np.int64), "writers of a pool have shape"),
        ("attributes", np.zeros((6, 2), bool), r"attributes of a pool have shape \(6, 2\)"),
        ("families", ("a",), "families of a pool have shape"),
        ("families", ("a",) * 6, "equally many examples"),
    ],
)
def test_arrays_that_disagree_are_refused(pool, field, value, message):
    with pytest.raises(BadData, match=message):
        dataclasses.replace(pool, **{field: value})
