"""Addresses of clusters: read, tried, warned of, watched."""

import socket

import pytest

from fsl_sweep.orchestrator.errors import ConfigError, MachineFailure
from fsl_sweep.orchestrator.sweep import driver
from fsl_sweep.orchestrator.sweep.cluster_address import Watch, check_reachable, place_of


@pytest.fixture
def server():
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening


def test_an_address_names_a_place_or_is_a_mistake():
    assert place_of("auto") is None
    assert place_of("head:6379") == ("head", 6379)
    assert place_of("10.0.0.7:6379") == ("10.0.0.7", 6379)
    assert place_of("ray://head:10001") == ("head", 10001)
    assert place_of("[::1]:6379") == ("::1", 6379)
    for address in ("", "head", "head:", ":6379", "head:0", "head:99999", "http://head:1", "::1:1"):
        message = f"--address: '{address}' is neither HOST:PORT nor 'auto'"
        with pytest.raises(ConfigError, match=message):
            check_reachable(address)
    with pytest.raises(ConfigError, match="'a b:1' is neither"):
        check_reachable("a b:1")


def test_an_address_where_nothing_answers_is_named_with_the_reason(server, capsys):
    with pytest.raises(MachineFailure, match=r"at 127.0.0.1:1: Connection refused\. Check that"):
        check_reachable("127.0.0.1:1")
    with pytest.raises(MachineFailure, match=r"at none\.invalid:6379: "):
        check_reachable("none.invalid:6379")
    check_reachable(f"127.0.0.1:{server.getsockname()[1]}")
    assert capsys.readouterr().err == ""  # a local cluster needs no token


def test_a_cluster_that_cannot_be_joined_may_ask_for_a_token(monkeypatch):
    def lost(*_, **__):
        raise ConnectionError("Failed to connect to Ray cluster at 10.0.0.1:6379")

    monkeypatch.setattr(driver.ray, "init", lost)
    for address, hint in (("10.0.0.1:6379", True), (None, False)):
        with pytest.raises(MachineFailure, match="Failed to connect") as caught:
            driver._ray_running(address, "").__enter__()
        assert ("set RAY_AUTH_MODE=token and that token" in str(caught.value)) == hint


def test_a_place_that_goes_silent_is_missed_after_a_while(server):
    place = server.getsockname()
    patient, hasty = Watch("Ray", [place], 1e6), Watch("Ray", [place], 0.0)
    patient.check()
    hasty.check()
    server.close()
    patient.check()
    with pytest.raises(
        MachineFailure, match=rf"Ray is gone: {place[0]}:{place[1]} .*Connection refused"
    ):
        hasty.check()
