"""The picture of the README shows what the report of its records says today."""

import pytest
from picture import PICTURE, drawn, recorded, words

from fsl_sweep.orchestrator.run import load_run


@pytest.mark.slow
def test_the_picture_is_the_report_of_its_records(tmp_path):
    """Compared by its words: other versions of rich place them with other codes."""
    today = words(drawn(load_run(recorded(tmp_path / "quickstart"))))
    assert words(PICTURE.read_text()) == today, "`python tests/picture.py` draws it anew"
