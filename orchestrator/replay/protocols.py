"""Which protocols of a run belong beside each other: a file that was edited leaves former ones."""

from collections.abc import Sequence

from fsl_sweep.orchestrator.records.protocol import PlannedProtocol


def beside(
    protocols: Sequence[PlannedProtocol], choosing: PlannedProtocol
) -> tuple[PlannedProtocol, ...]:
    """Those that a report compares where ``choosing`` chooses, in plan order.

    They are the ones that differ from its main protocol as was written. Beside the present main
    protocol also stands each that has a name of its own; beside a former one only what was planned
    with it, so that its report stays as it was.

    ``choosing`` is one of the ``protocols``, of which the main one is the first.
    """
    main, *others = protocols
    if _former(choosing) and not _follows(choosing, main):
        roots = (one for one in others if not one.written and _former(one))
        main = next((one for one in roots if _follows(choosing, one)), choosing)
    return tuple(
        one
        for one in protocols
        if one in (main, choosing)
        or _follows(one, main)
        or (main is protocols[0] and not _former(one))
    )


def _former(planned: PlannedProtocol) -> bool:
    """Whether another has taken its name."""
    return planned.name == planned.id


def _follows(planned: PlannedProtocol, main: PlannedProtocol) -> bool:
    """Whether it is what was written, with all else as in ``main``."""
    said, own, base = planned.written, planned.protocol, main.protocol
    return (
        bool(said)
        and own.episode == base.episode.model_copy(update=said.get("episode"))
        and own.tasks == base.tasks.model_copy(update=said.get("evaluation"))
    )
