import dataclasses

import numpy as np
from pools import pool_of


def test_fingerprint_is_of_the_content(pool):
    parts = {name: getattr(pool, name) for name in ("images", "labels", "class_names")}
    assert pool_of(**parts).fingerprint == pool.fingerprint
    images, labels, names = pool.images.copy(), pool.labels.copy(), ["other", *pool.class_names[1:]]
    images[0, 0, 0, 0] ^= 1
    labels[0] = (labels[0] + 1) % 6
    for change in (
        {"images": images},
        {"images": pool.images.reshape(-1, 1, 2, 8)},
        {"labels": labels},
        {"class_names": names},
        {"superclasses": ["s"] * 6},
        {"writers": np.zeros(len(pool), np.int64)},
    ):
        assert pool_of(**{**parts, **change}).fingerprint != pool.fingerprint


def test_arrays_that_disagree_are_refused(pool, refused, snapshot):
    changes = [
        ("labels", np.zeros(3, np.int64)),
        ("labels", np.full(87, 6)),
        ("labels", np.full(87, -1)),
        ("superclasses", ("a",)),
        ("writers", np.zeros(2, np.int64)),
        ("attributes", np.zeros((6, 2), bool)),
        ("families", ("a",)),
    ]
    replace = dataclasses.replace
    assert [refused(replace, pool, **{field: value}) for field, value in changes] == snapshot
