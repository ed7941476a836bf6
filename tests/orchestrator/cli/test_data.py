"""``data list | check | prepare`` from empty to prepared, with an interruption on the way."""

import io
import re

import numpy as np
import pytest
from PIL import Image

from fsl_sweep.datasets.files import decoding
from fsl_sweep.orchestrator.cli import invoke

SMALL = ("--set", "image_size=8")


@pytest.fixture
def source(tmp_path):
    """Ten classes of six images."""
    rng = np.random.default_rng(0)
    for number in range(60):
        stream = io.BytesIO()
        Image.fromarray(rng.integers(0, 256, (9, 9, 3), dtype=np.uint8)).save(stream, "PNG")
        path = tmp_path / "source" / f"c{number // 6}" / f"{number}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(stream.getvalue())
    return tmp_path / "source"


@pytest.fixture
def data(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("FSL_SWEEP_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("COLUMNS", "300")

    def data(*arguments):
        code = invoke(["data", *map(str, arguments)])
        return (code, *capsys.readouterr())

    return data


def row(data, name):
    code, out, _ = data("list")
    assert code == 0
    return next(line for line in out.splitlines() if line.startswith(name))


def test_prepared_once_listed_and_checked(data, source, said, tmp_path, snapshot):
    for name, state in (("glyphs", "embedded"), ("image-folder", "not prepared")):
        assert state in row(data, name)
    small, there = f"image-folder {' '.join(SMALL)}", f"--from {source}"
    text = said(
        f"data check {small} --root {source}",
        f"data prepare {small} {there}",
        f"data prepare {small} {there} --set seed=3",
        f"data check {small}",
    )
    text = re.sub(r"(?<=image-folder[-/])[0-9a-f]+|(?<=fingerprint )\w+", "ID", text)
    assert text.replace(str(tmp_path), "HERE") == snapshot
    assert "10 classes, 60 images" in row(data, "image-folder")


def test_an_interrupted_preparation_leaves_nothing(data, source, tmp_path, monkeypatch):
    decode, decoded = decoding.decode, []

    def stopped(content, where, colour):
        decoded.append(where)
        if len(decoded) == 20:
            raise KeyboardInterrupt
        return decode(content, where, colour)

    monkeypatch.setattr(decoding, "decode", stopped)
    assert data("prepare", "image-folder", "--from", source, *SMALL)[:2] == (130, "")
    assert "not prepared" in row(data, "image-folder")
    left = (tmp_path / "home" / "datasets").iterdir()
    assert [path for path in left if path.suffix != ".lock"] == []
    code, _, err = data("check", "image-folder", *SMALL)
    assert (code, "are not on this machine" in err) == (2, True)
    assert data("prepare", "image-folder", "--from", source, *SMALL)[0] == 0
    assert len(decoded) == 20 + 60


def test_a_place_that_is_something_else_is_reported(tmp_path, monkeypatch, refusals, snapshot):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "link").symlink_to(tmp_path / "gone")
    places = "image-folder /etc/passwd | omniglot /etc | features /etc | features /etc/passwd"
    pairs = [pair.split() for pair in f"{places} | image-folder mine".split(" | ")]
    said = refusals(*(f"data prepare {name} --from {path}" for name, path in pairs))
    assert said.replace(str(tmp_path), "HERE") == snapshot
