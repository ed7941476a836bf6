import errno
import gzip
import io
import os
import tarfile
import tracemalloc

import pytest

from fsl_sweep.datasets.files.archives import open_tree, tree_signature
from fsl_sweep.datasets.files.file_tree import Bounds
from fsl_sweep.orchestrator.errors import BadData, MachineFailure

FILES = {"b/c/3.txt": b"three", "a/1.txt": b"one", "a/2.txt": bytes(1000)}


@pytest.fixture(params=["tar", "tar.gz"])
def write_tar(request, tmp_path):
    """Writes headers and contents as they are given, as a tar or a tar.gz."""

    def write(entries, style=tarfile.PAX_FORMAT, name="made"):
        path = tmp_path / f"{name}.{request.param}"
        mode = "w:gz" if request.param == "tar.gz" else "w"
        with tarfile.open(path, mode, format=style) as archive:
            for info, content in entries:
                archive.addfile(info, io.BytesIO(content))
        return path

    return write


def entry(name, content=b"", kind=tarfile.REGTYPE, **more):
    info = tarfile.TarInfo(name)
    info.size, info.type = len(content), kind
    for key, value in more.items():
        setattr(info, key, value)
    return info, content


def entries(files, prefix=""):
    return [entry(prefix + name, content) for name, content in files.items()]


def rewritten(path, change):
    """The same archive with its uncompressed bytes changed."""
    compressed = path.suffix == ".gz"
    content = path.read_bytes()
    content = change(gzip.decompress(content) if compressed else content)
    path.write_bytes(gzip.compress(content) if compressed else content)
    return path


@pytest.mark.parametrize("style", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
@pytest.mark.parametrize("prefix", ["", "./"])
def test_a_tar_lists_and_reads_its_files(write_tar, tmp_path, style, prefix):
    long = {f"{'d' * 90}/{'e' * 90}/ü{'f' * 70}.txt": b"long"}
    files = {**FILES, **(long if style != tarfile.USTAR_FORMAT else {})}
    folder = entry(f"{prefix}empty", kind=tarfile.DIRTYPE)
    around = [entry(".", kind=tarfile.DIRTYPE)] if prefix else []
    path = write_tar([*around, folder, *entries(files, prefix)], style)
    with open_tree(path) as tree:
        assert tree.where == path
        assert [member.path for member in tree.members] == sorted(files)
        assert {"a", "b", "b/c", "empty"} <= set(tree.folders)
        assert "" not in tree.folders
        for member in reversed(tree.members):
            assert tree.read(member) == files[member.path]
            assert member.size == len(files[member.path])
    assert list(tmp_path.iterdir()) == [path]  # nothing is extracted


@pytest.mark.parametrize("kind", ["folder", "zip", "tar", "tar.gz"])
def test_the_signature_follows_the_content_and_not_the_place(write_tree, tmp_path, kind):
    def signature(files, name, touched=""):
        path = write_tree(files, name, kind == "zip")
        for one in (path, *path.rglob("*")):
            os.utime(one, (0, 0) if one.name != touched else None)
        if kind.startswith("tar"):
            with tarfile.open(tmp_path / f"{name}.{kind}", f"w:{kind[4:]}") as archive:
                archive.add(path, ".")
            path = tmp_path / f"{name}.{kind}"
            os.utime(path, None if touched else (0, 0))
        return tree_signature(path)

    found = signature(FILES, "x")
    assert signature(FILES, "y") == found
    assert signature({**FILES, "a/1.txt": b"longer"}, "z") != found
    assert signature({**FILES, "a/9.txt": b""}, "w") != found
    # As many bytes, other content: an archive with checksums shows it, elsewhere the date does.
    touched = "" if kind == "zip" else "1.txt"
    assert signature({**FILES, "a/1.txt": b"eno"}, "v", touched) != found


def test_a_compressed_one_is_known_by_its_checksum_without_being_decompressed(tmp_path):
    path = tmp_path / "a.tar.gz"
    path.write_bytes(gzip.compress(b"no tar at all", mtime=0))
    first = tree_signature(path)
    path.write_bytes(gzip.compress(b"no tar at ALL", mtime=0))
    assert tree_signature(path) != first


@pytest.mark.parametrize("name", ["/etc/passwd", "../x", "./../x", "././x"])
def test_hostile_names_are_refused(write_tar, name):
    path = write_tar([*entries(FILES), entry(name, b"x")])
    with pytest.raises(BadData, match=r"made\.tar(\.gz)? is refused: its member"), open_tree(path):
        pass


def test_links_and_devices_are_refused(write_tar):
    kinds = "SYMTYPE LNKTYPE CHRTYPE BLKTYPE FIFOTYPE CONTTYPE".split()  # noqa: SIM905
    for kind in [*(getattr(tarfile, kind) for kind in kinds), b"Z"]:
        path = write_tar([*entries(FILES), entry("x", kind=kind, linkname="/etc/passwd")])
        with pytest.raises(BadData, match="'x' is a link or a device"), open_tree(path):
            pass


def test_a_file_with_holes_is_refused(write_tar):
    headers = {"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.realsize": "9"}
    sparse = entry("x", b"0\n" + bytes(510), pax_headers=headers)
    with pytest.raises(BadData, match="'x' has holes"), open_tree(write_tar([sparse])):
        pass


def header(name, size, kind=tarfile.REGTYPE):
    """A block whose size is written in 8 bytes, as GNU tar writes very large ones."""
    info = entry(name, kind=kind)[0]
    block = bytearray(info.tobuf(tarfile.GNU_FORMAT))
    block[124:136] = b"\x80" + size.to_bytes(11, "big") if size >= 0 else b"\xff" * 12
    block[148:156] = b" " * 8
    block[148:156] = f"{sum(block):06o}\0 ".encode()
    return bytes(block)


@pytest.mark.parametrize(
    ("hostile", "message"),
    [
        (header("x", 2**50), "'x' would expand to 1125899906842624 bytes"),
        (header("x", 2**30, tarfile.XHDTYPE), "a header in it claims 1073741824 bytes"),
        (header("x", 2**30, tarfile.GNUTYPE_LONGNAME), "claims 1073741824 bytes"),
        (header("x", -1), "precedes it|not a readable tar"),
        (header("x", 1, tarfile.GNUTYPE_LONGNAME) * 3000, "not a readable tar|is cut off"),
    ],
)
def test_headers_that_lie_are_refused(write_tar, hostile, message):
    path = rewritten(write_tar(entries(FILES)), lambda content: hostile + content)
    with pytest.raises(BadData, match=message), open_tree(path):
        pass


def test_a_compressed_bomb_is_refused_by_what_it_expands_to(tmp_path):
    path = tmp_path / "bomb.tar.gz"
    path.write_bytes(gzip.compress(bytes(30_000_000)))
    bounds = Bounds(members=10, total_bytes=1_000_000)
    tracemalloc.start()
    with pytest.raises(BadData, match="expand to more than"), open_tree(path, bounds):
        pass
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 6_000_000


@pytest.mark.parametrize(
    "change",
    [
        lambda content: content[:700],  # in a member
        lambda content: content[:1024],  # between members: nothing marks the end
        lambda content: content[:1200],  # in a header
        lambda content: content[:1024] + b"\1" * 512 + content[1536:],  # a damaged header
        lambda content: b"\1" * 512 + content[512:],
        lambda content: b"",
    ],
)
def test_what_breaks_off_or_is_damaged_is_refused(write_tar, change):
    path = rewritten(write_tar(entries(FILES), tarfile.USTAR_FORMAT), change)
    message = "not a readable tar|is cut off|neither a folder"
    with pytest.raises(BadData, match=message), open_tree(path):
        pass


@pytest.fixture(scope="module")
def compressed(tmp_path_factory):
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as archive:
        for info, content in entries(FILES):
            archive.addfile(info, io.BytesIO(content))
    return stream.getvalue()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: c[:-5] + bytes([c[-5] ^ 1]) + c[-4:], "cannot be decompressed"),  # the checksum
        (lambda c: c[:40] + bytes([c[40] ^ 0x55]) + c[41:], "cannot be decompressed"),
        (lambda c: c[:-5], "cannot be decompressed"),
        (lambda c: c + b"more", "cannot be decompressed"),
        (lambda _: gzip.compress(b"words " * 1000), "is not a readable tar"),
    ],
)
def test_what_gzip_cannot_read_is_refused(tmp_path, compressed, change, message):
    path = tmp_path / "made.tar.gz"
    path.write_bytes(change(compressed))
    with pytest.raises(BadData, match=rf"made\.tar\.gz {message}"), open_tree(path):
        pass


def test_gzip_files_may_be_joined_and_padded(tmp_path, compressed):
    content = gzip.decompress(compressed)
    path = tmp_path / "made.tar.gz"
    path.write_bytes(gzip.compress(content[:700]) + gzip.compress(content[700:]) + bytes(500))
    with open_tree(path) as tree:
        assert {member.path: tree.read(member) for member in tree.members} == FILES


def test_no_room_to_decompress_is_the_machine_s_failure(tmp_path, compressed, monkeypatch):
    class Full(io.BytesIO):
        def write(self, _):
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("fsl_sweep.datasets.files.archives.tempfile.TemporaryFile", Full)
    path = tmp_path / "made.tar.gz"
    path.write_bytes(compressed)
    with pytest.raises(MachineFailure, match=r"No space left on device.*TMPDIR"), open_tree(path):
        pass


def test_a_file_that_shrinks_while_it_is_read_is_noticed(tmp_path):
    path = tmp_path / "made.tar"
    with tarfile.open(path, "w") as archive:
        for info, content in entries(FILES):
            archive.addfile(info, io.BytesIO(content))
    with open_tree(path) as tree:
        path.write_bytes(b"")
        with pytest.raises(BadData, match=r"a/1\.txt in .* does not have the size"):
            tree.read(tree.members[0])
