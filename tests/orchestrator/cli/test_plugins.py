import subprocess
import sys


def test_listing_what_can_be_named_takes_no_torch():
    program = (
        "import sys\n"
        "sys.modules['torch'] = sys.modules['ray'] = None\n"
        "from fsl_sweep.orchestrator.cli import invoke\n"
        "sys.exit(invoke(['plugins']))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    for name in ("protonet", "conv4", "torchvision:<model>", "glyphs", "cv-epoch"):
        assert name in done.stdout
