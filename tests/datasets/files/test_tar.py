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


def entry(name, content=b"", kind=tarfile.REGTYPE, **more):
    info = tarfile.TarInfo(name)
    info.size, info.type = len(content), kind
    for key, value in more.items():
        setattr(info, key, value)
    return info, content


def entries(files=FILES, prefix=""):
    return [entry(prefix + name, content) for name, content in files.items()]


def made(path, members=(), style=tarfile.PAX_FORMAT, change=lambda content: content):
    """Writes headers and contents as they are, changed, as a tar or, by the path, a tar.gz."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=style) as archive:
        for info, content in members or entries():
            archive.addfile(info, io.BytesIO(content))
    content = change(stream.getvalue())
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


@pytest.fixture(params=["made.tar", "made.tar.gz"])
def path(request, tmp_path):
    return tmp_path / request.param


def opened(path, bounds=None):
    with open_tree(path, bounds) as tree:
        return {member.path: tree.read(member) for member in tree.members}


@pytest.mark.parametrize("style", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
@pytest.mark.parametrize("prefix", ["", "./"])
def test_a_tar_lists_and_reads_its_files(path, tmp_path, style, prefix):
    long = {f"{'d' * 90}/{'e' * 90}/ü{'f' * 70}.txt": b"long"}
    files = {**FILES, **(long if style != tarfile.USTAR_FORMAT else {})}
    folders = [".", "./empty"] if prefix else ["empty"]
    folders = [entry(name, kind=tarfile.DIRTYPE) for name in folders]
    made(path, [*folders, *entries(files, prefix)], style)
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
        for place in (path, *path.rglob("*")):
            os.utime(place, (0, 0) if place.name != touched else None)
        if kind.startswith("tar"):
            with tarfile.open(tmp_path / f"{name}.{kind}", f"w:{kind[4:]}") as archive:
                archive.add(path, ".")
            path = tmp_path / f"{name}.{kind}"
            os.utime(path, None if touched else (0, 0))
        return tree_signature(path)

    first = signature(FILES, "x")
    assert signature(FILES, "y") == first
    assert signature({**FILES, "a/1.txt": b"longer"}, "z") != first
    assert signature({**FILES, "a/9.txt": b""}, "w") != first
    # As many bytes, other content: an archive with checksums shows it, elsewhere the date does.
    touched = "" if kind == "zip" else "1.txt"
    assert signature({**FILES, "a/1.txt": b"eno"}, "v", touched) != first


KINDS = "SYMTYPE LNKTYPE CHRTYPE BLKTYPE FIFOTYPE CONTTYPE".split()  # noqa: SIM905


def test_hostile_members_are_refused(path, refused, snapshot):
    sparse = {"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.realsize": "9"}
    kinds = [*(getattr(tarfile, kind) for kind in KINDS), b"Z"]
    members = [
        *(entry(name, b"x") for name in ("/etc/passwd", "../x", "./../x", "././x")),
        *(entry("x", kind=kind, linkname="/etc/passwd") for kind in kinds),
        entry("x", b"0\n" + bytes(510), pax_headers=sparse),
    ]
    assert [refused(opened, made(path, [*entries(), member])) for member in members] == snapshot


def header(name, size, kind=tarfile.REGTYPE):
    """A block whose size is written in 8 bytes, as GNU tar writes very large ones."""
    block = bytearray(entry(name, kind=kind)[0].tobuf(tarfile.GNU_FORMAT))
    block[124:136] = b"\x80" + size.to_bytes(11, "big") if size >= 0 else b"\xff" * 12
    block[148:156] = b" " * 8
    block[148:156] = f"{sum(block):06o}\0 ".encode()
    return bytes(block)


CUT_OFF = "not a readable tar|is cut off|neither a folder"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        *(
            (lambda content, hostile=hostile: hostile + content, message)
            for hostile, message in (
                (header("x", 2**50), "'x' would expand to 1125899906842624 bytes"),
                (header("x", 2**30, tarfile.XHDTYPE), "a header in it claims 1073741824 bytes"),
                (header("x", 2**30, tarfile.GNUTYPE_LONGNAME), "claims 1073741824 bytes"),
                (header("x", -1), "precedes it|not a readable tar"),
                (header("x", 1, tarfile.GNUTYPE_LONGNAME) * 3000, CUT_OFF),
            )
        ),
        (lambda content: content[:700], CUT_OFF),  # in a member
        (lambda content: content[:1024], CUT_OFF),  # between members: nothing marks the end
        (lambda content: content[:1200], CUT_OFF),  # in a header
        (lambda content: content[:1024] + b"\1" * 512 + content[1536:], CUT_OFF),  # damaged header
        (lambda content: b"\1" * 512 + content[512:], CUT_OFF),
        (lambda content: b"", CUT_OFF),
    ],
)
def test_headers_that_lie_and_what_is_cut_off_or_damaged_are_refused(path, change, message):
    with pytest.raises(BadData, match=message):
        opened(made(path, style=tarfile.USTAR_FORMAT, change=change))


def test_a_compressed_bomb_is_refused_by_what_it_expands_to(tmp_path, refused, snapshot):
    path = tmp_path / "bomb.tar.gz"
    path.write_bytes(gzip.compress(bytes(30_000_000)))
    tracemalloc.start()
    assert refused(opened, path, Bounds(members=10, total_bytes=1_000_000)) == snapshot
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 6_000_000


def test_compressed_ones_may_be_joined_and_padded_but_not_damaged(tmp_path, refused, snapshot):
    path = made(tmp_path / "made.tar.gz")
    whole = path.read_bytes()
    content = gzip.decompress(whole)
    parts = [gzip.compress(part) for part in (content[:700], content[700:])]
    path.write_bytes(b"".join(parts) + bytes(500))
    assert opened(path) == FILES
    changes = {
        "checksum": whole[:-5] + bytes([whole[-5] ^ 1]) + whole[-4:],
        "content": whole[:40] + bytes([whole[40] ^ 0x55]) + whole[41:],
        "cut off": whole[:-5],
        "more": whole + b"more",
        "no tar": gzip.compress(b"words " * 1000),
    }
    told = {}
    for what, damaged in changes.items():
        path.write_bytes(damaged)
        told[what] = refused(opened, path)
    assert told == snapshot
    signatures = []
    for text in (b"no tar at all", b"no tar at ALL"):  # known by the checksum, not decompressed
        path.write_bytes(gzip.compress(text, mtime=0))
        signatures.append(tree_signature(path))
    assert signatures[0] != signatures[1]


def test_no_room_to_decompress_and_a_file_that_shrinks_are_noticed(tmp_path, monkeypatch):
    class Full(io.BytesIO):
        def write(self, _):
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("fsl_sweep.datasets.files.archives.tempfile.TemporaryFile", Full)
    with pytest.raises(MachineFailure, match=r"No space left on device.*TMPDIR"):
        opened(made(tmp_path / "made.tar.gz"))
    path = made(tmp_path / "made.tar")
    with open_tree(path) as tree:
        path.write_bytes(b"")
        with pytest.raises(BadData, match=r"a/1\.txt in .* does not have the size"):
            tree.read(tree.members[0])
