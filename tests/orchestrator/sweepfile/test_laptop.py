"""The `laptop` section: how it is merged, and where its mistakes are said to be."""

import pytest
import yaml
from planning_of import SMALL, changed, mistake

from fsl_sweep.orchestrator.planning.plan_sweep import plan_sweep
from fsl_sweep.orchestrator.sweepfile.laptop import merged
from fsl_sweep.orchestrator.sweepfile.reading import load_sweep
from fsl_sweep.orchestrator.sweepfile.text import noted

SGD = "{name: sgd, lr: 0.1}"
BELOW = "name: mnist, seed: 1"


@pytest.mark.parametrize(
    ("shared", "overrides", "result"),
    [
        ("{a: 1, b: {c: 2, d: {e: 3}}}", "{b: {d: {f: 4}}}", "{a: 1, b: {c: 2, d: {e: 3, f: 4}}}"),
        ("{a: [1, 2]}", "{a: [3], b: {c: 5}}", "{a: [3], b: {c: 5}}"),
        ("{a: 1, b: {c: 2, d: 3}}", "{a: null, b: {c: null}, z: null}", "{b: {d: 3}}"),
        # Two schedules would make a third, and a benchmark's options are its own.
        ("{m: {schedule: {5: 0.1, 9: 0.2}}}", "{m: {schedule: {2: 1}}}", "{m: {schedule: {2: 1}}}"),
        (
            "{benchmark: {name: x, a: 1}}",
            "{benchmark: {name: x, b: 2}}",
            "{benchmark: {name: x, b: 2}}",
        ),
        # Another part, and axes in place of a section.
        (f"{{o: {SGD}}}", "{o: {lr: 0.2}}", "{o: {name: sgd, lr: 0.2}}"),
        (f"{{o: {SGD}}}", "{o: {name: adam}}", "{o: {name: adam}}"),
        ("{t: {grid: [{w: 1}]}}", "{t: {w: 5}}", "{t: {w: 5}}"),
        ("{t: {w: 5, s: 1}}", "{t: {grid: [{w: 1}]}}", "{t: {grid: [{w: 1}]}}"),
        ("{t: {w: {grid: [1, 2]}, s: 1}}", "{t: {w: 5}}", "{t: {w: 5, s: 1}}"),
        ("{a: 1}", "{a: {b: 1}}", "{a: {b: 1}}"),
    ],
)
def test_overrides_are_merged_at_every_depth(shared, overrides, result):
    shared, overrides, result = map(yaml.safe_load, (shared, overrides, result))
    before = yaml.safe_dump([shared, overrides])
    assert merged(shared, overrides) == result
    assert yaml.safe_dump([shared, overrides]) == before


def with_laptop(section, *changes):
    return changed(SMALL, f"laptop={section}", *changes)


def small(section, *changes, overrides=()):
    return load_sweep(with_laptop(section, *changes), overrides).laptop()


def planned(section, *changes, overrides=()):
    return plan_sweep(small(section, *changes, overrides=overrides))


def test_the_variant_is_a_sweep_of_its_own_and_leaves_the_file_as_it_is():
    section = "{seeds: [4, 5], defaults: {epochs: 1}, methods: {M: {train: {way: 2}}}}"
    plain, full = plan_sweep(load_sweep(SMALL_TREE)), load_sweep(with_laptop(section))
    assert plan_sweep(full) == plain  # the section is no part of the sweep's digest
    plan = plan_sweep(full.laptop())
    assert (plan.name, plan.stands_in) == ("tiny-laptop", "smaller than tiny")
    assert [trial.spec.seed for trial in plan.trials] == [4, 5]
    spec = plan.trials[0].spec
    assert (spec.epochs, spec.batches, spec.train.way, spec.train.query) == (1, 2, 2, 2)
    omniglot = planned(section, "benchmark={name: omniglot, image_size: 20}")
    assert omniglot.stands_in == "smaller than tiny"
    other = "{benchmark: {name: glyphs, seed: 1}}"
    glyphs = planned(other, "benchmark={name: omniglot, image_size: 20}")
    assert glyphs.title == "tiny-laptop (glyphs stands in for omniglot)"
    assert glyphs.trials[0].spec.benchmark.options["image_size"] == 28


SMALL_TREE = yaml.safe_load(SMALL)


def test_overrides_change_the_variant_after_its_section():
    section = "{defaults: {epochs: 1, batches: 1}}"
    overrides = ["defaults.epochs=3", "laptop.seeds=[8]", "name=mine"]
    plan = planned(section, overrides=overrides)
    spec = plan.trials[0].spec
    assert (plan.name, spec.epochs, spec.batches, spec.seed) == ("mine-laptop", 3, 1, 8)
    assert planned("null", overrides=["laptop={seeds: [9]}"]).trials[0].spec.seed == 9


def test_the_copy_of_a_variant_says_which_it_was(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = small("{seeds: [1]}", overrides=["retries=0"]).text
    assert text.endswith("\n# --laptop\n# --set retries=0\n")
    (tmp_path / "s.yaml").write_text(text)
    again = load_sweep("s.yaml", ["retries=0"])
    assert again.laptop().text == text
    assert noted(text, []) == text


@pytest.mark.parametrize(
    ("section", "changes", "message"),
    [
        ("5", [], "laptop: must be a mapping such as {benchmark: {name: glyphs}"),
        ("{name: x}", [], "laptop.name: the variant has a name of its own; leave it out"),
        ("{laptop: {}}", [], "laptop.laptop: the variant has a name of its own; leave it out"),
        ("{methods: {N: {}}}", [], "laptop.methods.N: the file has no method 'N'; "),
        (
            "{benchmrk: {}}",
            [],
            "laptop.benchmrk: unknown key 'benchmrk'; did you mean 'benchmark'?",
        ),
        ("{seeds: 3}", [], "laptop.seeds: is a list: for 3 seeds write [0, 1, 2]"),
        ("{episode: {way: x}}", [], "laptop.episode.way: "),
        ("{seeds: [1]}", ["episode.way=x"], "episode.way: "),
        # What only planning finds: in the section, in the defaults, in what neither holds.
        ("{benchmark: {name: glyph}}", [], "laptop.benchmark.name: unknown benchmark 'glyph'"),
        ("{benchmark: {name: glyphs, x: 1}}", [], "laptop.benchmark.x: unknown key 'x'"),
        ("{defaults: {epochs: 0}}", [], "laptop.defaults.epochs: "),
        ("{methods: {M: {train: {ways: 3}}}}", [], "laptop.methods.M.train.ways: unknown key"),
        ("{methods: {M: {epochs: 1}}}", ["M.learner.scal=3"], "methods.M.learner.scal: unknown"),
        ("{methods: {M: {epochs: 1}}}", ["defaults.optimizer={}"], "methods.M.optimizer.lr: "),
        ("{defaults: {optimizer: {lr: 0}}}", [], "laptop.defaults.optimizer.lr: "),
        ("{methods: {M: {train: {way: {grid: [1, x]}}}}}", [], "laptop.methods.M.train.way: "),
        ("{defaults: {schedule: {9: 0.1, 2: x}}}", [], "laptop.defaults.schedule.2: "),
    ],
)
def test_a_mistake_in_the_section_is_placed_there(section, changes, message):
    said = mistake(planned, section, *changes)
    assert said.startswith(message), said


def test_an_overridden_mistake_is_the_overrides():
    said = mistake(planned, "{defaults: {epochs: 1}}", overrides=["defaults.epochs=0"])
    assert said.startswith("--set: defaults.epochs: ")
