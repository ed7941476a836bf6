import stat
import zipfile

import pytest

from fsl_sweep.datasets.files.archives import open_tree
from fsl_sweep.datasets.files.file_tree import Bounds
from fsl_sweep.orchestrator.errors import BadData, MissingData

FILES = {"a/1.txt": b"one", "a/2.txt": b"two", "b/c/3.txt": b"three"}


@pytest.mark.parametrize("zipped", [False, True])
def test_a_tree_lists_and_reads_its_files(write_tree, zipped):
    strewn = {".DS_Store": b"", "a/Thumbs.db": b"", "__MACOSX/a/._1.txt": b"", "a/._1.txt": b""}
    with open_tree(write_tree({**FILES, **strewn}, zipped=zipped)) as tree:
        assert {m.path: tree.read(m) for m in tree.members} == FILES
        assert [m.path for m in tree.members] == sorted(FILES)
        assert tree.folders == ["a", "b", "b/c"]


def hostile(tmp_path, name: str, mode: int = 0, content: bytes = b"x"):
    path = tmp_path / "hostile.zip"
    info = zipfile.ZipInfo("placeholder")
    info.filename = name  # past the constructor's clean-up
    info.external_attr = mode << 16
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(info, content)
    return path


@pytest.mark.parametrize(
    ("name", "mode", "message"),
    [
        ("/etc/passwd", 0, "plain relative path"),
        ("C:/x", 0, "plain relative path"),
        ("a\\..\\x", 0, "plain relative path"),
        ("../x", 0, "plain relative path"),
        ("a/../../x", 0, "plain relative path"),
        ("a//x", 0, "plain relative path"),
        ("./x", 0, "plain relative path"),
        ("link", stat.S_IFLNK | 0o777, "a link or a device"),
        ("device", stat.S_IFBLK | 0o600, "a link or a device"),
        ("pipe", stat.S_IFIFO | 0o600, "a link or a device"),
    ],
)
def test_hostile_members_are_refused_by_name(tmp_path, name, mode, message):
    with (
        pytest.raises(BadData, match=rf"hostile\.zip is refused: .*{message}"),
        open_tree(hostile(tmp_path, name, mode)),
    ):
        pass


def test_members_that_appear_twice_are_refused(tmp_path):
    path = tmp_path / "twice.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("x", b"1")
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr("x", b"2")
    with pytest.raises(BadData, match="appears twice"), open_tree(path):
        pass


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        (Bounds(member_bytes=999), "would expand to 1000 bytes"),
        (Bounds(total_bytes=1999), "would expand to 2000 bytes"),
        (Bounds(members=1), "more than 1 files"),
    ],
)
def test_bombs_are_refused_before_anything_is_read(write_tree, bounds, message):
    path = write_tree({"a": bytes(1000), "b": bytes(1000)}, zipped=True)
    with pytest.raises(BadData, match=message), open_tree(path, bounds):
        pass


def test_a_member_that_lies_about_its_size_is_refused(tmp_path):
    path = tmp_path / "liar.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x.bin", bytes(5_000_000))
    content = path.read_bytes()
    size = (5_000_000).to_bytes(4, "little")
    assert content.count(size) == 2  # in the local header and in the central directory
    path.write_bytes(content.replace(size, (100).to_bytes(4, "little")))
    with open_tree(path) as tree, pytest.raises(BadData, match=r"x\.bin in .*liar\.zip"):
        tree.read(tree.members[0])


def test_corrupted_content_is_named(write_tree):
    path = write_tree({"a/1.txt": b"some content"}, zipped=True)
    content = path.read_bytes()
    path.write_bytes(content.replace(b"some content", b"xome content", 1))
    with open_tree(path) as tree, pytest.raises(BadData, match=r"a/1\.txt in .*source\.zip"):
        tree.read(tree.members[0])


def test_a_truncated_or_false_zip_is_refused(write_tree, tmp_path):
    path = write_tree(FILES, zipped=True)
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(BadData, match="neither a folder nor a readable zip"), open_tree(path):
        pass
    path.write_bytes(b"")
    with pytest.raises(BadData, match="neither a folder"), open_tree(path):
        pass
    with pytest.raises(MissingData, match="nothing at"), open_tree(tmp_path / "none"):
        pass


def test_encrypted_members_are_refused(write_tree):
    path = write_tree({"x": b"1"}, zipped=True)
    content = bytearray(path.read_bytes())
    central = content.index(b"PK\x01\x02")
    content[6] |= 1
    content[central + 8] |= 1
    path.write_bytes(content)
    with pytest.raises(BadData, match="encrypted"), open_tree(path):
        pass


def test_a_loop_of_links_ends(write_tree):
    path = write_tree(FILES)
    (path / "a" / "loop").symlink_to(path / "a")
    with pytest.raises(BadData, match="folders deep"), open_tree(path):
        pass


def test_links_to_files_are_followed_and_broken_ones_named(write_tree, tmp_path):
    (tmp_path / "elsewhere").write_bytes(b"real")
    path = write_tree(FILES)
    (path / "a" / "link").symlink_to(tmp_path / "elsewhere")
    with open_tree(path) as tree:
        linked = next(m for m in tree.members if m.path == "a/link")
        assert tree.read(linked) == b"real"
        (tmp_path / "elsewhere").write_bytes(b"grown since")
        with pytest.raises(BadData, match="does not have the size"):
            tree.read(linked)
        (tmp_path / "elsewhere").unlink()
        with pytest.raises(BadData, match="cannot be read"):
            tree.read(linked)
    with pytest.raises(BadData, match="broken link"), open_tree(path):
        pass
