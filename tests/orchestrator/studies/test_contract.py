"""Every study of ours keeps the contract of third parties'."""

import shutil
from pathlib import Path
from typing import ClassVar

import made
import pytest
from commands import TINY, finished

from fsl_sweep import load_run
from fsl_sweep.orchestrator.ledger.ledger import Ledger
from fsl_sweep.orchestrator.studies.base_and_novel import BaseAndNovel
from fsl_sweep.orchestrator.studies.compare import Compare
from fsl_sweep.orchestrator.studies.coverage import Coverage
from fsl_sweep.orchestrator.studies.losses import LossesStudy
from fsl_sweep.orchestrator.studies.mixtures import Mixtures
from fsl_sweep.orchestrator.studies.novel_classes import NovelClasses
from fsl_sweep.orchestrator.studies.plan_next import PlanNext
from fsl_sweep.orchestrator.studies.queries import Queries
from fsl_sweep.orchestrator.testing import StudyContract

MEASURE = {"mixture": {"mixture": [0, 0.5, 1], "snapshots": "all"}}


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Two methods with two configurations and three seeds, on mixtures too."""
    path = tmp_path_factory.mktemp("contract") / "run"
    made.with_protocols(path, 60, MEASURE)
    return path


@pytest.fixture(scope="module")
def trained(tmp_path_factory) -> Path:
    """Trained in this process, with weights."""
    text = TINY.replace("{grid: [1, 2]}", "1")
    return finished(tmp_path_factory.mktemp("contract") / "trained", text)


def without_a_trial(path: Path, to: Path) -> Path:
    shutil.copytree(path, to)
    lost = Ledger(to).planned().trials[-1]
    shutil.rmtree(to / "trials" / lost.id)
    return to


class TestCompare(StudyContract):
    study = Compare


class TestPlanNext(StudyContract):
    study = PlanNext


class TestBaseAndNovel(StudyContract):
    study = BaseAndNovel


class _OfFolder(StudyContract):
    @pytest.fixture
    def run(self, folder):
        return load_run(folder)

    @pytest.fixture
    def unfinished(self, folder, tmp_path):
        return load_run(without_a_trial(folder, tmp_path / "unfinished"))


class TestMixtures(_OfFolder):
    study = Mixtures


class TestQueries(_OfFolder):
    study = Queries
    options: ClassVar = {"examples": 12000, "classes": 20}


class TestCoverage(_OfFolder):
    study = Coverage
    options: ClassVar = {"base": 64, "novel": 20, "classes": 84, "train_tasks": 1000}


class _OfWeights(StudyContract):
    @pytest.fixture
    def run(self, trained):
        return load_run(trained)

    @pytest.fixture
    def unfinished(self, trained, tmp_path):
        return load_run(without_a_trial(trained, tmp_path / "unfinished"))


class TestNovelClasses(_OfWeights):
    study = NovelClasses
    options: ClassVar = {
        "a": "PN",
        "b": "RR",
        "size": 4,
        "sets": 4,
        "tasks": 30,
        "truth_tasks": 100,
    }


class TestLosses(_OfWeights):
    study = LossesStudy
    options: ClassVar = {"tasks": 10}
