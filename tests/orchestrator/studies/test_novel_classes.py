"""``fsl-sweep analyze novel-classes`` on a run whose trials ran in this process."""

import json
import re
import shutil

import pytest

import fsl_sweep
from fsl_sweep.orchestrator.cli import invoke
from fsl_sweep.orchestrator.ledger.ledger import Ledger

SMALL = ("--size", "4", "--sets", "8", "--tasks", "60", "--truth-tasks", "300")


@pytest.fixture
def analyze(trained, capsys):
    def call(*arguments, run=trained):
        code = invoke(["analyze", "novel-classes", str(run), *map(str, arguments)])
        return code, *capsys.readouterr()

    return call


def test_it_says_truth_flips_exaggerations_and_spread(analyze):
    code, shown, _ = analyze("PN", "RR", "--classes", "val+novel", *SMALL, "--examples", 6)
    assert code == 0
    assert "Class set: val+novel, 10 classes of 12 examples; tasks: 3-way 1-shot" in shown
    for expected in (
        "by val / val",
        "8 random novel sets of 4 classes ",
        "8 random example sets of 6 examples a class ",
        "conclusion flips",
        "exaggerated by > 0.5 points",
        "Cautions ",
    ):
        assert expected in shown
    truth = re.search(r"Truth: \w+ (leads|is better) by \d.*: (-?[\d.]+) to", shown)
    assert truth is not None
    assert (truth[1] == "is better") == (float(truth[2]) > 0)


def test_json_holds_every_set_and_is_the_same_again(analyze):
    arguments = ("PN", "RR", *SMALL, "--size", 3, "--epoch-a", 2, "--trial-seed", 1, "--json")
    code, shown, _ = analyze(*arguments)
    found = json.loads(shown)
    assert code == 0
    assert [(one["method"], one["seed"]) for one in found["snapshots"]] == [("PN", 1), ("RR", 1)]
    assert found["snapshots"][0]["epoch"] == 2
    assert found["truth"]["mean"] == pytest.approx(
        found["truth"]["scores"][0] - found["truth"]["scores"][1]
    )
    assert [one["size"] for one in found["sets"]] == [4, 3]
    for one in found["sets"]:
        a, b = (spread["means"] for spread in one["spread"])
        differences = [x - y for x, y in zip(a, b, strict=True)]
        assert one["differences"] == pytest.approx(differences, abs=1e-9)
        flipped = sum(d * found["truth"]["mean"] < 0 for d in one["differences"])
        assert one["flips"]["count"] == flipped
    assert analyze(*arguments)[1] == shown
    assert analyze(*arguments, "--apart")[1] != shown


def test_by_default_sets_have_at_most_half_of_the_classes_and_it_says_how_far_it_is(analyze):
    few = ("--sets", 20, "--tasks", 9, "--truth-tasks", 300, "--classes")
    code, shown, told = analyze("PN", "RR", *few, "all")
    assert (code, "20 random novel sets of 10 classes " in shown) == (0, True)
    begins, *rest = told.splitlines()
    assert begins == "the truth, over 300 tasks of 20 classes"
    assert rest == [f"novel sets of 10 classes: {n} of 20" for n in range(2, 21, 2)]
    # Half of five are too few for a task of three.
    assert "20 random novel sets of 3 classes " in analyze("PN", "RR", *few, "novel")[1]


def test_it_draws_the_sets(analyze, tmp_path):
    path = tmp_path / "sets.pdf"
    code, shown, errors = analyze("PN", "RR", *SMALL, "--plot", path)
    assert (code, path.read_bytes()[:5]) == (0, b"%PDF-")
    assert "random sets" in errors
    assert "random sets of each kind" not in shown


def test_a_pair_of_a_wanted_difference_is_found(analyze, trained):
    code, shown, _ = analyze("PN", "PN", "--difference", 0.02, *SMALL, "--json")
    assert code == 0
    told = " ".join(analyze("PN", "PN", "--difference", 0.02, *SMALL)[1].split())
    assert "by recorded NovelGen, nearest to a difference of 2.00 points." in told
    picked = [(one["trial"], one["epoch"]) for one in json.loads(shown)["snapshots"]]
    trials = [t for t in fsl_sweep.load_run(trained).histories if (t.method, t.seed) == ("PN", 0)]
    novel = {
        (trial.trial, epoch): mean
        for trial in trials
        for epoch, mean in zip(trial.epochs, trial.scores["novel", "report"].means, strict=True)
    }
    gaps = [abs(abs(x - y) - 0.02) for k, x in novel.items() for j, y in novel.items() if j != k]
    assert abs(abs(novel[picked[0]] - novel[picked[1]]) - 0.02) == min(gaps)


def test_mistakes_have_one_message(mistakes, trained, snapshot):
    lines = """
        PN SVM
        PN PN
        PN RR --epoch-a 9
        PN RR --trial-seed 7
        PN RR --size 5
        PN RR --size 6
        PN RR --size 2
        PN RR --sets 1
        PN RR --tasks 1
        PN RR --tasks 0
        PN RR --examples 13
        PN RR --examples 2
        PN RR --shot 20
        PN RR --way 0
        PN RR --difference 0
        PN RR --difference 5
        PN RR --difference 0.1 --epoch-a 1
        PN RR --plot sets.gif
        PN RR --plot no/sets.svg
    """
    assert mistakes("analyze novel-classes RUN", trained, lines) == snapshot


def test_weights_that_are_gone_are_named(analyze, trained, tmp_path):
    run = tmp_path / "run"
    shutil.copytree(trained, run)
    ledger = Ledger(run)
    for trial in ledger.trial_ids():
        ledger.trial(trial).prune([1, 2, 3])
    for more in ((), ("--difference", 0.01)):
        code, _, errors = analyze("PN", "RR", *more, run=run)
        assert code == 2
        assert "pruned" in errors
    code, _, errors = analyze("PN", "RR", run=tmp_path)
    assert code == 2
    assert len(errors.splitlines()) == 1
