"""Sweep files that no person would write: one message each, at once, and no traceback."""

from pathlib import Path

import pytest

from fsl_sweep.orchestrator.cli import invoke
from fsl_sweep.orchestrator.sweepfile.yaml_text import DEEPEST, LONGEST, MOST_VALUES, parsed

HEAD = "name: tiny\nbenchmark: {name: glyphs}\n"
TAIL = "methods:\n  PN: {learner: {name: protonet}}\n"


def doublings(count: int) -> str:
    """Mappings in ``defaults`` that each hold the one before twice."""
    lines = [f"  a{i}: &a{i} {{x: *a{i - 1}, y: *a{i - 1}}}" for i in range(1, count)]
    return "defaults:\n  a0: &a0 {x: 1}\n" + "\n".join(lines) + "\n"


HOSTILE = {
    "NUL": ("x: a\0b\n", "line 3: it holds the character \\x00, which YAML does not allow"),
    "escape": ("x: a\x1b[31m\n", "line 3: it holds the character \\x1b"),
    "open brackets": ("x: " + "[" * 500, f"nested more than {DEEPEST} levels deep"),
    "braces": ("x: " + "{a: " * 99 + "1" + "}" * 99 + "\n", f"line 3: nested more than {DEEPEST}"),
    "aliases": (doublings(40), f"more than {MOST_VALUES:,} values, with its aliases"),
    "an alias of itself": ("x: &x {a: *x}\n", f"nested more than {DEEPEST} levels deep"),
    "a long number": ("seed: " + "9" * 5000 + "\n", f"more than {LONGEST:,} characters"),
    "a long clock": ("seed: 1" + ":59" * 3000 + "\n", f"more than {LONGEST:,} characters"),
    "an escaped name": (
        'defaults: {"a\\x1b[2Jb": 1}\n',
        "'a\\x1b[2Jb' holds the control character",
    ),
    "an escaped value": ('defaults: {augment: "\\0"}\n', "'\\x00' holds the control character"),
    "two lines": ('defaults: {augment: "a\\nfsl-sweep: all is well"}\n', "character \\n; leave"),
    "right to left": ('defaults: {augment: "\u202e"}\n', "holds the control character \\u202e"),
}


@pytest.fixture
def refused(tmp_path, monkeypatch, capsys):
    """The one line that a sweep file is refused with."""
    monkeypatch.chdir(tmp_path)

    def refused(content: bytes, *options: str) -> str:
        Path("s.yaml").write_bytes(content)
        assert invoke(["run", "s.yaml", *options]) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert err.count("\n") == 1
        assert err.removesuffix("\n").isprintable()
        assert not Path("runs").exists()
        return err

    return refused


@pytest.mark.parametrize(("lines", "message"), HOSTILE.values(), ids=HOSTILE)
def test_what_no_person_would_write(refused, lines, message):
    shown = refused((HEAD + lines + ("" if lines.startswith("x: [") else TAIL)).encode())
    assert message in shown
    assert shown.startswith("fsl-sweep: s.yaml: ")


@pytest.mark.parametrize("text", [b"name: caf\xe9\n", (HEAD + TAIL).encode("utf-16"), b"\x80" * 99])
def test_other_encodings_are_named(refused, text):
    assert "s.yaml: is not UTF-8 text; save it as UTF-8" in refused(text)


def test_a_file_that_is_no_sweep_is_not_read_to_its_end(refused):
    assert "is longer than 1,000,000 characters: not a sweep file" in refused(b"# " + b"x" * 10**6)


@pytest.mark.parametrize("key", ["methods.P\x1bN.learner.name", "defaults.a\nb"])
def test_set_brings_in_no_control_character(refused, key):
    shown = refused((HEAD + TAIL).encode(), "--set", f"{key}=protonet")
    assert "--set" in shown
    shown = refused((HEAD + TAIL).encode(), "--set", 'defaults.augment="\\x1b"')
    assert "--set defaults.augment: line 1: '\\x1b' holds the control character \\x1b" in shown


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_what_windows_writes_is_read(tmp_path, monkeypatch, capsys, encoding, end):
    monkeypatch.chdir(tmp_path)
    learner = "  PN: {learner: {name: protonet}, optimizer: {lr: 0.1}, backbone: {name: conv4}}"
    text = f"{HEAD}methods:\n{learner}\n".replace("\n", end)
    Path("s.yaml").write_bytes(text.encode(encoding))
    assert invoke(["run", "s.yaml", "--dry-run"]) == 0
    assert "tiny: 1 trial of 1 method\n" in capsys.readouterr().out


def test_aliases_that_a_person_writes_are_read():
    text = "a: &a {x: [1, 2], y: 1e-3}\nb: *a\nc: [*a, *a]\n"
    one = {"x": [1, 2], "y": 1e-3}
    assert parsed(text, "here") == {"a": one, "b": one, "c": [one, one]}
    assert parsed("", "here") is None
