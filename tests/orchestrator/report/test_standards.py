"""The HTML report by the W3C's validator, and by axe, which tests pages for screen readers."""

import json
import os
import re
import shutil
import subprocess
from html import unescape
from pathlib import Path

import hard
import pytest
from places import ROOT

from fsl_sweep.orchestrator.report import to_html

MODULES = ROOT / ".ci" / "node_modules"
VALIDATOR, AXE = MODULES / "vnu-jar" / "build" / "dist" / "vnu.jar", MODULES / "axe-core"
JAVA = shutil.which("java")
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
BROWSER = next(filter(None, map(shutil.which, BROWSERS)), None)

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("hard")]

RUN = """<script>%s</script><script>
document.querySelectorAll("details").forEach(section => section.open = true);
axe.run({exclude: [["#said"]]}, {resultTypes: ["violations"]}).then(result => {
  const said = document.createElement("pre"); said.id = "said"; document.body.append(said);
  said.textContent = JSON.stringify(result.violations.map(
    rule => [rule.id, ...rule.nodes.slice(0, 3).map(node => node.html.slice(0, 200))])); });
</script></body>"""


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("pages")
    for name in ("whole", "incomplete", "usual"):
        (folder / f"{name}.html").write_text(to_html(getattr(hard, name)()))
    (folder / "wrong.html").write_text(
        "<!doctype html><html><head><title>t</title></head><body><main><p id='a'>a</p>"
        "<div id='a'></div><svg role='img'></svg><img src='x.png'></main></body></html>"
    )
    return sorted(folder.iterdir())


@pytest.mark.skipif(
    not (VALIDATOR.is_file() and JAVA),
    reason="neither Java nor the W3C's validator is here; `bash .ci/tools` brings the validator",
)
def test_the_validator_of_the_w3c_finds_no_error(pages) -> None:
    command = [str(JAVA), "-jar", str(VALIDATOR), "--errors-only", "--format", "json", "--stdout"]
    done = subprocess.run([*command, *map(str, pages)], capture_output=True, text=True, timeout=120)
    messages = json.loads(done.stdout)["messages"]
    named = [(Path(message["url"]).name, message["message"]) for message in messages]
    assert [message for message in named if message[0] != "wrong.html"] == []
    assert any("Duplicate ID" in message for _, message in named)


@pytest.mark.skipif(
    not (AXE.is_dir() and BROWSER),
    reason="neither a browser nor axe-core is here; `bash .ci/tools` brings both",
)
def test_axe_finds_no_violation(pages, tmp_path) -> None:
    axe = (AXE / "axe.min.js").read_text()
    for page in pages:
        # The page allows no script, so that its policy is taken out for this one.
        text = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page.read_text())
        tested = tmp_path / page.name
        tested.write_text(text.replace("</body>", RUN.replace("%s", axe)))
        command = [
            *(str(BROWSER), "--headless=new", "--disable-gpu", "--disable-dev-shm-usage"),
            *("--no-first-run", f"--user-data-dir={tmp_path / 'browser'}"),
            *(["--no-sandbox"] if os.geteuid() == 0 else []),
            *("--virtual-time-budget=30000", "--dump-dom", tested.as_uri()),
        ]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        said = re.search(r'<pre id="said">(.*?)</pre>', done.stdout, re.DOTALL)
        assert said, done.stderr[-2000:]
        rules = [rule for rule, *_ in json.loads(unescape(said[1]))]
        assert ("image-alt" in rules) if page.name == "wrong.html" else rules == []
