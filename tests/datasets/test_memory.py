"""Preparing and opening a data set several times larger than the memory that it may take.

Resident anonymous memory is what counts: pages of the memory map belong to the page cache, which
the system takes back when it needs to.
"""

import io
import subprocess
import sys
import zipfile

import numpy as np
import pytest
from PIL import Image

MEGABYTE = 2**20
BOUND = 40 * MEGABYTE

# Reads and writes are as a user's: `inventory.prepare`, then tasks with their images.
CODE = """
import sys, threading, time
from pathlib import Path
import numpy as np
from fsl_sweep.datasets.tasks.episodes import EpisodeShape
from fsl_sweep.datasets.preparing.inventory import check, prepare
from fsl_sweep.datasets.preparing.opening import open_benchmark

def resident():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("RssAnon"))

name, options = "image-folder", {"image_size": 128}
root, home, small = map(Path, sys.argv[1:])
prepare(name, small, options, home)  # imports what decoding needs
before, samples, done = resident(), [], threading.Event()

def watch():
    while not done.is_set():
        samples.append(resident())
        time.sleep(0.002)

watcher = threading.Thread(target=watch)
watcher.start()
store = prepare(name, root, options, home).store
benchmark = open_benchmark(name, options, root, home)
assert min(benchmark.pixel_std) > 0
drawn = benchmark.novel.sample(50, EpisodeShape(2, 1, 5), np.random.default_rng(0))
for task in drawn.support.reshape(50, -1):
    assert benchmark.novel.pool.images[task].any()
check(name, options, root, home)
done.set()
watcher.join()
print(store.bytes, max(samples) - before, len(samples))
"""


def image_zip(path, images, classes=10):
    """A stored zip, one random JPEG under many names: it is decoded anew each time."""
    stream = io.BytesIO()
    pixels = np.random.default_rng(0).integers(0, 256, (84, 84, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(stream, "JPEG", quality=30)
    with zipfile.ZipFile(path, "w") as archive:
        for number in range(images):
            archive.writestr(f"c{number % classes}/{number}.jpg", stream.getvalue())
    return path


@pytest.mark.slow
def test_memory_stays_under_a_bound_that_the_data_set_exceeds(tmp_path):
    sources = [image_zip(tmp_path / f"{count}.zip", count) for count in (3000, 100)]
    done = subprocess.run(
        [sys.executable, "-c", CODE, sources[0], tmp_path / "home", sources[1]],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    stored, most, samples = map(int, done.stdout.split())
    assert samples > 50
    assert stored > 3.5 * BOUND
    assert most < BOUND
