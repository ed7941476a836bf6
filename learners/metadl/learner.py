"""MetaDL's interface: any program written for the challenge of 2021 as a trial.

"Advances in MetaDL: AAAI 2021 challenge and workshop", section 3.2: a meta-learner's ``meta_fit``
turns a meta-dataset into a learner, whose ``fit`` turns a support set into a predictor.
"""

import inspect
import random
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from typing import Any, ClassVar, final

import numpy as np
import torch
from pydantic import Field, ValidationInfo, field_validator
from torch import Tensor, nn

from fsl_sweep.learners.backbones.base import Backbone
from fsl_sweep.learners.base import Learner, TrainsOn
from fsl_sweep.learners.metadl import submissions
from fsl_sweep.learners.metadl.folder_state import packed, unpacked
from fsl_sweep.learners.metadl.meta_dataset import MetaDataset, Mode, ProgramTask
from fsl_sweep.learners.metadl.submissions import SUBMISSIONS, Submission
from fsl_sweep.learners.options import Options
from fsl_sweep.orchestrator.errors import TrialFailure, UnknownName, in_one_line


class SubmissionRun(nn.Module):
    """One meta-learner of a submission, and the learner that it last returned.

    As in the challenge's released scoring code, the learner is saved after ``meta_fit``, and loaded
    again for every task, so that what ``fit`` changes in it does not matter. The saved learner is
    the module's state.

    Attributes:
        saved: the folder that the learner saved, uint8 ``[bytes]``; empty before `meta_train`.

    Args:
        name: of the submission, for messages.
        submission: its classes.
        arguments: of its meta-learner.
        seed: 0 .. 2**63 - 1, of what the meta-learner draws when it is made.
    """

    def __init__(
        self, name: str, submission: type[Submission], arguments: Mapping[str, Any], seed: int
    ) -> None:
        nn.Module.__init__(self)
        self._name, self._submission, self._arguments = name, submission, dict(arguments)
        self._seed = seed
        self.saved = torch.empty(0, dtype=torch.uint8)

    def meta_train(self, data: MetaDataset, seed: int) -> None:
        """Call ``meta_fit``, and keep what the learner that it returns saves."""
        meta_learner = self._meta_learner
        with seeded_globals(seed):
            with self._blamed("meta_fit"):
                learner = meta_learner.meta_fit(data)
            with self._blamed("Learner.save"):
                self.saved = packed(learner.save)

    def answers(self, tasks: Iterable[ProgramTask]) -> Iterator[np.ndarray]:
        """Answer each task by the class of each query; the learner is loaded for each of them."""
        with unpacked(self.saved) as folder:
            with seeded_globals(self._seed), self._blamed("Learner()"):
                learner = self._submission.learner()
            for task in tasks:
                answer = self._answer(learner, folder, task)
                try:
                    yield chosen_classes(answer, len(task.queries[0]), task.way)
                except ValueError as failure:
                    raise TrialFailure(f"submission '{self._name}': {failure}") from failure

    def training_state(self) -> Tensor | None:
        """Return what the meta-learner saves of itself, if it can."""
        meta_learner: Any = self._meta_learner
        if not saves_itself(meta_learner):
            return None
        with seeded_globals(self._seed), self._blamed("MetaLearner.save"):
            return packed(meta_learner.save)

    def restore_training(self, state: Tensor) -> None:
        """Let the meta-learner load what it had saved."""
        meta_learner: Any = self._meta_learner
        with (
            unpacked(state) as folder,
            seeded_globals(self._seed),
            self._blamed("MetaLearner.load"),
        ):
            meta_learner.load(folder)

    def get_extra_state(self) -> Tensor:
        """Return the saved learner, which torch puts into the state dictionary."""
        return self.saved

    def set_extra_state(self, state: Tensor) -> None:
        """Take a saved learner from the state dictionary."""
        self.saved = state.cpu()

    @cached_property  # which bypasses torch's register of submodules: it may be a module
    def _meta_learner(self) -> submissions.MetaLearner:
        with seeded_globals(self._seed), self._blamed("MetaLearner()"):
            return self._submission.meta_learner(**self._arguments)

    def _answer(self, learner: submissions.Learner, folder: str, task: ProgramTask) -> Any:
        with seeded_globals(task.seed):
            with self._blamed("Learner.load"):
                learner.load(folder)
            with self._blamed("Learner.fit"):
                predictor = learner.fit(task.support)
            with self._blamed("Predictor.predict"):
                return predictor.predict(task.queries)

    @contextmanager
    def _blamed(self, step: str) -> Iterator[None]:
        """End the trial where the program raises, with a message that names the program."""
        try:
            yield
        except (TrialFailure, MemoryError, torch.OutOfMemoryError):
            raise
        except Exception as failure:  # a third party's program may raise anything
            raise TrialFailure(
                f"submission '{self._name}' failed in {step}: {in_one_line(failure)}"
            ) from failure


class MetadlOptions(Options):
    """Options of `Metadl`.

    Attributes:
        submission: the program's name, an entry point of the group ``fsl_sweep.metadl``.
        mode: whether ``meta_fit`` gets episodes or labelled batches.
        options: keyword arguments of the program's meta-learner.
    """

    submission: str
    mode: Mode = "episode"
    options: dict[str, Any] = Field(default_factory=dict)

    @field_validator("submission")
    @classmethod
    def _is_known(cls, name: str) -> str:
        try:
            SUBMISSIONS.find(name)
        except UnknownName as failure:
            raise ValueError(str(failure)) from None
        return name

    @field_validator("options")
    @classmethod
    def _fit_the_meta_learner(cls, options: dict[str, Any], info: ValidationInfo) -> dict[str, Any]:
        if "submission" in info.data:
            meta_learner = SUBMISSIONS.find(info.data["submission"]).cls.meta_learner
            try:
                inspect.signature(meta_learner).bind(**options)
            except TypeError as failure:
                raise ValueError(
                    f"'{info.data['submission']}' does not take them: {failure}"
                ) from None
        return options


@final
class Metadl(SubmissionRun, Learner[Any]):
    """Runs a submission; its snapshot is the folder that the submission's learner saved.

    The program brings its own network and optimizer: the backbone is not used.
    """

    Options = MetadlOptions
    trains_on: ClassVar[TrainsOn] = "episodes"

    def __init__(self, backbone: Backbone, options: MetadlOptions, n_base_classes: int) -> None:  # noqa: ARG002
        submission = SUBMISSIONS.find(options.submission).cls
        seed = int(torch.randint(2**62, ()))
        super().__init__(options.submission, submission, options.options, seed)

    @classmethod
    def trained_on(cls, options: MetadlOptions) -> TrainsOn:
        """Return episodes or batches, as the mode says."""
        return "episodes" if options.mode == "episode" else "batches"

    @classmethod
    def can_resume(cls, options: MetadlOptions) -> bool:
        """Tell whether the submission's meta-learner has ``save`` and ``load`` of its own."""
        return saves_itself(SUBMISSIONS.find(options.submission).cls.meta_learner)


def saves_itself(meta_learner: object) -> bool:
    """Tell whether a meta-learner, or its class, has ``save`` and ``load`` of its own."""
    return all(callable(getattr(meta_learner, name, None)) for name in ("save", "load"))


def chosen_classes(answer: Any, queries: int, way: int) -> np.ndarray:
    """Read what a predictor answered to m queries as the class of each, int64 ``[m]``.

    Raises:
        ValueError: it is neither finite probabilities or logits ``[m, way]`` nor integer labels
            ``[m]`` or ``[m, 1]`` in range; a tensor, or anything that NumPy makes an array of.
    """
    array = np.asarray(answer.detach().cpu() if isinstance(answer, Tensor) else answer)
    if array.shape == (queries, way) and array.dtype.kind in "fiu":
        if not np.isfinite(array).all():
            raise ValueError("its answers to a task are not numbers")
        return array.argmax(axis=1)
    if array.shape not in ((queries,), (queries, 1)) or array.dtype.kind not in "iu":
        raise ValueError(
            f"predict returned {array.dtype} {list(array.shape)}; for {queries} queries of {way} "
            f"classes it must return probabilities [{queries}, {way}] or integer labels [{queries}]"
        )
    labels = array.reshape(queries).astype(np.int64)
    if labels.min() < 0 or labels.max() >= way:
        raise ValueError(
            f"predict returned labels from {labels.min()} to {labels.max()}; "
            f"those of {way} classes are 0 to {way - 1}"
        )
    return labels


@contextmanager
def seeded_globals(seed: int) -> Iterator[None]:
    """Seed Python's, NumPy's and torch's generators for the block, then restore them."""
    devices = list(range(torch.cuda.device_count()))
    python, legacy = random.getstate(), np.random.get_state()  # noqa: NPY002 (it is the point)
    with torch.random.fork_rng(devices=devices):
        torch.default_generator.manual_seed(seed)
        if devices:
            torch.cuda.manual_seed_all(seed)
        random.seed(seed)
        np.random.seed(seed % 2**32)  # noqa: NPY002
        try:
            yield
        finally:
            random.setstate(python)
            np.random.set_state(legacy)  # noqa: NPY002
