"""TensorBoard itself, in the place of this process."""

import os
import socket
import sys
from pathlib import Path
from typing import NoReturn

from fsl_sweep.orchestrator.errors import ConfigError


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


def serve(folder: Path, host: str, port: int) -> NoReturn:
    """Replace this process by TensorBoard, which then gets its signals."""
    module = [sys.executable, "-m", "tensorboard.main", "--logdir", str(folder)]
    os.execv(sys.executable, [*module, "--host", host, "--port", str(port)])  # noqa: S606
