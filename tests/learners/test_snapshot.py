"""A snapshot holds all that its learner needs; anything else is refused with one message."""

import json
import re

import numpy as np
import pytest
import safetensors.torch
import submitted
import torch
from small import CONV, IDENTITY, SHAPE, equal, generator

import fsl_sweep
from fsl_sweep.learners.base import ClassificationLearner
from fsl_sweep.learners.building import build_learner
from fsl_sweep.learners.catalogue import LEARNERS
from fsl_sweep.learners.metadl.folder_state import packed
from fsl_sweep.learners.snapshot import KEY, VERSION, Description, snapshot_bytes
from fsl_sweep.learners.testing import ClassificationContract, LearnerContract
from fsl_sweep.orchestrator.errors import BadData, UserError

WAY, SHOT, QUERIES, CLASSES = 5, 2, 6, 12
OPTIONS = {
    "finetune": {"steps": 2},
    "fomaml": {"inner_steps_test": 2},
    "maml": {"inner_steps_test": 2, "batch_norm": "running"},
    "metadelta": {"encoders": [CONV, {"name": "conv4", "width": 8}]},
    "metadl": {"submission": "protos"},
}


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


def built(d):
    """A learner of this description; weights, averages and counters are not as it was built."""
    learner = build_learner(d.learner, d.backbone, d.image_shape, d.n_base_classes, seed=5)
    draws = generator(5)
    for value in learner.state_dict().values():
        more = 0.1 * torch.rand(value.shape, generator=draws)
        value.add_(more if value.is_floating_point() else 3)
    return learner.eval()


def reloaded(learner, description):
    return fsl_sweep.load_learner(snapshot_bytes(learner, description))


@pytest.fixture(scope="module")
def task():
    rng = np.random.default_rng(0)
    centres = rng.integers(0, 200, (WAY, 1, *SHAPE))
    support, query = (
        (centres + rng.integers(0, 56, (WAY, count, *SHAPE))).astype(np.uint8)
        for count in (SHOT, QUERIES)
    )
    return support, query.reshape(-1, *SHAPE)


def logits_of(learner, support, query):
    """As the conformance suites ask for them, of one task of normalised images."""
    if isinstance(learner, ClassificationLearner):
        return ClassificationContract()._answer(learner, query)
    return LearnerContract()._answer(learner, support[None], query[None])[0]


@pytest.mark.parametrize("name", [name for name in LEARNERS.names() if name != "metadl"])
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
    assert equal(loaded.learner.state_dict(), learner.state_dict())
    images = [(torch.tensor(part) / 255 - 0.1307) / (1 / 3) for part in task]
    logits = logits_of(learner, *images)
    assert torch.equal(logits_of(loaded.learner, *images), logits)
    support, query = task
    if name == "classifier":
        with pytest.raises(BadData, match=r"among the 12 classes .* takes no support: give None"):
            loaded.classify(*task)
        support = None
    answers = loaded.classify(support, query)
    assert answers.dtype == np.float32
    # `classify` embeds in chunks of one size, and kernels differ with the size.
    np.testing.assert_allclose(answers, logits.softmax(1), rtol=1e-3, atol=1e-6)
    tensors = None if support is None else torch.tensor(support), torch.tensor(query)
    np.testing.assert_array_equal(answers, loaded.classify(*tensors))


def test_a_programs_saved_folder_is_its_snapshot(tmp_path, monkeypatch, task):
    submitted.install(tmp_path, monkeypatch)
    description = described("metadl", IDENTITY)
    learner = built(description)
    learner.saved = packed(submitted.Learner(submitted.network(), "logits").save)
    loaded = reloaded(learner, description)
    assert torch.equal(loaded.learner.saved, learner.saved)
    answers = loaded.classify(*task)
    assert answers.tolist() == loaded.classify(*task).tolist()
    # It is easily told to which of the noisy prototypes a query belongs.
    assert answers.tolist() == np.eye(WAY).repeat(QUERIES, axis=0).tolist()
    learner.saved = learner.saved[:700]
    with pytest.raises(BadData, match="What a program saved cannot be unpacked"):
        reloaded(learner, description).classify(*task)


@pytest.mark.parametrize("name", ["ncc", "protonet", "logistic"])
def test_features_are_used_as_they_are(name):
    pixels = {"pixel_mean": (0.0,) * 7, "pixel_std": (1.0,) * 7, "holds_features": True}
    description = described(name, IDENTITY, image_shape=(7, 1, 1), **pixels)
    learner = built(description)
    loaded = reloaded(learner, description)
    rng = np.random.default_rng(0)
    support, query = (100 * rng.normal(size=(*n, 7)).astype(np.float32) for n in ((3, 2), (9,)))
    plain = (torch.tensor(part)[..., None, None] for part in (support, query))
    expected = logits_of(learner, *plain).softmax(1).numpy()
    np.testing.assert_allclose(loaded.classify(support, query), expected, rtol=1e-3, atol=1e-6)
    with pytest.raises(BadData, match="query holds float64; it must be float32: features are used"):
        loaded.classify(support, query.astype(float))
    with pytest.raises(BadData, match=r"shape \[n, k, 7\], as in .* its shape is \[3, 2, 6\]"):
        loaded.classify(support[..., :6], query)
    query[4, 2] = np.nan
    with pytest.raises(BadData, match="answers to 1 of 9 queries are not numbers"):
        loaded.classify(support, query)


WRONG_DESCRIPTIONS = {
    "wider": {"backbone": {"name": "conv4", "width": 8}},
    "more weights": {"learner": {"name": "supervised"}},
    "fewer weights": {"backbone": {"name": "identity", "width": 4}},
    "no learner": {"learner": {}},
    "a terminal": {"learner": {"name": "\n\x1b[2J"}},
    "a path": {"learner": {"name": "os:system"}},
    "an option": {"learner": {"name": "protonet", "scale": -1}},
    "small images": {"image_shape": [1, 8, 8]},
    "huge": {"backbone": {"name": "conv4", "width": 3_000}},
    "superfluous": {"code": "import os"},
    "text": {"epoch": "3"},
    "channels": {"pixel_std": [1.0, 1.0]},
    "no spread": {"pixel_std": [0.0]},
}


def refusal(path, content=None):
    """The one line with which a file of this content is refused, without what is of a machine."""
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UserError) as caught:
        fsl_sweep.load_learner(path)
    message = str(caught.value)
    assert message.startswith(str(path))
    assert not {"\n", "\x1b"} & {*message}
    message = re.sub("classifier, .*, transfer", "LEARNERS", message)
    return message.replace(str(path), "FILE").replace(VERSION, "VERSION")


def test_a_description_that_does_not_fit_is_one_message_with_the_file(tmp_path, snapshot):
    tensors = safetensors.torch.load(snapshot_bytes(built(described()), described()))
    messages = {}
    for wrong, changes in WRONG_DESCRIPTIONS.items():
        text = json.dumps(described().model_dump(mode="json") | changes)
        content = safetensors.torch.save(tensors, {KEY: text})
        messages[wrong] = refusal(tmp_path / "0003.safetensors", content)
    assert messages == snapshot


def test_files_that_are_no_snapshots_are_one_message_each(tmp_path):
    data, path = snapshot_bytes(built(described()), described()), tmp_path / "snapshot"
    assert refusal(path) == "FILE cannot be read: No such file or directory."
    for damaged in (b"", b"junk", data[:-1], data[:100], data + b"x", b"\xff" * 64):
        assert "FILE is not a complete safetensors file: " in refusal(path, damaged)
    bare = b'{"__metadata__":null}'
    weights = safetensors.torch.save(safetensors.torch.load(data))
    for unsaid in (weights, len(bare).to_bytes(8, "little") + bare):
        message = refusal(path, unsaid)
        assert re.search(
            "does not say of which learner: an earlier version .* Train again", message
        )
    for text in ("", "[]", "{}", "[" * 100_000, '{"epoch": NaN}'):
        message = refusal(path, safetensors.torch.save({}, {KEY: text}))
        assert "in a way that fsl-sweep VERSION does not understand" in message


@pytest.fixture(scope="module")
def loaded():
    return reloaded(built(described("fomaml")), described("fomaml"))


WRONG_IMAGES = {
    "none": lambda s, q: (None, q),
    "scaled": lambda s, q: (s, q / 255),
    "tensor": lambda s, q: (torch.tensor(s).float(), q),
    "last": lambda s, q: (np.moveaxis(s, 2, 4), q),
    "one image": lambda s, q: (s, q[0]),
    "no shots": lambda s, q: (s[:, :0], q),
    "one class": lambda s, q: (s[:1], q),
    "ways": lambda s, q: (s[:3], q),
}


def test_images_that_do_not_fit_are_one_message(loaded, task, snapshot):
    messages = {}
    for wrong, change in WRONG_IMAGES.items():
        with pytest.raises(BadData) as caught:
            loaded.classify(*change(*task))
        messages[wrong] = str(caught.value)
    assert messages == snapshot


def test_views_of_any_layout_give_the_same(loaded, task):
    support, query = task
    expected = loaded.classify(support, query)
    turned = np.ascontiguousarray(np.moveaxis(query, 1, 3))
    for view in (np.moveaxis(turned, 3, 1), torch.tensor(turned).permute(0, 3, 1, 2)):
        np.testing.assert_array_equal(loaded.classify(support, view), expected)
    readonly = support[::-1]
    readonly.flags.writeable = False
    np.testing.assert_allclose(loaded.classify(readonly, query)[:, ::-1].sum(1), 1, rtol=1e-6)
