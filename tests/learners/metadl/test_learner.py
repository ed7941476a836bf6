import random

import numpy as np
import pytest
import submitted
import torch

from fsl_sweep.learners.metadl.folder_state import packed, unpacked
from fsl_sweep.learners.metadl.learner import MetadlOptions
from fsl_sweep.learners.metadl.run import chosen_classes, seeded_globals
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
    """Answers from what it saw before."""

    seen = 0

    def fit(self, dataset_train):
        predictor = super().fit(dataset_train)
        Stateful.seen += 1
        predictor.centres = predictor.centres.roll(Stateful.seen, 0)
        return predictor


FAULTS = {
    "unseeded": (
        {"meta_learner": Unseeded, "learner": submitted.Learner},
        SubmissionContract.test_equal_seeds_give_equal_learners_and_answers,
    ),
    "stateful": (
        {"meta_learner": submitted.MetaLearner, "learner": Stateful},
        SubmissionContract.test_tasks_do_not_see_each_other,
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_the_contract_notices(fault):
    members, test = FAULTS[fault]
    broken = type("Broken", (submitted.Submission,), members)
    contract = type("Contract", (SubmissionContract,), {"submission": broken})()
    with pytest.raises(AssertionError):
        test(contract)


def test_a_mistake_in_the_options_is_reported_before_anything_runs(tmp_path, monkeypatch):
    submitted.install(tmp_path, monkeypatch)
    MetadlOptions(submission="protos", options={"lr": 0.1})
    with pytest.raises(ValueError, match="unknown submission 'protoss'; did you mean 'protos'"):
        MetadlOptions(submission="protoss")
    with pytest.raises(ValueError, match=r"'protos' does not take them: .*'rate'"):
        MetadlOptions(submission="protos", options={"rate": 0.1})


@pytest.mark.parametrize("kind", ["array", "tensor", "list"])
def test_answers_become_classes(kind):
    given = {"array": np.array, "tensor": torch.tensor, "list": list}[kind]
    rows = [[0.1, 0.7, 0.2], [0.8, 0.1, 0.1], [0.0, 0.0, 1.0], [0.3, 0.4, 0.3]]
    for answer in (rows, [1, 0, 2, 1], [[1], [0], [2], [1]]):
        found = chosen_classes(given(answer), queries=4, way=3)
        assert found.tolist() == [1, 0, 2, 1]
        assert found.dtype == np.int64


def test_a_folder_comes_back_from_its_tensor_byte_for_byte(tmp_path):
    def write(folder):
        (tmp_path / "made").mkdir(exist_ok=True)
        for name, text in (("a", "one"), ("b/c", "two"), ("b/empty", "")):
            path = type(tmp_path)(folder) / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)

    state = packed(write)
    assert state.dtype == torch.uint8
    assert torch.equal(packed(write), state)
    with unpacked(state) as folder:
        found = {
            path.relative_to(folder).as_posix(): path.read_text()
            for path in type(tmp_path)(folder).rglob("*")
            if path.is_file()
        }
    assert found == {"a": "one", "b/c": "two", "b/empty": ""}


def test_a_folder_with_nothing_or_with_links_is_refused(tmp_path):
    with pytest.raises(ValueError, match="nothing was written"):
        packed(lambda folder: None)
    with pytest.raises(ValueError, match="'link' is neither a file nor a folder"):
        packed(lambda folder: (type(tmp_path)(folder) / "link").symlink_to("/etc/hostname"))


def draws():
    numbers = np.random.random_sample()  # noqa: NPY002 (what a program may draw from)
    return random.random(), float(numbers), float(torch.rand(()))


def seed_all(seed):
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002
    torch.manual_seed(seed)


def test_the_global_generators_are_lent_and_come_back_as_they_were():
    with seeded_globals(3):
        first = draws()
    seed_all(0)
    before = draws()
    seed_all(0)
    with seeded_globals(3):
        assert draws() == first != before
    assert draws() == before
    seed_all(0)
    with pytest.raises(KeyError), seeded_globals(2**62):
        raise KeyError
    assert draws() == before
