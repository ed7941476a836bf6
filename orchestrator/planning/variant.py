"""Which variant of a sweep is run: what the file says, or the small one for a laptop."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from fsl_sweep.datasets.preparing.opening import find_store, resolve
from fsl_sweep.orchestrator.errors import ConfigError, MissingData, UserError
from fsl_sweep.orchestrator.ledger.ledger import Ledger
from fsl_sweep.orchestrator.planning.prepare import Prepared, prepared_from
from fsl_sweep.orchestrator.sweepfile.grammar import SweepConfig
from fsl_sweep.orchestrator.sweepfile.laptop import SECTION, variant_name
from fsl_sweep.orchestrator.sweepfile.reading import SweepFile, load_sweep
from fsl_sweep.orchestrator.sweepfile.text import of_run_folder


def prepare_variant(
    source: str | Mapping[str, Any],
    output: Path | None = None,
    overrides: Sequence[str] = (),
    only: Sequence[str] = (),
    laptop: bool | None = None,
    notify: Callable[[str], None] = lambda _: None,
    retry: Sequence[str] = (),
) -> Prepared:
    """Prepare a sweep, or its laptop variant.

    Args:
        source: as of `prepare`; where trials are run again, a run folder too, which is planned as
            it was last.
        output: as of `prepare`.
        overrides: as of `prepare`.
        only: as of `prepare`.
        laptop: whether to take the variant; None takes it where the run folder holds it, and where
            data are not on this machine.
        notify: called with what is run in place of what was asked for.
        retry: as of `prepare`.

    Raises:
        ConfigError: as `prepare`; or the variant is asked for and the file has none.
    """
    if retry and output is None and isinstance(source, str) and (run := of_run_folder(source)):
        output, (source, noted, held) = Path(source), run
        overrides, laptop = [*noted, *overrides], held if laptop is None else laptop
    sweep = load_sweep(source, overrides)
    if sweep.laptop is None:
        if laptop:
            problem = (
                "the file has no such section, so there is no variant to run. Leave out --laptop, "
                "or write a section of overrides (docs/sweep-file.md)"
            )
            raise ConfigError(sweep.where, SECTION, problem)
        return prepared_from(sweep, output, only, retry)
    why = _why(sweep, output) if laptop is None else ""
    if not laptop and not why:
        return prepared_from(sweep, output, only, retry)
    prepared = prepared_from(sweep.laptop(), output, only, retry)
    name, remark = prepared.sweep.config.name, prepared.sweep.stands_in
    refuses = "; --no-laptop refuses that" if why else ""
    notify(f"{why} Running the laptop variant {name}: {remark}{refuses}.".lstrip())
    return prepared


def _why(sweep: SweepFile, output: Path | None) -> str:
    """Say why the variant is run though nobody asked for it; empty where it is not."""
    name = sweep.config.name
    held = (ledger := Ledger(output or Path("runs") / name)).read_plan()
    if held is not None:
        return f"{ledger.path} holds that variant." if held.name == variant_name(name) else ""
    # Who names the data wants these data.
    named = any(text.strip().startswith("benchmark") for text in sweep.overrides)
    missing = None if named else _missing(sweep.config)
    return "" if missing is None else str(missing)


def _missing(config: SweepConfig) -> MissingData | None:
    """Return why data that a sweep needs are not on this machine; None if they are."""
    protocols = (protocol.benchmark for protocol in config.measure.values())
    for benchmark in filter(None, (config.benchmark, *protocols)):
        options = benchmark.options
        root = options.pop("root", None)
        if root is not None and not Path(root).exists():
            return MissingData(f"There is nothing at {root}.")
        try:
            if root is None:
                find_store(*resolve(benchmark.name, options), None, None)
        except MissingData as missing:
            return missing
        except (UserError, ValidationError):
            continue  # planning says what is wrong
    return None
