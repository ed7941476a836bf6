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
