"""fsl-sweep: choose and compare few-shot learners with numbers that hold up."""

from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fsl_sweep.orchestrator.run import load_run

try:
    __version__ = version("fsl-sweep")
except PackageNotFoundError:  # a source tree that was never installed
    __version__ = "0+unknown"

__all__ = ["__version__", "load_run"]


def __getattr__(name: str) -> object:
    # Loaded on first use: `import fsl_sweep` must stay light (no pandas, torch or ray).
    if name == "load_run":
        from fsl_sweep.orchestrator.run import load_run

        return load_run
    raise AttributeError(f"module 'fsl_sweep' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
