"""The strategy that a report speaks of first: one that anybody could have used."""

from dataclasses import replace

from fsl_sweep.orchestrator.selection.results import Selected, Strategy

USUAL = "val / val"
"""Snapshot and configuration by ValGen: the papers' own protocol, which reads no novel score."""


def lead_strategy(selected: Selected) -> Strategy | None:
    """``val / val``, or else the first that is no oracle, of those that most methods have.

    It does not depend on any score, so that no interval needs a correction for having chosen it.
    None if no method has any.
    """
    count = {
        s: sum(bool(selected.cell(m, s)) for m in selected.methods) for s in selected.strategies
    }
    usable = [strategy for strategy, methods in count.items() if methods]
    first = sorted(usable, key=lambda s: (s.oracle, -count[s], str(s) != USUAL))
    return first[0] if first else None


def narrowed(selected: Selected, strategy: Strategy) -> Selected:
    """What one strategy selected; what was left out stays."""
    own = tuple(one for one in selected.selections if one.strategy == strategy)
    return replace(selected, strategies=(strategy,), selections=own)
