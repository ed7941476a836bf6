"""A search through a sweep: round after round, killed and gone on with; without Ray."""

import json
import shutil
from pathlib import Path

import pytest
import yaml
from commands import TINY, WithoutRay
from installed import distribution

import fsl_sweep
from fsl_sweep.orchestrator.cli import invoke
from fsl_sweep.orchestrator.errors import RunFolderError
from fsl_sweep.orchestrator.ledger.ledger import Ledger
from fsl_sweep.orchestrator.ledger.verify import check_run
from fsl_sweep.orchestrator.planning.prepare import prepare
from fsl_sweep.orchestrator.records.measures import TrialEnd
from fsl_sweep.orchestrator.records.search import Outcome
from fsl_sweep.orchestrator.report import FORMATS
from fsl_sweep.orchestrator.searchers.base import Axis
from fsl_sweep.orchestrator.searchers.optuna import Optuna
from fsl_sweep.orchestrator.sweep import execute
from fsl_sweep.orchestrator.upkeep import searching

LR = {"optimizer": {"lr": {"loguniform": [0.001, 1.0]}}}
AXES = {"optimizer.lr": Axis("loguniform", [0.001, 1.0]), "train.way": Axis("choice", [2, 3])}
ROUNDS = 3


class Killed(BaseException):
    """As a signal does, it passes all that handles errors."""


@pytest.fixture(scope="module", autouse=True)
def _without_ray():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(execute, "RayProcess", WithoutRay)
        yield


def sweep_of(**changes):
    sweep = yaml.safe_load(TINY)
    sweep["defaults"] |= {"epochs": 2, "batches": 2}
    sweep["evaluation"] = {"selection_tasks": 8, "report_tasks": 8}
    train = {"way": {"grid": [2, 3]}, "shot": 1, "query": 2}
    sweep["defaults"]["train"] = train
    sweep["methods"] = {"PN": {"learner": {"name": "protonet"}, **LR}}
    search = {"name": "optuna", "configurations": 2 * ROUNDS, "round": 2}
    return sweep | {"search": search, "seeds": [0]} | changes


@pytest.fixture(scope="module")
def sweep(tmp_path_factory):
    path = tmp_path_factory.mktemp("sweep") / "search.yaml"
    path.write_text(yaml.safe_dump(sweep_of()))
    return str(path)


def executed(sweep, run, *overrides, notify=lambda _: None):
    return execute.execute(prepare(sweep, run, overrides), notify=notify)


@pytest.fixture(scope="module")
def finished(sweep, tmp_path_factory):
    run = tmp_path_factory.mktemp("finished") / "run"
    assert executed(sweep, run).ran == 2 * ROUNDS
    return run


@pytest.fixture
def run(finished, tmp_path):
    return Path(shutil.copytree(finished, tmp_path / "run"))


def proposals(run):
    return {path.name: path.read_bytes() for path in sorted((run / "proposals").iterdir())}


def reported(run):
    return FORMATS["json"](fsl_sweep.load_run(run).report())


def test_each_round_is_asked_from_the_scores_of_those_before(finished):
    ledger = Ledger(finished)
    plan = ledger.planned()
    assert [trial.round for trial in plan.trials] == [1, 1, 2, 2, 3, 3]
    best = {
        history.configuration: round(float(history.scores["val", "selection"].means.max()), 12)
        for history in ledger.histories(plan)
    }
    configurations = [trial.configuration for trial in plan.trials]
    told = []
    for number in range(1, ROUNDS + 1):
        plain = json.loads(proposals(finished)[f"PN-000{number}.json"])
        assert plain["history"] == [{"values": o.values, "score": o.score} for o in told]
        assert plain["proposed"] == Optuna().propose(AXES, told, 2, 0)
        assert plain["searcher"]["optuna"]
        here = configurations[len(told) : len(told) + 2]
        told += [Outcome(v, best[c]) for v, c in zip(plain["proposed"], here, strict=True)]
    assert len(told) == 2 * ROUNDS
    assert check_run(finished) == []
    assert json.loads(reported(finished))["run"]["complete"]


def raising(real, calls, before=False):
    """Does what it did, but is killed after, or before, so many calls."""
    left = [calls]

    def wrapped(*arguments, **options):
        left[0] -= 1
        if before and left[0] < 0:
            raise Killed
        answer = real(*arguments, **options)
        if not before and left[0] == 0:
            raise Killed
        return answer

    return wrapped


def test_killed_between_rounds_it_goes_on_as_if_it_were_not(sweep, finished, tmp_path, monkeypatch):
    """Killed again and again: each kill comes after so many calls since the last one."""
    run = tmp_path / "run"
    for where, name, calls, rounds in (
        (Ledger, "write_plan", 1, 1),  # nothing was trained
        (searching, "write_proposals", 1, 1),  # the first round is trained
        (searching, "write_proposals", 1, 1),  # the second is recorded, not planned
        (WithoutRay, "run", 1, 2),
        (searching, "best_score", 3, 2),
        (Ledger, "write_plan", 2, 3),  # the third is planned
    ):
        with monkeypatch.context() as patch:
            patch.setattr(where, name, raising(getattr(where, name), calls))
            with pytest.raises(Killed):
                executed(sweep, run)
        assert len(Ledger(run).planned().trials) == 2 * rounds
        assert not json.loads(reported(run))["run"]["complete"]
    executed(sweep, run)
    assert proposals(run) == proposals(finished)
    assert reported(run) == reported(finished)


def test_what_was_proposed_is_used_again_by_another_version(sweep, finished, tmp_path, monkeypatch):
    """Which would propose something else."""
    run = tmp_path / "run"
    with monkeypatch.context() as patch:
        real = searching.write_proposals
        patch.setattr(searching, "write_proposals", raising(real, 2))
        with pytest.raises(Killed):
            executed(sweep, run)
    assert len(Ledger(run).planned().trials) == 2  # the second round is recorded, not planned
    before = proposals(run)
    real = Optuna.propose
    monkeypatch.setattr(Optuna, "propose", lambda *a: real(*a[:-1], 99))
    executed(sweep, run)
    after = proposals(run)
    assert {name: after[name] for name in before} == before
    assert after["PN-0003.json"] != proposals(finished)["PN-0003.json"]
    assert check_run(run) == []


@pytest.mark.parametrize("number", [1, 2, 3])
@pytest.mark.parametrize("damage", ["flipped", "gone"])
def test_a_damaged_round_is_named_and_loses_nothing(sweep, run, finished, number, damage):
    path = run / f"proposals/PN-000{number}.json"
    if damage == "gone":
        path.unlink()
    else:
        path.write_text(path.read_text().replace("0.", "1.", 1))
    (finding,) = check_run(run)
    assert finding.place == f"proposals/PN-000{number}.json"
    executed(sweep, run, "search.configurations=8")
    assert len(Ledger(run).planned().trials) == 8
    left = [] if number == 1 else [finding.place]  # which can be written again
    assert [finding.place for finding in check_run(run)] == left


def test_a_damaged_round_of_which_no_trial_is_planned_is_asked_again(
    sweep, finished, tmp_path, monkeypatch
):
    run = tmp_path / "run"
    with monkeypatch.context() as patch:
        patch.setattr(searching, "write_proposals", raising(searching.write_proposals, 2))
        with pytest.raises(Killed):
            executed(sweep, run)
    (run / "proposals/PN-0002.json").write_text("{}")
    executed(sweep, run)
    assert proposals(run) == proposals(finished)


@pytest.mark.parametrize(
    "change",
    ["methods.PN.optimizer.lr={loguniform: [0.01, 1.0]}", "search.name=random", "seed=3"],
)
def test_one_search_does_not_go_on_as_another(sweep, run, change):
    before = (run / "plan.json").read_bytes(), proposals(run)
    with pytest.raises(RunFolderError, match="holds another search for configurations of PN"):
        executed(sweep, run, change)
    assert ((run / "plan.json").read_bytes(), proposals(run)) == before


def test_a_method_that_comes_back_has_its_configurations_again(sweep, run):
    before, asked = {t.id for t in Ledger(run).planned().trials}, proposals(run)
    other = ["methods={RR: {learner: {name: ridge}, optimizer: {lr: 0.1}}}", "search.round=4"]
    executed(sweep, run, *other)
    assert not before & set(Ledger(run).planned().specs)
    assert executed(sweep, run) == execute.Executed()
    assert before == set(Ledger(run).planned().specs)
    assert asked.items() <= proposals(run).items()


def test_fewer_are_left_out_and_come_back(sweep, run, finished):
    executed(sweep, run, "search.configurations=3")
    assert len(Ledger(run).planned().trials) == 3
    assert json.loads(reported(run))["run"]["complete"]
    executed(sweep, run)
    assert reported(run) == reported(finished)


def test_a_failed_trial_holds_up_its_method(sweep, run):
    ledger, said = Ledger(run), []
    trial = ledger.planned().trials[-1]
    storage = ledger.trial(trial.id)
    shutil.rmtree(storage.folder.path)
    storage.begin(trial.spec)
    storage.end(TrialEnd("failed", "no memory"), ledger.planned().main.id)
    executed(sweep, run, "search.configurations=8", notify=said.append)
    assert "PN: 1 trial failed" in said[-1]
    assert len(ledger.planned().trials) == 2 * ROUNDS
    assert "6 of 8 configurations of PN" in FORMATS["markdown"](fsl_sweep.load_run(run).report())


def test_what_is_shown_of_a_search(sweep, tmp_path, capfd, snapshot, monkeypatch):
    run = tmp_path / "run"
    assert invoke(["run", sweep, "-o", str(run), "--dry-run"]) == 0
    shown = capfd.readouterr().out
    assert "2 of 6 configurations of PN proposed so far; the rest makes 4 trials more" in shown
    monkeypatch.setattr(searching, "best_score", raising(searching.best_score, 0, before=True))
    with pytest.raises(Killed):
        executed(sweep, run)
    assert invoke(["status", str(run)]) == 1
    assert "2 of 6 configurations of PN proposed so far" in capfd.readouterr().out
    assert invoke(["report", str(run)]) == 1
    shown = "".join(line for line in capfd.readouterr().out.splitlines(True) if "earch" in line)
    assert shown == snapshot


WRONG = {
    "raises": "raise ZeroDivisionError('by zero')",
    "raises_later": "\n        if history: raise KeyError('later')\n        return GOOD(count)",
    "repeats": "return GOOD(1) * count",
    "old": "return GOOD(2)",
    "outside": "return [{'optimizer.lr': 2.0, 'train.way': 2}] * count",
    "no_choice": "return [{'optimizer.lr': 0.1, 'train.way': 4}] * count",
    "nan": "return [{'optimizer.lr': float('nan'), 'train.way': 2}] * count",
    "too_few": "return GOOD(count)[1:]",
    "nothing": "return None",
    "other_axis": "return [{'lr': 0.1}] * count",
    "spoils": "\n        for o in history: o.values.clear()\n        return GOOD(2)",
}
MODULE = """
from fsl_sweep.orchestrator.catalogue import Info
from fsl_sweep.orchestrator.searchers import Searcher

def GOOD(count):
    return [{"optimizer.lr": 0.01 * (n + 1), "train.way": 2} for n in range(count)]

"""


@pytest.fixture
def _foreign(tmp_path, monkeypatch):
    folder, text, points = tmp_path / "installed", MODULE, "[fsl_sweep.searchers]\n"
    for name, body in WRONG.items():
        text += f"class {name}(Searcher):\n    name = '{name}'\n"
        text += f"    def propose(self, axes, history, count, seed):\n        {body}\n"
        text += f"{name}_info = Info('{name}', {name}, '', '')\n"
        points += f"{name} = wrong_searchers:{name}_info\n"
    distribution(folder, "wrong", "1.2", points)
    (folder / "wrong_searchers.py").write_text(text)
    monkeypatch.syspath_prepend(folder)


@pytest.mark.usefixtures("_foreign")
def test_a_wrong_searcher_is_named_in_one_message(sweep, tmp_path, capfd, snapshot):
    for name in WRONG:
        options = ["-o", str(tmp_path / name), "--set", f"search.name={name}", "--no-progress"]
        assert invoke(["run", sweep, *options]) == 2, name
        said = capfd.readouterr().err.replace(str(tmp_path), "TMP")
        assert "Traceback" not in said
        assert said.splitlines()[-1] == snapshot(name=name)
        later = name in ("raises_later", "old", "spoils")
        ledger = Ledger(tmp_path / name)
        done = ledger.histories(ledger.planned()) if later else []
        assert [history.end.status for history in done] == ["done"] * (2 if later else 0)
