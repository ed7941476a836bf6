"""Downloads from a server of our own, in this process, on the loopback interface."""

import contextlib
import hashlib
import http.server
import threading
from pathlib import Path

import pytest

from fsl_sweep.datasets.benchmarks.omniglot import Omniglot
from fsl_sweep.datasets.catalogue import BENCHMARKS
from fsl_sweep.datasets.files.download import RemoteFile, fetch
from fsl_sweep.datasets.preparing import inventory
from fsl_sweep.orchestrator.cli import invoke
from fsl_sweep.orchestrator.errors import BadData, MissingData, RunFolderError

CONTENT = bytes(range(256)) * 3000
SHA256 = f"sha256:{hashlib.sha256(CONTENT).hexdigest()}"
MD5 = f"md5:{hashlib.md5(CONTENT, usedforsecurity=False).hexdigest()}"
PLACES = {"file": "file:///etc/passwd", "redirected": "/whole.zip"}


class Server(http.server.BaseHTTPRequestHandler):
    """Answers as the last part of the address says."""

    requests: list[str] = []  # noqa: RUF012

    def do_GET(self):
        kind = self.path.rpartition("/")[2].partition(".")[0]
        self.requests.append(kind)
        self.send_response(302 if kind in PLACES else 404 if kind == "gone" else 200)
        if kind in PLACES:
            self.send_header("Location", PLACES[kind])
        elif kind != "unmeasured":
            self.send_header("Content-Length", str(len(CONTENT)))
        self.end_headers()
        if kind not in PLACES:
            with contextlib.suppress(ConnectionError):  # who fetches may leave before the end
                self.wfile.write(
                    CONTENT[:-1000] if kind in ("truncated", "unmeasured") else CONTENT
                )

    def log_message(self, *arguments):
        pass


@pytest.fixture(scope="module")
def address():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture
def get(address, tmp_path):
    """Fetches a file of the server, and notes the progress."""

    def get(name, checksum=SHA256, folder=tmp_path / "to"):
        file = RemoteFile(f"{address}/{name}", checksum)
        return fetch(file, folder, lambda *done: setattr(get, "done", done))

    return get


@pytest.mark.parametrize("checksum", [SHA256, MD5])
@pytest.mark.parametrize("name", ["whole.zip", "redirected.zip"])
def test_a_file_comes_whole_and_is_not_fetched_twice(get, tmp_path, name, checksum):
    path = tmp_path / "to" / name
    assert get(name, checksum) == (path, False)
    assert path.read_bytes() == CONTENT
    assert get.done == (len(CONTENT), len(CONTENT))
    before = len(Server.requests)
    assert get(name, checksum) == (path, True)
    assert len(Server.requests) == before
    path.write_bytes(CONTENT[:-1])  # damaged since: fetched again
    assert get(name, checksum) == (path, False)
    assert path.read_bytes() == CONTENT


@pytest.mark.parametrize(
    ("name", "checksum", "error", "message"),
    [
        ("whole.zip", SHA256.replace("f", "0"), BadData, "is not the official file"),
        ("truncated.zip", SHA256, BadData, "broke off .*767000 bytes read, 1000 more expected"),
        ("unmeasured.zip", SHA256, BadData, "is not the official file"),
        ("gone.zip", SHA256, MissingData, "cannot be downloaded .*404"),
        ("file.zip", SHA256, MissingData, r"cannot be downloaded .*file:///etc/passwd"),
    ],
)
def test_what_is_not_the_file_leaves_what_was_there(get, tmp_path, name, checksum, error, message):
    for before in ([], [b"mine"]):
        for content in before:
            (tmp_path / "to" / name).write_bytes(content)
        with pytest.raises(error, match=message):
            get(name, checksum)
        assert [p.read_bytes() for p in (tmp_path / "to").iterdir()] == before


@pytest.fixture
def command(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("FSL_SWEEP_HOME", str(tmp_path / "home"))

    def command(*arguments):
        code = invoke(["data", "download", *map(str, arguments)])
        return (code, *capsys.readouterr())

    return command


def test_the_command_fetches_into_one_folder_and_says_what_is_next(
    command, address, tmp_path, monkeypatch
):
    files = tuple(RemoteFile(f"{address}/whole.{kind}", SHA256) for kind in ("a", "b"))
    monkeypatch.setattr(Omniglot, "files", files)
    code, out, _ = command("omniglot")
    folder = tmp_path / "home" / "downloads" / "omniglot"
    assert (code, sorted(p.name for p in folder.iterdir())) == (0, ["whole.a", "whole.b"])
    assert out.splitlines()[-1] == f"next: fsl-sweep data prepare omniglot --from {folder}"
    assert command("omniglot")[1].count("already there, checksum right") == 2
    assert command("omniglot", "--to", tmp_path / "x")[0] == 0
    assert (tmp_path / "x" / "whole.a").read_bytes() == CONTENT


def test_what_cannot_be_fetched_is_explained(command, get, tmp_path, monkeypatch, snapshot):
    assert [command(name) for name in ("image-folder", "glyphs", "omnigloth")] == snapshot
    assert inventory.download("glyphs")[1] == []
    with http.server.HTTPServer(("127.0.0.1", 0), Server) as server:
        closed = f"http://127.0.0.1:{server.server_port}/images_background.zip"
    monkeypatch.setattr(Omniglot, "files", (RemoteFile(closed, SHA256),))
    code, out, err = command("omniglot")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "Connection refused" in err
    assert "https://github.com/brendenlake/omniglot" in err
    assert f"data prepare omniglot --from {tmp_path / 'home' / 'downloads' / 'omniglot'}" in err
    with pytest.raises(RunFolderError, match=r"/proc/to/whole\.zip cannot be written.*--to"):
        get("whole.zip", folder=Path("/proc/to"))


def test_official_addresses_are_secure_and_have_checksums():
    files = {name: BENCHMARKS.find(name).cls.files for name in BENCHMARKS.names()}
    assert len(files["omniglot"]) == 2
    for file in (file for several in files.values() for file in several):
        assert file.url.startswith("https://")
        kind, _, digits = file.checksum.partition(":")
        assert len(digits) == {"md5": 32, "sha256": 64}[kind]
        assert int(digits, 16)
        assert "." in file.name
