"""Which protocols of a run belong beside each other: an edited file leaves former ones."""

from collections.abc import Sequence

from fsl_sweep.orchestrator.records.protocol import PlannedProtocol


def beside(
    protocols: Sequence[PlannedProtocol], choosing: PlannedProtocol
) -> tuple[PlannedProtocol, ...]:
    """Return the protocols that a report compares where ``choosing`` chooses, in plan order.

    They are the ones that differ from its main protocol as was written. Beside the present main
    protocol also stands each that has a name of its own; beside a former one only what was planned
    with it, so that its report stays as it was.

    ``choosing`` is one of the ``protocols``, of which the main one is the first.
    """
    main, *others = protocols
    if _former(choosing) and not _follows(choosing, main):
        roots = (other for other in others if not other.written and _former(other))
        main = next((root for root in roots if _follows(choosing, root)), choosing)
    return tuple(
        protocol
        for protocol in protocols
        if protocol in (main, choosing)
        or _follows(protocol, main)
        or (main is protocols[0] and not _former(protocol))
    )


def _former(planned: PlannedProtocol) -> bool:
    """Tell whether another has taken its name."""
    return planned.name == planned.id


def _follows(planned: PlannedProtocol, main: PlannedProtocol) -> bool:
    """Tell whether it is what was written, with all else as in ``main``."""
    written, protocol, base = planned.written, planned.protocol, main.protocol
    return (
        bool(written)
        and protocol.episode == base.episode.model_copy(update=written.get("episode"))
        and protocol.tasks == base.tasks.model_copy(update=written.get("evaluation"))
    )
