"""``zappos``: the paper's hyperparameters, and that it runs on a made corpus."""

import csv
import io
import json

import numpy as np
import pytest
from PIL import Image

from fsl_sweep.datasets.zappos_table import published_sets
from fsl_sweep.orchestrator.cli import invoke
from fsl_sweep.orchestrator.resolve import plan_sweep
from fsl_sweep.orchestrator.sweepfile import load_sweep

METHODS = {"PN": "protonet", "RR": "ridge", "SVM": "svm", "FOMAML": "fomaml"}


def test_values_are_those_of_table_4():
    """ "Two Sides of Meta-Learning Evaluation", appendix D.2, table 4."""
    trials = plan_sweep(load_sweep("zappos")).trials
    assert {t.method: t.spec.learner.name for t in trials} == METHODS
    for trial in trials:
        spec = trial.spec.canonical()
        assert (spec["epochs"], spec["augment"], spec["backbone"]["name"]) == (
            60,
            "none",
            "resnet12",
        )
        rates = [(epoch, round(rate, 9)) for epoch, rate in spec["schedule"]]
        # The table's, and those of the released scripts.
        assert rates in ([(0, 0.1), (30, 6e-3)], [(0, 0.01), (30, 6e-4)])
        assert spec["optimizer"]["weight_decay"] == 5e-4
        assert spec["train"]["tasks_per_batch"] == 4
        # An epoch is a pass over the training tasks.
        assert 4 * spec["batches"] == spec["benchmark"]["training_tasks"] == 1000
        assert (spec["episode"]["way"], spec["episode"]["shot"], spec["episode"]["query"]) == (
            2,
            5,
            10,
        )
        assert spec["benchmark"]["images"] == "shared"
        pooled = spec["learner"]["name"] in ("protonet", "fomaml")
        assert spec["backbone"]["avg_pool"] == pooled
    learners = {trial.method: trial.spec.canonical()["learner"] for trial in trials}
    assert learners["PN"]["scale"] == 10
    assert learners["RR"]["learn_scale"]
    assert learners["SVM"]["learn_scale"]
    assert [learners["FOMAML"][key] for key in ("inner_steps", "inner_steps_test", "way")] == [
        5,
        20,
        2,
    ]


def write_shoes(root):
    rng = np.random.default_rng(0)
    first, second = published_sets()
    names = [*first, *second]
    header = [name.replace("Short.heel", "Under.1in") for name in names]
    header = [name.replace("High.heel", "5in...over") for name in header]
    empty = [f"HeelHeight.{height}" for height in ("Flat", "1in...1.3.4in", "4in...4.3.4in")]
    (root / "ut-zap50k-data").mkdir(parents=True)
    (root / "ut-zap50k-images").mkdir()
    stream = io.StringIO()
    rows = csv.writer(stream)
    rows.writerow(["CID", *header, *empty])
    for shoe in range(150):
        rows.writerow([f"{shoe}-1", *(rng.random(66) < 0.4).astype(int), 0, 0, 0])
        image = Image.fromarray(rng.integers(0, 256, (9, 12, 3), dtype=np.uint8))
        image.save(root / "ut-zap50k-images" / f"{shoe}.1.jpg")
    (root / "ut-zap50k-data" / "meta-data-bin.csv").write_text(stream.getvalue())


SHORT = [
    "benchmark.image_size=16",
    "benchmark.min_images=2",
    "benchmark.training_tasks=8",
    "episode.shot=1",
    "episode.query=1",
    "evaluation={selection_tasks: 2, report_tasks: 2}",
    "defaults.backbone={name: conv4, width: 4}",
    "methods.RR.backbone={name: conv4, width: 4}",
    "methods.SVM.backbone={name: conv4, width: 4}",
    "defaults.optimizer.lr=0.1",
    "defaults.schedule={}",
    "defaults.epochs=1",
    "defaults.batches=2",
    "defaults.train={way: 2, shot: 1, query: 1, tasks_per_batch: 2}",
    "methods.FOMAML.learner.inner_steps_test=2",
    "seeds=[0]",
]


@pytest.mark.slow
@pytest.mark.parametrize("benchmark", ["zappos-id", "zappos-ood"])
def test_every_method_runs_on_a_made_corpus_in_the_official_layout(
    benchmark, tmp_path, capsys, monkeypatch
):
    monkeypatch.setenv("FSL_SWEEP_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    write_shoes(tmp_path / "source")
    changes = (*SHORT, f"benchmark.name={benchmark}", f"benchmark.root={tmp_path / 'source'}")
    shortened = [word for text in changes for word in ("--set", text)]
    for index in range(len(METHODS)):
        arguments = ("trial", "zappos", "--index", str(index), "-o", "run", *shortened)
        assert invoke(list(arguments)) == 0, capsys.readouterr().err
    capsys.readouterr()
    assert invoke(["report", "run", "--format", "json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert {row["method"] for row in report["summary"]} == set(METHODS)
