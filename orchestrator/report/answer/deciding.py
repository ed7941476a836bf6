"""What would decide which of two methods is better, in words."""

from fsl_sweep.orchestrator.report import wording
from fsl_sweep.orchestrator.selection.comparing.power import PowerAnalysis
from fsl_sweep.orchestrator.text.printed import counted

MANY = 100
"""More seeds than these are not counted: nobody trains them."""

WAYS = ("seeds", "tasks", "classes")


def would_decide(found: PowerAnalysis, timed: bool = True) -> str:
    """What would show the difference of a pair, in a sentence: the cheapest way, and its cost.

    Unless ``timed``, it does not depend on any time: more seeds, or else more tasks.
    """
    if_so = f"If {found.a} and {found.b} truly differ by {wording.points(found.effect)} points"
    chance = f"{100 * found.power:g} %"
    known = [one for one in found.ways if one.required is not None]
    if not timed:
        known.sort(key=lambda one: WAYS.index(one.what))
    hopeless = [one.what for one in found.ways if one.required is None and one.what != "classes"]
    if not known:
        return f"{if_so}, neither more seeds only nor more tasks only would show it."
    more = known[0].more or (0, 0)
    if not max(more):
        return f"{if_so}, what there is shows it with a chance of at least {chance}."
    if min(more) > MANY and known[0].what == "seeds":
        return f"{if_so}, it takes more than {MANY} more seeds of each to show it ({chance})."
    spent = "" if known[0].seconds is None or not timed else f", {about(known[0].seconds)}"
    text = f"{if_so}, {_more(found, known[0].what, more)} would show it ({chance}{spent})"
    return f"{text}; more {hopeless[0]} would not." if hopeless else f"{text}."


def about(seconds: float) -> str:
    """A time in rounded words: ``about 5 minutes``."""
    for unit, length, most in (("minute", 60, 90), ("hour", 3600, 36), ("day", 86400, 10**9)):
        count = round(seconds / length)
        if count < most:
            return f"about {counted(count, unit)}" if count else "less than a minute"
    return ""


def _more(found: PowerAnalysis, what: str, more: tuple[int, int]) -> str:
    """``7 more seeds of each``, ``2 more seeds of A and 1 of B``, ``1,200 more tasks``."""
    if what != "seeds":
        return f"{max(more):,} more {what}"
    if more[0] == more[1]:
        return f"{counted(more[0], 'more seed')} of each"
    (first, name), *rest = [
        (n, name) for n, name in zip(more, (found.a, found.b), strict=True) if n
    ]
    return f"{counted(first, 'more seed')} of {name}" + "".join(f" and {n} of {m}" for n, m in rest)
