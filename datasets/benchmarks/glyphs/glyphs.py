"""Procedural handwriting: the embedded benchmark, and the ground truth that real data lacks."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, final

import numpy as np
from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

from fsl_sweep.datasets.benchmark import MEASURED, Benchmark
from fsl_sweep.datasets.benchmarks.glyphs.render import draw_writers, render_character
from fsl_sweep.datasets.benchmarks.glyphs.strokes import ATTRIBUTES, draw_characters
from fsl_sweep.datasets.pool import ImagePool
from fsl_sweep.datasets.randomness import named_generator
from fsl_sweep.datasets.source import AbstractBenchmark, Options, Progress
from fsl_sweep.datasets.splits.attributes import (
    AttributeOptions,
    attribute_benchmark,
    attribute_sets,
)
from fsl_sweep.datasets.splits.drawn import class_benchmark
from fsl_sweep.datasets.splits.writers import writer_benchmark
from fsl_sweep.datasets.store.writing import StoreWriter

Tasks = Literal["classes", "writers", "attributes", "attributes-ood"]


class GlyphOptions(Options):
    """Options of ``glyphs``."""

    seed: int = Field(0, ge=0, description="everything is a function of this seed")
    base_alphabets: int = Field(3, ge=1, le=10_000, description="alphabets of the base classes")
    val_alphabets: int = Field(
        6, ge=1, le=10_000, description="alphabets of the validation classes"
    )
    novel_alphabets: int = Field(6, ge=1, le=10_000, description="alphabets of the novel classes")
    classes_per_alphabet: int = Field(8, ge=2, le=1_000, description="characters of an alphabet")
    examples: int = Field(100, ge=2, le=100_000, description="images of a class")
    held_out: float = Field(0.3, gt=0, lt=1, description="share of base examples for BaseGen")
    writers: int = Field(20, ge=1, description="people who draw the images")
    image_size: int = Field(28, ge=8, le=256, description="side of the images in pixels")
    spread: float = Field(1.0, ge=0, le=1, description="how much writers differ")
    wobble: float = Field(0.12, ge=0, le=0.5, description="noise of a stroke's control points")
    drift: float = Field(0.15, ge=0, le=0.5, description="shift of strokes against each other")
    turn: float = Field(1.0, ge=0, le=2, description="rotation, slant, scale, shift of a character")
    speckle: float = Field(0.0, ge=0, le=1, description="pixel noise, a share of the grey range")
    tasks: Tasks = Field(
        "classes", description="what a task is: characters, a writer, or a pair of attributes"
    )
    training_tasks: int = Field(
        1000, ge=1, description="of attribute pairs, each with one support and query draw"
    )
    min_images: int = Field(
        20, ge=2, description="images that an attribute pair needs in each split"
    )

    @model_serializer(mode="wrap")
    def _without_what_is_off(self, plain: SerializerFunctionWrapHandler) -> dict[str, Any]:
        # Kinds of tasks were added later: a trial on class tasks keeps its id.
        off = {"tasks"} if self.tasks == "classes" else set()
        if self.tasks in ("classes", "writers"):
            off |= _ATTRIBUTE_OPTIONS
        return {key: value for key, value in plain(self).items() if key not in off}


_ATTRIBUTE_OPTIONS = {"training_tasks", "min_images"}
_ALPHABETS = {"base_alphabets", "val_alphabets", "novel_alphabets"}
_SPLIT_OPTIONS = {*_ALPHABETS, "held_out", "tasks", *_ATTRIBUTE_OPTIONS}


@final
class GlyphWorld:
    """All alphabets, characters (one for each class) and writers of one seed.

    Classes are numbered alphabet by alphabet. A character or writer depends only on the seed and
    its own numbers, so that a larger world contains the smaller one.
    """

    def __init__(self, options: GlyphOptions) -> None:
        self.options = options
        seed, size = options.seed, options.classes_per_alphabet
        alphabets = range(sum(_alphabets(options)))
        self.characters = [c for a in alphabets for c in draw_characters(seed, a, size)]

    def render(
        self, classes: Sequence[int], count: int, seed: int | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Draw examples from the true distribution of each class.

        Without a seed they are those of the prepared pool, with one fresh ones.

        Returns:
            uint8 images ``[len(classes), count, 1, image_size, image_size]`` and their writers,
            int64 ``[len(classes), count]``.
        """
        purpose = ("pool",) if seed is None else ("fresh", str(seed))
        options = self.options
        jitter = options.model_dump(include={"wobble", "drift", "turn", "speckle"})
        people = draw_writers(options.seed, options.writers, options.spread)
        drawn = []
        for label in classes:
            alphabet, position = divmod(int(label), options.classes_per_alphabet)
            rng = named_generator(options.seed, *purpose, str(alphabet), str(position))
            strokes = self.characters[label].strokes
            size = options.image_size
            drawn.append(render_character(strokes, count, size, people, rng, **jitter))
        images, writers = zip(*drawn, strict=True)
        return np.stack(images)[:, :, None], np.stack(writers)


@final
class Glyphs(AbstractBenchmark[GlyphOptions]):
    """Classes are characters, split by alphabet; the base examples by the held-out share."""

    name = "glyphs"
    Options = GlyphOptions
    version = 1
    download = None

    def pool_options(self, options: GlyphOptions) -> dict[str, Any]:
        """Return all options but those of the split, and the number of alphabets in all."""
        return {**options.model_dump(exclude=_SPLIT_OPTIONS), "alphabets": sum(_alphabets(options))}

    def signature(self, options: GlyphOptions, root: Path | None) -> str:
        """Return a constant: there is no source, the pool options determine everything."""
        return "embedded"

    def prepare(
        self, options: GlyphOptions, root: Path | None, writer: StoreWriter, progress: Progress
    ) -> None:
        """Render every class of the world."""
        world = GlyphWorld(options)
        pool = writer.pool((1, options.image_size, options.image_size))
        total, size = len(world.characters), options.classes_per_alphabet
        for label in range(total):
            images, writers = world.render([label], options.examples)
            pool.append(images[0], label, writers[0])
            progress((label + 1) * options.examples, total * options.examples)
        alphabets = [f"alphabet-{label // size:02d}" for label in range(total)]
        names = [f"{a}/character-{label % size:02d}" for label, a in enumerate(alphabets)]
        attributes = np.stack([character.attributes for character in world.characters])
        pool.describe(names, alphabets, attributes, ATTRIBUTES)

    def assemble(self, options: GlyphOptions, pools: Mapping[str, ImagePool]) -> Benchmark:
        """Split by alphabet: the first are base, the next validation, the rest novel.

        Attribute pairs are drawn from the characters of all alphabets, and writers write them all.
        In distribution every attribute may be paired; else A trains and A' is novel.
        """
        pool = pools["main"]
        if options.tasks == "writers":
            return writer_benchmark(self.name, pool, options.held_out, options.seed)
        if options.tasks != "classes":
            shared = {"training_tasks", "min_images", "held_out", "seed"}
            chosen = AttributeOptions.model_validate({k: getattr(options, k) for k in shared})
            attributes = novel = np.arange(len(ATTRIBUTES))
            if options.tasks == "attributes-ood":
                attributes, novel = attribute_sets(pool, attributes, options.min_images)
            return attribute_benchmark(self.name, pool, attributes, novel, chosen)
        ends = np.cumsum([*self.expected(options).values()])
        parts = np.split(np.arange(ends[-1]), ends[:-1])
        partition: dict[str, np.ndarray] = dict(zip(MEASURED, parts, strict=True))
        return class_benchmark(self.name, pool, partition, options.held_out, options.seed)

    def expected(self, options: GlyphOptions) -> Mapping[str, int]:
        """Count the classes of each split; the draw decides how many writers or attributes."""
        if options.tasks != "classes":
            return {}
        numbers = zip(MEASURED, _alphabets(options), strict=True)
        return {split: number * options.classes_per_alphabet for split, number in numbers}

    def unit(self, options: GlyphOptions) -> str:
        """Return the unit ``classes``, ``writers`` or ``attributes``."""
        return options.tasks.removesuffix("-ood")


def _alphabets(options: GlyphOptions) -> tuple[int, int, int]:
    """Return the alphabets of base, val and novel."""
    return options.base_alphabets, options.val_alphabets, options.novel_alphabets
