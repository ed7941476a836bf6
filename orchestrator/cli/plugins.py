"""``fsl-sweep plugins``: every part that a sweep file can name, and every study."""

from itertools import groupby
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from fsl_sweep.orchestrator.text.console import SafeConsole
from fsl_sweep.orchestrator.text.printed import say

OURS = "fsl-sweep"


def plugins(
    check: Annotated[
        bool, typer.Option("--check", help="Load third parties' plug-ins and list failures.")
    ] = False,
) -> int:
    """List every part that a sweep file can name, and every study."""
    from fsl_sweep.datasets.catalogue import BENCHMARKS
    from fsl_sweep.learners.backbones.catalogue import BACKBONES
    from fsl_sweep.learners.catalogue import LEARNERS
    from fsl_sweep.learners.metadl.submissions import SUBMISSIONS
    from fsl_sweep.orchestrator.searchers.catalogue import SEARCHERS
    from fsl_sweep.orchestrator.selectors import HYPERPARAMETER_SELECTORS, SNAPSHOT_SELECTORS
    from fsl_sweep.orchestrator.studies.catalogue import STUDIES

    trained = (LEARNERS, BACKBONES, SUBMISSIONS, BENCHMARKS)
    catalogues = (*trained, SNAPSHOT_SELECTORS, HYPERPARAMETER_SELECTORS)
    catalogues = (*catalogues, SEARCHERS, STUDIES)
    listings = [listing for catalogue in catalogues for listing in catalogue.listings(check)]
    broken = [listing for listing in listings if listing.error]
    others = any(listing.source != OURS for listing in listings)
    table = Table("name", *(["from"] if others else []), "description", box=None, pad_edge=False)
    for column in table.columns:
        column.overflow = "fold"  # an ellipsis would hide what may be written
    for kind, group in groupby(listings, key=lambda listing: listing.kind):
        table.add_row(Text(kind, "bold"))
        for listing in group:
            shown = "does not load" if listing.error else listing.description
            source = [f"{listing.source} {listing.version}".strip()] if others else []
            table.add_row(f"  {listing.name} ", *source, shown)
    SafeConsole().print(table)
    for listing in broken:
        say(f"{listing.kind} {listing.name}: {listing.error}")
    return 1 if broken else 0
