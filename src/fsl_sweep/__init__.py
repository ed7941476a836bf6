"""fsl-sweep: choose and compare few-shot learners with numbers that hold up."""

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ray.tune import Callback

    __version__: str
    from fsl_sweep.learners.loaded import load_learner
    from fsl_sweep.orchestrator.run import Run, load_benchmarks, load_run
    from fsl_sweep.orchestrator.sweep.listener import SweepListener

__all__ = [
    "__version__",
    "load_benchmarks",
    "load_learner",
    "load_run",
    "measure_run",
    "run_sweep",
]


def run_sweep(
    path_or_config: str | PathLike[str] | Mapping[str, Any],
    output: str | PathLike[str] | None = None,
    *,
    overrides: Sequence[str] = (),
    only: Sequence[str] = (),
    retry: Sequence[str] = (),
    complete: bool = False,
    address: str | None = None,
    listeners: "Sequence[SweepListener]" = (),
    callbacks: "Sequence[Callback]" = (),
    laptop: bool = False,
) -> "Run":
    """Run what a sweep's run folder does not hold yet, and open the run.

    It does what ``fsl-sweep run`` does, but prints nothing and writes no TensorBoard view. Remarks
    about the run folder are warnings. A trial that failed is in the run's records.

    Args:
        path_or_config: a sweep file, the name of a preset, or the content of such a file.
        output: the run folder; ``runs/NAME`` by default.
        overrides: ``KEY=VALUE`` texts that change the file, as for ``--set``.
        only: the methods to run; all by default.
        retry: ``failed``, ``diverged`` or ids: trials to run again from the beginning.
        complete: whether to train what a scheduler stopped, too.
        address: a Ray cluster to join; by default Ray is started on this machine.
        listeners: called with each trial and epoch as it happens, in this process.
        callbacks: Ray Tune callbacks. Copies of them run in the process that holds Ray, and see
            BaseGen, ValGen, NovelGen, training loss and learning rate of each epoch.
        laptop: run the file's small variant, as ``--laptop`` does. It is never run unless asked
            for.

    Raises:
        UserError: the sweep, its data or the run folder cannot be used.
        MachineFailure: Ray did not start or went away, or a disk is full.
    """
    import warnings
    from contextlib import nullcontext
    from pathlib import Path

    from fsl_sweep.orchestrator.planning.variant import prepare_variant
    from fsl_sweep.orchestrator.run import load_run
    from fsl_sweep.orchestrator.run.arguments import check_arguments
    from fsl_sweep.orchestrator.sweep.execute import execute

    check_arguments(overrides=overrides, only=only, retry=retry)
    source = path_or_config if isinstance(path_or_config, Mapping) else str(path_or_config)
    folder = None if output is None else Path(output)
    prepared = prepare_variant(source, folder, overrides, only, laptop, retry=retry)
    remarks: list[str] = []
    following = lambda *_: nullcontext(listeners)  # noqa: E731
    execute(prepared, address, following, remarks.append, callbacks, complete=complete)
    for remark in remarks:
        warnings.warn(remark, stacklevel=2)
    return load_run(prepared.ledger.path)


def measure_run(
    path: str | PathLike[str],
    name: str | None = None,
    protocol: Mapping[str, Any] | None = None,
    *,
    root: str | PathLike[str] | None = None,
    address: str | None = None,
    listeners: "Sequence[SweepListener]" = (),
) -> "Run":
    """Measure what a run's snapshots lack under a protocol, and open the run.

    It does what ``fsl-sweep measure`` does, but prints nothing.

    Args:
        path: the run folder.
        name: a protocol of the run, or the name of a new one.
        protocol: a new one, as under ``measure`` in a sweep file: ``{"episode": {"shot": 5}}``.
        root: where the files of the benchmark that was trained on are, if they were moved.
        address: a Ray cluster to join; by default Ray is started on this machine.
        listeners: called with each snapshot as it is measured.

    Raises:
        UserError: nothing can be measured so; the message says why.
        MachineFailure: Ray did not start or went away, a disk is full, or snapshots could not be
            measured.
    """
    import warnings
    from contextlib import nullcontext
    from pathlib import Path

    from fsl_sweep.orchestrator.errors import MachineFailure
    from fsl_sweep.orchestrator.planning.measure_request import measure_request
    from fsl_sweep.orchestrator.run import load_run
    from fsl_sweep.orchestrator.sweep.execute import measure

    moved = None if root is None else str(root)
    request = measure_request(Path(path), name, protocol, moved)
    remarks: list[str] = []
    done = measure(request, address, lambda *_: nullcontext(listeners), remarks.append)
    for remark in remarks:
        warnings.warn(remark, stacklevel=2)
    if done.unmeasured:
        reasons = "; ".join(done.reasons)
        raise MachineFailure(f"{done.unmeasured} snapshots could not be measured: {reasons}")
    return load_run(request.ledger.path)


def __getattr__(name: str) -> object:
    # Loaded on first use: `import fsl_sweep` must stay light (no pandas, torch or ray).
    if name == "__version__":
        from fsl_sweep.orchestrator.catalogue import version_of

        return version_of("fsl-sweep") or "0+unknown"  # a source tree that was never installed
    if name in ("load_benchmarks", "load_run"):
        from fsl_sweep.orchestrator import run

        return getattr(run, name)
    if name == "load_learner":
        from fsl_sweep.learners.loaded import load_learner

        return load_learner
    raise AttributeError(f"module 'fsl_sweep' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
