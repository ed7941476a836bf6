"""Prepared pools on disk: memory-mapped arrays, a JSON sheet and checksums.

A store is a folder ``HOME/datasets/NAME-KEY`` with a ``sheet.json`` and one ``.npy`` file for
each array of each pool. It appears whole or not at all.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fsl_sweep.datasets.files.digests import array_digest, canonical_digest
from fsl_sweep.datasets.files.local_path import check_local
from fsl_sweep.datasets.pool import ImagePool, pool_fingerprint
from fsl_sweep.orchestrator.errors import BadData, MissingData

FORMAT = 1
SHEET = "sheet.json"
NAMES = ("class_names", "superclasses", "attribute_names")


@dataclass(frozen=True)
class Store:
    """A prepared store: its folder, and its ``sheet.json``, read and checked."""

    path: Path
    sheet: Mapping[str, Any]

    @property
    def origin(self) -> str:
        """Return the path of its source, for messages; empty for an embedded benchmark."""
        return str(self.sheet["source"]["path"])

    @property
    def fingerprint(self) -> str:
        """Digest the content of all its pools; hex."""
        pools = self.sheet["pools"].items()
        return canonical_digest({name: pool["fingerprint"] for name, pool in pools})

    @property
    def images(self) -> int:
        """Count the images that its pools hold."""
        return sum(pool["arrays"]["images"]["shape"][0] for pool in self.sheet["pools"].values())

    @property
    def classes(self) -> int:
        """Count the classes its pools hold images of; they may name more. Raises as `pools`."""
        labels = [self._map(pool["arrays"]["labels"]) for pool in self.sheet["pools"].values()]
        return sum(len(np.unique(of_pool)) for of_pool in labels)

    @property
    def bytes(self) -> int:
        """Sum the sizes of its arrays on disk."""
        pools = self.sheet["pools"].values()
        return sum(array["bytes"] for pool in pools for array in pool["arrays"].values())

    def pools(self) -> dict[str, ImagePool]:
        """Open its pools over read-only memory maps.

        Raises:
            BadData: a file cannot be mapped or is not what the sheet says.
        """
        return {name: self._pool(entry) for name, entry in self.sheet["pools"].items()}

    def verify(self) -> None:
        """Read every byte and compare checksums.

        Raises:
            BadData: a file's content has changed since it was prepared; names the file.
        """
        for pool in self.sheet["pools"].values():
            for entry in pool["arrays"].values():
                if array_digest(self._map(entry)) != entry["sha256"]:
                    raise damaged(self.path, f"the content of {entry['file']} has changed")

    def _pool(self, entry: Mapping[str, Any]) -> ImagePool:
        arrays = {key: self._map(array) for key, array in entry["arrays"].items()}
        small = {key: np.array(arrays[key]) for key in arrays if key != "images"}  # spares maps
        names: dict[str, Any] = {
            key: None if entry[key] is None else tuple(entry[key]) for key in NAMES
        }
        return ImagePool(arrays["images"], fingerprint=entry["fingerprint"], **small, **names)

    def _map(self, entry: Mapping[str, Any]) -> np.ndarray:
        try:
            array = np.load(self.path / entry["file"], mmap_mode="r", allow_pickle=False)
        except (OSError, ValueError) as failure:
            raise damaged(self.path, f"{entry['file']} cannot be read ({failure})") from failure
        if list(array.shape) != entry["shape"] or array.dtype.str != entry["dtype"]:
            raise damaged(self.path, f"{entry['file']} is not the array that {SHEET} describes")
        return array


def open_store(path: Path) -> Store:
    """Open the store in a folder, and check its sizes and its sheet's digest.

    Raises:
        MissingData: there is no store in the folder.
        BadData: it is damaged.
    """
    try:
        sheet = json.loads((path / SHEET).read_bytes())
    except (FileNotFoundError, NotADirectoryError) as failure:
        raise MissingData(f"There is no prepared data set in {path}.") from failure
    except (OSError, ValueError) as failure:
        raise damaged(path, f"{SHEET} cannot be read ({failure})") from failure
    _check_sheet(path, sheet)
    for entry in (array for pool in sheet["pools"].values() for array in pool["arrays"].values()):
        try:
            size = (path / entry["file"]).stat().st_size
        except OSError as failure:
            raise damaged(path, f"{entry['file']} is missing ({failure.strerror})") from failure
        if size != entry["bytes"]:
            raise damaged(path, f"{entry['file']} has {size} bytes instead of {entry['bytes']}")
    return Store(path, sheet)


def datasets_folder(home: Path | None) -> Path:
    """Return where stores are: ``home``, else ``$FSL_SWEEP_HOME``, else ``~/.cache/fsl-sweep``."""
    chosen = home or os.environ.get("FSL_SWEEP_HOME") or Path.home() / ".cache" / "fsl-sweep"
    check_local(chosen)
    return Path(chosen).expanduser() / "datasets"


def store_path(home: Path | None, head: Mapping[str, Any]) -> Path:
    """Return the folder of a store: of its benchmark, version, pool options and source."""
    name, version, options = head["benchmark"], head["version"], head["options"]
    key = canonical_digest([FORMAT, name, version, options, head["source"]["signature"]])[:16]
    return datasets_folder(home) / f"{name}-{key}"


def damaged(path: Path, problem: str) -> BadData:
    """Make the error for a store that cannot be trusted."""
    return BadData(
        f"The prepared data set in {path} is damaged: {problem}. "
        "Delete that folder, so that it is prepared again from its source."
    )


def sheet_digest(sheet: Mapping[str, Any]) -> str:
    """Digest a sheet without its digest; hex."""
    return canonical_digest({key: value for key, value in sheet.items() if key != "digest"})


def fingerprint_of(entry: Mapping[str, Any]) -> str:
    """Compute the fingerprint of the pool that an entry of a sheet describes."""
    digests = {key: array["sha256"] for key, array in entry["arrays"].items()}
    shape = entry["arrays"]["images"]["shape"]
    return pool_fingerprint(shape, digests, *(entry[key] for key in NAMES))


def _check_sheet(path: Path, sheet: Any) -> None:
    if not isinstance(sheet, dict) or "digest" not in sheet:
        raise damaged(path, f"{SHEET} does not describe a data set")
    if sheet["digest"] != sheet_digest(sheet):
        raise damaged(path, f"{SHEET} has been changed")
    if sheet.get("format") != FORMAT:
        raise BadData(
            f"The prepared data set in {path} has format {sheet.get('format')}; this version of "
            f"fsl-sweep reads format {FORMAT}. Delete that folder and prepare it again."
        )
