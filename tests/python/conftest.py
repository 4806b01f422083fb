"""What all tests of the Python package share, and how their results are told: as those of the other tests."""
import os
import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = (ROOT / os.environ.get("BUILD", "build")).resolve()
sys.path.insert(0, str(ROOT / "python"))
os.environ["PYTHONPATH"] = str(ROOT / "python")  # of programs that tests start
os.environ.setdefault("JOINTFLOW_LIBRARY", str(BUILD / "libjointflow.so"))
os.environ.setdefault("MPLBACKEND", "agg")


@pytest.fixture
def program():
    """The command line."""
    path = BUILD / "jointflow"
    if not path.exists():
        pytest.skip("the command line was not built")
    return str(path)


@pytest.fixture(scope="session")
def crescents():
    import jointflow
    return jointflow.load("crescents")


@pytest.fixture(scope="session")
def examples():
    """x around y, wider where y is greater."""
    import numpy as np
    rng = np.random.default_rng(0)
    y = rng.uniform(1, 2, 2000)
    return rng.normal(y, 0.1 * y)[:, None], y[:, None]


@pytest.fixture(scope="session")
def parameters():
    """Of a flow that trains in a fraction of a second."""
    return dict(blocks=2, width=16, depth=1, epochs=8, batch=200, seed=1, progress=False)


@pytest.fixture(scope="session")
def small(parameters, examples):
    """A flow that was trained on the examples; for tests that do not change it."""
    import jointflow
    return jointflow.Flow(**parameters).fit(*examples)


class Report:
    """A line for each test, and their counts in the last line."""

    WORDS = {"passed": "ok", "failed": "FAIL", "skipped": "skip"}

    def __init__(self):
        self.counts = dict.fromkeys(self.WORDS, 0)

    def pytest_runtest_logreport(self, report):
        if report.when != "call" and report.passed:
            return
        self.counts[report.outcome] += 1
        name = "python__" + report.nodeid.split("::", 1)[-1].replace("test_", "", 1)
        print(f"{self.WORDS[report.outcome]:<5} {name:<91} {report.duration:7.3f} s", flush=True)
        if report.skipped:
            print("      " + report.longrepr[2].replace("Skipped: ", "", 1), flush=True)
        if report.failed:
            print(report.longreprtext, *(text for _, text in report.sections), sep="\n", flush=True)

    def pytest_collectreport(self, report):
        if report.failed:
            self.counts["failed"] += 1
            print(f"FAIL  {report.nodeid}\n{report.longreprtext}", flush=True)
        if report.skipped:  # a file, for want of a package
            self.counts["skipped"] += 1
            print(f"skip  {report.nodeid}\n      {report.longrepr[2].replace('Skipped: ', '', 1)}", flush=True)

    def pytest_sessionfinish(self, session, exitstatus):
        if exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED and self.counts["skipped"]:
            session.exitstatus = pytest.ExitCode.OK

    def pytest_unconfigure(self):
        print("{passed} passed, {failed} failed, {skipped} skipped".format(**self.counts), flush=True)


@pytest.hookimpl(trylast=True)
def pytest_configure(config):
    if os.environ.get("JOINTFLOW_TESTS_RUN"):  # tests/run reads our lines; by hand those of pytest are better
        config.pluginmanager.unregister(config.pluginmanager.getplugin("terminalreporter"))
        config.pluginmanager.register(Report())
