"""Where a sweep file's data is: its own folder, the current one, the environment."""

import pytest

from fsl_sweep.orchestrator.errors import ConfigError
from fsl_sweep.orchestrator.sweepfile.reading import load_sweep
from fsl_sweep.orchestrator.sweepfile.text import read_sweep

FILE = """
name: tiny
benchmark: {name: omniglot, root: ROOT}
methods:
  PN: {learner: {name: protonet}}
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder for the sweep file, and another that is the current one."""
    (tmp_path / "there").mkdir()
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path


def load(place, root, *overrides):
    (place / "there" / "s.yaml").write_text(FILE.replace("ROOT", root))
    return load_sweep("../there/s.yaml", overrides)


def of_a_copy(place, sweep):
    """What a copy in another folder means with the overrides in it, and its text."""
    notes = [line.removeprefix("# --set ") for line in sweep.text.splitlines() if "--set" in line]
    (place / "copy.yaml").write_text(sweep.text)
    again = load_sweep(str(place / "copy.yaml"), notes)
    return again.config, again.text


def root_of(sweep):
    return sweep.config.benchmark.options.get("root")


@pytest.mark.parametrize(
    ("root", "overrides", "expected"),
    [
        # Relative to the file's folder; from an override, to the current one.
        ("data/omniglot", [], "there/data/omniglot"),
        ("../data", [], "data"),
        ('"${PART}/x"', [], "there/part/x"),
        ("$PART/x", [], "there/part/x"),
        ("~/x", [], "home/x"),
        ("data", ["benchmark.root=mine"], "here/mine"),
        ("data", ["benchmark={name: omniglot, root: mine}"], "here/mine"),
        ("data", ["benchmark.held_out=0.2"], "there/data"),
        ("/data/omniglot", [], "/data/omniglot"),
        ('"my data: #1"', [], "there/my data: #1"),
    ],
)
def test_a_relative_root_is_one_from_where_it_is_written(
    place, monkeypatch, root, overrides, expected
):
    monkeypatch.setenv("PART", "part")
    monkeypatch.setenv("HOME", str(place / "home"))
    sweep = load(place, root, *overrides)
    assert root_of(sweep) == str(place / expected)
    # What a copy elsewhere needs to mean the same place.
    assert ("# --set benchmark" in sweep.text) is (root[0] not in "/~")
    assert of_a_copy(place, sweep) == (sweep.config, sweep.text)


@pytest.mark.parametrize(
    ("weights", "overrides", "expected"),
    [
        ("w.pt", [], ["there/w.pt"]),
        ("~/w.pt", [], ["home/w.pt"]),
        ("'${PART}/w.pt'", [], ["there/part/w.pt"]),
        ("{grid: [a.pt, ../b.pt]}", [], ["there/a.pt", "b.pt"]),
        ("w.pt", ["defaults.backbone.weights=v.pt"], ["here/v.pt"]),
        ("null", ["defaults.backbone={name: conv4, weights: v.pt}"], ["here/v.pt"]),
        ("w.pt", ["defaults.backbone.width=4"], ["there/w.pt"]),
    ],
)
def test_weights_are_located_as_data_are(place, monkeypatch, weights, overrides, expected):
    monkeypatch.setenv("PART", "part")
    monkeypatch.setenv("HOME", str(place / "home"))
    text = f"{FILE}defaults: {{backbone: {{name: conv4, weights: {weights}}}}}\n"
    (place / "there" / "s.yaml").write_text(text.replace("ROOT", "/data"))
    sweep = load_sweep("../there/s.yaml", overrides)
    located = sweep.config.defaults["backbone"]["weights"]
    values = located["grid"] if isinstance(located, dict) else [located]
    assert values == [str(place / path) for path in expected]
    assert of_a_copy(place, sweep)[0] == sweep.config


def test_a_preset_has_no_folder_of_its_own(place):
    assert read_sweep("omniglot")[2] == place / "here"
    sweep = load_sweep("omniglot", ["benchmark.root=zips"])
    assert root_of(sweep) == str(place / "here" / "zips")
    assert root_of(load(place, "null")) is None


@pytest.mark.parametrize("root", ["$NO_SUCH/x", '"~/${NO_SUCH}"'])
def test_a_variable_that_is_not_set_is_named_unless_it_is_overridden(place, root):
    with pytest.raises(ConfigError) as caught:
        load(place, root)
    named = f"the environment variable NO_SUCH in '{root.strip(chr(34))}' is not set"
    assert str(caught.value) == f"../there/s.yaml: benchmark.root: {named}"
    assert root_of(load(place, root, "benchmark.root=/data")) == "/data"
    with pytest.raises(ConfigError, match=r"^--set: benchmark.root: the environment variable NO"):
        load(place, "data", "benchmark.root=${NO_SUCH}")


@pytest.mark.parametrize("name", ["image-folder", "features", "in-distribution:image-folder"])
def test_options_of_a_benchmark_that_are_paths_are_located_as_its_root_is(place, name):
    sweep = FILE.replace("name: omniglot, root: ROOT", f"name: '{name}', split_file: lists.json")
    measure = f"measure: {{own: {{benchmark: {{name: '{name}', split_file: ../lists.json}}}}}}"
    (place / "there" / "s.yaml").write_text(sweep + measure)
    config, text = (found := load_sweep("../there/s.yaml")).config, found.text
    lists = str(place / "there" / "lists.json")
    assert config.benchmark.options["split_file"] == lists
    assert f'# --set benchmark.split_file="{lists}"' in text
    assert config.measure["own"].benchmark.options["split_file"] == str(place / "lists.json")
    mine = load_sweep("../there/s.yaml", ["benchmark.split_file=mine.json"]).config
    assert mine.benchmark.options["split_file"] == str(place / "here" / "mine.json")
