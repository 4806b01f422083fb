"""What the scripts of tests/explore have in common: cases named for what they promise, and a server to ask.

A case is a function whose name begins with explore__; run(globals()) runs all of a script, or those whose names hold one of
its arguments, in the order in which they were written. Lines are those of tests/cli/lib.sh.
"""
import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import traceback

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(ROOT, os.environ.get("BUILD", "build")).resolve()
PROGRAM = str(BUILD / "jointflow")


class Skip(Exception):
    """Why a case cannot run here."""


def not_sanitized(why):
    """Skips a case, or a script, whose program was built with a sanitizer."""
    cache = BUILD / "CMakeCache.txt"
    if cache.exists() and re.search(r"^JOINTFLOW_SANITIZE:[A-Z]*=.", cache.read_text(encoding="utf-8"), re.M):
        raise Skip(why)


def check(good, *what):
    if not good:
        raise AssertionError(" ".join(str(part) for part in what))


def near(found, expected, tolerance, *what):
    check(abs(found - expected) <= tolerance, *what, "found", found, "expected", expected)


class Server:
    """jointflow explore, or another command that serves the page, ended with the block."""

    def __init__(self, *arguments, command="explore", folder=None):
        self.process = subprocess.Popen([PROGRAM, command, *arguments], stdout=subprocess.PIPE, cwd=folder,
                                        stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL)
        line = self.process.stdout.readline()
        while line and "http://" not in line:
            line = self.process.stdout.readline()
        found = re.search(r"http://(\[?[0-9a-f.:]*\]?):(\d+)/([0-9a-f]{32})/", line)
        if not found:
            raise AssertionError("no address was printed: " + line + self.process.stderr.read())
        self.address, self.host, self.port, self.token = found[0], found[1], int(found[2]), found[3]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()

    def end(self):
        """Its exit status; what it wrote to standard error is then in `errors`."""
        if self.process.stdout.closed:
            return self.process.returncode
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
                raise AssertionError("the server did not end within 30 s of a signal")
        self.errors = self.process.stderr.read()
        self.process.stdout.close()
        self.process.stderr.close()
        return self.process.returncode

    def connect(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)

    def request(self, method, path, body=None, headers=None):
        """Status and body; the path after the token, unless it begins with a slash. A header of None is left out."""
        connection = self.connect()
        path = path if path.startswith("/") else f"/{self.token}/{path}"
        sent = {"Host": f"127.0.0.1:{self.port}"}
        if body is not None:
            sent["Content-Type"] = "application/json"
            sent["Content-Length"] = str(len(body))
        sent.update(headers or {})
        try:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in sent.items():
                if value is not None:
                    connection.putheader(name, value)
            connection.endheaders(body.encode() if isinstance(body, str) else body)
            answer = connection.getresponse()
            return answer.status, answer.read(), answer.headers
        finally:
            connection.close()

    def ask(self, name, **fields):
        """An answer that has to be given."""
        status, body, _ = self.request("POST", "api/" + name, json.dumps(fields))
        check(status == 200, name, fields, status, body[:300])
        return json.loads(body)

    def memory(self):
        """Resident kB."""
        for line in pathlib.Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS"):
                return int(line.split()[1])
        raise Skip("the system does not tell how much memory a process has")


def tiny_model():
    """A run folder in the folder of the case, trained within a second."""
    subprocess.run([PROGRAM, "train", str(ROOT / "tests/cli/tiny.ini"), "-o", "tiny", "--force", "--quiet", "--no-report"],
                   check=True)
    return "tiny"


def sample(model, *arguments):
    """Rows that jointflow sample prints, and the names of their columns."""
    lines = subprocess.run([PROGRAM, "sample", model, *arguments], check=True, capture_output=True,
                           text=True).stdout.splitlines()
    return lines[0].split(","), [[float(value) for value in line.split(",")] for line in lines[1:]]


def npy(path):
    """All numbers of an array of doubles or floats."""
    content = pathlib.Path(path).read_bytes()
    size = struct.unpack("<H", content[8:10])[0]
    kind = "d" if b"<f8" in content[:10 + size] else "f"
    body = content[10 + size:]
    return struct.unpack(f"<{len(body) // struct.calcsize(kind)}{kind}", body)


def expect_bytes(found, values, what):
    """Numbers as the page has them: from 0 to 255."""
    check(len(found) == len(values), what, len(found), "numbers instead of", len(values))
    worst = max(abs(a - 255 * min(max(v, 0), 1)) for a, v in zip(found, values))
    check(worst <= 0.51, what, "differ by", worst)


def run(names, before=None):
    """before: called ahead of each case; it may skip them all."""
    folder = tempfile.mkdtemp(prefix="jointflow-explore-")
    os.chdir(folder)
    wanted, counts = sys.argv[1:], {"ok": 0, "FAIL": 0, "skip": 0}
    for name, case in list(names.items()):
        if not name.startswith("explore__") or (wanted and not any(part in name for part in wanted)):
            continue
        began, word, why = time.time(), "ok", ""
        try:
            if before:
                before()
            case()
        except Skip as reason:
            word, why = "skip", str(reason)
        except BaseException as failure:  # pylint: disable=broad-except
            word, why = "FAIL", "".join(traceback.format_exception(failure))
            if isinstance(failure, KeyboardInterrupt):
                raise
        counts[word] += 1
        print(f"{word:4}  {name:90} {time.time() - began:8.3f} s")
        if why:
            print("      " + why.strip().replace("\n", "\n      "))
        sys.stdout.flush()
    os.chdir("/")
    shutil.rmtree(folder, ignore_errors=True)
    print(f"{counts['ok']} passed, {counts['FAIL']} failed, {counts['skip']} skipped")
    sys.exit(counts["FAIL"] > 0)
