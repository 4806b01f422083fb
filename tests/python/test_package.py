"""The package as it is installed, and what is written of it."""
import os
import pathlib
import re
import subprocess
import sys

import pytest

import jointflow
from conftest import BUILD, ROOT


def fenced(path, language):
    """The first block of a language in a page."""
    return re.search(rf"^```{language}\n(.*?)^```", path.read_text(), flags=re.M | re.S)[1]


def test_bindings__are_those_of_the_public_headers():
    done = subprocess.run([sys.executable, ROOT / "scripts/make-python-bindings", "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_messages__name_options_as_python_does():
    from jointflow import _library
    assert set(_library.option_names()) == set(_library.OPTIONS)
    with pytest.raises(ValueError, match='^setting "train.rate": found "fast"'):
        jointflow.Flow(settings={"train.rate": "fast"}).fit([[1.0], [2.0]])


def test_types__are_consistent(tmp_path):
    if not _has("mypy"):
        pytest.skip("mypy is not installed")
    done = subprocess.run([sys.executable, "-m", "mypy", "--cache-dir", tmp_path], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_docs__reference_is_that_of_the_docstrings():
    done = subprocess.run([sys.executable, ROOT / "scripts/make-python-docs", "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_docs__examples_of_the_docstrings_are_true():
    needs = [] if _has("torch") else ["--ignore", "python/jointflow/sbi.py"]
    environment = {k: v for k, v in os.environ.items() if k != "JOINTFLOW_TESTS_RUN"}
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--doctest-modules",
                           "python/jointflow", *needs], cwd=ROOT, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stdout


def test_docs__first_example_of_the_readme_runs_as_printed(tmp_path):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    program = fenced(ROOT / "README.md", "python")
    assert len(program.strip().splitlines()) <= 10
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "ranges.png").stat().st_size > 5000


@pytest.mark.parametrize("notebook", sorted(p.name for p in (ROOT / "examples").glob("*.ipynb")))
def test_notebook__runs(notebook, tmp_path, monkeypatch):
    nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed")
    nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed")
    pytest.importorskip("ipykernel", reason="ipykernel is not installed")
    monkeypatch.delenv("MPLBACKEND", raising=False)  # pictures go into the notebook
    read = nbformat.read(ROOT / "examples" / notebook, as_version=4)
    client = nbclient.NotebookClient(read, timeout=300, kernel_name="python3", resources={"metadata": {"path": tmp_path}})
    client.execute()
    assert any("image/png" in out.get("data", {}) for cell in read.cells for out in cell.get("outputs", []))
    assert all(not cell.get("outputs") for cell in nbformat.read(ROOT / "examples" / notebook, as_version=4).cells)


def test_pip__installs_what_runs_without_the_checkout(tmp_path):
    for module in ("pip", "venv", "setuptools", "wheel"):
        if not _has(module):
            pytest.skip(f"{module} is not installed")
    clean = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "JOINTFLOW_LIBRARY")}
    subprocess.run([sys.executable, "-m", "venv", "--system-site-packages", tmp_path / "venv"], check=True)
    subprocess.run([tmp_path / "venv/bin/pip", "install", "-q", "--no-build-isolation", "--no-index", ROOT], check=True,
                   env={**clean, "JOINTFLOW_LIBRARY": str(BUILD / "libjointflow.so")})
    program = ("import jointflow, os; print(os.path.dirname(jointflow.__file__)); "
               "print(jointflow.load('crescents').sample(0, 3).shape, len(jointflow.recipes()) > 10, "
               "os.path.exists(os.path.join(os.path.dirname(jointflow.__file__), 'py.typed')))")
    done = subprocess.run([tmp_path / "venv/bin/python", "-c", program], cwd=tmp_path, env=clean, capture_output=True,
                          text=True)
    where, said = done.stdout.splitlines() if done.returncode == 0 else pytest.fail(done.stderr)
    assert pathlib.Path(where).is_relative_to(tmp_path) and said == "(3, 2) True True"


def test_library__that_is_missing_or_another_is_refused_with_what_to_do(tmp_path):
    (tmp_path / "libother.so").write_text("no library")
    done = subprocess.run([sys.executable, "-c", "import jointflow"], capture_output=True, text=True,
                          env={**os.environ, "JOINTFLOW_LIBRARY": str(tmp_path / "libother.so")})
    assert "ImportError: the shared library of jointflow was not found" in done.stderr and "libother.so" in done.stderr


def test_version__is_that_of_the_library():
    assert jointflow.__version__ == re.search(r'JF_VERSION +"(.*)"', (ROOT / "include/jointflow/jointflow.h").read_text())[1]


def _has(module):
    import importlib.util
    return importlib.util.find_spec(module) is not None
