"""axe-core, which looks for what keeps people from using a page: fetched from npm once, pinned, kept in the build."""
import hashlib
import io
import pathlib
import shutil
import subprocess
import tarfile
import tempfile

from harness import BUILD, Skip

VERSION = "4.10.2"
SHA256 = "9ea2d2d6917da998122bdacfd3b473e31ead53f4b87146c716a12edf89158100"  # of the package


def source():
    """Its text; skips the case where it cannot be had."""
    kept = BUILD / f"axe-{VERSION}.min.js"
    if kept.exists():
        return kept.read_text(encoding="utf-8")
    if not shutil.which("npm"):
        raise Skip("npm is not installed, which axe-core comes from")
    with tempfile.TemporaryDirectory() as folder:
        try:
            subprocess.run(["npm", "pack", f"axe-core@{VERSION}", "--silent"], cwd=folder, check=True, timeout=60,
                           capture_output=True)
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as failure:
            raise Skip("npm does not reach axe-core") from failure
        package = pathlib.Path(folder, f"axe-core-{VERSION}.tgz").read_bytes()
    if hashlib.sha256(package).hexdigest() != SHA256:
        raise AssertionError("axe-core is not the one that was published")
    with tarfile.open(fileobj=io.BytesIO(package)) as files:
        text = files.extractfile("package/axe.min.js").read().decode()
    kept.write_text(text, encoding="utf-8")
    return text


def findings(browser):
    """What is serious or critical on the page as it is: 'rule: element', one each."""
    if not browser.value("!!window.axe"):
        browser.devtools("Runtime.evaluate", {"expression": source()})
    return browser.value(
        "(async () => { const found = await axe.run(document, {resultTypes: ['violations']});"
        "return found.violations.filter((v) => v.impact === 'serious' || v.impact === 'critical')"
        ".flatMap((v) => v.nodes.map((n) => v.id + ': ' + n.target.join(' ') + ' ' + (n.any[0]?.message ?? '')))})()")
