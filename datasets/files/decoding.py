"""From an image file's bytes to pixels of the size that a pool holds."""

import io
from typing import Literal

import numpy as np
from PIL import Image, ImageOps, UnidentifiedImageError

from fsl_sweep.datasets.files.file_tree import FileTree, Member
from fsl_sweep.orchestrator.errors import BadData

Colour = Literal["rgb", "grey"]

_FORMATS = ("PNG", "JPEG", "BMP", "GIF", "WEBP", "TIFF", "PPM")
"""Pillow tells formats by content, and would start Ghostscript for an EPS, whatever its name."""


def read_image(tree: FileTree, member: Member, colour: Colour) -> Image.Image:
    """Read the image in a file of a tree. Raises BadData if it cannot be read, or as `decode`."""
    return decode(tree.read(member), f"{tree.where}/{member.path}", colour)


def decode(content: bytes, where: str, colour: Colour) -> Image.Image:
    """Decode the image in a file's bytes, upright and in the wanted colours.

    ``where`` names the file in messages.

    Raises:
        BadData: it cannot be decoded, or is larger than Pillow's bound against bombs.
    """
    try:
        image = Image.open(io.BytesIO(content), formats=_FORMATS)
        # Only cameras write rotation tags; searching every PNG for them is slow.
        upright = ImageOps.exif_transpose(image) if image.format in ("JPEG", "MPO") else image
        if upright.mode in ("I;16", "I;16B", "I"):
            # Pillow clips wide greys instead of scaling them.
            wide = np.asarray(upright, dtype=np.float64)
            upright = Image.fromarray((wide / 257).clip(0, 255).astype(np.uint8))
        return upright.convert("RGB" if colour == "rgb" else "L")
    except Exception as failure:  # Pillow's decoders raise anything at all on damaged files
        problem = f"{type(failure).__name__}: {failure}"
        if isinstance(failure, UnidentifiedImageError):  # its text names the buffer, not the file
            problem = "its format is unknown" if content else "it is empty"
        raise BadData(
            f"{where} cannot be decoded as an image ({problem}). Download or copy it again, or "
            "remove it from a data set of your own."
        ) from failure


def squared(image: Image.Image, side: int) -> np.ndarray:
    """Return the image's centre square, scaled with antialiasing, uint8 ``[C, side, side]``."""
    edge = min(image.size)
    left, top = (image.width - edge) // 2, (image.height - edge) // 2
    square = image.crop((left, top, left + edge, top + edge))
    pixels = np.asarray(square.resize((side, side), Image.Resampling.LANCZOS))
    return np.ascontiguousarray(np.atleast_3d(pixels).transpose(2, 0, 1))
