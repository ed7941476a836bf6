import io

import numpy as np
import pytest
from PIL import EpsImagePlugin, Image
from pools import encoded, grey

from fsl_sweep.datasets.files.decoding import decode, squared
from fsl_sweep.orchestrator.errors import BadData


def test_what_cannot_be_decoded_is_named_with_what_to_do(refused, snapshot):
    stream = io.BytesIO()
    Image.new("1", (13_400, 13_400)).save(stream, "PNG")
    contents = (b"", b"not an image", b"\x89PNG\r\n\x1a\nbroken", stream.getvalue())
    assert [refused(decode, content, "cat/1.png", "rgb") for content in contents] == snapshot
    noise = np.random.default_rng(0).integers(0, 256, (40, 40), dtype=np.uint8)
    with pytest.raises(BadData, match=r"cat/1\.png cannot be decoded"):
        decode(encoded(noise)[:600], "cat/1.png", "grey")


def test_an_eps_whatever_its_name_starts_no_other_program(refused, monkeypatch):
    programs = []
    monkeypatch.setattr(EpsImagePlugin, "Ghostscript", lambda *_, **__: programs.append("gs"))
    Image.new("L", (4, 4)).save(stream := io.BytesIO(), "EPS")
    assert "its format is unknown" in refused(decode, stream.getvalue(), "cat/1.png", "rgb")
    assert programs == []


@pytest.mark.parametrize("form", ["PNG", "JPEG", "MPO", "BMP", "GIF", "WEBP", "TIFF", "PPM"])
def test_every_format_that_a_folder_may_hold_is_decoded(form):
    Image.new("L", (4, 4), 200).save(stream := io.BytesIO(), form)
    assert abs(decode(stream.getvalue(), "x", "grey").getpixel((0, 0)) - 200) < 4


def test_colours_are_converted_and_sixteen_bit_greys_scaled():
    plain, wide = np.full((9, 9), 7, np.uint8), np.array([[0, 32768, 65535]], dtype=np.uint16)
    assert decode(encoded(plain), "x", "rgb").getpixel((0, 0)) == (7, 7, 7)
    assert decode(grey(9), "x", "grey").getpixel((0, 0)) == 9
    assert np.asarray(decode(encoded(wide), "x", "grey")).tolist() == [[0, 127, 255]]


def test_photographs_are_turned_upright_and_their_centre_square_is_kept():
    image, tags, stream = Image.new("L", (20, 10)), Image.Exif(), io.BytesIO()
    tags[0x0112] = 6  # turn by 90 degrees
    image.save(stream, "JPEG", exif=tags)
    assert decode(stream.getvalue(), "x", "grey").size == (10, 20)
    pixels = np.zeros((10, 30, 3), np.uint8)
    pixels[:, 10:20] = 200  # the centre; a sixth of it would be black if the whole were squeezed
    out = squared(Image.fromarray(pixels), 5)
    assert (out.shape, out.dtype) == ((3, 5, 5), np.uint8)
    assert (out == 200).all()
    assert squared(Image.new("L", (8, 9)), 4).shape == (1, 4, 4)


def test_reduction_is_antialiased():
    checks = np.kron(np.indices((32, 32)).sum(0) % 2, np.ones((2, 2))) * 255
    out = squared(Image.fromarray(checks.astype(np.uint8)), 8)
    assert np.abs(out.astype(int) - 127).max() < 30
