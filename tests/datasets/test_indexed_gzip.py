import gzip
import io
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from fsl_sweep.datasets import indexed_gzip
from fsl_sweep.datasets.indexed_gzip import IndexedGzip
from fsl_sweep.orchestrator.errors import BadData

HERE = Path("made.gz")


def content(size, seed=0):
    """Bytes that compress to about half."""
    return np.random.default_rng(seed).integers(0, 16, size, dtype=np.uint8).tobytes()


def opened(compressed, most_bytes=2**40):
    return IndexedGzip(HERE, io.BytesIO(compressed), most_bytes)


@pytest.fixture
def often(monkeypatch):
    """Copies of the decompressor are taken so often that they have to be dropped as well."""
    monkeypatch.setattr(indexed_gzip, "_SPACING", 10_000)
    monkeypatch.setattr(indexed_gzip, "_OUTPUT", 3_000)
    monkeypatch.setattr(indexed_gzip, "_INPUT", 1_000)
    monkeypatch.setattr(indexed_gzip, "_MOST_POINTS", 7)


@pytest.mark.parametrize("joined", [1, 3])
def test_any_place_in_any_order(often, joined):
    parts = [content(70_000, seed) for seed in range(joined)]
    whole = b"".join(parts)
    file = opened(b"".join(map(gzip.compress, parts)) + bytes(2_500))
    rng = np.random.default_rng(1)
    for start in (0, len(whole), *rng.integers(0, len(whole) + 50, 200).tolist(), 0):
        size = int(rng.integers(0, 9_000))
        assert file.seek(start) == start
        assert file.read(size) == whole[start : start + size]
        assert file.tell() == start + len(whole[start : start + size])
    assert len(file._points) <= 7
    file.seek(0)
    assert file.read(10**9) == whole


def test_what_python_decompresses(often):
    whole = bytes(500_000) + content(20_000) + bytes(1_000_000)
    file = opened(gzip.compress(whole))
    assert file.read(10**9) == whole
    assert file.read(1) == b""
    file.seek(510_000)
    assert file.read(20_000) == whole[510_000:530_000]


def test_nothing_but_a_header():
    assert opened(gzip.compress(b"")).read(5) == b""


def test_a_far_read_is_resumed_near_by(often):
    compressed = gzip.compress(content(200_000))
    source = io.BytesIO(compressed)
    file = IndexedGzip(HERE, source, 2**40)
    file.read(200_000)
    taken = []
    plain = source.read

    def read(size):
        taken.append(size)
        return plain(size)

    source.read = read
    file.seek(150_000)
    file.read(10)
    assert sum(taken) < len(compressed) / 2


@pytest.mark.parametrize("place", [40, 5_000, -6])
def test_damage_is_noticed(place):
    compressed = bytearray(gzip.compress(content(50_000)))
    compressed[place] ^= 0x55
    with pytest.raises(BadData, match=r"made\.gz cannot be decompressed"):
        opened(bytes(compressed)).read(10**9)


def test_a_file_that_breaks_off_is_noticed():
    with pytest.raises(BadData, match=r"made\.gz cannot be decompressed \(it breaks off\)"):
        opened(gzip.compress(content(50_000))[:-5]).read(10**9)


def test_what_follows_the_content_is_no_padding():
    with pytest.raises(BadData, match="cannot be decompressed"):
        opened(gzip.compress(b"content") + b"more").read(10**9)


def test_a_bomb_is_refused_before_it_fills_the_memory():
    file = opened(gzip.compress(bytes(100_000_000), 1), 50_000_000)
    file.seek(60_000_000)
    tracemalloc.start()
    with pytest.raises(BadData, match="would expand to more than 50000000 bytes and is refused"):
        file.read(1)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 5_000_000
