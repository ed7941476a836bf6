"""TensorBoard itself."""

import socket
import time
from pathlib import Path
from typing import NoReturn
from urllib.parse import quote

from fsl_sweep.orchestrator.errors import ConfigError
from fsl_sweep.orchestrator.tensorboard.events import FILE
from fsl_sweep.orchestrator.tensorboard.names import MEANS, REPORT
from fsl_sweep.orchestrator.text.printed import say

_UNSMOOTHED = "?smoothing=0#timeseries&_smoothingWeight=0"
"""Opens TensorBoard without smoothing, which hides what few epochs show: Time Series reads the
first, Scalars and Custom Scalars the second."""

_FILTERED = "&regexInput=" + quote(f"^{MEANS}/|^{REPORT}$", safe="")
"""Runs that all tabs but Time Series begin with, where they would show none of more than 40."""


def check_free(host: str, port: int) -> None:
    """Check that a server can listen there; port 0 means any free one.

    Raises:
        ConfigError: the port is taken or not allowed, or the address is not this machine's.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        with socket.socket(family, kind, protocol) as tried:
            # As TensorBoard does: connections of a server that has ended do not block the port.
            tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            tried.bind(address)
            tried.listen()
    except OSError as failure:
        problem = f"cannot listen on port {port} of {host}: {failure.strerror}; give another"
        raise ConfigError("", "--host or --port", problem) from None


def opening(folder: Path) -> str:
    """Return what follows the server's address, so that the view opens readable."""
    many = sum(1 for _ in folder.rglob(FILE)) > 40
    return _UNSMOOTHED + (_FILTERED if many and (folder / MEANS).exists() else "")


def serve(folder: Path, host: str, port: int) -> NoReturn:
    """Serve a view from a thread, until a signal stops this process; print the address to open."""
    from tensorboard import program

    board = program.TensorBoard()
    options = ("--logdir", str(folder), "--host", host, "--port", str(port))
    board.configure(("tensorboard", *options))
    say(f"TensorBoard: {board.launch()}{opening(folder)} (Ctrl-C stops it)")
    while True:
        time.sleep(3600)
