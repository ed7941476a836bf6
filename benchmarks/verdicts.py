"""Verdicts on real records: methods that lend each other their variance, and those that do not.

Of tables with many seeds a few are drawn, again and again, and all pairs of methods are compared as
a report compares them without tasks. Shown are the decided pairs; the tables with a verdict whose
sign is not that of all seeds; and, with every method's mean over all seeds taken off, so that
nothing differs, the tables with any verdict: ``python -m benchmarks.verdicts tabm.parquet``. The
table has columns ``data``, ``split``, ``method``, ``seed`` and ``test``, as TabM's records have
(https://github.com/yandex-research/tabm); data sets without all methods and seeds are left out.
"""

import argparse
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd

from fsl_sweep.orchestrator.statistics import family
from fsl_sweep.orchestrator.statistics.moderation import SeedVariance, moderated
from fsl_sweep.orchestrator.statistics.over_seeds import SeedPair

DRAWS = 20


def tables_of(records: pd.DataFrame) -> list[np.ndarray]:
    """Return scores of whole data sets, each ``[methods, seeds]``."""
    cells = records.pivot_table(index=["data", "split", "method"], columns="seed", values="test")
    grouped = [table.to_numpy() for _, table in cells.groupby(["data", "split"])]
    most = max(len(table) for table in grouped)
    return [table for table in grouped if len(table) == most and np.isfinite(table).all()]


def verdicts(scores: np.ndarray, lend: bool) -> np.ndarray:
    """Return the sign of each pair's verdict, 0 if undecided; scores ``[methods, seeds]``."""
    own = [SeedVariance(float(row.var(ddof=1)), len(row) - 1) for row in scores]
    between = moderated(own) if lend else own
    singles = [
        SeedPair([(1.0, a[:, None], b[:, None])], None, (between[i], between[j])).comparison()
        for (i, a), (j, b) in combinations(enumerate(scores), 2)
    ]
    signs = {"better": 1, "worse": -1}
    return np.array([signs.get(pair.verdict, 0) for pair in family(singles)])


def measure(tables: list[np.ndarray], seeds: int, lend: bool) -> tuple[float, float, float]:
    """Return rates in %: of decided pairs, of tables with a wrong sign, of false verdicts."""
    rng, rates = np.random.default_rng(0), []
    for scores in tables:
        means = scores.mean(axis=1)
        true = np.array([np.sign(a - b) for a, b in combinations(means, 2)])
        for _ in range(DRAWS):
            drawn = rng.permuted(scores, axis=1)[:, :seeds]
            same = rng.permuted(scores - means[:, None], axis=1)[:, :seeds]
            signs = verdicts(drawn, lend)
            wrong = ((signs != 0) & (signs != true)).any()
            rates.append((np.mean(signs != 0), wrong, (verdicts(same, lend) != 0).any()))
    decided, wrong, false = 100 * np.mean(rates, axis=0)
    return decided, wrong, false


def main(arguments: list[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("records", type=Path)
    tables = tables_of(pd.read_parquet(parser.parse_args(arguments).records))
    print(f"{len(tables)} tables of {len(tables[0])} methods, {DRAWS} draws of each\n")
    print(
        "| seeds | variance | decided pairs, % | tables with a wrong sign, % | false verdicts, % |"
    )
    print("|---|---|---|---|---|")
    for seeds in (2, 3, 5):
        for lend in (False, True):
            rates = " | ".join(f"{rate:.2f}" for rate in measure(tables, seeds, lend))
            print(f"| {seeds} | {'lent' if lend else 'own'} | {rates} |", flush=True)


if __name__ == "__main__":
    main()
