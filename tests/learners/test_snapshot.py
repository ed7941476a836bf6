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

WAY, SHOT, QUERIES = 5, 2, 6
OPTIONS = {
    "finetune": {"steps": 2},
    "fomaml": {"inner_steps_test": 2},
    "maml": {"inner_steps_test": 2, "batch_norm": "running"},
    "metadelta": {"encoders": [CONV, {"name": "conv4", "width": 8}]},
    "metadl": {"submission": "protos"},
}


def made(name="protonet", backbone=CONV, image_shape=SHAPE, **changes):
    """A learner whose weights, averages and counters are not as it was built; its description."""
    spec = {"name": name, **OPTIONS.get(name, {})}
    learner, draws = build_learner(spec, backbone, image_shape, 12, seed=5), generator(5)
    for value in learner.state_dict().values():
        more = 0.1 * torch.rand(value.shape, generator=draws)
        value.add_(more if value.is_floating_point() else 3)
    plain = {"pixel_mean": (0.1307,), "pixel_std": (1 / 3,), "holds_features": False, **changes}
    when = {"n_base_classes": 12, "trial": "0123456789abcdef", "epoch": 3, "version": VERSION}
    described = Description(
        learner=spec, backbone=backbone, image_shape=image_shape, **plain, **when
    )
    return learner.eval(), described


def reloaded(learner, description):
    return fsl_sweep.load_learner(snapshot_bytes(learner, description))


@pytest.fixture(scope="module")
def task():
    rng = np.random.default_rng(0)
    centres = rng.integers(0, 200, (WAY, 1, *SHAPE))
    noise = (rng.integers(0, 56, (WAY, count, *SHAPE)) for count in (SHOT, QUERIES))
    support, query = ((centres + part).astype(np.uint8) for part in noise)
    return support, query.reshape(-1, *SHAPE)


def logits_of(learner, support, query):
    """As the conformance suites ask for them, of one task of normalised images."""
    if isinstance(learner, ClassificationLearner):
        return ClassificationContract()._answer(learner, query)
    return LearnerContract()._answer(learner, support[None], query[None])[0]


@pytest.mark.parametrize("name", [name for name in LEARNERS.names() if name != "metadl"])
def test_every_learner_comes_back_bit_for_bit(name, task, tmp_path):
    learner, description = made(name)
    data, path = snapshot_bytes(learner, description), tmp_path / "0003.safetensors"
    assert snapshot_bytes(learner, description) == data
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
    learner, description = made("metadl", IDENTITY)
    learner.saved = packed(submitted.Learner(submitted.network(), "logits").save)
    loaded = reloaded(learner, description)
    assert torch.equal(loaded.learner.saved, learner.saved)
    for _ in range(2):
        # It is easily told to which of the noisy prototypes a query belongs.
        assert loaded.classify(*task).tolist() == np.eye(WAY).repeat(QUERIES, axis=0).tolist()
    learner.saved = learner.saved[:700]
    with pytest.raises(BadData, match="What a program saved cannot be unpacked"):
        reloaded(learner, description).classify(*task)


@pytest.mark.parametrize("name", ["ncc", "protonet", "logistic"])
def test_features_are_used_as_they_are(name):
    pixels = {"pixel_mean": (0.0,) * 7, "pixel_std": (1.0,) * 7, "holds_features": True}
    learner, description = made(name, IDENTITY, (7, 1, 1), **pixels)
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


def refusal(call, *arguments):
    with pytest.raises(UserError) as caught:
        call(*arguments)
    assert not {"\n", "\x1b"} & {*str(caught.value)}
    return str(caught.value)


def test_what_is_no_snapshot_of_its_learner_is_one_message_with_the_file(tmp_path, snapshot):
    learner, description = made()
    data, path = snapshot_bytes(learner, description), tmp_path / "0003.safetensors"
    tensors, plain = safetensors.torch.load(data), description.model_dump(mode="json")
    texts = {wrong: json.dumps(plain | changes) for wrong, changes in WRONG_DESCRIPTIONS.items()}
    texts |= {text[:9]: text for text in ("", "[]", "{}", "[" * 100_000, '{"epoch": NaN}')}
    contents = {wrong: safetensors.torch.save(tensors, {KEY: t}) for wrong, t in texts.items()}
    bare = b'{"__metadata__":null}'
    contents["no text"] = len(bare).to_bytes(8, "little") + bare
    contents["weights only"] = safetensors.torch.save(tensors)
    damaged = (b"", b"junk", data[:-1], data[:100], data + b"x", b"\xff" * 64)
    contents |= {f"damaged {number}": content for number, content in enumerate(damaged)}
    messages = {"missing": refusal(fsl_sweep.load_learner, path)}
    for wrong, content in contents.items():
        path.write_bytes(content)
        messages[wrong] = refusal(fsl_sweep.load_learner, path)
    names = {str(path): "FILE", VERSION: "VERSION", ", ".join(LEARNERS.names()): "LEARNERS"}
    for written, name in names.items():
        messages = {wrong: text.replace(written, name) for wrong, text in messages.items()}
    library = re.compile(r"(?<=Invalid JSON: ).*?(?=\))|(?<=safetensors file: ).*")
    assert {wrong: library.sub("...", text) for wrong, text in messages.items()} == snapshot


@pytest.fixture(scope="module")
def loaded():
    return reloaded(*made("fomaml"))


def test_images_that_do_not_fit_are_one_message(loaded, task, snapshot):
    support, query = task
    wrong = {
        "none": (None, query),
        "scaled": (support, query / 255),
        "tensor": (torch.tensor(support).float(), query),
        "last": (np.moveaxis(support, 2, 4), query),
        "one image": (support, query[0]),
        "no shots": (support[:, :0], query),
        "one class": (support[:1], query),
        "ways": (support[:3], query),
    }
    assert {name: refusal(loaded.classify, *images) for name, images in wrong.items()} == snapshot


def test_views_of_any_layout_give_the_same(loaded, task):
    support, query = task
    expected = loaded.classify(support, query)
    turned = np.ascontiguousarray(np.moveaxis(query, 1, 3))
    for view in (np.moveaxis(turned, 3, 1), torch.tensor(turned).permute(0, 3, 1, 2)):
        np.testing.assert_array_equal(loaded.classify(support, view), expected)
    readonly = support[::-1]
    readonly.flags.writeable = False
    np.testing.assert_allclose(loaded.classify(readonly, query)[:, ::-1].sum(1), 1, rtol=1e-6)
