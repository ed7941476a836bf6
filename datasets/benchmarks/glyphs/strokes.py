"""Classes of procedural handwriting: stroke programs drawn within an alphabet.

After the generative view of "Human-level concept learning through probabilistic program
induction" (Lake et al., 2015): an alphabet has stroke habits, a character is a few strokes that
follow them, and an example is one writer's noisy rendering of these strokes. A stroke is a
clamped cubic B-spline over ``CONTROLS`` control points in the square [-1, 1]^2, y pointing down.

Here and in ``render`` only additions, multiplications, divisions and square roots touch
the numbers. IEEE 754 rounds those correctly, so that a seed gives the same bytes, and so the
same fingerprint, on every machine; exponentials, sines and matrix products would not.
"""

from dataclasses import dataclass

import numpy as np

from fsl_sweep.datasets.randomness import named_generator

CONTROLS = 8
KINDS = ("line", "arc", "hook", "wave", "loop", "dot")
ATTRIBUTES = ("one-stroke", "two-strokes", "many-strokes", *KINDS, "mirror-symmetric")

_LEAST_APART = 0.35  # of two characters of an alphabet, in a square of side 2
_REDRAWS = 100  # then two characters of a full alphabet may look alike

# A curve sampled at these parameters (the Greville abscissae) is drawn at a steady speed.
_T = np.array([0.0, 1 / 15, 0.2, 0.4, 0.6, 0.8, 14 / 15, 1.0])
_ARC = 4 * _T * (1 - _T)
_WAVE = 10 * _T * (1 - _T) * (1 - 2 * _T)
_HOOK = np.maximum(0.0, _T - 0.55) / 0.45
# A round that closes on itself: cosines and sines as written numbers, the same everywhere.
_ROUND = np.array(
    [
        [0.0, -1.0],
        [0.45, -1.05],
        [1.24, -0.4],
        [0.76, 1.05],
        [-0.76, 1.05],
        [-1.24, -0.4],
        [-0.45, -1.05],
        [0.0, -1.0],
    ]
)


@dataclass(frozen=True, eq=False)
class Alphabet:
    """The stroke habits that an alphabet's characters share.

    Attributes:
        kinds: float ``[len(KINDS)]``, how often it uses each kind of stroke; sums to 1.
        strokes: float ``[4]``, how often a character has 1, 2, 3 or 4 strokes.
        anchors: float ``[A, 2]``, where its strokes start and end, in [-1, 1].
        bend: how much its strokes curve, in [0.15, 0.55].
        symmetry: the probability that a character mirrors its strokes left to right.
    """

    kinds: np.ndarray
    strokes: np.ndarray
    anchors: np.ndarray
    bend: float
    symmetry: float


@dataclass(frozen=True, eq=False)
class Character:
    """A class: its strokes and attributes.

    Attributes:
        strokes: float64 ``[S, CONTROLS, 2]``, control points (x, y).
        attributes: bool ``[len(ATTRIBUTES)]``.
    """

    strokes: np.ndarray
    attributes: np.ndarray


def draw_alphabet(seed: int, index: int) -> Alphabet:
    """Draw the alphabet of that index: a function of only the two numbers."""
    rng = named_generator(seed, "alphabet", str(index))
    weights = rng.random(len(KINDS)) + 0.05
    weights = weights * weights
    weights[KINDS.index("dot")] *= 0.5
    counts = np.array([0.15, 0.45, 0.35, 0.15]) * (0.4 + rng.random(4))
    grid = np.array([[x, y] for y in (-0.8, -0.27, 0.27, 0.8) for x in (-0.7, 0.0, 0.7)])
    chosen = grid[np.sort(rng.permutation(len(grid))[:8])]
    return Alphabet(
        kinds=weights / _total(weights),
        strokes=counts / _total(counts),
        anchors=chosen + 0.12 * (2 * rng.random(chosen.shape) - 1),
        bend=float(0.15 + 0.4 * rng.random()),
        symmetry=float(0.35 * rng.random()),
    )


def draw_characters(seed: int, index: int, count: int) -> list[Character]:
    """Draw the first ``count`` characters of the alphabet of ``index``, no two of them alike.

    They do not depend on ``count``: a longer alphabet begins with the same characters.
    """
    alphabet = draw_alphabet(seed, index)
    characters: list[Character] = []
    for position in range(count):
        rng = named_generator(seed, "character", str(index), str(position))
        character = _draw_character(alphabet, rng)
        for _ in range(_REDRAWS):
            if all(_apart(character, other) >= _LEAST_APART for other in characters):
                break
            character = _draw_character(alphabet, rng)
        characters.append(character)
    return characters


def _apart(first: Character, second: Character) -> float:
    """Compute the Hausdorff distance of two characters' control points."""
    a, b = first.strokes.reshape(-1, 1, 2), second.strokes.reshape(1, -1, 2)
    gaps = np.square(a - b)
    squared = gaps[..., 0] + gaps[..., 1]
    return float(np.sqrt(max(squared.min(axis=0).max(), squared.min(axis=1).max())))


def _draw_character(alphabet: Alphabet, rng: np.random.Generator) -> Character:
    size = 1 + _choice(rng, alphabet.strokes)
    strokes, kinds = [], []
    for _ in range(size):
        kind = KINDS[_choice(rng, alphabet.kinds)]
        if kind == "dot" and len(kinds) + 1 == size and set(kinds) <= {"dot"}:
            kind = "arc"  # a character of only dots would be too faint
        strokes.append(_stroke(alphabet, kind, rng))
        kinds.append(kind)
    mirrored = bool(rng.random() < alphabet.symmetry) and size <= 2
    if mirrored:
        strokes += [stroke * np.array([-1.0, 1.0]) for stroke in strokes]
    points = _centred(np.stack(strokes))
    return Character(points, _attributes(size, set(kinds), mirrored))


def _stroke(alphabet: Alphabet, kind: str, rng: np.random.Generator) -> np.ndarray:
    start, end = _far_apart(alphabet.anchors, rng)
    bend = alphabet.bend * (0.7 + 0.6 * rng.random()) * (1 if rng.random() < 0.5 else -1)
    along = end - start
    across = np.array([-along[1], along[0]])
    straight = start + _T[:, None] * along
    if kind == "line":
        return straight + 0.04 * bend * _ARC[:, None] * across
    if kind == "arc":
        return straight + 1.6 * bend * _ARC[:, None] * across
    if kind == "wave":
        return straight + 1.3 * bend * _WAVE[:, None] * across
    if kind == "hook":
        turned = across * (1.5 if bend > 0 else -1.5) - 0.8 * along
        return straight + (0.4 + bend * bend) * _HOOK[:, None] * turned
    radius = 0.05 if kind == "dot" else 0.2 + 0.35 * rng.random()
    aspect = np.array([1.0, 0.7 + 0.7 * rng.random()])
    flip = np.array([1.0, 1.0 if rng.random() < 0.5 else -1.0])
    return start * (0.9 if kind == "dot" else 0.6) + radius * aspect * flip * _ROUND


def _far_apart(anchors: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    start = anchors[rng.integers(len(anchors))]
    gaps = np.square(anchors - start)
    order = np.argsort(gaps[:, 0] + gaps[:, 1], kind="stable")
    return start, anchors[order[len(anchors) // 2 + rng.integers(len(anchors) // 2)]]


def _centred(strokes: np.ndarray) -> np.ndarray:
    low, high = strokes.min(axis=(0, 1)), strokes.max(axis=(0, 1))
    scale = np.minimum(1.3, 1.7 / np.maximum(high - low, 1e-9).max())
    return (strokes - (low + high) / 2) * scale


def _attributes(size: int, kinds: set[str], mirrored: bool) -> np.ndarray:
    counts = [size == 1 and not mirrored, size + size * mirrored == 2, size + size * mirrored > 2]
    return np.array([*counts, *(kind in kinds for kind in KINDS), mirrored])


def _choice(rng: np.random.Generator, weights: np.ndarray) -> int:
    draw, passed = rng.random(), 0.0
    for index, weight in enumerate(weights.tolist()):
        passed += weight
        if draw < passed:
            return index
    return len(weights) - 1


def _total(values: np.ndarray) -> float:
    total = 0.0
    for value in values.tolist():  # one by one: NumPy's summation order may vary by machine
        total += value
    return total
