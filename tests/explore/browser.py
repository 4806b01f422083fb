"""A real Chromium, driven by the WebDriver protocol through chromedriver; nothing but the standard library."""
import base64
import json
import pathlib
import re
import shutil
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

from harness import Skip, check

DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # no proxy between us and the driver
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
KEYS = {"tab": "\ue004", "enter": "\ue007", "escape": "\ue00c", "left": "\ue012", "up": "\ue013", "right": "\ue014",
        "down": "\ue015", "space": " ", "shift": "\ue008", "home": "\ue011", "end": "\ue010"}


class Browser:
    """One window of so many pixels, ended with the block. What its console says is kept."""

    def __init__(self, width=1280, height=900, dark=False, downloads=None):
        driver = shutil.which("chromedriver")
        program = shutil.which("chromium")
        if not driver or not program:
            raise Skip("chromium or chromedriver is not installed (packages.txt, [browser])")
        self.profile = tempfile.mkdtemp(prefix="jointflow-chromium-")
        self.process = subprocess.Popen([driver, "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        line = ""
        while "successfully on port" not in line:
            line = self.process.stdout.readline()
            if not line:
                raise Skip("chromedriver does not start")
        self.base = "http://127.0.0.1:" + re.search(r"on port (\d+)", line)[1]
        options = {"binary": program, "args": [
            "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", f"--user-data-dir={self.profile}",
            f"--window-size={max(width, 500)},{height}", "--hide-scrollbars", "--force-device-scale-factor=1"],
            "prefs": {"download.default_directory": str(downloads or self.profile)}}
        try:
            made = self.call("POST", "/session", {"capabilities": {"alwaysMatch": {
                "browserName": "chrome", "goog:chromeOptions": options,
                "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"}}}})
        except (AssertionError, OSError) as failure:
            self.process.kill()
            raise Skip("chromium does not start: " + str(failure)[:300]) from failure
        self.session = f"/session/{made['sessionId']}"
        self.devtools("Emulation.setDeviceMetricsOverride",
                      {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600})
        self.devtools("Emulation.setEmulatedMedia",
                      {"features": [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.call("DELETE", self.session)
        except (AssertionError, OSError):
            pass
        self.process.terminate()
        self.process.wait()
        self.process.stdout.close()
        shutil.rmtree(self.profile, ignore_errors=True)

    def call(self, method, path, body=None):
        request = urllib.request.Request(self.base + path, method=method,
                                         data=None if body is None else json.dumps(body).encode(),
                                         headers={"Content-Type": "application/json"})
        try:
            with DIRECT.open(request, timeout=120) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as failure:
            raise AssertionError(json.load(failure)["value"]["message"]) from failure

    def devtools(self, name, parameters):
        return self.call("POST", self.session + "/goog/cdp/execute", {"cmd": name, "params": parameters})

    # ---- looking ----

    def open(self, address):
        self.call("POST", self.session + "/url", {"url": address})

    def run(self, script, *arguments):
        """The value of a script; it may await."""
        return self.call("POST", self.session + "/execute/async", {"script": (
            "const done = arguments[arguments.length - 1], given = [...arguments].slice(0, -1);"
            "(async (...a) => {" + script + "})(...given).then((v) => done([v]), (e) => done({error: String(e.stack || e)}))"),
            "args": list(arguments)})

    def value(self, script, *arguments):
        found = self.run("return " + script, *arguments)
        check(isinstance(found, list), script, found)
        return found[0]

    def wait(self, script, *arguments, seconds=30):
        """Until the script's value is true; returns it."""
        until = time.time() + seconds
        while True:
            found = self.value(script, *arguments)
            if found:
                return found
            check(time.time() < until, "never true within", seconds, "s:", script, arguments)
            time.sleep(0.03)

    def text(self, css):
        return self.value("document.querySelector(a[0])?.innerText ?? ''".replace("a[0]", json.dumps(css)))

    def screenshot(self, path, whole=True):
        size = self.value("[innerWidth, document.documentElement.scrollHeight]")
        clip = {"x": 0, "y": 0, "width": size[0], "height": size[1], "scale": 1} if whole else None
        made = self.devtools("Page.captureScreenshot", {"format": "png", "captureBeyondViewport": True,
                                                        **({"clip": clip} if clip else {})})
        pathlib.Path(path).write_bytes(base64.b64decode(made["data"]))

    def log(self, kind):
        return self.call("POST", self.session + "/se/log", {"type": kind})

    # ---- hands ----

    def find(self, css):
        return self.call("POST", self.session + "/element", {"using": "css selector", "value": css})[ELEMENT]

    def find_text(self, name, words):
        """An element of this name whose text is these words."""
        return self.call("POST", self.session + "/element",
                         {"using": "xpath", "value": f"//{name}[normalize-space()='{words}']"})[ELEMENT]

    def click(self, element):
        self.call("POST", f"{self.session}/element/{element}/click", {})

    def type(self, element, text):
        self.call("POST", f"{self.session}/element/{element}/value", {"text": text})

    def press(self, *names):
        actions = []
        for name in names:
            key = KEYS.get(name, name)
            actions += [{"type": "keyDown", "value": key}, {"type": "keyUp", "value": key}]
        self.call("POST", self.session + "/actions", {"actions": [{"type": "key", "id": "keys", "actions": actions}]})

    def move(self, element, x, y, click=False):
        """The mouse to a place inside of an element, from its upper left corner."""
        box = self.call("GET", f"{self.session}/element/{element}/rect")
        actions = [{"type": "pointerMove", "duration": 0, "origin": {ELEMENT: element},
                    "x": round(x - box["width"] / 2), "y": round(y - box["height"] / 2)}]
        if click:
            actions += [{"type": "pointerDown", "button": 0}, {"type": "pointerUp", "button": 0}]
        self.call("POST", self.session + "/actions", {"actions": [{"type": "pointer", "id": "mouse", "actions": actions}]})
