"""The command line: ``fsl-sweep``. What a command needs is imported when it runs."""

import gc
import io
import sys
from typing import Any, TextIO


def main() -> None:
    """Run the command line and exit with its code."""
    sys.stdout, sys.stderr = _outliving(sys.stdout), _outliving(sys.stderr)
    try:
        from fsl_sweep.orchestrator.cli import app

        code = app.invoke(sys.argv[1:])
    except KeyboardInterrupt:  # while modules were being imported
        code = 130
    gc.freeze()  # the interpreter need not look for garbage before it ends
    sys.exit(code)


def invoke(arguments: list[str]) -> int:
    """Run one command and give its exit code; see ``app.invoke``."""
    from fsl_sweep.orchestrator.cli import app

    return app.invoke(arguments)


class _Outliving(io.FileIO):
    """A file that drops what is written after its reader has gone, as ``| head`` goes."""

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            return memoryview(data).nbytes


def _outliving(stream: TextIO) -> TextIO:
    """Make the stream safe for a reader that closes early: the command keeps its exit code."""
    file = io.BufferedWriter(_Outliving(stream.fileno(), "w", closefd=False))
    return io.TextIOWrapper(file, stream.encoding, stream.errors, line_buffering=True)
