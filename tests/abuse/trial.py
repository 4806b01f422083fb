"""One disturbed run of the program, and what is true of all of them."""
import concurrent.futures
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import time

TIME_LIMIT = 120  # seconds for one run
FONTS = """<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig><dir>/usr/share/fonts/truetype/dejavu</dir><cachedir>{}</cachedir></fontconfig>
"""


class Result:
    def __init__(self, status, out, error):
        self.status, self.out, self.error = status, out, error  # status < 0: ended by that signal

    def __str__(self):
        return f"status {self.status}, {self.error.strip()[-300:]!r}"


class Program:
    """The command line, with folders for its runs. Fonts are few: reading their configuration allocates a lot."""

    def __init__(self, path, faults, recipes, scratch):
        self.path, self.faults, self.scratch = path, faults, scratch
        self.toy, self.image = recipes / "tiny.ini", recipes / "glyphs.ini"
        fonts = scratch / "fonts.conf"
        fonts.write_text(FONTS.format(scratch / "fonts"), encoding="utf-8")
        self.environment = dict(os.environ, FONTCONFIG_FILE=str(fonts), LC_ALL="C")

    def folder(self, name):
        path = self.scratch / name
        path.mkdir(parents=True)
        return path

    def fresh_folder(self, name):
        shutil.rmtree(self.scratch / name, ignore_errors=True)
        return self.folder(name)

    def start(self, words, folder, faults="", file_limit=None):
        environment = dict(self.environment)
        if faults:
            environment.update(LD_PRELOAD=str(self.faults), FAULTS=faults)

        def limit():
            if file_limit is not None:
                resource.setrlimit(resource.RLIMIT_FSIZE, (file_limit, file_limit))
        return subprocess.Popen([self.path, *map(str, words)], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=limit)

    @staticmethod
    def end(process):
        try:
            out, error = process.communicate(timeout=TIME_LIMIT)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            return Result(-signal.SIGALRM, "", f"ran past {TIME_LIMIT} seconds")
        return Result(process.returncode, out.decode(errors="replace"), error.decode(errors="replace"))

    def run(self, words, folder, faults="", file_limit=None):
        return self.end(self.start(words, folder, faults, file_limit))


class Score:
    """Trials of one kind are a row of the table, and one test."""

    def __init__(self):
        self.passed = self.failed = 0

    def trials(self, name, jobs, trial, cases, more=lambda: ""):
        """trial(case) returns what is wrong, or None. Every case in a thread of its own."""
        start = time.monotonic()
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            wrong = [(case, problem) for case, problem in zip(cases, pool.map(trial, cases)) if problem]
        word = "FAIL" if wrong else "ok"
        print(f"{word:4}  {name}: {len(cases) - len(wrong)} of {len(cases)}{more()}  "
              f"{time.monotonic() - start:.1f} s", flush=True)
        for case, problem in wrong[:10]:
            print(f"      {case}: {problem}")
        self.passed += not wrong
        self.failed += bool(wrong)

    def close(self):
        print(f"{self.passed} passed, {self.failed} failed, 0 skipped")
        return 1 if self.failed else 0


def spread(count, most):
    """At most so many of the numbers 1 .. count, the first and the last among them."""
    if count <= most:
        return list(range(1, count + 1))
    return sorted({1 + round(i * (count - 1) / (most - 1)) for i in range(most)})


def counts(path):
    """Allocations, calls, blocks of the program and of libraries that were not freed."""
    return [int(word) for word in pathlib.Path(path).read_text(encoding="ascii").split()]


def in_folder(program, name, work):
    """work(folder) in a folder that is removed afterwards."""
    folder = program.folder(name)
    try:
        return work(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def one_sentence(result):
    """What is wrong with how a failure was told, or None."""
    if result.status < 0:
        return f"ended by signal {-result.status}: {result.error[-300:]!r}"
    lines = [line for line in result.error.splitlines()
             if not line.startswith(("jointflow: note: ", "jointflow: warning: "))]
    if len(lines) != 1 or not lines[0].startswith("jointflow: "):
        return f"expected one sentence of failure, found status {result.status} and {result.error[-300:]!r}"
    return None


def leftovers(folder):
    """Temporary files that nobody will ever use."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*")
                  if path.suffix == ".tmp" or path.stem.endswith("-next"))
