"""Where things are, for the tests."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
REAL_DATA = ROOT.parent / "shared" / "data"
"""Real data sets, beside the project's folder; tests that need them are skipped elsewhere."""

HELPERS = ROOT / "tests" / "orchestrator"
"""The folder of ``made`` and the other helpers, for processes that tests start."""
