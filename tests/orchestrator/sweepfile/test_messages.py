import pytest

from fsl_sweep.orchestrator.errors import ConfigError
from fsl_sweep.orchestrator.sweepfile.messages import blaming


@pytest.mark.parametrize(
    ("overrides", "path", "source"),
    [
        ([], "defaults.epochs", "s.yaml"),
        (["defaults.epochs=0"], "defaults.epochs", "--set"),
        (["defaults.optimizer={lr: -1}"], "defaults.optimizer.lr", "--set"),
        (["defaults.epochs=3"], "defaults.batches", "s.yaml"),
        (["defaults.epoch=3"], "defaults.epochs", "s.yaml"),
        # What stands above an overridden key holds values of both.
        (["episode.way=all"], "episode", "s.yaml with --set"),
        (["seeds=[1, 1]"], "", "s.yaml with --set"),
    ],
)
def test_the_source_of_a_value_is_named(overrides, path, source):
    with pytest.raises(ConfigError) as caught, blaming("s.yaml", overrides):
        raise ConfigError("s.yaml", path, "is wrong")
    assert (caught.value.where, caught.value.path) == (source, path)


def test_an_error_without_a_source_gets_one_and_another_source_stays():
    with pytest.raises(ConfigError, match=r"^s\.yaml: benchmark\.root: "), blaming("s.yaml", []):
        raise ConfigError("", "benchmark.root", "is wrong")
    with pytest.raises(ConfigError, match=r"^--index: 9: "), blaming("s.yaml", ["9=1"]):
        raise ConfigError("--index", "9", "is wrong")
