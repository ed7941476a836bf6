"""``fsl-sweep plugins``: every part that a sweep file can name."""

from collections.abc import Iterator
from itertools import groupby
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from fsl_sweep.orchestrator.catalogue import Catalogue, Listing
from fsl_sweep.orchestrator.console import SafeConsole
from fsl_sweep.orchestrator.printed import say

OURS = "fsl-sweep"


def plugins(
    check: Annotated[
        bool, typer.Option("--check", help="Load third parties' parts and say which fail.")
    ] = False,
) -> int:
    """List every part that a sweep file can name."""
    listings = [listing for c in _catalogues() for listing in c.listings(check)]
    broken = [listing for listing in listings if listing.error]
    others = any(listing.source != OURS for listing in listings)
    table = Table("name", *(["from"] if others else []), "description", box=None, pad_edge=False)
    for column in table.columns:
        column.overflow = "fold"  # an ellipsis would hide what may be written
    for kind, group in groupby(listings, key=lambda listing: listing.kind):
        table.add_row(Text(kind, "bold"))
        for listing in group:
            shown = "does not load" if listing.error else listing.description
            source = [_source(listing)] if others else []
            table.add_row(f"  {listing.name} ", *source, shown)
    SafeConsole().print(table)
    for listing in broken:
        say(f"{listing.kind} {listing.name}: {listing.error}")
    return 1 if broken else 0


def _catalogues() -> Iterator[Catalogue[Any]]:
    from fsl_sweep.datasets.catalogue import BENCHMARKS
    from fsl_sweep.learners.backbones.catalogue import BACKBONES
    from fsl_sweep.learners.catalogue import LEARNERS
    from fsl_sweep.learners.submissions import SUBMISSIONS
    from fsl_sweep.orchestrator.selectors import HYPERPARAMETER_SELECTORS, SNAPSHOT_SELECTORS

    yield from (LEARNERS, BACKBONES, SUBMISSIONS, BENCHMARKS)
    yield from (SNAPSHOT_SELECTORS, HYPERPARAMETER_SELECTORS)


def _source(listing: Listing) -> str:
    return f"{listing.source} {listing.version}".strip()
