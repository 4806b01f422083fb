"""axe-core, which looks for what keeps people from using a page: from PyPI (tests/venv) or else from npm, pinned in both."""
import hashlib
import io
import pathlib
import subprocess
import tarfile
import tempfile

from harness import BUILD, ROOT, Skip

NPM_VERSION = "4.10.2"
NPM_SHA256 = "9ea2d2d6917da998122bdacfd3b473e31ead53f4b87146c716a12edf89158100"  # of the package


def source():
    """Its text; skips the case where it cannot be had."""
    venv = subprocess.run([ROOT / "tests/venv"], stdout=subprocess.PIPE, text=True)
    if venv.returncode == 0:
        where = "import axe_playwright_python as a; print(a.__path__[0])"
        package = subprocess.run([venv.stdout.strip(), "-c", where], stdout=subprocess.PIPE, text=True, check=True)
        return pathlib.Path(package.stdout.strip(), "axe.min.js").read_text(encoding="utf-8")
    kept = BUILD / f"axe-{NPM_VERSION}.min.js"
    if not kept.exists():
        kept.write_bytes(from_npm(venv.stdout.strip()))
    return kept.read_text(encoding="utf-8")


def from_npm(why):
    with tempfile.TemporaryDirectory() as folder:
        try:
            subprocess.run(["npm", "pack", f"axe-core@{NPM_VERSION}", "--silent"], cwd=folder, check=True, timeout=60,
                           capture_output=True)
            package = pathlib.Path(folder, f"axe-core-{NPM_VERSION}.tgz").read_bytes()
        except (OSError, subprocess.SubprocessError) as failure:
            raise Skip(f"{why}; npm has no axe-core either") from failure
    if hashlib.sha256(package).hexdigest() != NPM_SHA256:
        raise AssertionError("axe-core is not the one that was published")
    with tarfile.open(fileobj=io.BytesIO(package)) as files:
        return files.extractfile("package/axe.min.js").read()


def findings(browser):
    """What is serious or critical on the page as it is: 'rule: element', one each."""
    if not browser.value("!!window.axe"):
        browser.devtools("Runtime.evaluate", {"expression": source()})
    return browser.value(
        "(async () => { const found = await axe.run(document, {resultTypes: ['violations']});"
        "return found.violations.filter((v) => v.impact === 'serious' || v.impact === 'critical')"
        ".flatMap((v) => v.nodes.map((n) => v.id + ': ' + n.target.join(' ') + ' ' + (n.any[0]?.message ?? '')))})()")
