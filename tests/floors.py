"""Compares the picture of the floors in docs/architecture.md with the contracts of the imports."""

import re
import sys
import tomllib

from places import ROOT


def drawn(page: str) -> list[set[str]]:
    """Return the rooms of each floor of the picture, from the top."""
    picture = page.split("```text\n", 1)[1].split("```", 1)[0]
    lines = [line for line in picture.splitlines() if line.strip(" |")]
    return [set(re.findall(r"[a-z]+", re.split(r" {6,}", line.strip())[0])) for line in lines]


def enforced(pyproject: str) -> list[set[str]]:
    """Return the same of the contracts: the orchestrator's floors, and those below its rooms."""
    contracts = tomllib.loads(pyproject)["tool"]["importlinter"]["contracts"]
    layers = {contract["name"].split(":")[0]: contract.get("layers") for contract in contracts}
    floors = [set(layer.split(" | ")) for layer in layers["Floors of the orchestrator"]]
    below = layers["Learners and datasets lie below the orchestrator's rooms"]
    names = [layer.rpartition(".")[2] for layer in below]
    between = [{name} for name in names if {name} not in floors]
    at = floors.index({"records"}) + 1
    return [*floors[:at], *between, *floors[at:]]


if __name__ == "__main__":
    page, rules = (ROOT / name for name in ("docs/architecture.md", "pyproject.toml"))
    picture, contracts = drawn(page.read_text()), enforced(rules.read_text())
    if picture != contracts:
        sys.exit(f"docs/architecture.md draws {picture}, but pyproject.toml says {contracts}")
