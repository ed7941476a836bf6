"""Sweep files made from a small one by changes: their plans, and what cannot be planned."""

from collections.abc import Callable
from typing import Any

import pytest
import yaml

from fsl_sweep.orchestrator.errors import ConfigError
from fsl_sweep.orchestrator.planning.plan_sweep import plan_sweep
from fsl_sweep.orchestrator.records.plan import Plan
from fsl_sweep.orchestrator.sweepfile.reading import load_sweep

SMALL = """
name: tiny
benchmark: {name: glyphs}
episode: {way: 3, shot: 1, query: 2}
evaluation: {selection_tasks: 20, report_tasks: 20}
defaults:
  backbone: {name: conv4, width: 8}
  optimizer: {lr: 0.1}
  epochs: 4
  batches: 2
methods:
  M: {learner: {name: protonet}, train: {way: 3, shot: 1, query: 2}}
"""
UNTRAINED = ("defaults={backbone: {name: identity}}", "M={learner: {name: ncc}}")
"""Changes after which the method has nothing to train."""


def changed(text: str, *changes: str) -> dict[str, Any]:
    """The sweep with changes: ``KEY=VALUE``, or ``KEY`` to take it out; ``M`` is the method M."""
    tree = yaml.safe_load(text)
    for change in changes:
        key, equals, value = change.partition("=")
        *parents, last = f"methods.{key}".split(".") if key.split(".")[0] == "M" else key.split(".")
        section = tree
        for parent in parents:
            section = section.setdefault(parent, {})
        if equals:
            section[last] = yaml.safe_load(value)
        else:
            del section[last]
    return tree


def planned(*changes: str, text: str = SMALL) -> Plan:
    return plan_sweep(load_sweep(changed(text, *changes)))


def mistake(make: Callable[..., object], *arguments: object, **options: object) -> str:
    """The message of a ConfigError, without the name of the file."""
    with pytest.raises(ConfigError) as caught:
        make(*arguments, **options)
    return str(caught.value).removeprefix("sweep: ")
