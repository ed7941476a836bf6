"""Every study of ours keeps the contract of third parties'."""

import shutil
from typing import ClassVar

import pytest

from fsl_sweep import load_run
from fsl_sweep.orchestrator.studies.base_and_novel import BaseAndNovel
from fsl_sweep.orchestrator.studies.classes import Classes
from fsl_sweep.orchestrator.studies.compare import Compare
from fsl_sweep.orchestrator.studies.coverage import Coverage
from fsl_sweep.orchestrator.studies.losses import LossesStudy
from fsl_sweep.orchestrator.studies.mixtures import Mixtures
from fsl_sweep.orchestrator.studies.novel_classes import NovelClasses
from fsl_sweep.orchestrator.studies.plan_next import PlanNext
from fsl_sweep.orchestrator.studies.queries import Queries
from fsl_sweep.orchestrator.testing import StudyContract


class TestCompare(StudyContract):
    study = Compare


class TestPlanNext(StudyContract):
    study = PlanNext


class TestBaseAndNovel(StudyContract):
    study = BaseAndNovel


class _OfFolder(StudyContract):
    @pytest.fixture
    def run(self, measured):
        return load_run(measured)

    @pytest.fixture
    def unfinished(self, unfinished):
        return load_run(unfinished)


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
        path = shutil.copytree(trained, tmp_path / "unfinished")
        shutil.rmtree(path / "trials" / sorted(p.name for p in (path / "trials").iterdir())[0])
        return load_run(path)


class TestNovelClasses(_OfWeights):
    study = NovelClasses
    options: ClassVar = {"a": "PN", "b": "RR", "size": 4, "sets": 4, "tasks": 30, "truth_tasks": 99}


class TestLosses(_OfWeights):
    study = LossesStudy
    options: ClassVar = {"tasks": 10}


class TestClasses(_OfWeights):
    study = Classes
