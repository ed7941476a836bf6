"""``fsl-sweep tensorboard``: write the TensorBoard view anew, and start TensorBoard on it."""

from typing import Annotated

import typer

from fsl_sweep.orchestrator.cli.options import RunFolder
from fsl_sweep.orchestrator.sweep.stopping import Stopped
from fsl_sweep.orchestrator.text.printed import say


def tensorboard(
    run: RunFolder,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port to serve on; 0 for any.")
    ] = 6006,
    host: Annotated[str, typer.Option(help="Address to serve on.")] = "127.0.0.1",
    serve: Annotated[
        bool, typer.Option("--serve/--no-serve", help="Start TensorBoard, or only write.")
    ] = True,
) -> int:
    """Write the TensorBoard view and start TensorBoard.

    The view is written anew from the run's records, with the report's figures under Images.
    """
    from fsl_sweep.orchestrator.report.figures.figures import figures
    from fsl_sweep.orchestrator.run import load_run
    from fsl_sweep.orchestrator.tensorboard import rebuild, serving

    if serve:
        serving.check_free(host, port)
    opened = load_run(run)
    folder = opened.path / "tensorboard"
    report = opened.report(bootstrap=0)
    drawn = [figure for drawings in figures(report).values() for figure in drawings]
    rebuild(folder, opened.histories, report.selected, drawn)
    say(f"TensorBoard view written to {folder}")
    if not serve:
        return 0
    try:
        serving.serve(folder, host, port)
    except Stopped as stop:  # as a server ends: nothing is left to continue
        return stop.code
