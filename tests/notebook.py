"""Executes the notebook of the documentation; as a program, it keeps what it executed."""

import os
import sys
from copy import deepcopy
from pathlib import Path
from tempfile import TemporaryDirectory

import nbformat
from nbclient import NotebookClient
from places import ROOT

NOTEBOOK = ROOT / "docs" / "report.ipynb"


def executed(folder: Path, notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """A notebook with the outputs of this machine. Raises CellExecutionError if a cell fails."""
    notebook, place = deepcopy(notebook), {"metadata": {"path": str(folder)}}
    options = {"timeout": 600, "kernel_name": "python3", "record_timing": False}
    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    client = NotebookClient(notebook, resources=place, **options)
    client.execute(env={**os.environ, "PATH": programs})
    notebook.metadata.language_info = {"name": "python"}
    return notebook


if __name__ == "__main__":
    with TemporaryDirectory() as folder:
        stored = nbformat.read(NOTEBOOK, as_version=4)
        nbformat.write(executed(Path(folder), stored), NOTEBOOK)
