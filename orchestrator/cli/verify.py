"""``fsl-sweep verify``: every file of a run folder compared with its checksum."""

from fsl_sweep.orchestrator.cli.status import RunFolder


def verify(run: RunFolder) -> int:
    """Check every file of a run folder against its checksum.

    Names what is damaged, missing, a link, or no run's, and what follows; changes nothing.
    """
    from fsl_sweep.orchestrator.verify import check_run

    harmed = strange = 0
    for found in check_run(run):
        harmed, strange = harmed + found.harm, strange + (not found.harm)
        print(_printable(f"{found.place}: {found.problem}; {found.follows}"))
    count = "nothing is damaged" if not harmed else f"{harmed} damaged, missing or refused"
    beside = f"; {strange} that no run keeps" if strange else ""
    print(f"{_printable(str(run))}: {count}{beside}")
    return 1 if harmed else 0


def _printable(text: str) -> str:
    """Names come from a stranger: what is no printable character is shown as its code."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
