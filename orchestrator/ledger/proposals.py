"""What a search proposed, a file for each method and round: ``proposals/PN-0001.json``.

The plan holds the configurations too, so that a file that is damaged loses no trial, only what the
searcher was told.
"""

import re

from fsl_sweep.orchestrator.errors import Damaged
from fsl_sweep.orchestrator.ledger.ledger import Ledger
from fsl_sweep.orchestrator.records.model import digest
from fsl_sweep.orchestrator.records.search import Proposals

PROPOSALS = "proposals"


def proposals_name(method: str, number: int) -> str:
    """Name the file of a round; a method whose name would be no file's is named by its digest."""
    plain = re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", method)
    return f"{method if plain else digest(method)}-{number:04d}.json"


def read_proposals(ledger: Ledger, method: str, number: int) -> Proposals | None:
    """Read a round of a search, from 1; None where there is no file. Raises Damaged."""
    folder, name = ledger.folder / PROPOSALS, proposals_name(method, number)
    plain = folder.read_json(name)
    try:
        proposals = None if plain is None else Proposals.from_plain(plain)
    except (ValueError, RecursionError) as failure:
        raise Damaged(folder.place(name), "it holds no proposals") from failure
    if proposals is not None and (proposals.method, proposals.round) != (method, number):
        raise Damaged(folder.place(name), "it holds those of another round")
    return proposals


def write_proposals(ledger: Ledger, proposals: Proposals) -> None:
    """Record a round of a search."""
    name = proposals_name(proposals.method, proposals.round)
    (ledger.folder / PROPOSALS).write_json(name, proposals.to_plain())
