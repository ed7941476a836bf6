"""Named tables of interchangeable parts: learners, backbones, benchmarks, selectors.

A table is a tuple of entries, not a registry filled by decorators, so that a worker sees the same
table as the driver. Third parties' entry points are loaded only when their name is used.
"""

import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, PackageNotFoundError, entry_points, version
from typing import Any, Generic, TypeVar

from fsl_sweep.orchestrator.errors import FslSweepError, PluginError, UnknownName, in_one_line

T = TypeVar("T")


@cache
def version_of(package: str) -> str | None:
    """Return the version of an installed package; None where it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


@dataclass(frozen=True)
class Info(Generic[T]):
    """One entry of a catalogue.

    Attributes:
        name: as in a sweep file.
        cls: the class.
        paper: title and arXiv id, or section and table, of its source; may be empty.
        description: one line.
    """

    name: str
    cls: type[T]
    paper: str
    description: str

    def load(self) -> "Info[T]":
        """Return the entry itself."""
        return self


@dataclass(frozen=True)
class Ours:
    """As ``Info``, with a class that is imported from ``place``, ``module:class``, when needed."""

    name: str
    place: str
    paper: str
    description: str

    def load(self) -> Info[Any]:
        """Import the class; return the entry with it."""
        module, _, name = self.place.partition(":")
        return Info(self.name, getattr(import_module(module), name), self.paper, self.description)


@dataclass(frozen=True)
class Family(Generic[T]):
    """Entries too many to list, named ``PREFIX:MEMBER``, such as ``torchvision:resnet18``.

    Attributes:
        parameter: what the part after the colon is called in lists (``model``).
        member: the class of a member. Raises UnknownName where there is none of that name.
        has: whether there is a member of that name, for a hint where the prefix is missing.
    """

    prefix: str
    parameter: str
    member: Callable[[str], type[T]]
    paper: str
    description: str
    has: Callable[[str], bool] | None = None

    @property
    def name(self) -> str:
        """Name the family in a list."""
        return f"{self.prefix}:<{self.parameter}>"

    def find(self, member: str) -> Info[T]:
        """Return the entry of one member."""
        name = f"{self.prefix}:{member}"
        return Info(name, self.member(member), self.paper, self.description)


@dataclass(frozen=True)
class Listing:
    """What ``fsl-sweep plugins`` shows of one entry; ``error`` is why it does not load."""

    kind: str
    name: str
    source: str
    version: str
    description: str
    error: str | None = None


class Catalogue(Generic[T]):
    """Entries of one kind (``learner``), ours and those of an entry-point group.

    Raises:
        PluginError: two of our own entries share a name.
    """

    def __init__(
        self,
        kind: str,
        group: str,
        entries: Sequence[Info[T] | Ours],
        families: Sequence[Family[T]] = (),
    ) -> None:
        self.kind, self.group = kind, group
        self._families = {family.prefix: family for family in families}
        self._own: dict[str, Info[T] | Ours] = {}
        for info in entries:
            if info.name in self._own:
                raise PluginError(f"Two {kind}s are named '{info.name}'; rename one of them.")
            self._own[info.name] = info

    @property
    def own(self) -> tuple[Info[T], ...]:
        """Return our own entries, without members of families."""
        return tuple(entry.load() for entry in self._own.values())

    def find(self, name: str) -> Info[T]:
        """Return the entry called ``name``.

        Raises:
            UnknownName: there is none.
            PluginError: the plug-in of that name does not load, or two have that name.
        """
        if (family := self._family(name)) is not None:
            return family.find(name.partition(":")[2])
        if plugins := self._plugins(name):
            return self._load(plugins)
        if name in self._own:
            return self._own[name].load()
        # What it may mean: a member without its prefix, or any entry.
        families = self._families.values()
        members = [f"{f.prefix}:{name}" for f in families if f.has is not None and f.has(name)]
        meant = members or [*self.names(), *(family.name for family in families)]
        raise UnknownName(self.kind, name, meant)

    def names(self) -> list[str]:
        """Return every name, sorted, without members of families."""
        return sorted({*self._own, *(point.name for point in installed(self.group))})

    def provenance(self, name: str) -> dict[str, str]:
        """Name, distribution and version of an entry, as recorded with every result."""
        family = self._family(name)
        shown = name if family is None else family.name
        for listing in self.listings():
            if listing.name == shown:
                return {"name": name, "source": listing.source, "version": listing.version}
        raise UnknownName(self.kind, name, self.names())

    def listings(self, check: bool = False) -> Iterator[Listing]:
        """Yield one for each entry; with ``check``, plug-ins are loaded, and failures reported."""
        for ours in (*self._own.values(), *self._families.values()):
            yield Listing(self.kind, ours.name, "fsl-sweep", "", ours.description)
        for point in installed(self.group):
            description, error = "", None
            if check:
                try:
                    description = self._load(self._plugins(point.name)).description
                except PluginError as failure:
                    error = str(failure)
            yield Listing(self.kind, point.name, *_distribution(point), description, error)

    def is_plugin(self, name: str) -> bool:
        """Return whether the entry of that name, or the member of a family, is a third party's."""
        return bool(self._plugins(name.rpartition(":")[2]))

    @contextmanager
    def named_faults(self, name: str) -> Iterator[None]:
        """Turn an exception of a plug-in's own code into one message; ours keep their traceback.

        Raises:
            PluginError: the block raised an error that is not one of fsl-sweep's own.
        """
        try:
            yield
        except (FslSweepError, MemoryError):
            raise
        except Exception as failure:  # a plug-in may raise anything
            if not self.is_plugin(name):
                raise
            point = self._plugins(name.rpartition(":")[2])[0]
            place = raised_at(failure, point.module)
            at = f" ({place})" if place else ""
            problem = f"The {self._origin(point)} raised {in_one_line(failure)}{at}."
            raise PluginError(f"{problem} Correct it, or leave it out.") from failure

    def _origin(self, point: EntryPoint) -> str:
        return f"{self.kind} plug-in '{point.name}' ({_distribution(point)[0]})"

    def _plugins(self, name: str) -> list[EntryPoint]:
        return [point for point in installed(self.group) if point.name == name]

    def _family(self, name: str) -> Family[T] | None:
        prefix, colon, _ = name.partition(":")
        return self._families.get(prefix) if colon else None

    def _load(self, points: list[EntryPoint]) -> Info[T]:
        point = points[0]
        origin = self._origin(point)
        if len(points) > 1 or point.name in self._own:
            others = [_distribution(other)[0] for other in points[1:]] or ["fsl-sweep itself"]
            raise PluginError(
                f"The {origin} has a name that {', '.join(others)} also uses; "
                "uninstall one of them or rename the entry point."
            )
        try:
            loaded: Any = point.load()
        except Exception as failure:  # a plug-in may raise anything at import
            raise PluginError(
                f"The {origin} does not load: {in_one_line(failure)}. "
                f"Its entry point is '{point.value}'."
            ) from failure
        if not isinstance(loaded, Info) or loaded.name != point.name:
            raise PluginError(
                f"The {origin} must point at a fsl_sweep.orchestrator.catalogue.Info "
                f"named '{point.name}'; '{point.value}' is {loaded!r}."
            )
        return loaded


def package(module: str) -> str:
    """Return the outermost package of a module's name."""
    return module.partition(".")[0]


def raised_at(failure: Exception, module: str) -> str:
    """Return file and line of the innermost call in a module's package; empty if there is none."""
    place = ""
    for frame, line in traceback.walk_tb(failure.__traceback__):
        if package(frame.f_globals.get("__name__") or "") == package(module):
            place = f"{frame.f_code.co_filename}, line {line}"
    return place


def installed(group: str) -> tuple[EntryPoint, ...]:
    """Return third parties' entry points of a group, sorted by name."""
    return _in_group(group, tuple(sys.path))


@cache
def _in_group(group: str, path: tuple[str, ...]) -> tuple[EntryPoint, ...]:  # noqa: ARG001
    """Scan once for each ``sys.path``: a scan opens a file of every installed distribution."""
    points = entry_points(group=group)
    return tuple(sorted(points, key=lambda point: (point.name, point.value)))


def _distribution(point: EntryPoint) -> tuple[str, str]:
    if point.dist is None:
        return "unknown distribution", ""
    return point.dist.name, point.dist.version
