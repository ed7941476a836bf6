"""How a selector or a metric is written: ``name`` or ``name(1, 0.5, word)``."""

import re
from typing import Any

from fsl_sweep.orchestrator.errors import ConfigError
from fsl_sweep.orchestrator.records.paper_names import selector_name

_CALL = re.compile(r"(?P<name>[^()]+)(?:\((?P<arguments>[^()]*)\))?")


def parse(text: str) -> tuple[str, tuple[Any, ...]]:
    """Return our name and the arguments of ``name(1, 0.5, word)``; numbers become numbers.

    Raises:
        ConfigError: the text is not of that form.
    """
    match = _CALL.fullmatch(selector_name(text).strip())
    if match is None:
        raise ConfigError("", "", f"'{text}' is not a selector; write name or name(argument, ...).")
    arguments = match["arguments"] or ""
    return match["name"].strip(), tuple(map(_value, filter(None, arguments.split(","))))


def _value(text: str) -> Any:
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    return text.strip()
