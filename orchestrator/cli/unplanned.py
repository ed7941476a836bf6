"""What a run folder holds that its plan no longer names, and how it comes back."""

from fsl_sweep.orchestrator.ledger import Ledger
from fsl_sweep.orchestrator.plan import Plan
from fsl_sweep.orchestrator.printed import counted

COME_BACK = (
    "they stay on disk, and come back when the sweep is run with the file and the --set that "
    "planned them"
)


def notice(ledger: Ledger, plan: Plan) -> str | None:
    """How many recorded trials the plan leaves out, and what becomes of them; None for none."""
    count = len(ledger.unplanned(plan))
    if not count:
        return None
    trials = f"{counted(count, 'trial')} {'is' if count == 1 else 'are'}"
    return (
        f"{ledger.path}: {trials} no longer planned and left out of the report (`fsl-sweep status` "
        f"lists them); {COME_BACK}."
    )


def changed_file(ledger: Ledger) -> str | None:
    """That the folder's sweep file is not the one that was planned last; None where it is."""
    if not ledger.sweep_file_changed():
        return None
    return (
        f"{ledger.path / 'sweep.yaml'} is not the file that was planned last: it was edited, or "
        "damaged. It is written anew, from the sweep that runs now."
    )
