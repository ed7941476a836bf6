import io
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fsl_sweep
from fsl_sweep.orchestrator.text.printed import (
    counted,
    fold,
    on_disk,
    one_line,
    printable,
    say,
    unfit,
)


@given(st.text(max_size=40))
def test_what_is_printed_steers_nothing_and_stays_what_it_was(text: str) -> None:
    shown = printable(text)
    assert printable(shown) == shown
    assert all(character in "\n\t" or unfit(character) is None for character in shown)
    assert unfit(one_line(text)) is None
    if unfit(text.replace("\n", "").replace("\t", "")) is None:
        assert shown == text


@pytest.mark.parametrize(
    ("encoding", "shown"),
    [
        ("ascii", "\\xe9 \\u5b66\\udcff\\x1b\n"),
        ("latin-1", "é \\u5b66\\udcff\\x1b\n"),
        ("utf-8", "é 学\\udcff\\x1b\n"),
    ],
)
def test_a_stream_that_lacks_letters_gets_their_numbers(encoding: str, shown: str) -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding, errors="strict", newline="")
    say("é 学\udcff\x1b", stream)
    assert stream.buffer.getvalue().decode(encoding) == shown
    every_script = "PN αβγ 学習 café ∞ → 😀 ن اردو 'a' \\x1b"
    assert printable(every_script) == one_line(every_script) == every_script


@given(st.text("ab c-", max_size=80), st.integers(5, 40))
def test_a_folded_sentence_has_the_same_words_and_no_line_is_too_long(text, width) -> None:
    lines = fold(f"  {text}", width).split("\n")
    if "  " in text.strip():
        assert lines == [f"  {text}"]
    elif len(lines) > 1:
        assert " ".join(lines).split() == text.split()
        assert all(line.startswith("  ") for line in lines)
        assert all(len(line) <= width or " " not in line.strip() for line in lines)


def test_a_terminal_has_whole_commands_and_a_pipe_whole_lines(monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "24")
    command = "fsl-sweep measure RUN open --snapshots chosen"
    text = f"  This is so, because `{command}` does it: {command}\na  table  of  more  than  24"
    folded = ["  This is so, because", f"  `{command}`", "  does it:", f"  {command}"]
    for terminal in (True, False):
        stream = io.StringIO()
        monkeypatch.setattr(stream, "isatty", lambda terminal=terminal: terminal)
        say(text, stream)
        expected = [*folded, "a  table  of  more  than  24"] if terminal else text.split("\n")
        assert stream.getvalue().splitlines() == expected


def test_a_number_stays_with_its_unit_and_agrees_with_its_noun() -> None:
    text = "about 80 % by 3 h and 1.5 points or 3 more 1.00 +- 0.82"
    units = {"80 %", "3 h", "1.5 points", "1.00 +- 0.82"}
    for width in range(12, len(text)):
        lines = fold(text, width).split("\n")
        assert all(any(unit in line for line in lines) for unit in units)
    assert [counted(n, "trial") for n in (0, 1, 2)] == ["0 trials", "1 trial", "2 trials"]
    assert counted(12_000, "image") == "12,000 images"
    assert [counted(n, "class", "classes") for n in (1, 2)] == ["1 class", "2 classes"]


def test_bytes_are_written_with_two_digits_and_their_unit() -> None:
    sizes = (0, 999, 1000, 9949, 9951, 54_000_000_000, 999_600_000)
    assert " ".join(map(on_disk, sizes)) == "0 B 999 B 1.0 kB 9.9 kB 10 kB 54 GB 1.0 GB"


def test_the_package_tells_what_it_has_without_loading_it() -> None:
    assert {"__version__", "load_run"} <= set(dir(fsl_sweep))
    lean = "import fsl_sweep, sys; dir(fsl_sweep); assert not {'pandas', 'torch'} & {*sys.modules}"
    subprocess.run([sys.executable, "-c", lean], check=True)
