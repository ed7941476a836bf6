"""Folders, zips and tars: what is read, and what is refused."""

import errno
import gzip
import io
import os
import stat
import tarfile
import tracemalloc
import zipfile

import pytest
from pools import write_files, write_zip

from fsl_sweep.datasets.files.archives import open_tree, tree_signature
from fsl_sweep.datasets.files.file_tree import Bounds
from fsl_sweep.orchestrator.errors import BadData, MachineFailure

FILES = {"b/c/3.txt": b"three", "a/1.txt": b"one", "a/2.txt": bytes(1000)}
STREWN = {".DS_Store": b"", "a/Thumbs.db": b"", "__MACOSX/a/._1.txt": b"", "a/._1.txt": b""}


def entry(name, content=b"", kind=tarfile.REGTYPE, **more):
    info = tarfile.TarInfo(name)
    info.size, info.type = len(content), kind
    for key, value in more.items():
        setattr(info, key, value)
    return info, content


def entries(files=FILES, prefix=""):
    return [entry(prefix + name, content) for name, content in files.items()]


def write_tar(path, members=(), style=tarfile.PAX_FORMAT, change=lambda content: content):
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


def read(path, bounds=None):
    with open_tree(path, bounds) as tree:
        return {member.path: tree.read(member) for member in tree.members}


def assert_listed(path, files):
    """Every file with its content, sorted and in any order."""
    with open_tree(path) as tree:
        assert tree.where == path
        assert [member.path for member in tree.members] == sorted(files)
        for member in reversed(tree.members):
            assert tree.read(member) == files[member.path]
            assert member.size == len(files[member.path])


@pytest.mark.parametrize("zipped", [False, True])
def test_a_folder_or_zip_lists_and_reads_its_files(write_tree, zipped):
    assert_listed(write_tree({**FILES, **STREWN}, zipped=zipped), FILES)


@pytest.mark.parametrize("style", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
@pytest.mark.parametrize("prefix", ["", "./"])
def test_a_tar_lists_and_reads_its_files(path, tmp_path, style, prefix):
    long = {f"{'d' * 90}/{'e' * 90}/ü{'f' * 70}.txt": b"long"}
    files = {**FILES, **(long if style != tarfile.USTAR_FORMAT else {})}
    folders = [entry(name, kind=tarfile.DIRTYPE) for name in ([".", "./x"] if prefix else ["x"])]
    write_tar(path, [*folders, *entries({**files, **STREWN}, prefix)], style)
    assert_listed(path, files)
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


NAMES = ("/etc/passwd", "C:/x", "a\\..\\x", "../x", "a/../../x", "a//x", "./../x", "././x")
LINKS = ("SYMTYPE", "LNKTYPE", "CHRTYPE", "BLKTYPE", "FIFOTYPE", "CONTTYPE")


def test_hostile_members_are_refused_by_name(tmp_path, refused, snapshot):
    def in_zip(name, mode=0):
        info = zipfile.ZipInfo("placeholder")
        info.filename = name  # past the constructor's clean-up
        info.external_attr = mode << 16
        return write_zip(tmp_path / "hostile.zip", {info: b"x"})

    def in_tar(member):
        return write_tar(tmp_path / "hostile.tar", [*entries(), member])

    modes = {"link": stat.S_IFLNK, "device": stat.S_IFBLK, "pipe": stat.S_IFIFO}
    kinds = [*(getattr(tarfile, kind) for kind in LINKS), b"Z"]
    sparse = {"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.realsize": "9"}
    assert [
        *(refused(read, in_zip(name)) for name in (*NAMES, "./x")),
        *(refused(read, in_zip(name, mode | 0o600)) for name, mode in modes.items()),
        *(refused(read, in_tar(entry(name, b"x"))) for name in NAMES),
        *(refused(read, in_tar(entry("x", kind=k, linkname="/etc/passwd"))) for k in kinds),
        refused(read, in_tar(entry("x", b"0\n" + bytes(510), pax_headers=sparse))),
    ] == snapshot


def test_damaged_lying_and_too_large_zips_are_refused(write_tree, tmp_path, refused, snapshot):
    def altered(change, files=FILES):
        path = write_tree(files, "altered", zipped=True)
        path.write_bytes(change(bytearray(path.read_bytes())))
        return path

    def encrypted(content):
        content[6] |= 1
        content[content.index(b"PK\x01\x02") + 8] |= 1
        return content

    size, liar = (5_000_000).to_bytes(4, "little"), tmp_path / "liar.zip"
    with zipfile.ZipFile(liar, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x.bin", bytes(5_000_000))
    assert liar.read_bytes().count(size) == 2  # in the local header and in the central directory
    liar.write_bytes(liar.read_bytes().replace(size, (100).to_bytes(4, "little")))
    with zipfile.ZipFile(tmp_path / "twice.zip", "w") as archive:
        archive.writestr("x", b"1")
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr("x", b"2")
    large = write_tree({"a": bytes(1000), "b": bytes(1000)}, "large", zipped=True)
    bounds = (Bounds(member_bytes=999), Bounds(total_bytes=1999), Bounds(members=1))
    changes = (lambda c: c.replace(b"one", b"eno", 1), lambda c: c[:-30], lambda _: b"")
    messages = [refused(read, path) for path in (liar, tmp_path / "twice.zip", tmp_path / "none")]
    messages += [refused(read, large, bound) for bound in bounds]  # before anything is read
    messages += [refused(read, altered(change)) for change in changes]
    assert [*messages, refused(read, altered(encrypted, {"x": b"1"}))] == snapshot


def test_links_to_files_are_followed_and_broken_ones_named(write_tree, tmp_path, refused, snapshot):
    target, path = tmp_path / "elsewhere", write_tree(FILES)
    target.write_bytes(b"real")
    (path / "a" / "link").symlink_to(target)
    assert read(path) == {**FILES, "a/link": b"real"}
    with open_tree(path) as tree:
        linked = next(m for m in tree.members if m.path == "a/link")
    target.write_bytes(b"grown since")
    messages = [refused(tree.read, linked)]
    target.unlink()
    messages += [refused(tree.read, linked), refused(read, path)]
    (path / "a" / "link").unlink()
    (path / "a" / "loop").symlink_to(path / "a")
    assert [*messages, refused(read, path)] == snapshot


def header(size, kind=tarfile.REGTYPE):
    """A block whose size is written in 8 bytes, as GNU tar writes very large ones."""
    block = bytearray(entry("x", kind=kind)[0].tobuf(tarfile.GNU_FORMAT))
    block[124:136] = b"\x80" + size.to_bytes(11, "big") if size >= 0 else b"\xff" * 12
    block[148:156] = b" " * 8
    block[148:156] = f"{sum(block):06o}\0 ".encode()
    return bytes(block)


CUT_OFF = "not a readable tar|is cut off|neither a folder"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: header(2**50) + c, "'x' would expand to 1125899906842624 bytes"),
        (lambda c: header(2**30, tarfile.XHDTYPE) + c, "a header in it claims 1073741824 bytes"),
        (lambda c: header(2**30, tarfile.GNUTYPE_LONGNAME) + c, "claims 1073741824 bytes"),
        (lambda c: header(-1) + c, "precedes it|not a readable tar"),
        (lambda c: header(1, tarfile.GNUTYPE_LONGNAME) * 3000 + c, CUT_OFF),
        (lambda c: c[:700], CUT_OFF),  # in a member
        (lambda c: c[:1024], CUT_OFF),  # between members: nothing marks the end
        (lambda c: c[:1200], CUT_OFF),  # in a header
        (lambda c: c[:1024] + b"\1" * 512 + c[1536:], CUT_OFF),  # a damaged header
        (lambda c: b"\1" * 512 + c[512:], CUT_OFF),
        (lambda c: b"", CUT_OFF),
    ],
)
def test_tars_with_headers_that_lie_cut_off_or_damaged_are_refused(path, change, message):
    with pytest.raises(BadData, match=message):
        read(write_tar(path, style=tarfile.USTAR_FORMAT, change=change))


def test_compressed_tars_may_be_joined_and_padded_but_not_damaged(tmp_path, refused, snapshot):
    path = write_tar(tmp_path / "made.tar.gz")
    whole = path.read_bytes()
    content = gzip.decompress(whole)
    parts = [gzip.compress(part) for part in (content[:700], content[700:])]
    path.write_bytes(b"".join(parts) + bytes(500))
    assert read(path) == FILES
    changes = {
        "checksum.tar.gz": whole[:-5] + bytes([whole[-5] ^ 1]) + whole[-4:],
        "content.tar.gz": whole[:40] + bytes([whole[40] ^ 0x55]) + whole[41:],
        "cut-off.tar.gz": whole[:-5],
        "more.tar.gz": whole + b"more",
        "no.tar.gz": gzip.compress(b"words " * 1000),
        "bomb.tar.gz": gzip.compress(bytes(30_000_000)),
    }
    write_files(tmp_path, changes)
    tracemalloc.start()
    bounds = Bounds(members=10, total_bytes=1_000_000)
    messages = [refused(read, tmp_path / name, bounds) for name in changes]
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert messages == snapshot
    assert most < 6_000_000
    signatures = set()
    for text in (b"no tar at all", b"no tar at ALL"):  # known by the checksum, not decompressed
        path.write_bytes(gzip.compress(text, mtime=0))
        signatures.add(tree_signature(path))
    assert len(signatures) == 2


def test_no_room_to_decompress_and_a_file_that_shrinks_are_noticed(tmp_path, monkeypatch):
    class Full(io.BytesIO):
        def write(self, _):
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("fsl_sweep.datasets.files.archives.tempfile.TemporaryFile", Full)
    with pytest.raises(MachineFailure, match=r"No space left on device.*TMPDIR"):
        read(write_tar(tmp_path / "made.tar.gz"))
    path = write_tar(tmp_path / "made.tar")
    with open_tree(path) as tree:
        path.write_bytes(b"")
        with pytest.raises(BadData, match=r"a/1\.txt in .* does not have the size"):
            tree.read(tree.members[0])
