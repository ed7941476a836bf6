"""Images with their labels, as every task distribution indexes them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fsl_sweep.datasets.files.digests import canonical_digest
from fsl_sweep.orchestrator.errors import BadData


@dataclass(frozen=True, eq=False)
class ImagePool:
    """Labelled images of one size, read-only; or feature vectors instead.

    Attributes:
        images: uint8 ``[N, C, H, W]`` with values 0-255, or float32 ``[N, d, 1, 1]``: features,
            which are used as they are. Usually a read-only memory map.
        labels: int64 ``[N]``, an index into ``class_names``.
        class_names: one for each class, all different.
        fingerprint: hex digest of the content, never of the place where it is stored.
        superclasses: one for each class (an alphabet, a coarse class), where known.
        writers: int64 ``[N]``, who drew the image, where known.
        attributes: bool ``[n_classes, A]``, where known.
        attribute_names: one for each column of ``attributes``.
        families: one for each class, where some classes show the same originals, as a character
            and its turns do: the i-th examples of the classes of a family are one original. None
            if every class has images of its own.

    Raises:
        BadData: the arrays disagree in length or range.
    """

    images: np.ndarray
    labels: np.ndarray
    class_names: tuple[str, ...]
    fingerprint: str
    superclasses: tuple[str, ...] | None = None
    writers: np.ndarray | None = None
    attributes: np.ndarray | None = None
    attribute_names: tuple[str, ...] | None = None
    families: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        images, classes = (len(self),), len(self.class_names)
        for name, shape in {
            "labels": images,
            "writers": images,
            "superclasses": (classes,),
            "attributes": (classes, len(self.attribute_names or ())),
            "families": (classes,),
        }.items():
            value = getattr(self, name)
            if value is not None and np.shape(value) != shape:
                raise BadData(f"The {name} of a pool have shape {np.shape(value)}, not {shape}.")
        if np.any((self.labels < 0) | (self.labels >= classes)):
            raise BadData(f"Labels of a pool of {classes} classes must be from 0 to {classes - 1}.")

    def __len__(self) -> int:
        return int(self.images.shape[0])

    @property
    def origins(self) -> tuple[str, ...]:
        """Return for each class a name that it shares with those that show the same originals.

        Splits are drawn by this name, so that originals and their turns stay together.
        """
        return self.families or self.class_names

    @property
    def image_shape(self) -> tuple[int, int, int]:
        """Return channels, height and width."""
        channels, height, width = self.images.shape[1:]
        return int(channels), int(height), int(width)

    @property
    def holds_features(self) -> bool:
        """Tell whether these are features of a frozen extractor, not images."""
        return self.images.dtype == np.float32


def pool_fingerprint(
    image_shape: Sequence[int],
    digests: dict[str, str],
    classes: Sequence[str],
    superclasses: Sequence[str] | None,
    attributes: Sequence[str] | None,
) -> str:
    """Digest a pool's content: its shape, the ``array_digest`` of each array, its names; hex."""
    names = {"classes": classes, "superclasses": superclasses, "attributes": attributes}
    return canonical_digest({"shape": list(map(int, image_shape)), "arrays": digests, **names})
