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


def message(tmp_path, text, *overrides):
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, text, *overrides)
    return str(caught.value).replace(str(tmp_path), "DIR")


def test_defaults_are_filled_in(tmp_path):
    config = load(tmp_path, MINIMAL).config
    assert (config.seeds, config.retries, config.resources.gpu) == ([0], 2, "auto")
    assert config.selectors.snapshot == ["last", "train_loss", "base", "val", "oracle"]


def test_exponents_without_a_point_are_numbers(tmp_path):
    config = load(tmp_path, MINIMAL + "budget: {seconds: 1e3}\n").config
    assert config.budget is not None
    assert config.budget.seconds == 1000.0


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            MINIMAL + "episode: {lr: 0.1}\n",
            "s.yaml: episode.lr: unknown key 'lr'; did you mean 'defaults.optimizer.lr'?",
        ),
        (
            MINIMAL + "resources: {seed: 3}\n",
            "s.yaml: resources.seed: unknown key 'seed'; did you mean 'seed' or "
            "'evaluation.seed' or 'cross_validation.seed'?",
        ),
        (MINIMAL + "options: 3\n", "s.yaml: options: unknown key 'options'; known: benchmark, "),
        (MINIMAL + "retries: 1.0\n", "s.yaml: retries: input should be a valid integer, not 1.0"),
        (
            MINIMAL + "episode: {way: 1}\n",
            "s.yaml: episode.way: input should be greater than or equal to 2 or 'all', not 1",
        ),
        (
            MINIMAL + "episode: {way: every}\n",
            "s.yaml: episode.way: input should be a valid integer or 'all', not 'every'",
        ),
        (
            MINIMAL + "resources: {gpu: some}\n",
            "s.yaml: resources.gpu: input should be 'auto' or a valid number, not 'some'",
        ),
        (MINIMAL + "episode: null\n", "s.yaml: episode: must be a mapping such as {way: ...}, not"),
        (MINIMAL.replace("name: tiny", ""), "s.yaml: name: this key is missing"),
        (
            MINIMAL.replace("name: tiny", "name: ../up"),
            "s.yaml: name: may hold only letters, digits, '.', '_' and '-', not '../up'",
        ),
        ("- 1\n", "s.yaml: a sweep file is a mapping that begins with 'name:'"),
        ("", "s.yaml: a sweep file is a mapping that begins with 'name:'"),
        (MINIMAL + "seeds: [1\n", "s.yaml: not valid YAML: line 7, column 1: "),
        (
            MINIMAL + "name: again\n",
            "s.yaml: not valid YAML: line 6: the key 'name' is written twice",
        ),
        (MINIMAL + "retries: !!python/object:os.system {}\n", "s.yaml: not valid YAML: "),
    ],
)
def test_mistakes_name_file_key_and_value(tmp_path, text, expected):
    assert message(tmp_path, text).startswith(f"DIR/{expected}")


@pytest.mark.parametrize("name", ["quickstart", "quickstart.yaml", "quickstart.yml"])
def test_a_bare_name_is_a_preset(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    assert load_sweep(name).where == "sweeps/quickstart.yaml"
    (tmp_path / name).write_text(MINIMAL)  # a file that is there comes first
    assert load_sweep(name).config.name == "tiny"


@pytest.mark.parametrize(
    "given", ["runs/quickstart", "./quickstart", "/nowhere/quickstart", "sweeps/quickstart.yaml"]
)
def test_a_path_is_no_preset_whatever_its_end(tmp_path, monkeypatch, given):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError) as caught:
        load_sweep(given)
    expected = f"{given}: no such file; for the preset write only its name: quickstart"
    assert str(caught.value) == expected


def test_neither_another_ending_nor_a_folder_is_a_preset(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match="did you mean 'quickstart'"):
        load_sweep("quickstart.json")
    (tmp_path / "runs" / "quickstart").mkdir(parents=True)
    for given in ("runs/quickstart", "runs/"):
        with pytest.raises(ConfigError, match=r"is a folder; give a sweep file, or the name of"):
            load_sweep(given)


def test_overrides_of_an_earlier_run_are_no_part_of_its_file(tmp_path):
    first = load(tmp_path, MINIMAL, "evaluation.seed=7", "seeds=[1,\n2]")
    assert (first.config.evaluation.seed, first.config.seeds) == (7, [1, 2])
    assert first.text.endswith("# --set evaluation.seed=7\n# --set seeds=[1, 2]\n")
    assert load(tmp_path, first.text).text == MINIMAL.rstrip() + "\n"
    again = load(tmp_path, first.text, "evaluation.seed=7", "seeds=[1, 2]")
    assert again == first


def test_bad_overrides(tmp_path):
    assert "'name' is 'tiny', which has no keys" in message(tmp_path, MINIMAL, "name.x=1")
