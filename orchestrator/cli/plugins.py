"""``fsl-sweep plugins``: every part that a sweep file can name."""

from collections.abc import Iterator
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from fsl_sweep.orchestrator.catalogue import Catalogue, Listing


def plugins(
    check: Annotated[
        bool, typer.Option("--check", help="Load third parties' parts and say which fail.")
    ] = False,
) -> int:
    """List every part that a sweep file can name."""
    listings = [listing for c in _catalogues() for listing in c.listings(check)]
    broken = [listing for listing in listings if listing.error]
    table = Table("kind", "name", "from", "description", box=None, pad_edge=False)
    for listing in listings:
        shown = "does not load" if listing.error else listing.description
        table.add_row(listing.kind, listing.name, _source(listing), shown)
    Console(highlight=False).print(table)
    for listing in broken:
        print(f"{listing.kind} {listing.name}: {listing.error}")
    return 1 if broken else 0


def _catalogues() -> Iterator[Catalogue[Any]]:
    from fsl_sweep.datasets.catalogue import BENCHMARKS
    from fsl_sweep.learners.catalogue import BACKBONES, LEARNERS
    from fsl_sweep.learners.submissions import SUBMISSIONS
    from fsl_sweep.orchestrator.selectors import HYPERPARAMETER_SELECTORS, SNAPSHOT_SELECTORS

    yield from (LEARNERS, BACKBONES, SUBMISSIONS, BENCHMARKS)
    yield from (SNAPSHOT_SELECTORS, HYPERPARAMETER_SELECTORS)


def _source(listing: Listing) -> str:
    return f"{listing.source} {listing.version}".strip()
