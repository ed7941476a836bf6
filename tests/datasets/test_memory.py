"""Preparing and opening a data set several times larger than the memory that it may take.

Writable private memory is what counts: pages of the memory map belong to the page cache, which the
system takes back when it needs to.
"""

import subprocess
import sys

import numpy as np
import pytest
from pools import encoded, write_zip

BOUND = 56 * 2**20

# Reads and writes are as a user's: `inventory.prepare`, then tasks with their images.
CODE = """
import re, resource, sys
from pathlib import Path
import numpy as np
from fsl_sweep.datasets.tasks.episodes import EpisodeShape
from fsl_sweep.datasets.preparing.inventory import check, prepare
from fsl_sweep.datasets.preparing.opening import open_benchmark

name, options = "image-folder", {"image_size": 128}
bound, root, home, small = int(sys.argv[1]), *map(Path, sys.argv[2:])
prepare(name, small, options, home)  # imports what decoding needs
taken = int(re.search(r"VmData:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1]) * 1024
resource.setrlimit(resource.RLIMIT_DATA, (taken + bound, taken + bound))
store, _ = prepare(name, root, options, home)
benchmark = open_benchmark(name, options, root, home)
assert min(benchmark.pixel_std) > 0
drawn = benchmark.novel.sample(50, EpisodeShape(2, 1, 5), np.random.default_rng(0))
for task in drawn.support.reshape(50, -1):
    assert benchmark.novel.pool.images[task].any()
check(name, options, root, home)
print(store.bytes)
"""


@pytest.mark.slow
def test_memory_stays_under_a_bound_that_the_data_set_exceeds(tmp_path):
    pixels = np.random.default_rng(0).integers(0, 256, (84, 84, 3), dtype=np.uint8)
    image = encoded(pixels, "JPEG")  # under many names: it is decoded anew each time
    large, small = (
        write_zip(tmp_path / f"{count}.zip", {f"c{n % 10}/{n}.jpg": image for n in range(count)})
        for count in (3000, 100)
    )
    command = [sys.executable, "-c", CODE, str(BOUND), large, tmp_path / "home", small]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 2.5 * BOUND
