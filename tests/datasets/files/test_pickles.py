"""What Python's own pickle reads from our own files is the oracle for what is admitted."""

import os
import pickle
import pickletools
import struct
import tracemalloc
from collections import OrderedDict

import numpy as np
import pytest

from fsl_sweep.datasets.files import pickles as restricted_pickle
from fsl_sweep.datasets.files.pickles import load_pickle, whole_numbers
from fsl_sweep.orchestrator.errors import BadData, MachineFailure

IMAGES = np.arange(2 * 4 * 4 * 3, dtype=np.uint8).reshape(2, 4, 4, 3)
DATA = {
    "images": IMAGES,
    "moved": IMAGES.transpose(3, 0, 2, 1),
    "columns": np.asfortranarray(np.eye(3)),
    "empty": np.empty((0, 3)),
    "names": np.array(["ab", "c"]),
    "old": np.array([b"ab", b"c"]),
    "big": np.arange(4, dtype=">i4"),
    "sliced": np.arange(10)[::2],
    "flags": np.array([True, False]),
    "scalar": np.float32(1.5),
    "numbers": [0, 255, 256, 65536, -1, 2**40, -(2**70), 1.5, -0.0, None, True, False],
    "text": ["", "é\u20ac\U0001f600\n\\'", "x" * 300],
    "bytes": [b"", b"\x00\xff", bytes(range(256)) * 3],
    "tuples": (1, (2, ("three", b"4")), ()),
    "shared": [[1]] * 3,
    7: {None: [], 1.5: {}},
}


@pytest.mark.parametrize("protocol", range(6))
def test_every_protocol_is_read_as_python_reads_it(protocol, tmp_path):
    """``repr`` tells types, shapes and the order of keys too."""
    content = pickle.dumps(DATA, protocol)
    assert repr(load_pickle(pickletools.optimize(content))) == repr(DATA)
    if protocol == 2:  # NumPy 1 has its functions in other modules than NumPy 2
        assert b"numpy._core.multiarray" in content
        assert repr(load_pickle(content.replace(b"numpy._core.", b"numpy.core."))) == repr(DATA)
    path = tmp_path / "data.pkl"
    path.write_bytes(content)
    loaded = load_pickle(path)
    assert repr(loaded) == repr(DATA)
    assert loaded["shared"][0] is loaded["shared"][2]


def old_array(content: bytes, shape: bytes) -> bytes:
    """What Python 2 wrote for an array of bytes, after the opcodes of protocol 2."""
    return (
        b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85U\x01b\x87R(K\x01"
        + shape
        + b"cnumpy\ndtype\nU\x02u1K\x00K\x01\x87R(K\x03U\x01|NNNJ\xff\xff\xff\xff"
        + b"J\xff\xff\xff\xffK\x00tb\x89T"
        + struct.pack("<i", len(content))
        + content
        + b"tb"
    )


OLD_IMAGES = old_array(IMAGES.tobytes(), b"(K\x02K\x04K\x04K\x03t")


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (
            b"\x80\x02}(U\x04dataU\x03\xe9\x00bU\x06images" + OLD_IMAGES + b"u.",
            {b"data": b"\xe9\x00b", b"images": IMAGES},
        ),
        (
            b"(lp0\nS'a\\x00\\n'\np1\naS\"it's\"\np2\naI01\naI7\naL12L\naVab\\u20ac\xe9\na.",
            [b"a\x00\n", b"it's", True, 7, 12, "ab€é"],
        ),
    ],
)
def test_the_text_of_python_2_is_bytes(content, expected):
    assert repr(load_pickle(content)) == repr(expected)
    assert repr(pickle.loads(content, encoding="bytes")) == repr(expected)


class Evil:
    def __init__(self, function, *arguments):
        self.called = function, arguments

    def __reduce__(self):
        return self.called


NAMING = [
    (Evil(os.system, "touch owned"), "posix.system"),
    (Evil(eval, "open('owned', 'w')"), "eval"),
    (Evil(getattr, 1, "real"), "getattr"),
    (OrderedDict(a=1), "collections.OrderedDict"),
    ({1, 2}, ""),
    (np.random.default_rng, "numpy.random"),
    (complex(1, 2), "complex"),
    (np.array([1]).view(np.matrix), "numpy.*matrix"),
    *((np.zeros(3, dtype), None) for dtype in ("O", "M8[s]", [("a", "i4")], "V8", "c8")),
]
CALLS = [
    b"cos\nsystem\n(S'touch owned'\ntR.",
    b"(S'touch owned'\nios\nsystem\n.",
    b"(cos\nsystem\nS'touch owned'\no.",
    b"\x80\x04\x8c\x02os\x8c\x06system\x93\x8c\x0btouch owned\x85R.",
    b"\x80\x02cos\nsystem\n)\x81.",
    b"cnumpy\nndarray\n(I1\ntR.",
    b"cnumpy\ndtype\n(cnumpy\nndarray\ntR.",
]


@pytest.mark.parametrize(
    ("content", "name"),
    [
        *((pickle.dumps([value], p), name) for value, name in NAMING for p in range(6)),
        *((content, None) for content in CALLS),
    ],
)
def test_what_names_or_calls_anything_else_is_refused(content, name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.pkl").write_bytes(content)
    problem = "" if name is None else f"(refused: it names|not a).*{name}"
    with pytest.raises(BadData, match=rf"x\.pkl is {problem}"):
        load_pickle(tmp_path / "x.pkl")
    assert not (tmp_path / "owned").exists()


@pytest.mark.parametrize("protocol", [0, 2, 4, 5])
def test_a_cut_is_damage_wherever_and_other_damage_an_error_of_ours_or_another_value(
    protocol, tmp_path
):
    content = pickle.dumps({"images": IMAGES[:1], "labels": [1, 2], "who": ("a", b"b")}, protocol)
    for length in range(len(content)):
        with pytest.raises(BadData, match=r"^x\.pkl is (damaged|refused: it names)"):
            load_pickle(content[:length], "x.pkl")
    (tmp_path / "data.pkl").write_bytes(content[:-1])
    with pytest.raises(BadData, match=r"data\.pkl is damaged"):
        load_pickle(tmp_path / "data.pkl")
    rng, refused = np.random.default_rng(0), 0
    for _ in range(1000):
        damaged = bytearray(content)
        damaged[rng.integers(len(content))] = rng.integers(256)
        try:
            load_pickle(bytes(damaged), "x.pkl")
        except BadData:
            refused += 1
    assert refused > 200


SHAPES = (b"(I7\nt", b"(I-1\nI-6\nt", b"(I1000000000\nI1000000000\nt", b"(S'6'\nt", b"I6\n")
# Each pair holds the last one twice: 2^60 texts to hash, or to unfold.
TWICE = b"\x8c\x01x\x94" + b"".join(
    b"h" + bytes([n]) + b"h" + bytes([n]) + b"\x86\x94" for n in range(60)
)
AS_KEY = ((b"}", b"Ns."), (b"}(", b"Nu."), (b"(", b"Nd."), (b"}", b"(uNs."), (b"}", b"NbNs."))


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"\x80\x02]\x8e" + b"\xff" * 8 + b".", "damaged"),  # lengths beyond everything
        (b"\x80\x05\x96" + b"\x7f" * 8 + b"x.", "damaged"),
        (b"\x80\x04\x8d" + struct.pack("<Q", 2**40) + b"x.", "damaged"),
        (b"\x80\x04\x95" + struct.pack("<Q", 2) + b"\x95" + bytes(8) + b"N.", "end of frame"),
        (b"\x80\x04\x95" + struct.pack("<Q", 3) + b"\x8c\x05hello.", "before end of frame"),
        (b"Np-1\n.", "damaged"),
        (b"]" * 2000 + b".", "more than 1,000 operations"),
        *((before + TWICE + after, "tuple as a key") for before, after in AS_KEY),
        (b"N2\x86.", "operation DUP,"),
        # One text, made into bytes again and again.
        (b"c_codecs\nencode\nq\x01(X" + struct.pack("<I", 400) + b"x" * 400
         + b"X\x06\x00\x00\x00latin1tq\x02]" + b"h\x01h\x02Ra" * 3 + b".", "than there is"),
        (b"}]Ns.", "damaged"),  # a key that has no hash
        (b"(]" + b"]" * 400 + b"t" + b"\x85" * 500 + b".", "damaged"),  # deeper than Python goes
        (b"cnumpy\nndarray\n(N}S'name'\nS'x'\nstb.", "given a state"),
        (b"cnumpy\nndarray\n.", "a part of an array"),
        (b"(1.", "operation POP_MARK"),
        *((b"\x80\x02" + old_array(b"abcdef", s) + b".", "damaged") for s in SHAPES),  # not six
        *((code, "damaged") for code in (b"l.", b"gx\n.", b"h\x05.", b"\x80\x09N.", b"")),
        (b"not a pickle", "x.pkl"),
    ],
)  # fmt: skip
def test_bombs_and_nonsense(content, problem, monkeypatch):
    monkeypatch.setattr(restricted_pickle, "_MOST_OPERATIONS", 1000)
    with pytest.raises(BadData, match=problem):
        load_pickle(content, "x.pkl")


def test_what_is_only_claimed_takes_no_memory_and_shared_tuples_are_not_unfolded():
    for claim in (b"\x95" + struct.pack("<Q", 2**40), b"Nr\xff\xff\xff\x7f"):  # a frame, a memo
        tracemalloc.start()
        assert load_pickle(b"\x80\x04" + claim + b"N.") is None
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert most < 1_000_000
    value = load_pickle(TWICE + b".")
    for _ in range(59):
        assert value[0] is value[1]
        value = value[0]


def test_files_that_cannot_be_read(tmp_path, monkeypatch, refused, snapshot):
    (tmp_path / "empty.pkl").write_bytes(b"")
    places = (tmp_path / "gone.pkl", tmp_path / "empty.pkl", tmp_path)
    assert [refused(load_pickle, place) for place in places] == snapshot

    def exhausted(*_):
        raise MemoryError

    monkeypatch.setattr(restricted_pickle._Unpickler, "load", exhausted)
    with pytest.raises(MachineFailure, match=r"x\.pkl does not fit into the memory"):
        load_pickle(pickle.dumps([1]), "x.pkl")


def test_only_lists_and_arrays_of_integers_are_whole_numbers():
    for value in (1, "1", [1.0], [[1]], [1, [2]], [2**70], None):
        assert whole_numbers(value) is None
    assert repr(whole_numbers(np.array([1, 2], np.uint8))) == repr(np.array([1, 2]))
