"""Ensembles from recorded answers: the vote, who votes, and the same from a live forward pass."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import made
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made import benchmark, main_of, planned, trainable

from fsl_sweep.learners.snapshot import restored
from fsl_sweep.orchestrator.errors import ConfigError, Damaged, RunFolderError
from fsl_sweep.orchestrator.ledger.ledger import Ledger
from fsl_sweep.orchestrator.ledger.measured import answers_name
from fsl_sweep.orchestrator.ledger.trial_ledger import snapshot_name
from fsl_sweep.orchestrator.measuring.common_tasks import CommonTasks
from fsl_sweep.orchestrator.measuring.images import PoolImages
from fsl_sweep.orchestrator.run import load_run
from fsl_sweep.orchestrator.selection.ensembles import ensembles_of, vote
from fsl_sweep.orchestrator.selection.select import select
from fsl_sweep.orchestrator.trial.trial import Trial

torch = pytest.importorskip("torch")


@given(st.integers(1, 7), st.integers(1, 5), st.integers(0, 2**32 - 1))
def test_the_vote_is_the_plurality_and_ties_go_to_the_best_ranked(
    members: int, classes: int, seed: int
) -> None:
    answers = np.random.default_rng(seed).integers(0, classes, (members, 20))
    for column, winner in zip(answers.T, vote(answers), strict=True):
        counts = Counter(column.tolist())
        tied = {answer for answer, n in counts.items() if n == max(counts.values())}
        assert winner == next(answer for answer in column if answer in tied)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Ledger, list]:
    """One method with two configurations and two seeds, three epochs each, answers recorded."""
    data = benchmark()
    ledger, trials = Ledger(tmp_path_factory.mktemp("votes")), []
    for width in (4, 8):
        for seed in (0, 1):
            spec = trainable(seed=seed, backbone={"name": "conv4", "width": width})
            storage = ledger.trial(spec.id)
            list(Trial(spec, storage, data, main_of(data), answers=True).run())
            trials.append(planned(spec))
    return ledger, trials


def histories(run: tuple[Ledger, list]) -> list:
    ledger, trials = run
    return [ledger.trial(one.id).history(one, main_of(benchmark()).id) for one in trials]


def recorded(run: tuple[Ledger, list]):
    name = main_of(benchmark()).id
    return lambda trial, epoch: run[0].trial(trial).read_answers(epoch, name)


def test_an_ensemble_from_records_is_that_of_a_live_forward_pass(run: tuple[Ledger, list]) -> None:
    data, ledger = benchmark(), run[0]
    (found,) = ensembles_of(histories(run), [3], recorded(run))
    drawn = CommonTasks.draw(data, main_of(data).protocol)
    for measure in ("base", "val", "novel"):
        episodes = drawn.episodes[measure, "report"]
        images = PoolImages(drawn.pools[measure], data, torch.device("cpu"))
        means = []
        for members in found.members:
            learners = [
                restored(ledger.trial(trial).check_snapshot(epoch).read_bytes(), "it")[0]
                for trial, epoch in members
            ]
            right = []
            for support, query in zip(episodes.support, episodes.query, strict=True):
                given, asked = (images.normalised(images.unit(i)) for i in (support, query.ravel()))
                with torch.no_grad():
                    answers = [
                        one.head(
                            one.embed(given.flatten(0, 1)).view(1, *support.shape, -1),
                            one.embed(asked)[None],
                        ).argmax(dim=-1)[0]
                        for one in learners
                    ]
                target = np.arange(len(query)).repeat(query.shape[1])
                for answer, of in zip(torch.stack(answers).T.tolist(), target, strict=True):
                    best = max(answer, key=lambda a: (answer.count(a), -answer.index(a)))
                    right.append(best == of)
            means.append(np.mean(right))
        assert getattr(found, measure).mean == pytest.approx(np.mean(means), abs=1e-12)


def test_the_best_by_val_vote_and_one_of_them_is_what_val_val_chooses(
    run: tuple[Ledger, list],
) -> None:
    trials = histories(run)
    single, three = ensembles_of(trials, [1, 3], recorded(run))
    chosen = select(trials, ["val"], ["val"]).selections
    assert [one for (one,) in single.members] == [(c.trial, c.epoch) for c in chosen]
    assert single.novel.mean == pytest.approx(np.mean([c.novel.mean for c in chosen]), abs=1e-12)
    assert single.gain.mean == 0
    assert three.gain.mean == pytest.approx(three.novel.mean - single.novel.mean, abs=1e-12)
    for seed, members in enumerate(three.members):
        val = {
            (one.trial, int(epoch)): mean
            for one in trials
            if one.seed == seed
            for epoch, mean in zip(one.epochs, one.scores["val", "selection"].means, strict=True)
        }
        assert sorted((val[m] for m in members), reverse=True) == [val[m] for m in members]
        assert val[members[-1]] == sorted(val.values())[-3]


def test_a_method_with_too_few_snapshots_or_an_unfinished_one_has_none(
    run: tuple[Ledger, list],
) -> None:
    trials = histories(run)
    assert ensembles_of(trials, [7], recorded(run)) == ()
    assert len(ensembles_of(trials, [6], recorded(run))) == 1
    broken = [*trials[:-1], type(trials[-1])(**{**vars(trials[-1]), "end": None})]
    assert ensembles_of(broken, [1], recorded(run)) == ()


def test_answers_that_are_damaged_missing_or_of_other_weights_are_not_used(
    run: tuple[Ledger, list], tmp_path: Path
) -> None:
    data, source = main_of(benchmark()), run[0].trial(run[1][0].id)
    storage, spec = Ledger(tmp_path).trial(run[1][0].id), run[1][0].spec
    storage.begin(spec)
    for epoch in (1, 2):
        whole = replace(made.record(epoch), scores=source.read_answers(epoch, data.id))
        storage.write_epoch(whole, data.id, b"weights", answers=epoch == 1)
    assert storage.read_answers(2, data.id) is None
    assert storage.to_measure(data.id) == []
    assert storage.to_measure(data.id, answers=True) == [2]
    path = storage.folder.path / answers_name(data.id, 1)
    kept = path.read_bytes()
    path.write_bytes(kept[:-9] + bytes([kept[-9] ^ 1]) + kept[-8:])
    with pytest.raises(Damaged, match="checksum"):
        storage.read_answers(1, data.id)
    assert storage.to_measure(data.id, answers=True) == [1, 2]
    assert storage.to_measure(data.id, [2], answers=True) == [2]
    weights = storage.folder.path / snapshot_name(1)
    weights.rename(away := tmp_path / "away")
    assert storage.to_measure(data.id, answers=True) == [2]  # nothing can be measured of it
    away.rename(weights)
    path.write_bytes(kept)
    storage.write_epoch(whole, data.id, b"other weights")
    other = type(whole)(**{**vars(whole), "epoch": 1})
    storage.write_epoch(other, data.id, b"other weights")
    with pytest.raises(Damaged, match="other weights"):
        storage.read_answers(1, data.id)


def test_a_report_without_recorded_answers_says_how_to_record_them(tmp_path: Path) -> None:
    made.recorded(tmp_path / "run", made.planned(made.spec()))
    opened = load_run(tmp_path / "run")
    with pytest.raises(RunFolderError, match="record: predictions"):
        opened.report(ensembles=[3])
    with pytest.raises(ConfigError, match="of two snapshots the better one always decides"):
        opened.report(ensembles=[2])
    with pytest.raises(ConfigError, match="4 snapshots cannot vote: a method has 1 to 3"):
        opened.report(ensembles=[4])
