"""TensorBoard itself, as a process that does not outlive the one that started it."""

import errno
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from fsl_sweep.orchestrator.errors import ConfigError, FslSweepError

_STOPPING = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)


def check_free(host: str, port: int) -> None:
    """Whether a server can listen there; port 0 stands for any that is free.

    Raises:
        ConfigError: the port is taken or not allowed, or the address is not this machine's.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        with socket.socket(family, kind, protocol) as tried:
            # As TensorBoard does: what a server that has ended leaves behind is no obstacle.
            tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            tried.bind(address)
            tried.listen()
    except socket.gaierror as failure:
        raise ConfigError("", "--host", f"'{host}' is no address: {failure.strerror}") from None
    except OSError as failure:
        if failure.errno == errno.EADDRINUSE:
            problem = f"port {port} of {host} is taken, by another TensorBoard perhaps"
            raise ConfigError("", "--port", f"{problem}; give another") from None
        option = "--host" if failure.errno == errno.EADDRNOTAVAIL else "--port"
        problem = f"nothing can listen on port {port} of {host}: {failure.strerror}"
        raise ConfigError("", option, problem) from None


def serve(folder: Path, host: str, port: int) -> int:
    """Run TensorBoard on a folder until it ends, or until a signal asks this process to.

    SIGINT, SIGTERM and SIGHUP end TensorBoard first, a second one at once; its data server ends
    with it.

    Returns:
        0, or 128 and the number of the signal, as a shell counts.

    Raises:
        ConfigError: as ``check_free``.
        FslSweepError: TensorBoard ended by itself, with an error.
    """
    check_free(host, port)
    started: list[subprocess.Popen[bytes]] = []
    caught: list[int] = []

    def stop(number: int, _: FrameType | None) -> None:
        caught.append(number)
        for process in started:
            (process.terminate if len(caught) == 1 else process.kill)()

    module = [sys.executable, "-m", "tensorboard.main", "--logdir", str(folder)]
    with _on_signals(stop):
        started.append(subprocess.Popen([*module, "--host", host, "--port", str(port)]))  # noqa: S603
        if caught:  # before there was anything to end
            started[0].terminate()
        code = started[0].wait()
    if caught:
        return 128 + caught[0]
    if code:
        raise FslSweepError(f"TensorBoard ended with exit code {code}; what it says stands above.")
    return 0


@contextmanager
def _on_signals(stop: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Have signals call ``stop``, but for those that are ignored, as ``nohup`` does."""
    before = {one: signal.getsignal(one) for one in _STOPPING}
    heeded = {one: old for one, old in before.items() if old is not signal.SIG_IGN}
    try:
        for one in heeded:
            signal.signal(one, stop)
        yield
    finally:
        for one, old in heeded.items():
            signal.signal(one, old)
