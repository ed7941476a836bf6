"""``fsl-sweep verify``: every file of a run folder compared with its checksum."""

from fsl_sweep.orchestrator.cli.status import RunFolder
from fsl_sweep.orchestrator.text.printed import one_line, say


def verify(run: RunFolder) -> int:
    """Check every file of a run folder against its checksum.

    Lists files that are damaged, missing, links, or unknown, and what follows; changes nothing.
    """
    from fsl_sweep.orchestrator.ledger.verify import check_run

    harmed = strange = 0
    for found in check_run(run):
        harmed, strange = harmed + found.harm, strange + (not found.harm)
        say(one_line(f"{found.place}: {found.problem}; {found.follows}"))
    count = f"{harmed} damaged, missing or refused" if harmed else "nothing is damaged"
    beside = f"; {strange} not part of a run" if strange else ""
    say(one_line(f"{run}: {count}{beside}"))
    return 1 if harmed else 0
