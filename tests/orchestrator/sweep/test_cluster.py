"""A sweep that joins a cluster of two nodes, one of which is killed."""

import json
import subprocess
import sys

import pytest
from places import HELPERS

SCRIPT = """
import json, os, sys, time
from pathlib import Path

os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"  # every port on loopback
from ray.cluster_utils import Cluster

sys.path[:0] = {helpers!r}
from made import planned
from test_sweep import GLYPHS, Listener, content, spec, sweep, without_ray
from fsl_sweep.datasets.preparing.opening import open_benchmark

head = {{"num_cpus": 1, "include_dashboard": False}}
cluster = Cluster(initialize_head=True, head_node_args=head)
second = cluster.add_node(num_cpus=1)
killed, running = [], set()


class Watch(Listener):
    def measured(self, trial, record):
        super().measured(trial, record)
        running.add(trial)
        # Two trials under way means that each node has one: the second node's is in flight.
        if len(running) == 2 and not killed:
            killed.append(trial)
            cluster.remove_node(second, allow_graceful=False)

    def ended(self, trial, end):
        super().ended(trial, end)
        running.discard(trial)


data = open_benchmark("glyphs", {{k: v for k, v in GLYPHS.items() if k != "name"}}, None)
specs = [spec(seed=seed, epochs=30) for seed in range(4)]
folder, listener = Path(sys.argv[1]), Watch()
ledger = sweep(folder / "cluster", specs, data, listener, retries=2, address=cluster.address)
cluster.shutdown()
alone = without_ray(folder / "alone", specs, data, 1)
same = all(content(ledger, s) == content(alone, s) for s in specs)
retried = len(listener.of("failed once"))
print(json.dumps({{"same": same, "killed": len(killed), "retried": retried}}))
"""


@pytest.mark.slow
@pytest.mark.xdist_group("ray")
def test_trials_of_a_dead_node_go_on_elsewhere_with_the_same_numbers(tmp_path):
    script = SCRIPT.format(helpers=[str(HELPERS), str(HELPERS / "sweep")])
    done = subprocess.run(
        [sys.executable, "-c", script, tmp_path], capture_output=True, text=True, timeout=400
    )
    assert done.returncode == 0, done.stderr[-3000:]
    result = json.loads(done.stdout.splitlines()[-1])
    assert result["same"]
    assert result["killed"] == 1
    assert result["retried"] >= 1
    assert "warning: joining 127.0.0.1" not in done.stderr  # loopback needs no token
