"""What ``fsl-sweep run`` and ``measure`` show as they run."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from fsl_sweep.orchestrator.text.printed import counted, say

if TYPE_CHECKING:
    from fsl_sweep.orchestrator.ledger.ledger import Ledger
    from fsl_sweep.orchestrator.records.plan import Plan
    from fsl_sweep.orchestrator.sweep.execute import Measured
    from fsl_sweep.orchestrator.sweep.listener import SweepListener
    from fsl_sweep.orchestrator.sweep.process import Todo


@contextmanager
def followed(
    ledger: "Ledger",
    progress: bool,
    plan: "Plan",
    pending: Sequence[str],
    todo: "Mapping[str, Todo] | None",
) -> "Iterator[list[SweepListener]]":
    """The TensorBoard view of a run as it goes, and what is shown of it on standard error."""
    from fsl_sweep.orchestrator.cli.progress import LiveProgress, PlainProgress
    from fsl_sweep.orchestrator.report.formats.console import SafeConsole
    from fsl_sweep.orchestrator.tensorboard import LiveView

    with ExitStack() as stack:
        listeners: list[SweepListener] = []
        if todo is None:
            listeners.append(LiveView(ledger.path / "tensorboard", ledger.histories(plan)))
        if progress:
            console = SafeConsole(stderr=True)
            shown = (
                LiveProgress(plan, pending, console, todo)
                if console.is_terminal
                else PlainProgress(plan, pending, sys.stderr, todo)
            )
            listeners.append(stack.enter_context(shown))
        yield listeners


def say_unmeasured(done: "Measured") -> None:
    """Say on standard error why snapshots could not be measured."""
    reasons = "; ".join(done.reasons) or "no reason is known"
    many = counted(done.failed, "snapshot")
    say(f"fsl-sweep: {many} could not be measured: {reasons}", sys.stderr)
