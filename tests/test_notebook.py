"""The notebook of the documentation works as it stands there, and shows what it gives."""

import re
import warnings

import pytest
from commands import WithoutRay

from fsl_sweep.orchestrator.cli import invoke
from fsl_sweep.orchestrator.sweep import execute

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # Jupyter's packages warn of each other when they are imported
    import nbformat
    from notebook import NOTEBOOK, executed


# Of the sweep in its first cell: as many trials, which train and measure less.
LESS = {"epochs: 4": "epochs: 2", "batches: 15": "batches: 2", "_tasks: 200": "_tasks: 20"}


def kinds(cell):
    """What kinds of output a cell has: of text streams their name, else MIME types."""
    outputs = cell.get("outputs", ())
    return [k for output in outputs for k in sorted(output.get("data", {})) or [output.name]]


@pytest.mark.slow
def test_the_notebook_runs_and_gives_what_is_stored(tmp_path, monkeypatch):
    """On a run that its command has finished in this process, without Ray."""
    stored = nbformat.read(NOTEBOOK, as_version=4)
    first, command = stored.cells[1:3]
    for more, less in LESS.items():
        assert more in first.source
        first.source = first.source.replace(more, less)
    (tmp_path / "sweep.yaml").write_text(first.source.removeprefix("%%writefile sweep.yaml\n"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(execute, "RayProcess", WithoutRay)
    program, *arguments = command.source.removesuffix(" > run.log").split()
    assert (program, invoke(arguments)) == ("!fsl-sweep", 0)
    command.source = ""
    again = executed(tmp_path, stored)
    for old, new in zip(stored.cells, again.cells, strict=True):
        assert kinds(old) == kinds(new), f"`make notebook` brings it up to date: {old.source}"


def test_the_stored_outputs_are_complete_small_and_of_no_machine():
    text, stored = NOTEBOOK.read_text(), nbformat.read(NOTEBOOK, as_version=4)
    assert len(text) < 300_000
    nbformat.validate(stored)
    code = [cell for cell in stored.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == [*range(1, len(code) + 1)]
    assert not [cell for cell in code for output in cell.outputs if output.get("name") == "stderr"]
    assert not re.findall(r"/(?:home|root|tmp|work|Users)/|\b20\d\d-\d\d-\d\d", text)
