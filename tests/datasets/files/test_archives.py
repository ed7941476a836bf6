import stat
import zipfile

import pytest
from pools import write_zip

from fsl_sweep.datasets.files.archives import open_tree
from fsl_sweep.datasets.files.file_tree import Bounds

FILES = {"a/1.txt": b"one", "a/2.txt": b"two", "b/c/3.txt": b"three"}


def opened(path, bounds=None) -> dict[str, bytes]:
    """Every file of a folder or an archive."""
    with open_tree(path, bounds) as tree:
        assert [m.path for m in tree.members] == sorted(m.path for m in tree.members)
        return {m.path: tree.read(m) for m in tree.members}


@pytest.mark.parametrize("zipped", [False, True])
def test_a_tree_lists_and_reads_its_files(write_tree, zipped):
    strewn = {".DS_Store": b"", "a/Thumbs.db": b"", "__MACOSX/a/._1.txt": b"", "a/._1.txt": b""}
    path = write_tree({**FILES, **strewn}, zipped=zipped)
    assert opened(path) == FILES
    with open_tree(path) as tree:
        assert tree.folders == ["a", "b", "b/c"]


MEMBERS = {
    "/etc/passwd": 0,
    "C:/x": 0,
    "a\\..\\x": 0,
    "../x": 0,
    "a/../../x": 0,
    "a//x": 0,
    "./x": 0,
    "/".join("a" * 33): 0,
    "link": stat.S_IFLNK | 0o777,
    "device": stat.S_IFBLK | 0o600,
    "pipe": stat.S_IFIFO | 0o600,
}


def test_hostile_members_are_refused_by_name(tmp_path, refused, snapshot):
    def hostile(name, mode):
        info = zipfile.ZipInfo("placeholder")
        info.filename = name  # past the constructor's clean-up
        info.external_attr = mode << 16
        return write_zip(tmp_path / "hostile.zip", {info: b"x"})

    assert [refused(opened, hostile(name, mode)) for name, mode in MEMBERS.items()] == snapshot


def test_damaged_lying_and_too_large_zips_are_refused(write_tree, tmp_path, refused, snapshot):
    def altered(name, change, files=FILES):
        path = write_tree(files, name, zipped=True)
        path.write_bytes(change(bytearray(path.read_bytes())))
        return path

    def encrypted(content):
        content[6] |= 1
        content[content.index(b"PK\x01\x02") + 8] |= 1
        return content

    with zipfile.ZipFile(tmp_path / "twice.zip", "w") as archive:
        archive.writestr("x", b"1")
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr("x", b"2")
    large = write_tree({"a": bytes(1000), "b": bytes(1000)}, "large", zipped=True)
    assert (
        [
            refused(opened, tmp_path / "twice.zip"),
            *(
                refused(opened, large, bounds)  # before anything is read
                for bounds in (
                    Bounds(member_bytes=999),
                    Bounds(total_bytes=1999),
                    Bounds(members=1),
                )
            ),
            refused(opened, altered("false", lambda c: c.replace(b"one", b"eno", 1))),
            refused(opened, altered("truncated", lambda c: c[:-30])),
            refused(opened, altered("empty", lambda _: b"")),
            refused(opened, altered("encrypted", encrypted, {"x": b"1"})),
            refused(opened, tmp_path / "none"),
        ]
        == snapshot
    )


def test_a_member_that_lies_about_its_size_is_refused(tmp_path, refused, snapshot):
    path = tmp_path / "liar.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x.bin", bytes(5_000_000))
    content, size = path.read_bytes(), (5_000_000).to_bytes(4, "little")
    assert content.count(size) == 2  # in the local header and in the central directory
    path.write_bytes(content.replace(size, (100).to_bytes(4, "little")))
    assert refused(opened, path) == snapshot


def test_links_to_files_are_followed_and_broken_ones_named(write_tree, tmp_path, refused, snapshot):
    target = tmp_path / "elsewhere"
    target.write_bytes(b"real")
    path = write_tree(FILES)
    (path / "a" / "link").symlink_to(target)
    assert opened(path) == {**FILES, "a/link": b"real"}
    with open_tree(path) as tree:
        linked = next(m for m in tree.members if m.path == "a/link")
    target.write_bytes(b"grown since")
    told = [refused(tree.read, linked)]
    target.unlink()
    told += [refused(tree.read, linked), refused(opened, path)]
    (path / "a" / "link").unlink()
    (path / "a" / "loop").symlink_to(path / "a")
    assert [*told, refused(opened, path)] == snapshot
