"""Durations, as people write them and as they are shown."""

import re

_WRITTEN = re.compile(r"(?:([0-9]{1,6})h)?(?:([0-9]{1,6})m)?(?:([0-9]{1,6})s)?")


def seconds_of(text: str) -> float:
    """Return the seconds of a duration. Raises ValueError unless it is a positive one."""
    match = _WRITTEN.fullmatch(text)
    hours, minutes, seconds = (int(part or 0) for part in match.groups()) if match else (0, 0, 0)
    if not (total := 3600 * hours + 60 * minutes + seconds):
        raise ValueError(f"{text!r} is not a duration: write 90s, 30m or 3h50m")
    return float(total)


def duration(seconds: float) -> str:
    """Write seconds as ``42 s``, ``3 min 20 s`` or ``5 h 02 min``."""
    whole = round(seconds)
    if whole < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    return f"{minutes // 60} h {minutes % 60:02d} min"
