"""The text of a sweep file: found by its path, or by the name of a preset.

A run folder keeps the text that it was planned from, followed by the ``--set`` overrides as
comments (``# --set seeds=[0]``), and ``# --laptop`` where its laptop variant was. When the file is
read again, those comments are dropped.
"""

import shlex
from collections.abc import Sequence
from importlib.resources import files
from os.path import isfile
from pathlib import Path

from fsl_sweep.datasets.files.plain_file import check_plain
from fsl_sweep.orchestrator.errors import BadData, ConfigError, did_you_mean

_NOTE = "# --set "
_LAPTOP = "# --laptop"
LONGEST = 10**6


def presets() -> list[str]:
    """List the names of the sweep files that come with the package."""
    folder = files("fsl_sweep.sweeps")
    return sorted(
        f.name.removesuffix(".yaml") for f in folder.iterdir() if f.name.endswith(".yaml")
    )


def read_sweep(name_or_path: str) -> tuple[str, str, Path]:
    """Read a sweep file: its name in messages, its text without notes of overrides, its folder.

    Only a bare name, such as ``quickstart`` or ``quickstart.yaml``, may mean a preset. Its folder
    is the current one.

    Raises:
        ConfigError: there is no such file and no such preset, or it cannot be read.
    """
    path = Path(name_or_path)
    preset = name_or_path.removesuffix(".yaml").removesuffix(".yml")
    try:
        if path.exists() and not path.is_dir():
            if not _of_shell(path):
                check_plain(path)
            text = _parted(_text(name_or_path, path))[0]
            return name_or_path, text, path.absolute().parent
    except BadData as failure:
        raise ConfigError("", "", str(failure)) from None
    except (OSError, ValueError) as failure:
        raise ConfigError(name_or_path, "", f"cannot be read: {failure}") from failure
    if preset not in presets():
        raise ConfigError(name_or_path, "", _problem(name_or_path, path))
    file = files("fsl_sweep.sweeps") / f"{preset}.yaml"
    return f"sweeps/{file.name}", file.read_text(encoding="utf-8"), Path.cwd()


def _of_shell(path: Path) -> bool:
    """Tell whether it is a pipe such as ``<(...)`` makes, ``/dev/fd/63``, which has a writer."""
    return path.is_fifo() and path.parts[:2] in (("/", "dev"), ("/", "proc"))


def _text(name: str, path: Path) -> str:
    """Read the text of a file, which may be a pipe."""
    with path.open(encoding="utf-8") as file:
        try:
            text = file.read(LONGEST + 1)
        except UnicodeDecodeError:
            raise ConfigError(name, "", "is not UTF-8 text; save it as UTF-8") from None
    if len(text) > LONGEST:
        raise ConfigError(name, "", f"is longer than {LONGEST:,} characters: not a sweep file")
    return text


def noted(text: str, overrides: Sequence[str], laptop: bool = False) -> str:
    """Write the overrides as comments below the text, as a run folder keeps it."""
    notes = "".join(f"{_NOTE}{' '.join(override.splitlines())}\n" for override in overrides)
    notes = f"{_LAPTOP}\n{notes}" if laptop else notes
    return f"{text.rstrip()}\n{notes}" if notes else text


def _parted(text: str) -> tuple[str, list[str], bool]:
    """Part a text from its last lines, the overrides, and whether the variant was planned."""
    lines = text.splitlines(keepends=True)
    end = len(lines)
    while end and lines[end - 1].startswith((_NOTE, _LAPTOP)):
        end -= 1
    notes = [line.strip() for line in lines[end:]]
    overrides = [note.removeprefix(_NOTE) for note in notes if note != _LAPTOP]
    return "".join(lines[:end]), overrides, _LAPTOP in notes


def of_run_folder(path: str) -> tuple[str, list[str], bool] | None:
    """Return the sweep file of a run folder, its last overrides, and whether it is the variant.

    None where the path is no run folder.
    """
    file = Path(path, "sweep.yaml")
    if not file.is_file() or not Path(path, "plan.json").is_file():
        return None
    try:
        return str(file), *_parted(_text(str(file), file))[1:]
    except (OSError, ConfigError):
        return str(file), [], False  # reading it will say what is wrong with the file


def _problem(name: str, path: Path) -> str:
    """Say why a path is not a sweep file, and what to write instead."""
    if (run := of_run_folder(name)) is not None:
        return f"is a run folder, not a sweep file; to resume it: {_resuming(path, *run)}"
    for suffix in (".yaml", ".yml"):
        if isfile(f"{name}{suffix}"):
            return f"no such file; did you mean '{name}{suffix}', which is there?"
    if path.is_dir():
        return "is a folder; give a sweep file, or the name of a preset"
    if path.name != name and path.stem in presets():
        return f"no such file; for the preset write only its name: {path.stem}"
    if path.suffix in (".yaml", ".yml"):
        return f"no such file; presets: {', '.join(presets())}"
    return f"neither a file nor a preset; {did_you_mean(name, presets())}"


def _resuming(folder: Path, file: str, overrides: Sequence[str], laptop: bool) -> str:
    """Write the command that resumes a run folder as it was last planned."""
    words = ["fsl-sweep", "run", file, "-o", str(folder), *["--laptop"] * laptop]
    words += [word for override in overrides for word in ("--set", override)]
    return f"`{shlex.join(words)}`"
