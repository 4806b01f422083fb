#!/usr/bin/env python3
"""The page of jointflow explore in a real Chromium: hands on it, and what it shows beside what the commands print."""
import base64
import csv
import json
import pathlib
import random
import shutil
import struct
import subprocess
import time
import zlib

import axe
from browser import Browser
from harness import PROGRAM, ROOT, Server, check, expect_bytes, near, not_sanitized, npy, run, sample, tiny_model

READY = "!!(page.view && page.view.x)"  # samples of vectors are on screen


def wait_for_y(browser, *y):
    """Until samples at this y are on screen."""
    browser.wait(f"!!page.view.x && JSON.stringify(page.view.drawnAt) === '{json.dumps(list(y), separators=(',', ':'))}'")


def drawn(browser):
    """x and z on screen."""
    return browser.value("[Array.from(page.view.x), Array.from(page.view.z)]")


def expect_same(browser, model, dim, *words):
    """What is on screen is what jointflow sample prints; and the page says so itself."""
    columns, rows = sample(model, *words, "--with-z")
    x, z = drawn(browser)
    check(x == [v for row in rows for v in row[:dim]], model, words, "x differs")
    check(z == [v for row in rows for v in row[-dim:]], model, words, "z differs")
    told = browser.text("#command").split()
    check(told[:2] == ["jointflow", "sample"], told)
    again = subprocess.run([PROGRAM, *told[1:]], capture_output=True, text=True, check=True).stdout.splitlines()
    check([float(v) for v in again[1].split(",")] == rows[0] and len(again) == len(rows) + 1, "the command of the page", told)
    return columns, rows


def changed(browser, css, action):
    """Whether a canvas shows something else after the action."""
    read = f"document.querySelector({json.dumps(css)}).toDataURL()"
    before = browser.value(read)
    action()
    return browser.value(read) != before


def table_model(epochs=3):
    """x of three columns, y of two, with names; hardly trained."""
    with open("t.csv", "w", encoding="ascii") as out:
        out.write("width,height,mass,dose,age\n")
        r = random.Random(5)
        for _ in range(400):
            dose, age = r.gauss(0, 1), r.uniform(20, 60)
            width = dose + r.gauss(0, 0.3)
            out.write(f"{width:.5f},{width * width + age / 30 + r.gauss(0, 0.2):.5f},{age / 10 + r.gauss(0, 0.5):.5f},{dose:.5f},{age:.5f}\n")
    subprocess.run([PROGRAM, "train", "t.csv", "--x-columns", "width,height,mass", "--y-columns", "dose,age", "-o", "table",
                    "--force", "--quiet", "--no-report", "--set", f"train.epochs={epochs}"], check=True)
    return "table"


# ---- what hands do ----

def explore__a_class_button_shows_what_sample_draws_of_that_class():
    with Server("crescents") as s, Browser() as b:
        b.open(s.address)
        b.wait(READY)
        check(b.value("[...document.querySelectorAll('[aria-label=Class] button')].map((x) => x.innerText)") == ["upper", "lower"])
        expect_same(b, "crescents", 2, "-y", "0", "-n", "2000", "--seed", "0")
        check(changed(b, "canvas[tabindex]", lambda: (b.click(b.find_text("button", "lower")), wait_for_y(b, 1))), "the picture changes")
        expect_same(b, "crescents", 2, "-y", "1", "-n", "2000", "--seed", "0")
        check(b.value("document.querySelector('[data-label=\"1\"]').getAttribute('aria-pressed')") == "true")
        b.click(b.find_text("button", "Draw others"))
        b.wait("page.state.text('seed') === '1'")
        wait_for_y(b, 1)
        b.wait("!page.view.asked.busy")
        expect_same(b, "crescents", 2, "-y", "1", "-n", "2000", "--seed", "1")


def explore__commands_can_be_pasted_whatever_the_name_of_the_model():
    for shipped, words in [("crescents", "-y "), ("fashion-class", "-y ")]:
        name = f'it\'s a "{shipped}" $HOME.safetensors'
        shutil.copy(ROOT / "models" / f"{shipped}.safetensors", name)
        with Server(name) as s, Browser() as b:
            b.open(s.address)
            b.wait("!!document.getElementById('command').textContent")
            told = b.text("#command")
            check(words in told, told)
            typed = subprocess.run(["sh", "-c", told.replace("jointflow", "printf '%s\\n'", 1)], capture_output=True, text=True,
                                   check=True).stdout.splitlines()
            check(typed[:2] == ["sample", str(pathlib.Path(name).resolve())], typed)


def explore__a_slider_shows_what_sample_draws_at_its_place():
    with Server("sectors") as s, Browser() as b:
        b.open(s.address + "#n=500&seed=9")
        b.wait(READY)
        knob = b.find(".slider input[type=range]")
        before = b.value("page.view.y[0]")
        b.type(knob, "\ue014\ue014\ue014")  # three steps to the right
        b.wait(f"page.view.y[0] > {before}")
        b.wait("!page.view.asked.busy")
        y = b.value("page.view.y[0]")
        expect_same(b, "sectors", 2, "-y", repr(float(f"{y:.10g}")), "-n", "500", "--seed", "9")
        near(float(b.value("document.querySelector('.slider input[type=number]').value")), y, 1e-4)
        check("nearest y" in b.text(".legend"), "data are behind")


def explore__a_point_picked_in_one_plane_lights_up_in_the_other():
    with Server("crescents") as s, Browser() as b:
        b.open(s.address + "#y=1&n=200&seed=3")
        b.wait(READY)
        _, rows = sample("crescents", "-y", "1", "-n", "200", "--seed", "3", "--with-z")
        for plane, other, first in [("X", "Z", 0), ("Z", "X", 3)]:
            canvases = ["[aria-label^='200 samples']", "[aria-label^='Latent points']"]
            mine, his = canvases if plane == "X" else canvases[::-1]
            number = 41 if plane == "X" else 87
            x, y = b.value(f"(() => {{ const p = page.view.plot{plane}; return [p.px({rows[number][first]}), p.py({rows[number][first + 1]})]; }})()")
            read = f"document.querySelector(\"{his}\").toDataURL()"
            before = b.value(read)
            b.move(b.find(mine), x, y, click=True)
            b.wait("page.view.picked !== null")
            k = b.value("page.view.picked")
            # another sample may lie on the same pixel
            check(abs(rows[k][first] - rows[number][first]) < 0.05 and abs(rows[k][first + 1] - rows[number][first + 1]) < 0.05, k, number)
            check(b.value(read) != before, "the other plane shows it, too:", other)
            words = b.text(".readout").replace("−", "-")
            check(f"Sample {k + 1}: x0 = {float(f'{rows[k][0]:.6g}'):g}" in words and "z1 = " in words, words)
        check(b.value("page.state.text('pick')") == str(k), "the address holds it")


def explore__the_point_under_the_mouse_goes_through_the_map():
    with Server("ring") as s, Browser() as b:
        b.open(s.address)
        b.wait(READY)
        x, y = b.value("(() => { const p = page.view.plotZ; return [p.px(0.5), p.py(-1)]; })()")
        b.move(b.find("[aria-label^='Latent points']"), x, y)
        ghost = b.wait("page.view.ghost")
        near(ghost["z"][0], 0.5, 0.05)
        pathlib.Path("z.csv").write_text("z0,z1\n%r,%r\n" % tuple(ghost["z"]), encoding="ascii")
        told = subprocess.run([PROGRAM, "decode", "ring", "z.csv"], capture_output=True, text=True, check=True).stdout
        for found, expected in zip(ghost["x"], told.splitlines()[1].split(",")):
            near(found, float(expected), 1e-5, "x of the latent point")
        check("Under the mouse" in b.text(".readout"))


def explore__lines_in_y_and_z_move_the_points():
    with Server("sectors") as s, Browser() as b:
        b.open(s.address + "#seed=2&n=300")
        b.wait(READY)
        for words, along in [("Along y", "y"), ("Along z", "z")]:
            b.click(b.find_text("button", words))
            b.wait(f"page.view.lines.answer && page.view.lines.along === '{along}'")
            b.click(b.find_text("button", "Pause"))
            b.value("(page.view.lines.show(0), 1)")
            first = b.value("Array.from(page.view.lines.frame().x)")
            knob = b.find("[aria-label='Step of the line']")
            check(changed(b, "[aria-label^='300 samples']", lambda: b.type(knob, "\ue010")), "the picture of", words)
            last = b.value("Array.from(page.view.lines.frame().x)")
            check(len(first) == 600 and first != last, words)
            if along == "y":  # at the ends of the data, with the points of the seed
                y = b.value("page.view.lines.answer.y[0][0]")
                _, rows = sample("sectors", "-y", repr(y), "-n", "300", "--seed", "2")
                for found, expected in zip(first, [v for row in rows for v in row[:2]]):
                    near(found, expected, 1e-5, "the first frame")
            b.click(b.find_text("button", "Back to samples"))
            check(b.value("page.view.frame() === null"))


def explore__everything_is_reached_by_the_keyboard_alone():
    with Server("crescents", "sectors") as s, Browser() as b:
        b.open(s.address + "#n=300")
        b.wait(READY)
        seen = []
        for _ in range(60):
            b.press("tab")
            name = b.value("(document.activeElement.innerText || document.activeElement.getAttribute('aria-label') || document.activeElement.id || document.activeElement.type)")
            if document_wrapped(b):
                break
            seen.append(name)
        for wanted in ["crescents", "sectors", "Copy link", "Save page", "upper", "lower", "Draw others", "Along y", "Along z",
                       "Judge the model", "seed"]:
            check(any(wanted in (name or "") for name in seen), wanted, "is not among", seen)
        check(any((name or "").startswith("300 samples") for name in seen) and any((name or "").startswith("Latent") for name in seen), seen)
        focus(b, "lower")
        b.press("enter")
        wait_for_y(b, 1)
        focus(b, "300 samples")
        b.press("right")
        b.wait("page.view.picked !== null")
        first = b.value("page.view.picked")
        b.press("right", "up")
        check(b.value("page.view.picked") != first, "arrow keys go from point to point")
        check("Sample " in b.text(".readout"), b.text(".readout"))
        b.press("escape")
        check(b.value("page.view.picked") is None, "and Escape lets go")
        focus(b, "sectors")
        b.press("enter")
        b.wait("page.view.model.name === 'sectors' && !!page.view.x")


def document_wrapped(browser):
    return browser.value("document.activeElement === document.body")


def focus(browser, words):
    """By tabs alone, from wherever it is."""
    for _ in range(80):
        browser.press("tab")
        if browser.value("(document.activeElement.innerText || document.activeElement.getAttribute('aria-label') || '')").startswith(words):
            return
    raise AssertionError(words + " is not reached by tabs")


# ---- every kind of model ----

def explore__rules_unconditional_flows_and_tables_are_shown():
    with Server("rule-cross", "ring", table_model()) as s, Browser() as b:
        b.open(s.address + "#m=0&n=300")
        b.wait(READY)
        expect_same(b, "rule-cross", 2, "-n", "300")
        check("has no data" in b.text(".controls"), b.text(".controls"))
        b.click(b.find_text("button", "ring"))
        b.wait("page.view.model.name === 'ring' && !!page.view.x")
        expect_same(b, "ring", 2, "-n", "2000")
        b.click(b.find_text("button", "table"))
        b.wait("page.view.model.name === 'table' && !!page.view.x")
        y = b.value("page.view.y")
        columns, _ = expect_same(b, "table", 3, "-y", ",".join(repr(float(f"{v:.10g}")) for v in y), "-n", "2000")
        check(columns[:5] == ["width", "height", "mass", "dose", "age"], columns)
        check(b.value("[...document.querySelectorAll('.slider label')].map((x) => x.innerText)") == ["dose", "age"])
        check(b.value("page.view.corner.panels.length") == 6, "a corner plot of three columns")
        b.click(b.find("[aria-label='mass against height']"))
        check(b.value("page.view.axes") == [1, 2], "a panel chooses the pair")
        check(b.value("document.querySelector('#axis-0').selectedOptions[0].innerText") == "height")
        b.click(b.find_text("button", "y of a row of the data"))
        b.wait("!page.view.asked.busy")
        row = b.value("page.view.y")
        with open("t.csv", encoding="ascii") as table:
            known = [[float(v) for v in line[3:]] for line in list(csv.reader(table))[1:]]
        check(any(abs(row[0] - a) + abs(row[1] - c) < 1e-4 for a, c in known), row, "is no row of the table")


def expect_images_of_class(s, b, model, name, number, n):
    """The page of a model shows n images of a class: those of jointflow sample."""
    b.open(s.address + f"#n={n}&seed=5")
    b.wait("!!(page.view && page.view.images)")
    b.click(b.find_text("button", name))
    b.wait(f"page.view.y[0] === {number} && !page.view.asked.busy")
    subprocess.run([PROGRAM, "sample", model, "-y", name, "-n", str(n), "--seed", "5", "-o", "drawn.npy"], check=True)
    expect_bytes(b.value("Array.from(page.view.images.bytes)"), npy("drawn.npy"), f"images of class {name}")


def explore__image_classes_show_the_images_of_sample():
    with Server("mnist-class") as s, Browser() as b:
        expect_images_of_class(s, b, "mnist-class", "1", 1, 6)
        check(b.value("document.querySelectorAll('.grid button').length") == 6)
        cells = b.value("[...document.querySelectorAll('.large canvas')].map((c) => c.toDataURL())")
        b.move(b.find(".grid button:nth-child(4)"), 20, 20)
        b.wait("page.view.chosen === 3")
        check(b.value("[...document.querySelectorAll('.large canvas')].map((c) => c.toDataURL())") != cells, "enlarged, with its latent image")
        b.click(b.find_text("button", "Make the line"))
        b.wait("!!page.view.line.images")
        knob = b.find("[aria-label='Step of the line']")
        first = b.value("document.querySelector('[aria-label=\"Line 1\"]').toDataURL()")
        b.type(knob, "\ue010")
        check(b.value("document.querySelector('[aria-label=\"Line 1\"]').toDataURL()") != first, "the line moves")
        check("y = 1" in b.text("body"), "and says where it is")


def explore__images_that_others_make_larger_are_shown_large():
    with Server("fashion-ten") as s, Browser() as b:
        expect_images_of_class(s, b, "fashion-ten", "bag", 8, 4)
        check(b.value("[page.view.images.h, page.view.latents.h]") == [28, 7], "large images, latent ones of the model")
        check("images of 7 × 7" in b.text("main") and "fashion makes them 28 × 28" in b.text("main"), "and says so")
        b.click(b.find_text("button", "Make the line"))
        b.wait("!!page.view.line.images")
        check(b.value("page.view.line.images.h") == 28, "lines, too")
        b.value("(page.view.line.knob.value = 2, page.view.line.show(), 1)")
        check("0.75 tshirt, 0.25 trouser" in b.text("body"), "a number would be that of another class")


def grey_png(values, h, w):
    def chunk(name, content):
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))
    lines = b"".join(b"\0" + bytes(values[r * w:(r + 1) * w]) for r in range(h))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", w, h, 8, 0, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(lines)) +
            chunk(b"IEND", b""))


DROP = """(async (text) => {
    const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
    const carried = new DataTransfer();
    carried.items.add(new File([bytes], 'shoe.png', {type: 'image/png'}));
    const pad = document.querySelector('.pad');
    for (const name of ['dragenter', 'dragover', 'drop']) pad.dispatchEvent(new DragEvent(name, {dataTransfer: carried, bubbles: true, cancelable: true}));
    return true;
})"""


def explore__a_dropped_image_is_enlarged_as_superres_does():
    with Server("fashion") as s, Browser() as b:
        b.open(s.address + "#m=chain&seed=4")
        b.wait("!!(page.view && page.view.made)", seconds=60)
        small = [max(0, 200 - 40 * abs(r - 3) - 25 * abs(c - 3)) for r in range(7) for c in range(7)]
        picture = grey_png(small, 7, 7)
        pathlib.Path("shoe.png").write_bytes(picture)
        b.value("(page.view.made = null, 1)")
        b.value(DROP + f"('{base64.b64encode(picture).decode()}')")
        b.wait("!!page.view.made && !page.view.asked.busy", seconds=60)
        check(b.value("page.view.pad.image.values.map((v) => Math.round(255 * v))") == small, "the input is the file, pixel by pixel")
        subprocess.run([PROGRAM, "superres", "fashion", "shoe.png", "--coarse", "4", "--fine", "3", "--seed", "4", "-o", "fine.npy"],
                       check=True, capture_output=True)
        expect_bytes(b.value("Array.from(page.view.made[1].bytes)"), npy("fine.npy"), "the second step")
        check(b.value("page.view.made[0].count") == 4 and b.value("page.view.made[1].count") == 12)
        for words in ["input", "mean of the answers", "their deviation"]:
            check(words in b.text(".thumbs"), words)
        check("Error of y" in b.text("main"))
        before = b.value("Array.from(page.view.made[1].bytes)")
        b.move(b.find(".pad canvas"), 20, 20, click=True)  # a stroke of the brush
        b.wait("page.view.pad.image.values[0] === 1 && !page.view.asked.busy", seconds=60)
        check(b.value("Array.from(page.view.made[1].bytes)") != before, "drawing changes the answers")


def explore__a_dropped_image_is_the_condition_of_one_step_and_anything_else_is_told():
    with Server("fashion/14-28") as s, Browser() as b:
        b.open(s.address + "#n=4&seed=6")
        b.wait("!!(page.view && page.view.images)", seconds=60)
        values = [(13 * r * c + 7 * r) % 256 if 3 < r < 11 else 0 for r in range(14) for c in range(14)]
        picture = grey_png(values, 14, 14)
        pathlib.Path("in.png").write_bytes(picture)
        b.value("(page.view.images = null, 1)")
        b.value(DROP + f"('{base64.b64encode(picture).decode()}')")
        b.wait("!!page.view.images && !page.view.asked.busy", seconds=60)
        subprocess.run([PROGRAM, "sample", "fashion/14-28", "-y", "@in.png", "-n", "4", "--seed", "6", "-o", "out.npy"], check=True)
        expect_bytes(b.value("Array.from(page.view.images.bytes)"), npy("out.npy"), "samples")
        b.value(DROP + f"('{base64.b64encode(b'this is no image').decode()}')")
        b.wait("document.querySelector('.panel [role=status]').innerText.includes('no image')")
        pad = b.find(".pad canvas")
        b.click(pad)
        b.press("left", "space")
        check("row " in b.text(".condition"), "keys draw, too")


# ---- trust ----

def explore__a_y_outside_of_the_data_is_warned_of_in_words():
    with Server("sectors") as s, Browser() as b:
        b.open(s.address + "#y=3&n=100")
        b.wait(READY)
        check(not b.value("document.querySelector('.warning').checkVisibility()"), "nothing to warn of")
        field = b.find(".slider input[type=number]")
        b.value("(document.querySelector('.slider input[type=number]').value = '', 1)")
        b.type(field, "9")
        wait_for_y(b, 9)
        words = b.text(".warning")
        check("Outside of the data: y0 is 9" in words and "extrapolated" in words, words)
        check("Error of y" in b.text("main"), "and the error of y is told")


def explore__the_judgement_is_that_of_jointflow_judge():
    with Server(tiny_model()) as s, Browser() as b:
        b.open(s.address + "#n=100")
        b.wait(READY)
        b.click(b.find_text("button", "Judge the model"))
        b.wait("!!document.querySelector('table')", seconds=200)
        told = json.loads(subprocess.run([PROGRAM, "judge", "tiny", "--json"], capture_output=True, text=True, check=True).stdout)
        shown = b.value("Object.fromEntries([...document.querySelectorAll('tr')].map((r) => [r.children[0].innerText.trim(), r.children[1].innerText.trim()]))")
        near(float(shown["nll"]), told["nll"], 1e-4, "nll")
        near(float(shown["gap"]), told["gap"], 1e-4, "gap")
        check(told["calibration"]["words"].split(".")[0] in b.text("[aria-live=polite]"), told["calibration"]["words"])


# ---- sharing ----

def explore__the_address_holds_what_was_chosen():
    with Server("crescents", "sectors") as s, Browser() as b:
        b.open(s.address + "#m=1&y=2.5&n=300&seed=18446744073709551615&temperature=0.5&axes=1,0")
        b.wait(READY)
        expect_same(b, "sectors", 2, "-y", "2.5", "-n", "300", "--seed", "18446744073709551615", "--temperature", "0.5")
        check(b.value("page.view.axes") == [1, 0])
        b.click(b.find_text("button", "Draw others"))
        b.wait("location.hash.includes('seed=0')")  # after the last comes the first
        address = b.value("location.href")
        b.open("about:blank")
        b.open(address)
        b.wait(READY)
        expect_same(b, "sectors", 2, "-y", "2.5", "-n", "300", "--seed", "0", "--temperature", "0.5")
        for nonsense in ["#m=99&y=a,b&n=-1&seed=x&axes=7,7", "#%%%", "#m=1&y=1,2,3&n=1e99&temperature=NaN"]:
            b.open("about:blank")
            b.open(s.address + nonsense)
            b.wait(READY)
            check(b.text("#failure") == "", nonsense, b.text("#failure"))


def explore__a_saved_page_shows_the_samples_and_asks_nobody():
    with Server("crescents") as s, Browser() as b:
        b.open(s.address + "#y=1&n=250&seed=8")
        b.wait(READY)
        text = b.value("pageAsFile(page.view)")
        x, _ = drawn(b)
        path = pathlib.Path("saved.html").resolve()
        path.write_text(text, encoding="utf-8")
        s.end()  # nobody is left to ask
        b.log("performance")
        b.log("browser")
        b.open(f"file://{path}")
        kept = json.loads(b.value("document.getElementById('samples').textContent"))
        check(kept["x"] == x and kept["seed"] == "8" and "seed=8" in kept["state"], "the samples are in it")
        check(b.value("[...document.images].filter((i) => i.naturalWidth > 50).length") >= 2, "with both planes as pictures")
        check("jointflow sample crescents -y 1 -n 250 --seed 8" in b.text("footer"), b.text("footer"))
        check(s.token not in text and "http://" not in text.replace("http://www.w3.org", ""), "neither address nor token are in it")
        asked = [json.loads(line["message"])["message"] for line in b.log("performance")]
        urls = [m["params"]["request"]["url"] for m in asked if m["method"] == "Network.requestWillBeSent"]
        check(all(u.startswith(("file://", "data:")) for u in urls), urls)
        check(not b.log("browser"), "nothing to complain of")


def explore__the_save_button_writes_one_file():
    with Server("crescents") as s, Browser(downloads=pathlib.Path.cwd()) as b:
        b.devtools("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(pathlib.Path.cwd())})
        b.open(s.address + "#n=50")
        b.wait(READY)
        b.click(b.find("#save"))
        file = pathlib.Path("jointflow-crescents.html")
        until = time.time() + 20
        while not file.exists() and time.time() < until:
            time.sleep(0.05)
        check(file.exists() and "<!doctype html>" in file.read_text(encoding="utf-8")[:20], "no file was written")


def explore__no_request_leaves_the_machine():
    with Server("crescents", "fashion/14-28") as s, Browser() as b:
        b.log("performance")
        b.open(s.address)
        b.wait(READY)
        b.click(b.find_text("button", "fashion/14-28"))
        b.wait("!!page.view.images", seconds=60)
        sent = [json.loads(line["message"])["message"] for line in b.log("performance")]
        urls = {m["params"]["request"]["url"] for m in sent if m["method"] == "Network.requestWillBeSent"}
        ours = [u for u in urls if not u.startswith((s.address, "data:", "blob:"))]
        check(len(urls) > 5 and not ours, "asked elsewhere:", ours)
        complaints = [line["message"] for line in b.log("browser") if "held_out" not in line["message"]]
        # the data of a model need not be here, which the program then says
        check(not complaints, complaints)


def explore__a_server_that_ended_is_told():
    with Server("crescents") as s, Browser() as b:
        b.open(s.address)
        b.wait(READY)
        s.end()
        b.click(b.find_text("button", "lower"))
        b.wait("document.getElementById('failure').innerText.includes('does not answer')")


# ---- watching ----

def training_watched():
    recipe = pathlib.Path("slow.ini")
    recipe.write_text("[data]\nset = crescents\n[model]\nblocks = 2\ndepth = 2\nwidth = 16\n[train]\nbatch = 500\nbatches = 60\n"
                      "precondition = 0\nanneal = 0\nepochs = 5000\nks_every = 2\n", encoding="ascii")
    return Server(str(recipe), "--watch", "-o", "watched", "--force", "--no-report", command="train")


def explore__a_training_is_watched_to_the_numbers_of_its_history():
    with training_watched() as s, Browser() as b:
        b.open(s.address)
        b.wait("!!(page.view && page.view.told && page.view.told.history.length >= 6 && page.view.look)", seconds=90)
        told = b.value("page.view.told")
        check(b.value("document.querySelectorAll('canvas').length") >= 6, "curves, histograms and samples")
        check([one["class"] for one in told["look"]["samples"]] == ["upper", "lower"] and len(told["look"]["samples"][0]["x"]) == 1000)
        check(len(told["look"]["histograms"]) == 2 and sum(told["look"]["histograms"][0]) > 900, "of the rows of the data")
        check("epoch" in b.text("[role=status]"), b.text("[role=status]"))
        s.end()
        b.wait("document.body.innerText.includes('has ended')")
    with open("watched/history.csv", encoding="ascii") as file:
        rows = list(csv.DictReader(file))
    for row, epoch in zip(rows, told["history"]):
        near(epoch["terms"][0], float(row["loss"]), 1e-6 * (1 + abs(float(row["loss"]))), "loss of epoch", row["epoch"])
    check(len(rows) >= len(told["history"]) >= 6)


# ---- for everybody ----

def views(server):
    """Every kind of view: its address, and when it is there."""
    yield "vectors", server.address + "#m=0&n=300&y=9", READY
    yield "corner", server.address + "#m=1&n=300", READY
    yield "classes", server.address + "#m=2&n=5", "!!(page.view && page.view.images)"
    yield "image", server.address + "#m=3&n=5", "!!(page.view && page.view.images)"
    yield "chain", server.address + "#m=chain", "!!(page.view && page.view.made)"


def explore__axe_finds_nothing_serious_in_light_and_dark():
    axe.source()
    with Server("sectors", table_model(), "mnist-class", "fashion") as s:
        for dark in [False, True]:
            with Browser(dark=dark) as b:
                for name, address, ready in views(s):
                    b.open("about:blank")
                    b.open(address)
                    b.wait(ready, seconds=60)
                    found = axe.findings(b)
                    check(not found, name, "dark" if dark else "light", found)


def check_room(browser, name):
    wide = browser.value("[document.documentElement.scrollWidth, innerWidth]")
    check(wide[1] <= 400 and wide[0] <= wide[1], name, "is", wide[0], "wide on a screen of", wide[1])


def explore__a_training_to_watch_has_room_on_a_phone_and_nothing_serious():
    axe.source()
    with training_watched() as s:
        for dark in [False, True]:
            with Browser(dark=dark, width=360, height=740) as b:
                b.open(s.address)
                b.wait("!!(page.view && page.view.told && page.view.told.history.length >= 2 && page.view.look)", seconds=90)
                check_room(b, "a training")
                found = axe.findings(b)
                check(not found, "dark" if dark else "light", found)


def explore__a_phone_has_room_for_every_view():
    with Server("sectors", table_model(), "mnist-class", "fashion") as s, Browser(width=360, height=740) as b:
        for name, address, ready in views(s):
            b.open("about:blank")
            b.open(address)
            b.wait(ready, seconds=60)
            check_room(b, name)
            small = b.value("[...document.querySelectorAll('button, select, input[type=number]')].filter((x) => x.checkVisibility() && !x.closest('.grid') && x.getBoundingClientRect().height < 32).map((x) => x.outerHTML.slice(0, 80))")
            check(not small, name, "has things that are too small for a finger:", small)


def explore__samples_follow_a_slider_within_a_moment():
    """The figures are measured by tests/explore/measure, on a machine that does nothing else; this is a bound on what broke."""
    with Server("crescents") as s, Browser() as b:
        b.open(s.address)
        b.wait(READY)
        times = slider_times(b, 15)
        check(sorted(times)[7] < 500, "ms from the slider to the screen:", times)


def slider_times(browser, count):
    """Milliseconds from moving the slider to the new points on screen."""
    return browser.value("""(async () => {
        const knob = document.querySelector('.slider input[type=range]'), times = [];
        for (let k = 0; k < COUNT; k++) {
            delete document.documentElement.dataset.ms;
            knob.value = Number(knob.min) + (Number(knob.max) - Number(knob.min)) * (0.3 + 0.4 * (k % 10) / 10);
            knob.dispatchEvent(new Event('input'));
            while (!document.documentElement.dataset.ms) await new Promise((done) => setTimeout(done, 1));
            times.push(Number(document.documentElement.dataset.ms));
            while (page.view.askedDensity?.busy) await new Promise((done) => setTimeout(done, 5));
        }
        return times;
    })()""".replace("COUNT", str(count)))


if __name__ == "__main__":
    run(globals(), lambda: not_sanitized("the page is the same; its server is tested with sanitizers by test_server.py"))
