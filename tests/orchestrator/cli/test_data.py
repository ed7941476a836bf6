"""``data list | check | prepare`` from empty to prepared, with an interruption on the way."""

import io
import re
import shlex

import numpy as np
import pytest
from PIL import Image

from fsl_sweep.datasets.files import decoding
from fsl_sweep.datasets.store import features
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


def test_the_advised_command_can_be_pasted_and_prepares_what_is_looked_for(data, source, tmp_path):
    moved = source.rename(tmp_path / "my images (1)")
    options = (*SMALL, "--set", "colour=grey", "--set", "seed=3")
    code, _, err = data("check", "image-folder", "--root", moved, *options)
    assert code == 2
    (advised,) = re.findall(r"`fsl-sweep data ([^`]*)`", err)
    assert "seed" not in advised  # it makes no difference to what is prepared
    assert data(*shlex.split(advised))[0] == 0
    assert data("check", "image-folder", "--root", moved, *options)[0] == 0
    (advised,) = re.findall(
        r"`fsl-sweep data (prepare [^`]*)`", data("check", "omniglot", *SMALL)[2]
    )
    assert shlex.split(advised)[3:] == ["PATH", *SMALL]


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


SWEEP = """
name: shown
benchmark: {name: image-folder, root: source, image_size: 8}
methods: {PN: {learner: {name: protonet}, backbone: {name: conv4}, optimizer: {lr: 0.1}}}
laptop: {benchmark: {name: glyphs, base_alphabets: 1, val_alphabets: 1, novel_alphabets: 1,
                     classes_per_alphabet: 2, examples: 8, image_size: 8}}
"""


def test_the_classes_of_each_split_are_shown(data, source, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    options = ("--root", source, *SMALL)
    code, out, _ = data("show", "image-folder", *options)
    assert code == 0
    first, *lines = out.splitlines()
    assert first.startswith("image-folder: fingerprint ")
    heads = [number for number, line in enumerate(lines) if not line.startswith(" ")]
    assert [lines[n] for n in heads] == ["base: 6 classes", "val: 2 classes", "novel: 2 classes"]
    assert sorted(line.strip() for line in lines if line[0] == " ") == [f"c{n}" for n in range(10)]
    # Those of a sweep, and of its laptop variant.
    (tmp_path / "s.yaml").write_text(SWEEP)
    assert data("show", "s.yaml")[1].partition(":")[2] == out.partition(":")[2]
    small = data("show", "s.yaml", "--laptop")[1].splitlines()
    assert small[0].startswith("shown-laptop (glyphs stands in for image-folder): fingerprint ")
    names = [f"  alphabet-0{a}/character-0{c}" for a in range(3) for c in range(2)]
    assert [line for line in small[1:] if line.startswith(" ")] == names
    for of, problem in (
        ("image-foldr", "did you mean 'image-folder'?"),
        ("t.yaml", "no such file"),
    ):
        code, _, err = data("show", of)
        assert (code, problem in err) == (2, True), err


def test_other_tasks_show_what_they_are_made_of(data):
    small = ("--set", "examples=40", "--set", "image_size=8", "--set", "classes_per_alphabet=4")
    writers = data("show", "glyphs", *small, "--set", "tasks=writers", "--set", "writers=10")[1]
    assert "novel: 2 writers\n  writer " in writers
    pairs = ("--set", "tasks=attributes", "--set", "min_images=2")
    assert "novel: 10 attributes\n  one-stroke\n" in data("show", "glyphs", *small, *pairs)[1]


def test_the_size_of_kept_features_is_listed_and_they_can_be_deleted(data, monkeypatch, tmp_path):
    monkeypatch.setenv(features.LIMIT, "0.25")

    def listed():
        return data("list")[1].splitlines()[-1].partition(": ")[2]

    advice = "at most 250 MB (`fsl-sweep data clear` deletes them)"
    assert listed() == f"0 B, {advice}"
    features.kept_features("key", np.arange(10**6), lambda n: np.ones((len(n), 3), np.float32))
    assert listed() == f"20 MB, {advice}"
    assert data("clear") == (0, "deleted 20 MB of features\n", "")
    assert listed() == f"0 B, {advice}"
    folder = tmp_path / "home" / "features"
    folder.write_text("")
    code, _, err = data("clear")
    assert (code, err.count("\n")) == (2, 1)
    assert f"Cannot delete {folder}" in err
