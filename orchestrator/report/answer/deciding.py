"""What would decide which of two methods is better, in words."""

from fsl_sweep.orchestrator.report import wording
from fsl_sweep.orchestrator.selection.comparing.power import PowerAnalysis, SampleSize
from fsl_sweep.orchestrator.text.printed import counted

MANY = 100
"""More seeds than these are not counted: nobody trains them."""

WAYS = ("seeds", "tasks", "classes")


def would_decide(needs: PowerAnalysis, timed: bool = True) -> str:
    """Say what would show the difference of a pair: the cheapest way, and its cost.

    Unless ``timed``, it does not depend on any time: more seeds, or else more tasks.
    """
    if_so = f"If {needs.a} and {needs.b} truly differ by {wording.points(needs.effect)} points"
    chance = f"{100 * needs.power:g} %"
    ways = [way for way in needs.ways if way.required is not None]
    if not timed:
        ways.sort(key=lambda way: WAYS.index(way.what))
    hopeless = [w.what for w in needs.ways if w.required is None and w.what != "classes"]
    if not ways:
        return f"{if_so}, neither more seeds only nor more tasks only would show it."
    first = ways[0]
    more = first.more or (0, 0)
    if not max(more):
        return f"{if_so}, what there is shows it with a chance of at least {chance}."
    if min(more) > MANY and first.what == "seeds":
        return f"{if_so}, it takes more than {MANY} more seeds of each to show it ({chance})."
    spent = "" if first.seconds is None or not timed else f", {about(first.seconds)}"
    text = f"{if_so}, {_more(needs, first.what, more)} would show it ({chance}{spent})"
    text += f"; more {hopeless[0]} would not." if hopeless else "."
    return f"{text}{_range(first)}"


def _range(way: SampleSize) -> str:
    """Say what differences that are as plausible as the observed one would take."""
    if way.between in ((), (way.required,) * 2):
        return ""
    least, most = (None if n is None or n > MANY + max(way.have) else n for n in way.between)
    if least is None:
        return ""
    top = f"{most}" if most is not None else "no number that anybody trains"
    return f" At the ends of its 80 % interval it takes {least} seeds, or {top}."


def about(seconds: float) -> str:
    """Return a time in rounded words: ``about 5 minutes``."""
    for unit, length, most in (("minute", 60, 90), ("hour", 3600, 36), ("day", 86400, 10**9)):
        count = round(seconds / length)
        if count < most:
            return f"about {counted(count, unit)}" if count else "less than a minute"
    return ""


def _more(needs: PowerAnalysis, what: str, more: tuple[int, int]) -> str:
    """Write ``7 more seeds of each``, ``2 more seeds of A and 1 of B``, ``1,200 more tasks``."""
    if what != "seeds":
        return f"{max(more):,} more {what}"
    if more[0] == more[1]:
        return f"{counted(more[0], 'more seed')} of each"
    counts = [(n, name) for n, name in zip(more, (needs.a, needs.b), strict=True) if n]
    (first, name), *rest = counts
    text = f"{counted(first, 'more seed')} of {name}"
    return text + "".join(f" and {n} of {other}" for n, other in rest)
