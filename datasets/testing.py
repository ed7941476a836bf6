"""What every benchmark must do: a conformance suite for third parties' benchmarks, and for ours.

Subclass it in a test module, name the benchmark and make a small source for it::

    class TestMine(BenchmarkContract):
        benchmark = MyBenchmark
        options = {"image_size": 16}

        def root(self, tmp_path):
            ...write the files in their official layout under tmp_path...
            return tmp_path
"""

import json
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from pydantic import ValidationError

from fsl_sweep.datasets.benchmark import MEASURED, SPLITS, Benchmark, common_tasks
from fsl_sweep.datasets.preparing.opening import find_store, prepare_store
from fsl_sweep.datasets.source import AbstractBenchmark
from fsl_sweep.datasets.store.reading import Store, datasets_folder
from fsl_sweep.datasets.tasks.classes import ClassTasks, TaskDistribution, most_tasks
from fsl_sweep.datasets.tasks.episodes import Episodes, EpisodeShape
from fsl_sweep.orchestrator.errors import MissingData, UserError

_TASKS = 40


@dataclass(frozen=True)
class _Prepared:
    """A source, what it was prepared to, and the calls that reported the progress."""

    root: Path | None
    home: Path
    store: Store
    benchmark: Benchmark
    source_before: list[tuple[str, int, int]]
    progress: list[tuple[int, int | None]]


class BenchmarkContract:
    """Subclass it, set ``benchmark`` and write ``root``; pytest runs the rest.

    The source is prepared once for most tests together, and a few times more for those of
    preparation itself; a few images a class keep that quick.

    Attributes:
        benchmark: the class to test.
        options: its options; those left out have their defaults.
        episode: the shape of the episodes that every split must fill.
        official: whether the source has the official classes, so that the counts of ``expected``
            must be met. Set it to False for a smaller source.
        fresh_base: whether no example of ``train`` is in ``base``. Set it to False for a protocol
            that shares examples; the benchmark must then have a caution.
    """

    benchmark: ClassVar[type[AbstractBenchmark[Any]]]
    options: ClassVar[Mapping[str, Any]] = {}
    episode: ClassVar[EpisodeShape] = EpisodeShape(2, 1, 1)
    official: ClassVar[bool] = True
    fresh_base: ClassVar[bool] = True
    _shared: ClassVar[_Prepared | None] = None

    def root(self, tmp_path: Path) -> Path | None:  # noqa: ARG002 (an interface)
        """Return the source: files written under ``tmp_path``, or real ones; None if embedded.

        The same files each time, for any ``tmp_path``. Skip the test if real ones are absent.
        """
        if self.benchmark.download is None:
            return None
        raise NotImplementedError("write a small source under tmp_path and return its path")

    def kinds(self, distribution: TaskDistribution) -> set[Hashable]:
        """Return what base, val and novel may not share: their classes' names.

        A benchmark whose splits share classes but not writers, say, gives the writers.
        """
        return {distribution.pool.class_names[label] for label in distribution.classes}

    @pytest.fixture
    def prepared(self, tmp_path_factory: Any) -> _Prepared:
        """Return the source, prepared once for all tests of a class."""
        return self._prepared(tmp_path_factory)

    def test_is_declared_in_full(self) -> None:
        source = self.benchmark()
        assert source.name == source.name.strip().lower() != ""
        assert source.version >= 1
        assert source.download is None or source.download.strip()

    def test_options_are_frozen_described_and_read_back(self) -> None:
        """Check that each has a description, and that JSON keeps them, as a trial's does."""
        model = self.benchmark.Options
        assert model.model_config.get("frozen")
        for name, field in model.model_fields.items():
            assert field.description, f"option '{name}' has no description"
            assert not field.is_required(), f"option '{name}' has no default"
        chosen = self._options()
        assert model.model_validate_json(chosen.model_dump_json()) == chosen
        prepared_by = self.benchmark().pool_options(chosen)
        assert json.loads(json.dumps(prepared_by)) == prepared_by

    def test_an_unknown_option_is_refused(self) -> None:
        options = {**self.options, "no_such_option": 1}
        _mistake(ValidationError, lambda: self.benchmark.Options.model_validate(options))

    def test_base_val_and_novel_share_nothing(self, prepared: _Prepared) -> None:
        benchmark = prepared.benchmark
        kinds = {split: self.kinds(benchmark.distribution(split)) for split in MEASURED}
        for split in MEASURED:
            assert kinds[split], f"{split} is empty"
        for first, second in combinations(MEASURED, 2):
            both = kinds[first] & kinds[second]
            assert not both, f"{first} and {second} share {sorted(map(str, both))[:5]}"

    def test_no_training_example_is_in_base(self, prepared: _Prepared) -> None:
        """Check that BaseGen has fresh examples; in pools of their own, other images."""
        benchmark = prepared.benchmark
        assert benchmark.fresh_base is self.fresh_base
        train, base = benchmark.train, benchmark.base
        if not self.fresh_base:
            assert benchmark.cautions, "BaseGen is measured on training examples, without a caution"
        elif train.pool.fingerprint == base.pool.fingerprint:
            assert not np.intersect1d(train.examples, base.examples).size
        else:
            assert not {*train.image_digests()} & {*base.image_digests()}

    def test_counts_are_the_expected_ones(self, prepared: _Prepared) -> None:
        expected = self.benchmark().expected(self._options())
        assert set(expected) <= set(MEASURED)
        if self.official:
            sizes = {split: prepared.benchmark.distribution(split).size for split in expected}
            assert sizes == dict(expected)

    def test_it_says_what_its_tasks_are_made_of(self, prepared: _Prepared) -> None:
        assert self.benchmark().unit(self._options()) == prepared.benchmark.novel.unit

    def test_every_split_fills_well_formed_episodes(self, prepared: _Prepared) -> None:
        benchmark = prepared.benchmark
        for split in SPLITS:
            distribution = benchmark.distribution(split)
            labels = np.unique(distribution.pool.labels[distribution.examples])
            assert np.isin(distribution.classes, labels).all()
            drawn = distribution.sample(_TASKS, self.episode, np.random.default_rng(0))
            _check_episodes(distribution, drawn)

    def test_common_tasks_are_the_same_each_time(self, prepared: _Prepared) -> None:
        again = self._open(prepared.root, prepared.home)
        for split in MEASURED:
            most = most_tasks(again.distribution(split), self.episode)
            tasks = _TASKS if most is None else min(_TASKS, most)
            first, second = (
                common_tasks(b, split, "selection", tasks, self.episode, 0)
                for b in (prepared.benchmark, again)
            )
            assert _equal(first, second)
            reported = common_tasks(again, split, "report", tasks, self.episode, 0)
            reseeded = common_tasks(again, split, "selection", tasks, self.episode, 1)
            assert not _equal(first, reported)
            assert not _equal(first, reseeded)

    def test_pools_have_images_and_their_statistics_are_finite(self, prepared: _Prepared) -> None:
        assert all(len(pool) for pool in prepared.store.pools().values())
        mean, std = np.array(prepared.benchmark.pixel_mean), np.array(prepared.benchmark.pixel_std)
        assert np.isfinite(mean).all()
        assert (std > 0).all()
        assert len(mean) == len(std) == prepared.benchmark.image_shape[0]

    def test_the_fingerprint_is_of_the_content_alone(
        self, prepared: _Prepared, tmp_path_factory: Any
    ) -> None:
        root = self.root(tmp_path_factory.mktemp("elsewhere"))
        again = self._open(root, tmp_path_factory.mktemp("home"))
        assert again.fingerprint == prepared.benchmark.fingerprint

    def test_what_is_prepared_needs_no_source(self, prepared: _Prepared) -> None:
        sheet = prepared.store.path / "sheet.json"
        before = sheet.stat().st_mtime_ns
        assert self._open(None, prepared.home).fingerprint == prepared.benchmark.fingerprint
        self._prepare(prepared.root, prepared.home)
        assert sheet.stat().st_mtime_ns == before

    def test_missing_files_are_named_with_what_to_do(self, tmp_path: Path) -> None:
        source, options = self.benchmark(), self._options()
        if source.download is None:
            return
        command = f"fsl-sweep data prepare {source.name} --from"
        message = _mistake(MissingData, lambda: find_store(source, options, None, tmp_path))
        assert command in message
        assert str(datasets_folder(tmp_path)) in message
        gone, empty = tmp_path / "gone", tmp_path / "empty"
        message = _mistake(MissingData, lambda: self._prepare(gone, tmp_path))
        assert command in message
        assert str(gone) in message
        empty.mkdir()
        assert str(empty) in _mistake(UserError, lambda: self._prepare(empty, tmp_path))
        assert _left(tmp_path) == []

    def test_an_interrupted_preparation_counts_for_nothing(
        self, prepared: _Prepared, tmp_path_factory: Any
    ) -> None:
        home = tmp_path_factory.mktemp("interrupted")

        def interrupt(*_: object) -> None:
            raise KeyboardInterrupt

        _mistake(KeyboardInterrupt, lambda: self._prepare(prepared.root, home, interrupt))
        assert _left(home) == []

    def test_preparing_reports_its_progress(self, prepared: _Prepared) -> None:
        """Check that images done never fall, and reach the total; the source stays untouched."""
        done = [images for images, _ in prepared.progress]
        assert done == sorted(done)
        assert prepared.progress[-1][0] == prepared.store.images
        assert prepared.progress[-1][1] in (None, prepared.store.images)
        assert _files(prepared.root) == prepared.source_before

    def _options(self) -> Any:
        return self.benchmark.Options.model_validate(dict(self.options))

    def _prepare(self, root: Path | None, home: Path, progress: Any = None) -> Store:
        quiet = progress or (lambda *_: None)
        return prepare_store(self.benchmark(), self._options(), root, home, quiet)

    def _open(self, root: Path | None, home: Path) -> Benchmark:
        """Open as a sweep does, without the catalogue: a third party's has no entry point yet."""
        source, options = self.benchmark(), self._options()
        store = find_store(source, options, root, home) or self._prepare(root, home)
        return source.assemble(options, store.pools())

    def _prepared(self, tmp_path_factory: Any) -> _Prepared:
        """Prepare the source once for all tests of a class."""
        cls = type(self)
        if cls._shared is None:
            root = self.root(tmp_path_factory.mktemp("source"))
            home = tmp_path_factory.mktemp("home")
            files, reports = _files(root), []
            store = self._prepare(root, home, lambda *done: reports.append(done))
            benchmark = self.benchmark().assemble(self._options(), store.pools())
            cls._shared = _Prepared(root, home, store, benchmark, files, reports)
        return cls._shared


def _check_episodes(distribution: TaskDistribution, drawn: Episodes) -> None:
    there, queried = drawn.classes[:, :, None] >= 0, drawn.query >= 0
    assert ((drawn.support >= 0) == there).all(), "a class has a part of its support"
    assert not (queried & ~there).any(), "padding has queries"
    assert queried.any(axis=(1, 2)).all(), "a task has no queries"
    for number in range(len(drawn.support)):
        support, query = drawn.support[number], drawn.query[number]
        used = np.concatenate([support[support >= 0], query[query >= 0]])
        assert len(np.unique(used)) == len(used), "an example is in a task twice"
        assert np.isin(used, distribution.examples).all()
    if isinstance(distribution, ClassTasks):
        labels = distribution.pool.labels
        for part in (drawn.support, drawn.query):
            assert (labels[part] == drawn.classes[:, :, None]).all()


def _equal(first: Episodes, second: Episodes) -> bool:
    pairs = (first.support, second.support), (first.query, second.query)
    return all(np.array_equal(*pair) for pair in pairs)


def _mistake(kind: type[BaseException], action: Any) -> str:
    with pytest.raises(kind) as caught:
        action()
    return str(caught.value)


def _left(home: Path) -> list[Path]:
    """List what counts as prepared, or could be mistaken for it."""
    return [p for p in datasets_folder(home).glob("*") if not p.name.startswith(".")]


def _files(root: Path | None) -> list[tuple[str, int, int]]:
    if root is None:
        return []
    paths = [root, *sorted(root.rglob("*"))]
    return [(str(p), p.stat().st_size, p.stat().st_mtime_ns) for p in paths]
