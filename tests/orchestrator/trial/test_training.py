import numpy as np
import pytest
import torch
from made import benchmark, trainable, writer_benchmark

from fsl_sweep.learners.batches import EpisodeBatch, EpisodeGroup, LabelledBatch, RaggedEpisodes
from fsl_sweep.learners.building import build_learner
from fsl_sweep.orchestrator.records.spec import BatchTraining, MetaStage, Optimizer, TrialSpec
from fsl_sweep.orchestrator.trial.training import Training, learning_rate, make_optimizer

CPU = torch.device("cpu")
TABLE_4 = [(0, 0.1), (20, 0.006), (40, 0.0012), (50, 0.00024)]


def test_every_step_of_the_schedule_is_reached_at_its_epoch():
    """The staircase of "Two Sides", table 4: e(r) sets rate r at epoch e, counted from 0."""
    rates = [learning_rate(TABLE_4, epoch) for epoch in range(1, 61)]
    assert rates == [0.1] * 20 + [0.006] * 20 + [0.0012] * 10 + [0.00024] * 10


def training(data, **changes):
    spec = trainable(**changes)
    made = build_learner(
        {"name": spec.learner.name, **spec.learner.options},
        {"name": "conv4", "width": 8},
        data.image_shape,
        12,
        0,
    )
    return Training(spec, data, made, CPU)


def batches(run, epoch):
    draws = torch.Generator().manual_seed(0)
    return list(run._batches(epoch, draws))


def test_the_rate_in_force_is_the_optimizers():
    data = benchmark()
    run = training(data, schedule=[(0, 0.1), (1, 0.01)])
    for epoch, rate in ((1, 0.1), (2, 0.01), (3, 0.01)):
        for _ in run.epoch(epoch):
            assert run.optimizer.param_groups[0]["lr"] == rate


def images_of(pool):
    return {image.tobytes(): i for i, image in enumerate(pool.images)}


def original(run, images, data):
    """Pool indices of normalised images."""
    mean, std = data.pixel_mean[0], data.pixel_std[0]
    raw = ((images * std + mean) * 255).round().to(torch.uint8).numpy()
    known = images_of(data.train.pool)
    return np.array([known[image.tobytes()] for image in raw.reshape(-1, *raw.shape[-3:])])


def test_episodes_are_of_training_examples_with_disjoint_support_and_query():
    data = benchmark()
    run = training(data, batches=5)
    for batch in batches(run, 1):
        assert batch.support.shape == (2, 3, 1, 1, 16, 16)
        assert batch.query.shape == (2, 3, 2, 1, 16, 16)
        for task in range(2):
            support = original(run, batch.support[task], data)
            query = original(run, batch.query[task], data)
            assert set(support) | set(query) <= set(data.train.examples)
            assert not set(support) & set(query)
            labels = data.train.pool.labels
            assert labels[query].tolist() == np.repeat(labels[support], 2).tolist()
            assert len(set(labels[support])) == 3


def test_fixed_support_uses_the_same_examples_in_every_epoch():
    data = benchmark()
    train = {"way": 3, "shot": 1, "query": 2, "tasks_per_batch": 2, "fixed_support": True}
    run = training(data, train=train, batches=60)
    used = [
        set(original(run, torch.cat([b.support for b in batches(run, e)]), data)) for e in (1, 2)
    ]
    assert used[0] == used[1]
    assert len(used[0]) == 12  # one example for each of the 12 base classes
    queries = set(original(run, torch.cat([b.query for b in batches(run, 1)]), data))
    assert not queries & used[0]
    # Which examples are fixed depends on the seed.
    other = training(data, train=train, batches=60, seed=1)
    assert set(original(other, torch.cat([b.support for b in batches(other, 1)]), data)) != used[0]


def test_labelled_batches_pass_over_all_examples_before_any_returns():
    data = benchmark()
    run = training(data, learner={"name": "supervised"}, train={"batch_size": 12}, batches=18)
    drawn = batches(run, 1)
    order = np.concatenate([original(run, batch.images, data) for batch in drawn])
    examples = set(data.train.examples)
    assert len(examples) == 108
    assert set(order[:108]) == examples
    assert set(order[108:]) == examples
    labels = np.concatenate([batch.labels.numpy() for batch in drawn])
    assert set(labels) == set(range(12))
    assert (data.train.classes[labels] == data.train.pool.labels[order]).all()


def test_epochs_draw_anew():
    data = benchmark()
    run = training(data)
    first, second = batches(run, 1), batches(run, 2)
    assert not torch.equal(first[0].support, second[0].support)
    assert torch.equal(first[0].support, batches(run, 1)[0].support)


STAGED = {
    "batch_size": 8,
    "meta": {"epochs": 2, "way": 3, "shot": 1, "query": 2, "tasks_per_batch": 2},
}


def test_the_last_epochs_of_a_staged_training_are_of_episodes():
    spec = trainable(learner={"name": "meta-baseline"}, train=STAGED, epochs=5)
    kinds = [type(spec.stage(epoch)) for epoch in range(1, 6)]
    assert kinds == [BatchTraining] * 3 + [MetaStage] * 2
    assert spec.stage(1) == BatchTraining(batch_size=8)
    assert spec.stage(4) == spec.episodic == spec.train.meta
    assert TrialSpec.from_canonical(spec.canonical()) == spec


def test_meta_baseline_trains_on_what_its_epoch_is_of():
    data = benchmark()
    run = training(data, learner={"name": "meta-baseline"}, train=STAGED, epochs=3)
    assert all(isinstance(batch, LabelledBatch) for batch in batches(run, 1))
    assert all(isinstance(batch, EpisodeBatch) for batch in batches(run, 2) + batches(run, 3))
    before = {name: p.detach().clone() for name, p in run.learner.named_parameters()}
    moved = []
    for epoch in (1, 2):
        list(run.epoch(epoch))
        after = {name: p.detach().clone() for name, p in run.learner.named_parameters()}
        moved.append({name for name in after if not torch.equal(after[name], before[name])})
        before = after
    assert {"classifier.weight", "classifier.bias"} <= moved[0]
    assert "temperature" not in moved[0]
    # What the stage does not train is not decayed either.
    assert not {"classifier.weight", "classifier.bias"} & moved[1]
    assert "temperature" in moved[1]
    assert "backbone.blocks.0.0.weight" in moved[0] & moved[1]


def test_fixed_support_holds_for_the_episodes_of_a_staged_training_only():
    data = benchmark()
    train = {**STAGED, "meta": {**STAGED["meta"], "fixed_support": True}}
    run = training(data, learner={"name": "meta-baseline"}, train=train, epochs=3, batches=60)
    used = [original(run, b.support, data) for epoch in (2, 3) for b in batches(run, epoch)]
    assert len(set(np.concatenate(used))) == 12
    seen = [original(run, batch.images, data) for batch in batches(run, 1)]
    assert set(np.concatenate(seen)) == set(data.train.examples)


@pytest.mark.parametrize("limit", [0.05, 1e6])
def test_clip_norm_shortens_the_whole_gradient_to_its_limit(limit):
    data = benchmark()
    plain = {"lr": 0.1, "momentum": 0.0, "nesterov": False, "weight_decay": 0.0}
    run = training(data, optimizer={**plain, "clip_norm": limit}, batches=1)
    before = {name: p.detach().clone() for name, p in run.learner.named_parameters()}
    other = training(data, optimizer=plain, batches=1)
    other.learner.load_state_dict(run.learner.state_dict())
    # The two specifications differ, and so would their draws: one batch for both.
    batch = batches(run, 1)[0]
    for each in (run, other):
        each._batches = lambda *_: iter([batch])
        list(each.epoch(1))
    full = {name: p.grad for name, p in other.learner.named_parameters() if p.grad is not None}
    norm = np.sqrt(sum(g.double().square().sum().item() for g in full.values()))
    factor = min(1.0, limit / norm)
    assert bool(factor < 1) is (limit == 0.05)
    after = dict(run.learner.named_parameters())
    for name, gradient in full.items():
        step = (before[name] - after[name].detach()) / 0.1
        torch.testing.assert_close(step, gradient * factor, rtol=1e-3, atol=2e-6)


def test_an_extra_that_is_off_leaves_the_trial_id_as_it_was():
    assert "clip_norm" not in Optimizer(lr=0.1).model_dump()
    assert Optimizer(lr=0.1, clip_norm=1.0).model_dump()["clip_norm"] == 1.0
    assert Optimizer.model_validate(Optimizer(lr=0.1).model_dump()) == Optimizer(lr=0.1)
    clipped = trainable(optimizer={"lr": 0.1, "clip_norm": 1.0})
    assert clipped.id != trainable(optimizer={"lr": 0.1}).id


@pytest.mark.parametrize("nesterov", [True, False])
def test_sgd_is_what_was_asked_for(nesterov):
    weight = torch.nn.Linear(2, 1)
    options = Optimizer(lr=0.3, momentum=0.7, nesterov=nesterov, weight_decay=0.01)
    group = make_optimizer(weight, options).param_groups[0]
    assert (group["lr"], group["momentum"], group["nesterov"]) == (0.3, 0.7, nesterov)
    assert group["weight_decay"] == 0.01


def test_a_learned_scale_begins_at_one_and_is_decayed_like_all_weights():
    run = training(benchmark(), learner={"name": "ridge"}, optimizer={"lr": 0.1})
    assert run.learner.scale.item() == 1.0
    (group,) = run.optimizer.param_groups
    assert group["weight_decay"] == 5e-4
    assert any(parameter is run.learner.scale for parameter in group["params"])


RAGGED = {"way": "all", "shot": 1, "query": "rest", "tasks_per_batch": 4}


def loss_alone(learner, batch, group, task):
    """The loss of one task as an episode batch of its own, query by query."""
    support = batch.support[group.support[task]]
    total = 0.0
    for row, target in zip(group.query[task], group.target[task], strict=True):
        logits = learner.head(
            learner.embed(support.flatten(0, 1)).view(1, *support.shape[:2], -1),
            learner.embed(batch.query[row, None])[None],
        )
        total += torch.nn.functional.cross_entropy(logits[0], target[None]).item()
    return total / len(group.query[task])


def test_the_loss_of_ragged_episodes_is_the_mean_over_tasks():
    data = writer_benchmark()
    run = training(data, learner={"name": "ridge"}, train=RAGGED, batches=3)
    run.learner.eval()  # in training the batch norm would tell tasks about each other
    shapes = set()
    for batch in batches(run, 1):
        assert isinstance(batch, RaggedEpisodes)
        with torch.no_grad():
            each = [
                loss_alone(run.learner, batch, group, task)
                for group in batch.groups
                for task in range(len(group.support))
            ]
            assert len(each) == 4
            assert run.learner.training_loss(batch).item() == pytest.approx(np.mean(each), rel=1e-4)
        shapes |= {(*group.support.shape[1:], group.query.shape[1]) for group in batch.groups}
    assert len(shapes) > 1


def test_ragged_episodes_are_of_training_writers_with_disjoint_support_and_query():
    data = writer_benchmark()
    run = training(data, train=RAGGED, batches=4)
    labels, writers = data.train.pool.labels, data.train.pool.writers
    for batch in batches(run, 1):
        examples, asked = (original(run, part, data) for part in (batch.support, batch.query))
        assert set(examples) | set(asked) <= set(data.train.examples)
        for group in batch.groups:
            for task in range(len(group.support)):
                support, query = examples[group.support[task]], asked[group.query[task]]
                assert not set(support.ravel()) & set(query)
                (writer,) = set(writers[support.ravel()]) | set(writers[query])
                assert (labels[support][group.target[task], 0] == labels[query]).all()
                (its,) = np.nonzero(writers == writer)
                often = np.bincount(labels[its])
                assert len(support) == np.sum(often > 1)
                assert len(query) == np.sum(often[often > 1] - 1)


@pytest.mark.parametrize(
    ("name", "train"),
    [
        ("svm", RAGGED),
        ("supervised", {"batch_size": 16}),
        ("meta-baseline", {"batch_size": 16, "meta": {"epochs": 1, **RAGGED}}),
    ],
)
def test_every_kind_of_learner_trains_on_writers(name, train):
    data = writer_benchmark()
    run = training(data, learner={"name": name}, train=train, batches=12, epochs=3)
    before = {name: p.detach().clone() for name, p in run.learner.named_parameters()}
    losses = [torch.stack(list(run.epoch(epoch))).mean().item() for epoch in (1, 2, 3)]
    assert np.isfinite(losses).all()
    assert losses[1] < losses[0]
    changed = [n for n, p in run.learner.named_parameters() if not torch.equal(p, before[n])]
    assert any(n.startswith("backbone") for n in changed)
    # The same epoch again from the same state gives the same steps.
    again = training(data, learner={"name": name}, train=train, batches=12, epochs=3)
    first = torch.stack(list(again.epoch(1))).mean().item()
    assert first == losses[0]


def test_label_smoothing_of_ragged_episodes_is_that_of_episodes_of_one_shape():
    """On tasks of one shape both batches hold the same images and give the same loss."""
    data = writer_benchmark()
    exact = {"way": 3, "shot": 1, "query": 1, "tasks_per_batch": 2}
    learner = {"name": "ridge", "label_smoothing": 0.1}
    run = training(data, learner=learner, train=exact, batches=1)
    (batch,) = batches(run, 1)
    assert isinstance(batch, EpisodeBatch)
    rows = torch.arange(6).view(2, 3)
    group = EpisodeGroup(rows[:, :, None], rows, torch.arange(3).expand(2, 3))
    images = batch.support.flatten(0, 2), batch.query.flatten(0, 2)
    ragged = run.learner.training_loss(RaggedEpisodes(*images, (group,)))
    assert ragged.item() == pytest.approx(run.learner.training_loss(batch).item(), rel=1e-5)


def as_they_are(run, indices):
    """Images without augmentation."""
    return run._images.normalised(run._images.unit(indices))


def drawn_and_ready(run):
    """Each step's episodes as indices, with the batch that is made of them."""
    return zip(run._draws.epoch(1), batches(run, 1), strict=True)


@pytest.mark.parametrize("augment_support", [False, True])
def test_support_images_are_augmented_only_where_they_are_to_be(augment_support):
    data = benchmark()
    train = {"way": 3, "shot": 2, "query": 2, "augment_support": augment_support}
    run = training(data, train=train, batches=3, augment="crop-jitter-flip")
    for episodes, batch in drawn_and_ready(run):
        assert torch.equal(batch.support, as_they_are(run, episodes.support)) != augment_support
        changed = batch.query != as_they_are(run, episodes.query)
        assert changed.flatten(3).any(dim=3).all()  # every query image


RANDOM_COUNTS = {"way": 3, "shot": 2, "query": 2, "query_counts": "multinomial"}


def test_random_query_counts_reach_the_learner_with_a_plain_support():
    data = benchmark()
    train = {**RANDOM_COUNTS, "tasks_per_batch": 4, "augment_support": False}
    run = training(data, train=train, batches=5, augment="crop-jitter-flip")
    labels, seen = data.train.pool.labels, set()
    for episodes, batch in drawn_and_ready(run):
        assert isinstance(batch, RaggedEpisodes)
        (group,) = batch.groups  # of one way, and of one number of queries in all
        assert torch.equal(batch.support[group.support], as_they_are(run, episodes.support))
        for task in range(4):
            asked = episodes.query[task]
            expected = as_they_are(run, asked[asked >= 0])
            changed = batch.query[group.query[task]] != expected
            assert changed.flatten(1).any(dim=1).all()
            shown = labels[episodes.support[task, :, 0]][group.target[task]]
            assert shown.tolist() == labels[asked[asked >= 0]].tolist()
        counts = [np.bincount(target, minlength=3).tolist() for target in group.target]
        assert [sum(count) for count in counts] == [6] * 4
        assert np.min(counts) >= 1
        seen |= set(map(tuple, counts))
    assert len(seen) > 1


def test_random_query_counts_leave_a_fixed_support_as_it_is():
    data = benchmark()
    train = {**RANDOM_COUNTS, "shot": 1, "fixed_support": True, "tasks_per_batch": 4}
    drawn = list(training(data, train=train, batches=40)._draws.epoch(1))
    support = set(np.concatenate([episodes.support.ravel() for episodes in drawn]))
    assert len(support) == 12  # one example for each of the 12 base classes
    queries = [episodes.query[episodes.query >= 0] for episodes in drawn]
    assert not set(np.concatenate(queries)) & support
    assert {len(asked) for asked in queries} == {4 * 3 * 2}


def test_the_loss_of_random_query_counts_is_the_mean_over_all_queries():
    data = benchmark()
    run = training(data, train={**RANDOM_COUNTS, "tasks_per_batch": 3}, batches=2)
    run.learner.eval()  # in training the batch norm would tell queries about each other
    for batch in batches(run, 1):
        (group,) = batch.groups
        with torch.no_grad():
            losses = []
            for task in range(3):
                support = run.learner.embed(batch.support[group.support[task]].flatten(0, 1))
                for row, target in zip(group.query[task], group.target[task], strict=True):
                    query = run.learner.embed(batch.query[row, None])
                    logits = run.learner.head(support.view(1, 3, 2, -1), query[None])[0, 0]
                    losses.append(torch.logsumexp(logits, 0) - logits[target])
            assert len(losses) == 3 * 6
            loss = run.learner.training_loss(batch)
            assert loss.item() == pytest.approx(torch.stack(losses).mean().item(), rel=1e-5)
    assert np.isfinite([loss.item() for loss in run.epoch(1)]).all()
