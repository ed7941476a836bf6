"""A learner from its snapshot, which classifies images as they are."""

from collections.abc import Callable
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any, final

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from fsl_sweep.datasets.files.plain_file import check_plain
from fsl_sweep.learners.at_once import at_once, in_chunks
from fsl_sweep.learners.base import (
    AdaptationLearner,
    ClassificationLearner,
    EmbeddingLearner,
    Learner,
)
from fsl_sweep.learners.metadl.learner import Metadl
from fsl_sweep.learners.metadl.meta_dataset import ProgramTask
from fsl_sweep.learners.snapshot import Description, restored
from fsl_sweep.orchestrator.errors import BadData

Array = np.ndarray | Tensor


def load_learner(
    source: str | PathLike[str] | bytes, device: torch.device | str | None = None
) -> "LoadedLearner":
    """Build the learner of a snapshot from what the snapshot says about itself.

    Nothing in the snapshot is executed. Its learner and backbone must be installed; what a program
    with MetaDL's interface saved is given to the installed program of that name, which reads it in
    its own way.

    Args:
        source: a snapshot file, or its content.
        device: where it computes; by default on a GPU if there is one.

    Raises:
        BadData: the file cannot be read, or as `restored`.
    """
    where, data = "snapshot", source
    if not isinstance(data, bytes):
        where = str(path := Path(data).expanduser())
        check_plain(path)
        try:
            data = path.read_bytes()
        except OSError as failure:
            raise BadData(f"{path} cannot be read: {failure.strerror}.") from failure
    learner, description = restored(data, where)
    place = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
    return LoadedLearner(learner.to(place), description, place)


@final
@dataclass(frozen=True, eq=False)
class LoadedLearner:
    """A learner in evaluation mode, and what its snapshot says about it.

    Attributes:
        learner: the learner itself, which takes normalised images.
        description: which learner, trained on what, and when.
        device: where it computes.
    """

    learner: Learner[Any] = field(repr=False)
    description: Description
    device: torch.device

    def classify(self, support: Array | None, query: Array) -> Float[np.ndarray, "m n"]:
        """Return probabilities, float32 ``[m, n]``, of each query for each class of the support.

        Answers are computed as they were measured, but one task at a time, so that their last bits
        may differ. Learners that are transductive, or use batch statistics, see all queries of a
        call together. A program's answers are 1 for the class that it chose and 0 for the others;
        whatever it draws is drawn from one seed.

        Args:
            support: uint8 ``[n, k, c, h, w]``, k examples of each of n classes, with values 0-255;
                or features, float32 ``[n, k, d]``. A NumPy array or a torch tensor. None for a
                classifier, which answers among the classes that it was trained on, in the order
                of their labels.
            query: uint8 ``[m, c, h, w]``, or features ``[m, d]``.

        Raises:
            BadData: the images do not fit the learner, or an answer is not a number.
            TrialFailure: a program failed.
        """
        queries = self._checked(query, "query", "m")
        if isinstance(self.learner, ClassificationLearner):
            if support is not None:
                raise BadData(
                    f"This classifier answers among the {self.description.n_base_classes} classes "
                    "that it was trained on, and takes no support: give None in its place."
                )
            return _probabilities(self._through(self.learner.classify, queries))
        examples = self._checked(support, "support", "n, k")
        if (way := len(examples)) < 2:
            raise BadData("The support has 1 class; give at least 2 to choose from.")
        if isinstance(self.learner, Metadl):
            return self._by_program(self.learner, examples, queries)
        fixed = self.learner.fixed_way(self.learner.options)
        if fixed not in (None, way):
            raise BadData(f"This learner answers tasks of {fixed} classes; the support has {way}.")
        if isinstance(self.learner, AdaptationLearner):
            with torch.no_grad():  # not inference mode, whose tensors cannot be differentiated
                ready = (self._normalised(part)[None] for part in (examples, queries))
                return _probabilities(self.learner.predict(*ready)[0])
        assert isinstance(self.learner, EmbeddingLearner)
        return self._by_features(self.learner, examples, queries)

    def _checked(self, images: Array | None, name: str, places: str) -> Tensor:
        """Check images and return them on the CPU, as ``[*places, c, h, w]``."""
        if not isinstance(images, np.ndarray | Tensor):
            kind = type(images).__name__
            raise BadData(f"The {name} must be a NumPy array or a torch tensor, not a {kind}.")
        features, shape = self.description.holds_features, self.description.image_shape
        item, wanted = (shape[:1], "float32") if features else (shape, "uint8")
        if (dtype := str(images.dtype).removeprefix("torch.")) != wanted:
            advice = "features are used as they are" if features else "give pixels from 0 to 255"
            raise BadData(f"The {name} holds {dtype}; it must be {wanted}: {advice}.")
        first = list(images.shape[: places.count(",") + 1])
        if list(images.shape) != [*first, *item] or 0 in first:
            expected = f"[{places}, {', '.join(map(str, item))}]"
            raise BadData(
                f"The {name} must have the shape {expected}, as in training, and not be empty; its "
                f"shape is {list(images.shape)}."
            )
        # A copy: torch takes no array with negative strides, and warns of one that is read-only.
        tensor = torch.from_numpy(np.array(images)) if isinstance(images, np.ndarray) else images
        return tensor.detach().cpu().reshape(*first, *shape).contiguous()

    def _unit(self, images: Tensor) -> Tensor:
        """Return images with values in [0, 1], or features, on the device."""
        raw = images.to(self.device)
        return raw if self.description.holds_features else raw.float().div_(255)

    def _normalised(self, images: Tensor) -> Tensor:
        both = self.description.pixel_mean, self.description.pixel_std
        mean, std = torch.tensor(both, dtype=torch.float32, device=self.device).view(2, -1, 1, 1)
        return (self._unit(images) - mean) / std

    def _through(self, network: Callable[[Tensor], Tensor], images: Tensor) -> Tensor:
        """Pass images ``[n, c, h, w]`` through a network, in chunks as it is measured."""
        size = at_once(self.device, self.description.image_shape).images

        def rows(chunk: np.ndarray) -> Tensor:
            return network(self._normalised(images[torch.from_numpy(chunk)]))

        with torch.inference_mode():
            return in_chunks(rows, np.arange(len(images)), size)

    def _by_features(
        self, learner: EmbeddingLearner[Any], support: Tensor, query: Tensor
    ) -> np.ndarray:
        way, shot = support.shape[:2]
        both = torch.cat([support.flatten(0, 1), query])
        features = self._through(learner.embed, both).float()
        with torch.inference_mode():
            examples = features[: way * shot].view(1, way, shot, -1)
            return _probabilities(learner.head(examples, features[None, way * shot :])[0])

    def _by_program(self, program: Metadl, support: Tensor, query: Tensor) -> np.ndarray:
        task = ProgramTask.of(self._unit(support), self._unit(query), seed=0)
        (answer,) = program.answers([task])
        return np.eye(task.way, dtype=np.float32)[answer]


def _probabilities(logits: Float[Tensor, "m n"]) -> Float[np.ndarray, "m n"]:
    broken = int((~torch.isfinite(logits)).any(dim=1).sum())
    if broken:
        raise BadData(f"The answers to {broken} of {len(logits)} queries are not numbers.")
    return logits.float().softmax(dim=1).cpu().numpy()
