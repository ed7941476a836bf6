"""A sweep that joins a cluster, and loses the node that its trial runs on, or its run folder."""

import json
import subprocess
import sys

import pytest
from places import HELPERS

SCRIPT = """
import json, os, sys
from pathlib import Path

os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"  # every port on loopback
from ray.cluster_utils import Cluster

sys.path[:0] = {helpers!r}
from fsl_sweep.orchestrator.errors import MachineFailure
from fsl_sweep.orchestrator.ledger.ledger import Ledger
from fsl_sweep.orchestrator.sweep.process import RayProcess
from test_sweep import OPTIONS, Listener, job_of, recorded, spec, without_ray
from fsl_sweep.datasets.preparing.opening import open_benchmark

# A dead node is noticed within a second; the default is half a minute.
config = {{"health_check_period_ms": 200, "health_check_failure_threshold": 3}}
config["prestart_worker_first_driver"] = False  # nothing would run on these workers
head = {{"num_cpus": 1, "include_dashboard": False, "_system_config": config}}
cluster = Cluster(initialize_head=True, head_node_args=head)
only = cluster.add_node(num_cpus=2)  # the only one that a trial of two cores fits on
killed = []


def kill_once(trial, record):
    if record.epoch == 2 and not killed:
        killed.append(trial)
        cluster.remove_node(only, allow_graceful=False)
        cluster.add_node(num_cpus=2)


data = open_benchmark("glyphs", OPTIONS, None)
trial, folder, listener = spec(epochs=4), Path(sys.argv[1]), Listener(kill_once)
ledger = Ledger(folder / "cluster")
ledger.path.mkdir()
with RayProcess(cluster.address, 1) as ray:
    ray.run(job_of(ledger.path, [trial], data, 2, 1), [listener])
    # Moved away while its worker writes: nothing is written where it was.
    gone, moved = folder / "gone", folder / "moved"
    gone.mkdir()
    longer, away = spec(epochs=500), Listener(lambda *_: gone.exists() and gone.rename(moved))
    try:
        ray.run(job_of(gone, [longer], data, 2, 1), [away])
    except MachineFailure as failure:
        message = str(failure)
assert message.startswith(f"The run folder {{gone}} is gone"), message
assert moved.exists() and not gone.exists()
cluster.shutdown()
other = without_ray(folder / "other", [trial], data, 2)
same = recorded(ledger, trial, data) == recorded(other, trial, data)
measured = [record.epoch for _, record in listener.of("measured")]
print(json.dumps([same, len(killed), len(listener.of("failed_once")), measured]))
"""


@pytest.mark.slow
@pytest.mark.xdist_group("ray")
def test_trials_of_a_dead_node_go_on_elsewhere_with_the_same_numbers(tmp_path):
    script = SCRIPT.format(helpers=[str(HELPERS), str(HELPERS / "sweep")])
    command = [sys.executable, "-c", script, tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, timeout=400)
    assert done.returncode == 0, done.stderr[-3000:]
    assert json.loads(done.stdout.splitlines()[-1]) == [True, 1, 1, [1, 2, 3, 4]]
    assert "warning: joining 127.0.0.1" not in done.stderr  # loopback needs no token
