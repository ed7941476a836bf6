"""Examples of procedural handwriting: strokes drawn by a writer, as pixels.

Everything is vectorised over examples and uses only correctly rounded operations; see
``strokes`` for why.
"""

from dataclasses import dataclass

import numpy as np

from fsl_sweep.datasets.benchmarks.glyphs.strokes import CONTROLS
from fsl_sweep.datasets.randomness import named_generator

_BLOCK_PIXELS = 60_000  # examples are rendered in blocks that fit a processor's cache


@dataclass(frozen=True, eq=False)
class Writers:
    """What stays the same in all that a writer draws.

    Attributes:
        slant: float ``[W]``, horizontal shift for a unit of height.
        aspect: float ``[W]``, width over height.
        size: float ``[W]``, the scale of the letters.
        thickness: float ``[W]``, the radius of the pen, for a square of side 2.
        tremor: float ``[W]``, how shaky the pen is.
    """

    slant: np.ndarray
    aspect: np.ndarray
    size: np.ndarray
    thickness: np.ndarray
    tremor: np.ndarray


def draw_writers(seed: int, count: int, spread: float) -> Writers:
    """Draw ``count`` writers; with ``spread`` 0 they are all alike, with 1 they differ most."""
    rng = named_generator(seed, "writers")
    # Row by row: writer w is the same in any count.
    draws = spread * (2 * rng.random((count, 5)) - 1)
    return Writers(
        slant=0.28 * draws[:, 0],
        aspect=1 + 0.18 * draws[:, 1],
        size=0.88 + 0.1 * draws[:, 2],
        thickness=0.085 + 0.028 * draws[:, 3],
        tremor=0.6 + 0.4 * draws[:, 4],
    )


def render_character(
    strokes: np.ndarray,
    count: int,
    image_size: int,
    writers: Writers,
    rng: np.random.Generator,
    *,
    wobble: float,
    drift: float,
    turn: float,
    speckle: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Render ``count`` independent examples of a character's ``strokes`` ``[S, CONTROLS, 2]``.

    Each example's writer is drawn uniformly. Two examples differ, whoever draws them, by:

    * ``wobble``: displacement of single control points, for a square of side 2.
    * ``drift``: displacement of whole strokes against each other, in the same unit.
    * ``turn``: rotation, slant, scale and shift of the whole character.
    * ``speckle``: the share of the grey range that pixel noise covers, in [0, 1].

    Returns:
        uint8 images ``[count, image_size, image_size]``, ink bright on black, and int64 writers
        ``[count]``.
    """
    writer = rng.integers(0, len(writers.slant), count)
    points = _written(strokes, writers, writer, (wobble, drift, turn), rng)  # (N, S, CONTROLS, 2)
    pen = _pen(image_size)
    radius = writers.thickness[writer] * (0.85 + 0.3 * rng.random(count)) * image_size / 2
    noise = rng.random((count, image_size, image_size), dtype=np.float32)
    images = np.empty((count, image_size, image_size), dtype=np.uint8)
    block = max(1, _BLOCK_PIXELS // (image_size * image_size))
    for start in range(0, count, block):
        part = slice(start, start + block)
        ink = _ink(_traced(points[part], pen, image_size), radius[part], image_size)
        ink += np.float32(speckle) * (noise[part] - np.float32(0.5))
        images[part] = (np.clip(ink, 0, 1) * np.float32(255) + np.float32(0.5)).astype(np.uint8)
    return images, writer


def _bell(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Draw about normal numbers, mean 0, variance 1, within +-3.5, without a logarithm."""
    total = rng.random(shape)
    for _ in range(3):
        total = total + rng.random(shape)
    return (total - 2.0) * 1.7320508075688772


def _written(
    strokes: np.ndarray,
    writers: Writers,
    writer: np.ndarray,
    jitter: tuple[float, float, float],
    rng: np.random.Generator,
) -> np.ndarray:
    """Return control points as each writer puts them on paper, ``[N, S, CONTROLS, 2]``."""
    count, size = len(writer), len(strokes)
    wobble, drift, turning = jitter
    tremor = writers.tremor[writer][:, None, None, None]
    points = strokes + wobble * tremor * _bell(rng, (count, size, CONTROLS, 2))
    points = points + drift * _bell(rng, (count, size, 1, 2))
    turn = turning * _bell(rng, (count, 6))
    half = 0.12 * turn[:, 0]  # the tangent of half the angle: rotation without a sine
    cos, sin = (1 - half * half) / (1 + half * half), 2 * half / (1 + half * half)
    scale = writers.size[writer] * (1 + 0.14 * turn[:, 1])
    wide = scale * writers.aspect[writer] * (1 + 0.12 * turn[:, 2])
    slant = writers.slant[writer] + 0.16 * turn[:, 3]
    column = (slice(None), None, None)
    x = points[..., 0] * wide[column] - slant[column] * points[..., 1]
    y = points[..., 1] * scale[column]
    return np.stack(
        [
            cos[column] * x - sin[column] * y + 0.1 * turn[:, 4][column],
            sin[column] * x + cos[column] * y + 0.1 * turn[:, 5][column],
        ],
        axis=-1,
    )


def _pen(image_size: int) -> np.ndarray:
    """Return B-spline weights ``[P, CONTROLS]`` of the points that the pen touches on a stroke."""
    steps = max(16, 2 * image_size)  # closer than the pen's radius: the trace has no beads
    knots = np.array([0.0] * 4 + [float(i) for i in range(1, CONTROLS - 3)] + [CONTROLS - 3.0] * 4)
    where = np.arange(steps) / (steps - 1) * (CONTROLS - 3.0) * (1 - 1e-12)
    basis = ((knots[:-1] <= where[:, None]) & (where[:, None] < knots[1:])).astype(np.float64)
    for degree in range(1, 4):  # Cox-de Boor
        first, last = knots[: -degree - 1], knots[degree + 1 :]
        left, right = knots[degree:-1] - first, last - knots[1:-degree]
        rise = np.where(left > 0, (where[:, None] - first) / np.where(left > 0, left, 1), 0)
        fall = np.where(right > 0, (last - where[:, None]) / np.where(right > 0, right, 1), 0)
        basis = rise * basis[:, :-1] + fall * basis[:, 1:]
    return basis


def _traced(points: np.ndarray, pen: np.ndarray, image_size: int) -> np.ndarray:
    """Return where the pen touches the paper, in pixels, float32 ``[N, S * P, 2]``."""
    traced = points[:, :, 0, None, :] * pen[:, 0, None]
    for control in range(1, CONTROLS):
        traced = traced + points[:, :, control, None, :] * pen[:, control, None]
    pixels = (traced + 1.0) * (image_size / 2) - 0.5
    return pixels.reshape(len(points), -1, 2).astype(np.float32)


def _ink(traced: np.ndarray, radius: np.ndarray, image_size: int) -> np.ndarray:
    """Return greys in [0, 1]: full within the pen's radius of the trace, soft over a pixel."""
    side = np.arange(image_size, dtype=np.float32)
    across = np.square(side - traced[..., 0, None])  # (N, P, W)
    down = np.square(side - traced[..., 1, None])  # (N, P, H)
    nearest = across[:, 0, None, :] + down[:, 0, :, None]
    touch = np.empty_like(nearest)
    for point in range(1, traced.shape[1]):
        np.add(across[:, point, None, :], down[:, point, :, None], out=touch)
        np.minimum(nearest, touch, out=nearest)
    edge = radius.astype(np.float32)[:, None, None] + np.float32(0.5) - np.sqrt(nearest)
    return np.clip(edge, 0, 1)
