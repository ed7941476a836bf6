"""Any benchmark of classes, in distribution: trained, validated and tested on the same classes."""

from typing import Any

import numpy as np
from pydantic import BaseModel, Field, create_model

from fsl_sweep.datasets.benchmark import MEASURED, Benchmark
from fsl_sweep.datasets.pool import ImagePool
from fsl_sweep.datasets.randomness import named_generator
from fsl_sweep.datasets.source import AbstractBenchmark
from fsl_sweep.datasets.tasks.classes import ClassTasks
from fsl_sweep.orchestrator.errors import BadData
from fsl_sweep.orchestrator.text.printed import counted

PREFIX = "in-distribution"
SHARE = 0.1

_FRESH = "train on what the benchmark trains on; its held-out examples validate and test"
_NOTE = "An in-distribution benchmark measures on {} of each base class: ask for fewer queries."


def in_distribution(benchmark: Benchmark, seed: int, fresh: bool = False) -> Benchmark:
    """Keep only the base classes of a benchmark, tested on further examples of them.

    "Two Sides of Meta-Learning Evaluation", appendix D.2, table 4 (IC), has two such splits. For
    the rank correlation of figure 2(b) all images of the base classes, those of ``train`` and of
    ``base``, are split 80 / 10 / 10 at random; we do so within each class. Of its n examples
    ``max(1, round(0.1 n))`` are in each of the small shares. For the conclusion flips of figure
    3(b) (``fresh``) the benchmark's own training examples are trained on, and all others are fresh;
    half of a class's, rounded down, validate, and the rest test.

    ``base`` and ``val`` share the examples for validation, from which their tasks are drawn
    independently; ``novel`` has those for testing. Which ones depends only on the seed, the class's
    name and its examples; classes of a family are split alike.

    Raises:
        BadData: its training tasks are not of classes, ``train`` and ``base`` differ in pool, or a
            class has fewer than 3 examples, or 2 fresh ones.
    """
    train, base = benchmark.train, benchmark.base
    if not (isinstance(train, ClassTasks) and isinstance(base, ClassTasks)):
        raise BadData(f"'{benchmark.name}' has no tasks of classes that could be split by example.")
    if train.pool.fingerprint != base.pool.fingerprint:
        raise BadData(
            f"'{benchmark.name}' keeps training and held-out examples in two pools; an "
            "in-distribution split needs them in one."
        )
    pool, classes = train.pool, train.classes
    examples = base.examples if fresh else np.union1d(train.examples, base.examples)
    learned, validation, test = _shares(pool, classes, examples, seed, fresh)
    if fresh:
        learned = train.examples
    note = _NOTE.format("half of the fresh examples" if fresh else "10 %")
    validating = ClassTasks(pool, classes, validation, note)
    return Benchmark.of(
        f"{PREFIX}:{benchmark.name}",
        train=ClassTasks(pool, classes, learned),
        base=validating,
        val=validating,
        novel=ClassTasks(pool, classes, test, note),
    )


def in_distribution_of(source: type[AbstractBenchmark[Any]]) -> type[AbstractBenchmark[Any]]:
    """Make the in-distribution form of a benchmark: the same files, prepared once for both."""
    inner, options_of = source(), source.Options
    extended = create_model(
        options_of.__name__,
        __base__=options_of,
        share_seed=(int, Field(0, ge=0, description="of the split of examples")),
        # It came later: trials without it keep their ids.
        fresh=(bool, Field(False, exclude_if=lambda fresh: not fresh, description=_FRESH)),
    )

    def plain(options: BaseModel) -> BaseModel:
        return options_of.model_validate(options.model_dump(exclude={"share_seed", "fresh"}))

    class InDistribution(source):
        Options = extended
        in_distribution = True

        def pool_options(self, options: Any) -> dict[str, Any]:
            return inner.pool_options(plain(options))

        def assemble(self, options: Any, pools: Any) -> Benchmark:
            whole = inner.assemble(plain(options), pools)
            return in_distribution(whole, options.share_seed, options.fresh)

        def expected(self, options: Any) -> dict[str, int]:
            base = inner.expected(plain(options)).get("base")
            return {} if base is None else dict.fromkeys(MEASURED, base)

    return InDistribution


def _shares(
    pool: ImagePool, classes: np.ndarray, examples: np.ndarray, seed: int, halves: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw pool indices to train on (none with ``halves``), to validate and to test on, int64."""
    parts: list[list[np.ndarray]] = []
    labels, needed = pool.labels[examples], 2 if halves else 3
    for label in classes:
        of_class, name = examples[labels == label], pool.class_names[label]
        count = len(of_class)
        if count < needed:
            kind = "held-out example" if halves else "example"
            raise BadData(
                f"Class '{name}' has {counted(count, kind)}; {needed} are needed to "
                f"{'' if halves else 'train, '}validate and test on different ones."
            )
        shuffled = named_generator(seed, PREFIX, pool.origins[label]).permutation(of_class)
        size = count // 2 if halves else max(1, round(SHARE * count))
        cuts = [0, size] if halves else [count - 2 * size, count - size]
        parts.append(np.split(shuffled, cuts))
    train, validation, test = map(np.concatenate, zip(*parts, strict=True))
    return train, validation, test
