"""Zappos-OOD: novel tasks are pairs of attributes that no training task has."""

from collections.abc import Mapping
from typing import final

from fsl_sweep.datasets.attribute_benchmark import attribute_benchmark
from fsl_sweep.datasets.benchmark import Benchmark
from fsl_sweep.datasets.pool import ImagePool
from fsl_sweep.datasets.zappos import AbstractZappos, ZapposOptions, zappos_sets


@final
class ZapposOod(AbstractZappos):
    """Out of distribution: A and A' share no attribute, and few images."""

    name = "zappos-ood"

    def assemble(self, options: ZapposOptions, pools: Mapping[str, ImagePool]) -> Benchmark:
        """Training, base and val tasks are pairs from A, novel ones from A'."""
        pool = pools["main"]
        known, other = zappos_sets(pool, options)
        return attribute_benchmark(self.name, pool, known, other, options)

    def expected(self, options: ZapposOptions) -> Mapping[str, int]:
        """The published numbers of attributes."""
        return {"val": 36, "novel": 30} if options.partition == "published" else {}
