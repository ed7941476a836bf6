"""What every study must do."""

import csv
import inspect
import json
from collections.abc import Mapping
from itertools import product
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from fsl_sweep.orchestrator.errors import UnknownName
from fsl_sweep.orchestrator.run import Run, load_run
from fsl_sweep.orchestrator.studies.base import Study
from fsl_sweep.orchestrator.studies.finding import FORMATS, prepared

PARTS = {*inspect.signature(Run.question).parameters} - {"self"}
"""The parts of a question."""


class StudyContract:
    """Subclass it and set ``study``; pytest runs the rest.

    By default the study is of a table of two methods with two configurations, three seeds, three
    epochs and twenty tasks. Override ``run`` and ``unfinished`` where a study needs a run folder.

    Attributes:
        study: what is tried; a class that the catalogue or an entry point names.
        options: the options that it is tried with.
    """

    study: ClassVar[type[Study[Any, Any]]]
    options: ClassVar[Mapping[str, Any]] = {}

    @pytest.fixture
    def run(self, tmp_path: Path) -> Run:
        """Return the run that the study is tried on."""
        return load_run(made_table(tmp_path / "logs.csv"))

    @pytest.fixture
    def unfinished(self, tmp_path: Path) -> Run | None:
        """Return a run with a missing trial; None where that is not tried."""
        folder = tmp_path / "unfinished"
        folder.mkdir()
        return load_run(made_table(folder / "logs.csv", without=("A", "y", 2)))

    def test_declares_what_the_catalogue_needs(self) -> None:
        """Declare a name, known parts of a question, and a help for each option."""
        assert self.study.name
        assert set(self.study.heeds) <= PARTS
        assert set(self.study.needs) <= {"tasks", "snapshots", "data"}
        assert (self.study.__doc__ or "").strip()
        assert all(field.description for field in self.study.Options.model_fields.values())
        assert not {*self.study.Options.model_fields} & PARTS
        assert type(prepared(self.study.name, {**self.options})[0]) is self.study

    def test_says_the_same_twice(self, run: Run) -> None:
        """Give equal answers for equal records, in every format."""
        first, again = (run.study(self.study.name, **self.options) for _ in range(2))
        for form in FORMATS:
            assert first.written(form) == again.written(form)

    def test_is_shown_in_every_format(self, run: Run) -> None:
        """Say its headline in every format for people, and plain data as JSON."""
        finding = run.study(self.study.name, **self.options)
        assert finding.document.headline
        assert finding.document.answer
        json.loads(finding.written("json"))
        for form in FORMATS:
            assert finding.written(form).endswith("\n")
        assert finding.document.headline.split()[0] in finding.written("terminal")
        keys = {"answer", *(section.key for section in finding.document.sections)}
        assert {*finding.figures} <= keys

    def test_an_unknown_option_is_refused(self, run: Run) -> None:
        """Name an option that neither the study nor its question has."""
        with pytest.raises(UnknownName, match="no-such-option"):
            run.study(self.study.name, **{**self.options, "no-such-option": 1})

    def test_an_unfinished_run_is_studied_by_its_complete_seeds(
        self, unfinished: Run | None
    ) -> None:
        """Say what is missing, and speak of the rest."""
        if unfinished is not None:
            finding = unfinished.study(self.study.name, **self.options)
            assert not finding.complete
            assert not finding.document.complete
            assert finding.document.banner


def made_table(path: Path, without: tuple[str, str, int] | None = None) -> Path:
    """Write records of two methods; one trial may be missing.

    Args:
        path: of the table.
        without: method, configuration and seed of the missing trial.
    """
    rng = np.random.default_rng(0)
    level = {"base": 0.8, "val": 0.6, "novel": 0.5}
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(
            ("method", "configuration", "seed", "epoch", "measure", "set", "task", "accuracy")
        )
        for method, configuration, seed in product("AB", "xy", range(3)):
            if (method, configuration, seed) == without:
                continue
            for epoch, measure in product((1, 2, 3), level):
                for tasks, task in product(("selection", "report"), range(20)):
                    mean = level[measure] + 0.01 * epoch + 0.02 * (method == "B")
                    accuracy = np.clip(rng.normal(mean, 0.1), 0, 1).round(2)
                    cells = (method, configuration, seed, epoch, measure, tasks, task, accuracy)
                    rows.writerow(cells)
    return path
