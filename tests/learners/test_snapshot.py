"""A snapshot holds all that its learner needs; anything else is refused with one message."""

import json

import numpy as np
import pytest
import safetensors.torch
import submitted
import torch

import fsl_sweep
from fsl_sweep.learners.base import AdaptationLearner, ClassificationLearner
from fsl_sweep.learners.building import build_learner
from fsl_sweep.learners.catalogue import LEARNERS
from fsl_sweep.learners.metadl.folder_state import packed
from fsl_sweep.learners.snapshot import KEY, VERSION, Description, snapshot_bytes
from fsl_sweep.orchestrator.errors import BadData, UserError

SHAPE, WAY, SHOT, QUERIES, CLASSES = (1, 16, 16), 5, 2, 6, 12
CONV = {"name": "conv4", "width": 4}
IDENTITY = {"name": "identity"}
OPTIONS = {
    "finetune": {"steps": 2},
    "fomaml": {"inner_steps_test": 2},
    "maml": {"inner_steps_test": 2, "batch_norm": "running"},
    "metadelta": {"encoders": [CONV, {"name": "conv4", "width": 8}]},
    "metadl": {"submission": "protos"},
}
FEW_SHOT = [name for name in LEARNERS.names() if name not in ("classifier", "metadl")]


def described(learner="protonet", backbone=CONV, **changes):
    plain = {
        "learner": {"name": learner, **OPTIONS.get(learner, {})},
        "backbone": backbone,
        "image_shape": SHAPE,
        "pixel_mean": (0.1307,),
        "pixel_std": (1 / 3,),
        "holds_features": False,
        "n_base_classes": CLASSES,
        "trial": "0123456789abcdef",
        "epoch": 3,
        "version": VERSION,
    }
    return Description(**{**plain, **changes})


def built(description, seed=5):
    """A learner whose weights, running averages and counters are not as it was built."""
    d = description
    learner = build_learner(d.learner, d.backbone, d.image_shape, d.n_base_classes, seed)
    draws = torch.Generator().manual_seed(seed)
    for value in learner.state_dict().values():
        more = 0.1 * torch.rand(value.shape, generator=draws)
        value.add_(more if value.is_floating_point() else 3)
    return learner.eval()


@pytest.fixture(scope="module")
def task():
    rng = np.random.default_rng(0)
    centres = rng.integers(0, 200, (WAY, *SHAPE))
    support, query = (
        (centres[:, None] + rng.integers(0, 56, (WAY, count, *SHAPE))).astype(np.uint8)
        for count in (SHOT, QUERIES)
    )
    return support, query.reshape(-1, *SHAPE)


@pytest.fixture
def programs(tmp_path, monkeypatch):
    submitted.install(tmp_path / "installed", monkeypatch)


def normalised(parts):
    return [(torch.tensor(part) / 255 - 0.1307) / (1 / 3) for part in parts]


def logits_of(learner, given, asked):
    """By the learner's own methods, from normalised images."""
    if isinstance(learner, AdaptationLearner):
        return learner.predict(given[None], asked[None])[0]
    with torch.inference_mode():
        if isinstance(learner, ClassificationLearner):
            return learner.classify(asked)
        support, query = learner.embed(given.flatten(0, 1)), learner.embed(asked)
        return learner.head(support.view(1, *given.shape[:2], -1), query[None])[0]


@pytest.mark.parametrize("name", FEW_SHOT)
def test_every_learner_comes_back_bit_for_bit(name, task, tmp_path):
    description = described(name)
    learner = built(description)
    data = snapshot_bytes(learner, description)
    assert snapshot_bytes(learner, description) == data
    path = tmp_path / "0003.safetensors"
    path.write_bytes(data)
    loaded = fsl_sweep.load_learner(path)
    assert loaded.description == description
    assert not loaded.learner.training
    own, read = learner.state_dict(), loaded.learner.state_dict()
    assert own.keys() == read.keys()
    assert all(torch.equal(own[key], read[key]) for key in own)
    logits = logits_of(learner, *normalised(task))
    assert torch.equal(logits_of(loaded.learner, *normalised(task)), logits)
    expected = logits.float().softmax(1).numpy()
    found = loaded.classify(*task)
    assert found.dtype == np.float32
    # `classify` embeds in chunks of one size, and kernels differ with the size.
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-6)
    np.testing.assert_array_equal(found, loaded.classify(*map(torch.tensor, task)))


def test_a_classifier_answers_among_its_base_classes(task):
    description = described("classifier")
    learner = built(description)
    loaded = fsl_sweep.load_learner(snapshot_bytes(learner, description))
    found = loaded.classify(None, task[1])
    expected = logits_of(learner, *normalised(task)).softmax(1).numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-7)
    with pytest.raises(BadData, match=r"among the 12 classes .* takes no support: give None"):
        loaded.classify(*task)


def test_a_programs_saved_folder_is_its_snapshot(programs, task):
    description = described("metadl", IDENTITY)
    learner = built(description)
    learner.saved = packed(submitted.Learner(submitted.network(), "logits").save)
    loaded = fsl_sweep.load_learner(snapshot_bytes(learner, description))
    assert torch.equal(loaded.learner.saved, learner.saved)
    found = loaded.classify(*task)
    assert found.tolist() == loaded.classify(*task).tolist()
    assert set(found.ravel()) == {0.0, 1.0}
    # It is easily told to which of the noisy prototypes a query belongs.
    assert found.argmax(1).tolist() == np.arange(WAY).repeat(QUERIES).tolist()
    learner.saved = learner.saved[:700]
    with pytest.raises(BadData, match="What a program saved cannot be unpacked"):
        fsl_sweep.load_learner(snapshot_bytes(learner, description)).classify(*task)


@pytest.mark.parametrize("name", ["ncc", "protonet", "logistic"])
def test_features_are_used_as_they_are(name):
    changes = {"pixel_mean": (0.0,) * 7, "pixel_std": (1.0,) * 7, "holds_features": True}
    description = described(name, IDENTITY, image_shape=(7, 1, 1), **changes)
    learner = built(description)
    loaded = fsl_sweep.load_learner(snapshot_bytes(learner, description))
    rng = np.random.default_rng(0)
    support, query = (100 * rng.normal(size=(*n, 7)).astype(np.float32) for n in ((3, 2), (9,)))
    plain = (torch.tensor(part)[..., None, None] for part in (support, query))
    expected = logits_of(learner, *plain).softmax(1).numpy()
    np.testing.assert_allclose(loaded.classify(support, query), expected, rtol=1e-3, atol=1e-6)
    with pytest.raises(BadData, match="query holds float64; it must be float32: features are used"):
        loaded.classify(support, query.astype(float))
    with pytest.raises(
        BadData, match=r"support must have the shape \[n, k, 7\], .* is \[3, 2, 6\]"
    ):
        loaded.classify(support[..., :6], query)
    query[4, 2] = np.nan
    with pytest.raises(BadData, match="answers to 1 of 9 queries are not numbers"):
        loaded.classify(support, query)


def bytes_with(description, change):
    """A snapshot whose description is another."""
    data = snapshot_bytes(built(description), description)
    plain = description.model_dump(mode="json")
    change(plain)
    return safetensors.torch.save(safetensors.torch.load(data), {KEY: json.dumps(plain)})


WRONG_DESCRIPTIONS = {
    "wider": (
        lambda d: d["backbone"].update(width=8),
        r"does not hold the weights .*: 24 of \d+ of another shape "
        r"\(backbone\.blocks\.0\.0\.weight: \[4, 1, 3, 3\], not \[8, 1, 3, 3\], ",
    ),
    "more weights": (
        lambda d: d["learner"].update(name="supervised"),
        r"2 of \d+ missing \(classifier\.",
    ),
    "fewer weights": (lambda d: d["backbone"].update(name="identity"), "cannot be built: width"),
    "no learner": (lambda d: d["learner"].clear(), r"cannot be built: learner\.name: name one of"),
    "a terminal": (lambda d: d["learner"].update(name="\n\x1b[2J"), r"learner '\\n\\x1b\[2J'"),
    "a path": (lambda d: d["learner"].update(name="os:system"), "unknown learner 'os:system'"),
    "an option": (lambda d: d["learner"].update(scale=-1), "cannot be built: scale: Input should"),
    "small images": (lambda d: d.update(image_shape=[1, 8, 8]), "cannot be built: backbone: "),
    "huge": (lambda d: d["backbone"].update(width=3_000), "its network is larger than the file"),
    "superfluous": (
        lambda d: d.update(code="import os"),
        r"does not understand \(code: Extra inputs",
    ),
    "text": (
        lambda d: d.update(epoch="3"),
        r"does not understand \(epoch: Input should be a valid int",
    ),
    "channels": (
        lambda d: d.update(pixel_std=[1.0, 1.0]),
        "must have 1 numbers each, one a channel",
    ),
    "no spread": (
        lambda d: d.update(pixel_std=[0.0]),
        r"does not understand \(pixel_std: 0: Input",
    ),
}


@pytest.mark.parametrize("wrong", WRONG_DESCRIPTIONS)
def test_a_description_that_does_not_fit_is_one_message_with_the_file(wrong, tmp_path):
    change, message = WRONG_DESCRIPTIONS[wrong]
    path = tmp_path / "0003.safetensors"
    path.write_bytes(bytes_with(described(), change))
    assert_refused(path, message)


def assert_refused(path, message):
    with pytest.raises(UserError, match=message) as caught:
        fsl_sweep.load_learner(path)
    assert str(caught.value).startswith(str(path))
    assert not {"\n", "\x1b"} & {*str(caught.value)}


def test_files_that_are_no_snapshots_are_one_message_each(tmp_path):
    data, path = snapshot_bytes(built(described()), described()), tmp_path / "snapshot"
    assert_refused(path, "cannot be read: No such file")
    for damaged in (b"", b"junk", data[:-1], data[:100], data + b"x", b"\xff" * 64):
        path.write_bytes(damaged)
        assert_refused(path, "is not a complete safetensors file")
    path.write_bytes(safetensors.torch.save(safetensors.torch.load(data)))
    assert_refused(path, "does not say of which learner: an earlier version .* Train again")
    unsaid = b'{"__metadata__":null}'
    path.write_bytes(len(unsaid).to_bytes(8, "little") + unsaid)
    assert_refused(path, "does not say of which learner")
    for text in ("", "[]", "{}", "[" * 100_000, '{"epoch": NaN}'):
        path.write_bytes(safetensors.torch.save({}, {KEY: text}))
        assert_refused(path, "in a way that fsl-sweep .* does not understand")


@pytest.fixture(scope="module")
def loaded():
    description = described("fomaml")
    return fsl_sweep.load_learner(snapshot_bytes(built(description), description))


WRONG_IMAGES = {
    "none": (lambda s, q: (None, q), r"support must be a NumPy array .* not a NoneType"),
    "scaled": (lambda s, q: (s, q / 255), "query holds float64; it must be uint8: give pixels"),
    "tensor": (lambda s, q: (torch.tensor(s).float(), q), "support holds float32; it must be"),
    "last": (lambda s, q: (np.moveaxis(s, 2, 4), q), r"its shape is \[5, 2, 16, 16, 1\]"),
    "one image": (lambda s, q: (s, q[0]), r"query must have the shape \[m, 1, 16, 16\]"),
    "no shots": (lambda s, q: (s[:, :0], q), r"and not be empty; its shape is \[5, 0, 1, 16, 16\]"),
    "one class": (lambda s, q: (s[:1], q), "1 class; give at least 2"),
    "ways": (lambda s, q: (s[:3], q), "answers tasks of 5 classes; the support has 3"),
}


@pytest.mark.parametrize("wrong", WRONG_IMAGES)
def test_images_that_do_not_fit_are_one_message(wrong, loaded, task):
    change, message = WRONG_IMAGES[wrong]
    with pytest.raises(BadData, match=message):
        loaded.classify(*change(*task))


def test_views_of_any_layout_give_the_same(loaded, task):
    support, query = task
    expected = loaded.classify(support, query)
    turned = np.ascontiguousarray(np.moveaxis(query, 1, 3))
    readonly = support[::-1]
    readonly.flags.writeable = False
    for given in (np.moveaxis(turned, 3, 1), torch.tensor(turned).permute(0, 3, 1, 2)):
        np.testing.assert_array_equal(loaded.classify(support, given), expected)
    np.testing.assert_allclose(loaded.classify(readonly, query)[:, ::-1].sum(1), 1, rtol=1e-6)
