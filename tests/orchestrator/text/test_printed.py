import io
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fsl_sweep
from fsl_sweep.orchestrator.text.printed import counted, one_line, printable, say, unfit


@given(st.text(max_size=40))
def test_what_is_printed_steers_nothing_and_stays_what_it_was(text: str) -> None:
    shown = printable(text)
    assert printable(shown) == shown
    assert all(character in "\n\t" or unfit(character) is None for character in shown)
    assert unfit(one_line(text)) is None
    if unfit(text.replace("\n", "").replace("\t", "")) is None:
        assert shown == text


def test_letters_of_every_script_stay() -> None:
    text = "PN αβγ 学習 café ∞ → 😀 ن اردو 'a' \\x1b"
    assert printable(text) == one_line(text) == text


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_a_stream_that_lacks_letters_gets_their_numbers(encoding: str) -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding=encoding, errors="strict", newline="")
    say("é 学\udcff\x1b", stream)
    assert (
        raw.getvalue().decode(encoding)
        == {
            "ascii": "\\xe9 \\u5b66\\udcff\\x1b\n",
            "latin-1": "é \\u5b66\\udcff\\x1b\n",
            "utf-8": "é 学\\udcff\\x1b\n",
        }[encoding]
    )


def test_counts_agree_with_their_nouns() -> None:
    assert [counted(n, "trial") for n in (0, 1, 2)] == ["0 trials", "1 trial", "2 trials"]
    assert counted(12_000, "image") == "12,000 images"
    assert [counted(n, "class", "classes") for n in (1, 2)] == ["1 class", "2 classes"]


def test_the_package_tells_what_it_has_without_loading_it() -> None:
    assert {"__version__", "load_run"} <= set(dir(fsl_sweep))
    lean = "import fsl_sweep, sys; dir(fsl_sweep); assert not {'pandas', 'torch'} & {*sys.modules}"
    subprocess.run([sys.executable, "-c", lean], check=True)
