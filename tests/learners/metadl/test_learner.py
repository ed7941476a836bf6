import random
from pathlib import Path

import numpy as np
import pytest
import submitted
import torch

from fsl_sweep.learners.metadl.folder_state import packed, unpacked
from fsl_sweep.learners.metadl.learner import MetadlOptions, chosen_classes, seeded_globals
from fsl_sweep.learners.testing.submission import SubmissionContract


class TestProtos(SubmissionContract):
    submission = submitted.Protos


class TestProtosGoOn(SubmissionContract):
    submission = submitted.ProtosGoOn


class Unseeded(submitted.MetaLearner):
    def meta_fit(self, meta_dataset_generator):
        with torch.no_grad():
            self.network[0].bias += float(np.random.default_rng().random())
        return super().meta_fit(meta_dataset_generator)


class Stateful(submitted.Learner):
    seen = 0

    def fit(self, dataset_train):
        predictor = super().fit(dataset_train)
        Stateful.seen += 1
        predictor.centres = predictor.centres.roll(Stateful.seen, 0)
        return predictor


@pytest.mark.parametrize(
    ("fault", "rule"),
    [
        ({"meta_learner": Unseeded}, "equal_seeds_give_equal_learners_and_answers"),
        ({"learner": Stateful}, "tasks_do_not_see_each_other"),
    ],
)
def test_the_contract_notices(fault, rule):
    broken = type("Broken", (submitted.Protos,), fault)
    suite = type("Suite", (SubmissionContract,), {"submission": broken})()
    with pytest.raises(AssertionError):
        getattr(suite, f"test_{rule}")()


def test_a_mistake_in_the_options_is_reported_before_anything_runs(tmp_path, monkeypatch):
    submitted.install(tmp_path, monkeypatch)
    MetadlOptions(submission="protos", options={"lr": 0.1})
    with pytest.raises(ValueError, match="unknown submission 'protoss'; did you mean 'protos'"):
        MetadlOptions(submission="protoss")
    with pytest.raises(ValueError, match=r"'protos' does not take them: .*'rate'"):
        MetadlOptions(submission="protos", options={"rate": 0.1})


@pytest.mark.parametrize("kind", [np.array, torch.tensor, list])
def test_answers_become_classes(kind):
    rows = [[0.1, 0.7, 0.2], [0.8, 0.1, 0.1], [0.0, 0.0, 1.0], [0.3, 0.4, 0.3]]
    for answer in (rows, [1, 0, 2, 1], [[1], [0], [2], [1]]):
        classes = chosen_classes(kind(answer), queries=4, way=3)
        assert (classes.tolist(), classes.dtype) == ([1, 0, 2, 1], np.int64)


def test_a_folder_of_files_comes_back_from_its_tensor_byte_for_byte():
    files = {"a": "one", "b/c": "two", "b/empty": ""}

    def write(folder):
        (Path(folder) / "b").mkdir()
        for name, text in files.items():
            Path(folder, name).write_text(text)

    state = packed(write)
    assert state.dtype == torch.uint8
    assert torch.equal(packed(write), state)
    with unpacked(state) as folder:
        names = [p.relative_to(folder).as_posix() for p in Path(folder).rglob("*") if p.is_file()]
        assert {name: Path(folder, name).read_text() for name in names} == files
    assert not Path(folder).exists()
    with pytest.raises(ValueError, match="nothing was written"):
        packed(lambda folder: None)
    with pytest.raises(ValueError, match="'link' is neither a file nor a folder"):
        packed(lambda folder: Path(folder, "link").symlink_to("/etc/hostname"))


def test_the_global_generators_are_lent_and_come_back_as_they_were():
    def states():
        return random.getstate(), str(np.random.get_state()), torch.get_rng_state().tolist()  # noqa: NPY002

    def draws():
        return random.random(), np.random.random_sample(), float(torch.rand(()))  # noqa: NPY002

    before = states()
    with seeded_globals(3):
        first = draws()
    assert states() == before
    with seeded_globals(3):
        assert draws() == first
    with pytest.raises(KeyError), seeded_globals(2**62):
        raise KeyError
    assert states() == before
    assert draws() != first
