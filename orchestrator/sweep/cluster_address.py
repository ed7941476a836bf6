"""The address of a Ray cluster, and whether anything answers there."""

import os
import re
import socket
import sys
import time
from collections.abc import Sequence

from fsl_sweep.orchestrator.errors import ConfigError, MachineFailure
from fsl_sweep.orchestrator.text.printed import say

_ADDRESS = re.compile(r"(?:ray://)?(?:\[([0-9a-fA-F:.]+)\]|([^\s:/\[\]]+)):([0-9]{1,5})")
_LOCAL = ("127.0.0.1", "localhost", "::1")
_SECONDS = 5.0

Place = tuple[str, int]
"""A host and a TCP port."""


def place_of(address: str) -> Place | None:
    """Return the place that an address names; None for ``auto``, which Ray resolves itself.

    Raises:
        ConfigError: it is not an address.
    """
    if address == "auto":
        return None
    match = _ADDRESS.fullmatch(address)
    if match is None or not 0 < int(match[3]) < 65536:
        raise ConfigError("", "--address", f"'{address}' is neither HOST:PORT nor 'auto'")
    return match[1] or match[2], int(match[3])


def check_reachable(address: str) -> None:
    """Check that something answers at a cluster's address; warn if it is open to everyone.

    Raises:
        ConfigError: it is not an address.
        MachineFailure: nothing answers there.
    """
    place = place_of(address)
    if place is None:
        return
    reason = _unanswered(place)
    if reason is not None:
        raise MachineFailure(
            f"No Ray cluster can be reached at {address}: {reason}. Check that its head is running "
            "(`ray status` there) and that this is the address of `ray start --head`, or leave out "
            "--address to run on this machine."
        )
    if place[0] not in _LOCAL and not os.environ.get("RAY_AUTH_MODE"):
        say(
            f"fsl-sweep: warning: joining {address} without token authentication. Anyone who "
            "reaches that port can run code on the cluster; set RAY_AUTH_MODE=token on all nodes.",
            sys.stderr,
        )


class Watch:
    """Watches places that answered once.

    Args:
        name: what they are together, for the message.
        places: all of them must answer.
        patience: seconds for which a place may be silent.
    """

    def __init__(self, name: str, places: Sequence[Place], patience: float) -> None:
        self._name, self._patience = name, patience
        self._heard = dict.fromkeys(places, time.monotonic())

    def check(self) -> None:
        """Raise MachineFailure if a place has been silent for too long."""
        for place, heard in self._heard.items():
            reason = _unanswered(place)
            if reason is None:
                self._heard[place] = time.monotonic()
            elif time.monotonic() - heard > self._patience:
                host, port = place
                raise MachineFailure(
                    f"{self._name} is gone: {host}:{port} no longer answers ({reason}). What was "
                    "recorded is kept: once Ray can run again, run the same command to continue."
                )


def _unanswered(place: Place) -> str | None:
    """Say why no connection can be made; None where one can."""
    try:
        socket.create_connection(place, timeout=_SECONDS).close()
    except (OSError, UnicodeError) as failure:
        return getattr(failure, "strerror", None) or str(failure)
    return None
