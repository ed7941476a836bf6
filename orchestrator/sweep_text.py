"""The text of a sweep file: found by its path, or by the name of a preset.

A run folder keeps the text that it was planned from, followed by the ``--set`` overrides that were
in force as comments (``# --set seeds=[0]``). Read again, those comments are no part of the file.
"""

import shlex
from collections.abc import Sequence
from importlib.resources import as_file, files
from pathlib import Path

from fsl_sweep.orchestrator.errors import ConfigError, did_you_mean

_NOTE = "# --set "
LONGEST = 10**6


def presets() -> list[str]:
    """Names of the sweep files that come with the package."""
    folder = files("fsl_sweep.sweeps")
    return sorted(
        f.name.removesuffix(".yaml") for f in folder.iterdir() if f.name.endswith(".yaml")
    )


def read_sweep(name_or_path: str) -> tuple[str, str, Path]:
    """Where a sweep file is, as named in messages, its text without notes of overrides, its folder.

    A file is read wherever it is; only a bare name, such as ``quickstart`` or ``quickstart.yaml``,
    stands for a preset, which has no folder of its own: it is used in the current one.

    Raises:
        ConfigError: there is no such file and no such preset, or it cannot be read.
    """
    path = Path(name_or_path)
    preset = name_or_path.removesuffix(".yaml").removesuffix(".yml")
    try:
        if path.is_file() or (path.exists() and not path.is_dir()):
            text = _parted(_text(name_or_path, path))[0]
            return name_or_path, text, path.absolute().parent
    except (OSError, ValueError) as failure:
        raise ConfigError(name_or_path, "", f"cannot be read: {failure}") from failure
    if preset not in presets():
        raise ConfigError(name_or_path, "", _problem(name_or_path, path))
    with as_file(files("fsl_sweep.sweeps") / f"{preset}.yaml") as found:
        return f"sweeps/{found.name}", found.read_text(encoding="utf-8"), Path.cwd()


def _text(name: str, path: Path) -> str:
    """The text of a file, which may be a pipe."""
    with path.open(encoding="utf-8") as file:
        try:
            text = file.read(LONGEST + 1)
        except UnicodeDecodeError:
            raise ConfigError(name, "", "is not UTF-8 text; save it as UTF-8") from None
    if len(text) > LONGEST:
        raise ConfigError(name, "", f"is longer than {LONGEST:,} characters: not a sweep file")
    return text


def noted(text: str, overrides: Sequence[str]) -> str:
    """The text as a run folder keeps it: followed by the overrides as comments."""
    notes = "".join(f"{_NOTE}{' '.join(one.splitlines())}\n" for one in overrides)
    return f"{text.rstrip()}\n{notes}" if notes else text


def _parted(text: str) -> tuple[str, list[str]]:
    """A text without the notes at its end, and the overrides that they name."""
    lines = text.splitlines(keepends=True)
    end = len(lines)
    while end and lines[end - 1].startswith(_NOTE):
        end -= 1
    return "".join(lines[:end]), [line.removeprefix(_NOTE).strip() for line in lines[end:]]


def _problem(given: str, path: Path) -> str:
    """Why what was given is no sweep file, and what to write instead."""
    if (path / "plan.json").is_file() and (path / "sweep.yaml").is_file():
        return f"is a run folder, not a sweep file; to go on with it: {_going_on(path)}"
    if path.is_dir():
        return "is a folder; give a sweep file, or the name of a preset"
    if path.name != given and path.stem in presets():
        return f"no such file; for the preset write its name alone: {path.stem}"
    if path.suffix in (".yaml", ".yml"):
        return f"no such file; presets: {', '.join(presets())}"
    return f"neither a file nor a preset; {did_you_mean(given, presets())}"


def _going_on(folder: Path) -> str:
    """The command that goes on with a run folder, as it was planned last."""
    try:
        overrides = _parted((folder / "sweep.yaml").read_text(encoding="utf-8"))[1]
    except (OSError, UnicodeDecodeError):
        overrides = []  # reading that file will say what is wrong with it
    settings = [word for one in overrides for word in ("--set", one)]
    words = ["fsl-sweep", "run", str(folder / "sweep.yaml"), "-o", str(folder), *settings]
    return f"`{shlex.join(words)}`"
