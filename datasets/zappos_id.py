"""Zappos-ID: novel tasks are pairs of the attributes that training tasks pair."""

from collections.abc import Mapping
from typing import final

from fsl_sweep.datasets.attribute_benchmark import attribute_benchmark
from fsl_sweep.datasets.benchmark import Benchmark
from fsl_sweep.datasets.pool import ImagePool
from fsl_sweep.datasets.zappos import AbstractZappos, ZapposOptions, zappos_sets


@final
class ZapposId(AbstractZappos):
    """In distribution: training and novel tasks are drawn in the same way."""

    name = "zappos-id"

    def assemble(self, options: ZapposOptions, pools: Mapping[str, ImagePool]) -> Benchmark:
        """All tasks are pairs from A."""
        pool = pools["main"]
        known, _ = zappos_sets(pool, options)
        return attribute_benchmark(self.name, pool, known, known, options)

    def expected(self, options: ZapposOptions) -> Mapping[str, int]:
        """The published numbers of attributes."""
        return {"val": 36, "novel": 36} if options.partition == "published" else {}
