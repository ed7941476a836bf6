import random
from pathlib import Path

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


class Unseeded(submitted.Protos):
    class meta_learner(submitted.MetaLearner):  # noqa: N801
        def meta_fit(self, meta_dataset_generator):
            with torch.no_grad():
                self.network[0].bias += float(np.random.default_rng().random())
            return super().meta_fit(meta_dataset_generator)


class Stateful(submitted.Protos):
    class learner(submitted.Learner):  # noqa: N801
        """Answers from what it saw before."""

        seen = 0

        def fit(self, dataset_train):
            predictor = super().fit(dataset_train)
            type(self).seen += 1
            predictor.centres = predictor.centres.roll(self.seen, 0)
            return predictor


@pytest.mark.parametrize(
    ("broken", "test"),
    [
        (Unseeded, SubmissionContract.test_equal_seeds_give_equal_learners_and_answers),
        (Stateful, SubmissionContract.test_tasks_do_not_see_each_other),
    ],
)
def test_the_contract_notices(broken, test):
    with pytest.raises(AssertionError):
        test(type("Contract", (SubmissionContract,), {"submission": broken})())


def test_a_mistake_in_the_options_is_reported_before_anything_runs(tmp_path, monkeypatch):
    submitted.install(tmp_path, monkeypatch)
    MetadlOptions(submission="protos", options={"lr": 0.1})
    with pytest.raises(ValueError, match="unknown submission 'protoss'; did you mean 'protos'"):
        MetadlOptions(submission="protoss")
    with pytest.raises(ValueError, match=r"'protos' does not take them: .*'rate'"):
        MetadlOptions(submission="protos", options={"rate": 0.1})


ROWS = [[0.1, 0.7, 0.2], [0.8, 0.1, 0.1], [0.0, 0.0, 1.0], [0.3, 0.4, 0.3]]


@pytest.mark.parametrize("kind", [np.array, torch.tensor, list])
@pytest.mark.parametrize("answer", [ROWS, [1, 0, 2, 1], [[1], [0], [2], [1]]])
def test_answers_become_classes(kind, answer):
    classes = chosen_classes(kind(answer), queries=4, way=3)
    assert (classes.tolist(), classes.dtype) == ([1, 0, 2, 1], np.int64)


def test_a_folder_comes_back_from_its_tensor_byte_for_byte():
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


def test_a_folder_with_nothing_or_with_links_is_refused():
    with pytest.raises(ValueError, match="nothing was written"):
        packed(lambda folder: None)
    with pytest.raises(ValueError, match="'link' is neither a file nor a folder"):
        packed(lambda folder: Path(folder, "link").symlink_to("/etc/hostname"))


def draws(seed=None):
    """What a program may draw from, seeded before if a seed is given."""
    if seed is not None:
        random.seed(seed)
        np.random.seed(seed)  # noqa: NPY002
        torch.manual_seed(seed)
    return random.random(), np.random.random_sample(), float(torch.rand(()))  # noqa: NPY002


def test_the_global_generators_are_lent_and_come_back_as_they_were():
    with seeded_globals(3):
        first = draws()
    draws(0)
    before = draws()
    draws(0)
    with seeded_globals(3):
        assert draws() == first != before
    assert draws() == before
    draws(0)
    with pytest.raises(KeyError), seeded_globals(2**62):
        raise KeyError
    assert draws() == before
