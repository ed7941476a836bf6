"""A distribution with entry points, as pip would install it."""

from pathlib import Path


def distribution(folder: Path, name: str, version: str, entry_points: str) -> None:
    """Write what an installed distribution says of itself into a folder of the import path."""
    metadata = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    metadata.mkdir(parents=True)
    head = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    (metadata / "METADATA").write_text(head)
    (metadata / "entry_points.txt").write_text(entry_points)
