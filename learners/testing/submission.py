"""What every program with MetaDL's interface must do: the conformance suite of `Submission`.

Subclass it in a test module and say which submission it is about; pytest collects the tests::

    class TestMine(SubmissionContract):
        submission = MySubmission
"""

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import numpy as np
import torch

from fsl_sweep.learners.metadl.learner import SubmissionRun
from fsl_sweep.learners.metadl.meta_dataset import (
    Batch,
    Episode,
    MetaDataset,
    Mode,
    OnePass,
    Passes,
    ProgramTask,
)
from fsl_sweep.learners.metadl.submissions import Submission

BASE_CLASSES, STEPS, TASKS = 6, 4, 3


class SubmissionContract:
    """Subclass it and set ``submission``; pytest runs the rest, on small random images.

    Set what differs from the defaults too: ``options`` of its meta-learner, the ``modes`` of its
    training, the ``image_shape`` (height, width, channels) and the tasks that it takes.
    """

    submission: ClassVar[type[Submission]]
    options: ClassVar[Mapping[str, Any]] = {}
    modes: ClassVar[tuple[Mode, ...]] = ("episode", "batch")
    image_shape: ClassVar[tuple[int, int, int]] = (16, 16, 1)
    way: ClassVar[int] = 5
    shot: ClassVar[int] = 1
    query: ClassVar[int] = 3
    batch_size: ClassVar[int] = 12

    def test_it_is_meta_trained_and_answers_every_query_of_every_task(self) -> None:
        """Answer in each of its modes one class of the task for each query."""
        for mode in self.modes:
            answers = list(self._trained(mode).answers(self._tasks()))
            assert len(answers) == TASKS
            for answer in answers:
                assert answer.shape == (self.way * self.query,)
                assert answer.dtype == np.int64
                assert 0 <= answer.min() <= answer.max() < self.way

    def test_equal_seeds_give_equal_learners_and_answers(self) -> None:
        """Draw from the global generators only, which are seeded for it."""
        for mode in self.modes:
            run, twin = self._trained(mode), self._trained(mode)
            assert torch.equal(run.saved, twin.saved)
            assert np.array_equal(
                list(run.answers(self._tasks())), list(twin.answers(self._tasks()))
            )

    def test_a_saved_learner_answers_as_before(self) -> None:
        """Save all that an answer depends on in the learner's folder."""
        for mode in self.modes:
            run, other = self._trained(mode), self._run(seed=1)
            other.saved = run.saved.clone()
            assert np.array_equal(
                list(other.answers(self._tasks())), list(run.answers(self._tasks()))
            )

    def test_tasks_do_not_see_each_other(self) -> None:
        """Forget the tasks before when the learner is loaded again."""
        run = self._trained(self.modes[0])
        together = list(run.answers(self._tasks()))
        for task, expected in zip(self._tasks(), together, strict=True):
            assert np.array_equal(next(iter(run.answers([task]))), expected)

    def test_a_second_round_continues(self) -> None:
        """Continue meta-training, also after a resume where it saves what that needs."""
        for mode in self.modes:
            run = self._trained(mode)
            state = run.training_state()
            run.meta_train(self._data(mode, seed=2), seed=2)
            if state is not None:
                other = self._run(seed=1)
                other.restore_training(state)
                other.meta_train(self._data(mode, seed=2), seed=2)
                assert torch.equal(other.saved, run.saved)

    def _run(self, seed: int = 0) -> SubmissionRun:
        return SubmissionRun(self.submission.__name__, self.submission, self.options, seed)

    def _trained(self, mode: Mode) -> SubmissionRun:
        run = self._run()
        run.meta_train(self._data(mode, seed=1), seed=1)
        return run

    def _data(self, mode: Mode, seed: int) -> MetaDataset:
        draws = self._episodes if mode == "episode" else self._batches
        return MetaDataset(
            OnePass(draws(seed)),
            Passes(lambda: self._episodes(seed + 100)),
            mode,
            BASE_CLASSES,
            self.image_shape,
        )

    def _episodes(self, seed: int) -> Iterator[tuple[Episode, int]]:
        rng = np.random.default_rng(seed)
        for _ in range(STEPS):
            classes, labels = rng.permutation(BASE_CLASSES)[: self.way], np.arange(self.way)
            parts: list[np.ndarray] = []
            for count in (self.shot, self.query):
                drawn = classes.repeat(count)
                parts += [self._images(drawn, rng), labels.repeat(count), drawn]
            yield Episode(*parts), 0

    def _batches(self, seed: int) -> Iterator[tuple[Batch, int]]:
        rng = np.random.default_rng(seed)
        for _ in range(STEPS):
            labels = rng.integers(0, BASE_CLASSES, self.batch_size)
            yield Batch(self._images(labels, rng), labels), 0

    def _tasks(self) -> list[ProgramTask]:
        rng = np.random.default_rng(9)
        tasks: list[ProgramTask] = []
        for seed in range(TASKS):
            support = np.arange(self.way).repeat(self.shot)
            query = rng.permutation(np.arange(self.way).repeat(self.query))
            examples = (self._images(support, rng), support)
            queries = (self._images(query, rng),)
            tasks.append(ProgramTask((examples,), queries, self.way, seed))
        return tasks

    def _images(self, classes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Draw noisy images of classes that are easily told apart."""
        centres = np.random.default_rng(0).uniform(-1, 1, (BASE_CLASSES, *self.image_shape))
        noise = 0.3 * rng.standard_normal((len(classes), *self.image_shape))
        return np.clip(centres[classes] + noise, -1, 1).astype(np.float32)
