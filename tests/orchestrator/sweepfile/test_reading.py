"""A sweep file's text, the overrides beside it, and presets. Mistakes: `cli/test_mistakes.py`."""

import pytest

from fsl_sweep.orchestrator.errors import ConfigError
from fsl_sweep.orchestrator.sweepfile.reading import load_sweep

MINIMAL = """
name: tiny
benchmark: {name: glyphs}
methods:
  PN: {learner: {name: protonet}}
"""


def load(tmp_path, text, *overrides):
    path = tmp_path / "s.yaml"
    path.write_text(text)
    return load_sweep(str(path), overrides)


def test_defaults_are_filled_in_and_exponents_without_a_point_are_numbers(tmp_path):
    config = load(tmp_path, MINIMAL + "budget: {seconds: 1e3}\n").config
    assert (config.seeds, config.retries, config.resources.gpu) == ([0], 2, "auto")
    assert config.selectors.snapshot == ["last", "train_loss", "base", "val", "oracle"]
    assert config.budget is not None
    assert config.budget.seconds == 1000.0


@pytest.mark.parametrize("name", ["quickstart", "quickstart.yaml", "quickstart.yml"])
def test_a_bare_name_is_a_preset(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    assert load_sweep(name).where == "sweeps/quickstart.yaml"
    (tmp_path / name).write_text(MINIMAL)  # a file that is there comes first
    assert load_sweep(name).config.name == "tiny"


PRESET = "no such file; for the preset write only its name: quickstart"
FOLDER = "is a folder; give a sweep file, or the name of a preset"


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        *((f"{place}quickstart", PRESET) for place in ("runs/", "./", "/nowhere/")),
        ("sweeps/quickstart.yaml", PRESET),
        ("quickstart.json", "neither a file nor a preset; did you mean 'quickstart'?"),
        ("done/quickstart", FOLDER),
        ("done/", FOLDER),
    ],
)
def test_a_path_another_ending_and_a_folder_are_no_presets(tmp_path, monkeypatch, name, problem):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "done" / "quickstart").mkdir(parents=True)
    with pytest.raises(ConfigError) as caught:
        load_sweep(name)
    assert str(caught.value) == f"{name}: {problem}"


def test_overrides_of_an_earlier_run_are_no_part_of_its_file(tmp_path):
    first = load(tmp_path, MINIMAL, "evaluation.seed=7", "seeds=[1,\n2]")
    assert (first.config.evaluation.seed, first.config.seeds) == (7, [1, 2])
    assert first.text.endswith("# --set evaluation.seed=7\n# --set seeds=[1, 2]\n")
    assert load(tmp_path, first.text).text == MINIMAL.rstrip() + "\n"
    again = load(tmp_path, first.text, "evaluation.seed=7", "seeds=[1, 2]")
    assert (again.text, again.config) == (first.text, first.config)
