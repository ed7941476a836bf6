"""Sweep files as texts: their plans, and what those say that cannot be planned."""

from collections.abc import Callable

import pytest
import yaml

from fsl_sweep.orchestrator.errors import ConfigError
from fsl_sweep.orchestrator.planning.plan_sweep import plan_sweep
from fsl_sweep.orchestrator.records.plan import Plan
from fsl_sweep.orchestrator.sweepfile.reading import load_sweep


def planned(text: str, *overrides: str) -> Plan:
    return plan_sweep(load_sweep(yaml.safe_load(text), overrides))


def replaced(text: str, **words: object) -> str:
    """The text with other words in place of some, which must be there."""
    for word, other in words.items():
        assert word in text
        text = text.replace(word, str(other))
    return text


def mistake(make: Callable[..., object], *arguments: object, **options: object) -> str:
    """The message of a ConfigError, without the name of the file."""
    with pytest.raises(ConfigError) as caught:
        make(*arguments, **options)
    return str(caught.value).removeprefix("sweep: ")
