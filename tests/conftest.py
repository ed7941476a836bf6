import sys
from pathlib import Path

# Test modules share helpers (`made`): their folders are importable, without becoming packages.
for folder in ("orchestrator",):
    sys.path.insert(0, str(Path(__file__).parent / folder))
