#!/usr/bin/env python3
"""The server of jointflow explore: what it refuses, what it answers, and that neither costs memory."""
import base64
import json
import random
import socket
import subprocess
import threading
import time

from harness import PROGRAM, ROOT, Server, check, expect_bytes, near, not_sanitized, npy, run, sample, tiny_model


def statuses(server, *requests):
    return [server.request(*request)[0] for request in requests]


def explore__requests_without_the_token_are_refused():
    with Server("crescents") as s:
        wrong = "0" * 32 if s.token[0] != "0" else "1" * 32
        for path in ["/", "/index.html", "/api/models", f"/{wrong}/", f"/{wrong}/api/models", f"/{s.token}",
                     f"/{s.token[:-1]}/", f"//{s.token}/", f"/{s.token}x/", "/" + s.token.upper() + "/"]:
            if path == "/" + s.token + "/":
                continue  # a token of digits alone
            check(s.request("GET", path)[0] == 403, "GET", path)
            check(s.request("POST", path, "{}")[0] == 403, "POST", path)
        check(s.request("GET", "")[0] == 200, "the page itself")
        check(s.request("POST", "api/models", "{}")[0] == 200, "an answer")
    with Server("crescents") as other:
        check(other.token != s.token, "every start has a token of its own")


def explore__requests_under_another_host_name_are_refused():
    with Server("crescents") as s:
        for host in ["evil.example", f"evil.example:{s.port}", "127.0.0.1", f"127.0.0.1:{s.port + 1}", "",
                     f"127.0.0.1.evil.example:{s.port}", f"localhost.evil.example:{s.port}", f"10.0.0.1:{s.port}",
                     f"127.0.0.1:{s.port}:80", f"[::2]:{s.port}", "x" * 300, None]:
            found = s.request("GET", "", None, {"Host": host})[0]
            check(found in (400, 403), "Host", host, "has status", found)
        for host in [f"127.0.0.1:{s.port}", f"localhost:{s.port}"]:
            check(s.request("GET", "", None, {"Host": host})[0] == 200, "Host", host)


def explore__requests_from_another_page_are_refused():
    with Server("crescents") as s:
        own = f"http://127.0.0.1:{s.port}"
        for origin in ["http://evil.example", "null", "https://127.0.0.1:" + str(s.port), own + "0", "http://127.0.0.1",
                       "http://localhost:" + str(s.port), ""]:
            check(s.request("POST", "api/models", "{}", {"Origin": origin})[0] == 403, "Origin", origin)
        check(s.request("POST", "api/models", "{}", {"Origin": own})[0] == 200, "our own page")
        for site in ["cross-site", "same-site", "?"]:
            check(s.request("POST", "api/models", "{}", {"Sec-Fetch-Site": site})[0] == 403, "Sec-Fetch-Site", site)
        for kind in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=a", None]:
            check(s.request("POST", "api/models", "{}", {"Content-Type": kind})[0] == 415, "Content-Type", kind)
        for method in ["OPTIONS", "PUT", "DELETE", "TRACE", "PATCH"]:
            found = s.request(method, "api/models", "{}" if method != "TRACE" else None)[0]
            check(found in (400, 405), method, "has status", found)
        answer = s.request("POST", "api/models", "{}", {"Origin": own})[2]
        check("Access-Control-Allow-Origin" not in answer, "no other page may read an answer")


def explore__headers_that_are_there_twice_are_refused():
    with Server("crescents") as s:
        head = (f"GET /{s.token}/ HTTP/1.1\r\nHost: 127.0.0.1:{s.port}\r\nHost: evil.example\r\n\r\n").encode()
        with socket.create_connection(("127.0.0.1", s.port), 10) as link:
            link.sendall(head)
            check(link.recv(100).split()[1] == b"400", "two Hosts")


def large_body_in_chunks(server):
    with socket.create_connection(("127.0.0.1", server.port), 20) as link:
        link.sendall((f"POST /{server.token}/api/sample HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n"
                      "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n").encode())
        for _ in range(300):
            link.sendall(b"1000\r\n" + b" " * 4096 + b"\r\n")
        link.sendall(b"0\r\n\r\n")
        return link.recv(64)[9:12]


def explore__bodies_that_are_too_large_or_no_json_are_refused():
    with Server("crescents", "sectors") as s:
        for size in [(1 << 20) + 1, 1 << 40]:  # refused before it is sent
            check(s.request("POST", "api/sample", None, {"Content-Type": "application/json",
                                                        "Content-Length": str(size)})[0] == 413, size, "bytes")
        check(large_body_in_chunks(s) == b"413", "a body that does not tell its size")
        check(s.request("POST", "api/sample", None, {"Content-Type": "application/json",
                                                    "Content-Length": "99999999999999999999"})[0] in (400, 413))
        for body in ["", "{", "[]", "1", "null", '"a"', "{}{}", '{"n":1,"n":2}', '{"model":0', "\x00", "{" * 100000,
                     "[" * 100000, '{"a":' * 50000, "\xff\xfe", '{"n":1e999}']:
            found = s.request("POST", "api/sample", body.encode("latin-1"))[0]
            check(found == 400, "body", body[:40], "has status", found)
        for fields in [{"model": 2}, {"model": -1}, {"model": 0.5}, {"model": "0"}, {"y": [0], "n": 0},
                       {"y": [0], "n": 10**9}, {"y": [0], "n": 1.5}, {"y": []}, {"y": [0, 0]}, {"y": "0"},
                       {"y": [None]}, {"y": [[0]]}, {}, {"y": [0], "seed": -1}, {"y": [0], "seed": "x"},
                       {"y": [0], "seed": "18446744073709551616"}, {"y": [0], "temperature": -1},
                       {"y": [0], "denoise": 1}]:
            status, answer, _ = s.request("POST", "api/sample", json.dumps(fields))
            check(status == 400 and json.loads(answer)["error"], "sample", fields, status, answer)
        for name, fields in [("density", {"y": [0], "range": [0, 1, 0, 1], "size": 100000}),
                             ("density", {"y": [0], "range": [1, 0, 0, 1]}), ("density", {"y": [0], "range": [0, 1]}),
                             ("density", {"y": [0], "range": [-1e308, 1e308, 0, 1]}),
                             ("decode", {"y": [0], "z": []}), ("decode", {"y": [0], "z": [0] * 3}),
                             ("encode", {"y": [0], "x": [0] * 100000}), ("lines", {"y": [0], "along": "w"}),
                             ("lines", {"y": [0], "along": "z", "steps": 10**6}),
                             ("lines", {"y": [0], "along": "z", "lines": 10**8}), ("superres", {"counts": [1, 1]}),
                             ("held_out", {"row": 0}), ("watch", {})]:
            status, answer, _ = s.request("POST", "api/" + name, json.dumps(fields))
            check(status == 400 and json.loads(answer)["error"], name, fields, status, answer)
        for name in ["", "nothing", "../models", "sample/", "%73ample%00"]:
            check(s.request("POST", "api/" + name, "{}")[0] in (400, 404), "api/" + name)
        for name in ["../CMakeLists.txt", "..%2fcli%2fexplore.c", "/etc/passwd", "index.htm"]:
            check(s.request("GET", name)[0] in (400, 403, 404), name)
        check(s.ask("sample", y=[0], n=5)["n"] == 5, "after all of that it answers")


def explore__numbers_that_no_model_can_hold_are_refused_in_words():
    with Server("sectors") as s:
        for y in [1e300, -1e300, 1e39]:
            status, answer, _ = s.request("POST", "api/sample", json.dumps({"y": [y], "n": 3}))
            check(status == 422 and json.loads(answer)["error"], "y", y, status, answer)


def explore__connections_that_say_nothing_leave_room_for_others():
    with Server("crescents") as s:
        silent = []
        for i in range(40):
            link = socket.create_connection(("127.0.0.1", s.port), 10)
            link.sendall(b"POST /" if i % 2 else b"")
            silent.append(link)
        began = time.time()
        check(s.ask("sample", y=[0], n=5)["n"] == 5, "beside forty silent connections")
        check(time.time() - began < 5, "in good time")
        for link in silent:
            link.close()


class Trickle:
    """Connections that send a byte every two seconds, and come again where they are closed."""

    def __init__(self, server, count):
        self.address, self.links, self.ended = ("127.0.0.1", server.port), [], threading.Event()
        self.head = f"GET /{'0' * 32}/ HTTP/1.1\r\nX: {'x' * 1000}".encode()
        self.links = [self.connect() for _ in range(count)]
        self.thread = threading.Thread(target=self.send)
        self.thread.start()

    def connect(self):
        return socket.create_connection(self.address, 10)

    def send(self):
        for i in range(len(self.head)):
            for k, link in enumerate(self.links):
                try:
                    link.sendall(self.head[i:i + 1])
                except OSError:
                    link.close()
                    self.links[k] = self.connect()
            if self.ended.wait(2):
                return

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.thread.join()
        for link in self.links:
            link.close()


def explore__clients_that_trickle_leave_room_for_others():
    for count in [64, 300]:
        with Server("crescents") as s, Trickle(s, count):
            for _ in range(3):
                began = time.time()
                check(s.ask("sample", y=[0], n=5)["n"] == 5, "beside", count, "connections that trickle")
                check(time.time() - began < 5, "beside", count, "connections it takes", time.time() - began, "s")
                time.sleep(0.7)


def closed_after(server, head, seconds):
    """When the server closes a connection that sends a head, and then a byte every half a second."""
    began = time.time()
    with socket.create_connection(("127.0.0.1", server.port), 0.5) as link:
        try:
            link.sendall(head)
            while time.time() - began < seconds:
                try:
                    if not link.recv(1000):
                        break
                except TimeoutError:
                    link.sendall(b"x")
        except OSError:
            pass
    return time.time() - began


def explore__a_head_has_ten_seconds_and_a_known_connection_is_not_cut():
    with Server("crescents") as s:
        known, body = s.connect(), json.dumps({"y": [0], "n": 5})
        known.request("GET", f"/{s.token}/")
        known.getresponse().read()
        known.putrequest("POST", f"/{s.token}/api/sample")
        known.putheader("Content-Type", "application/json")
        known.putheader("Content-Length", str(len(body)))
        known.endheaders()
        first, found = known.sock, []
        heads = [b"", b"GET /" + s.token.encode() + b"/ HTTP/1.1\r\nX: "]
        late = [threading.Thread(target=lambda head=head: found.append(closed_after(s, head, 25))) for head in heads]
        for thread in late:
            thread.start()
        for thread in late:
            thread.join()
        check(all(9 < seconds < 20 for seconds in found), "heads were waited for", found, "s")
        with Trickle(s, 64):  # take no known connection's place
            time.sleep(1)
            known.send(body.encode())
            answer = known.getresponse()
            check(answer.status == 200 and json.loads(answer.read())["n"] == 5, "a body that took long")
            check(known.sock is first, "by the same connection")
        known.close()


def explore__nothing_but_loopback_is_listened_on_unless_asked_for():
    with Server("crescents") as s:
        listening = [line.split() for line in open("/proc/net/tcp", encoding="ascii").readlines()[1:]]
        mine = [row[1] for row in listening if row[3] == "0A" and row[1].endswith(f":{s.port:04X}")]
        check(mine == [f"0100007F:{s.port:04X}"], "listens on", mine)
        check(s.end() == 0 and s.errors == "", "ends well, without a word:", s.errors)
    with Server("crescents", "--listen", "0.0.0.0") as s:
        check(s.request("GET", "", None, {"Host": f"10.1.2.3:{s.port}"})[0] == 200, "an address is a good Host then")
        check(s.request("GET", "", None, {"Host": f"evil.example:{s.port}"})[0] == 403, "a name is not")
        s.end()
        check("warning" in s.errors and "0.0.0.0" in s.errors, "a warning is given:", s.errors)
    refused = subprocess.run([PROGRAM, "explore", "crescents", "--listen", "here"], capture_output=True, text=True,
                             check=False)
    check(refused.returncode == 2 and "--listen" in refused.stderr, refused.stderr)


def explore__a_port_that_is_taken_and_a_model_that_is_none_are_told_in_one_line():
    with Server("crescents") as s:
        for words in [["crescents", "--port", str(s.port)], ["no-such-model"]]:
            failed = subprocess.run([PROGRAM, "explore", *words], capture_output=True, text=True, check=False)
            check(failed.returncode == 1 and len(failed.stderr.splitlines()) == 1, words, failed.stderr)


def explore__every_header_keeps_the_page_to_itself():
    with Server("crescents") as s:
        for method, path, body in [("GET", "", None), ("POST", "api/models", "{}"), ("GET", "nothing", None)]:
            headers = s.request(method, path, body)[2]
            policy = headers["Content-Security-Policy"]
            check("default-src 'none'" in policy and "unsafe" not in policy and "http" not in policy, policy)
            check(headers["X-Content-Type-Options"] == "nosniff" and headers["Referrer-Policy"] == "no-referrer" and
                  headers["Cache-Control"] == "no-store", path)


# ---- answers ----

def explore__samples_are_those_of_jointflow_sample():
    with Server("crescents", "sectors", "ring", "rule-cross") as s:
        for model, name, y, words in [(0, "crescents", [1], ["-y", "1"]), (1, "sectors", [2.5], ["-y", "2.5"]),
                                      (2, "ring", [], []), (3, "rule-cross", [], [])]:
            answer = s.ask("sample", model=model, y=y, n=50, seed="12345678901234567890")
            columns, rows = sample(name, *words, "-n", "50", "--seed", "12345678901234567890", "--with-z")
            x = [value for row in rows for value in row[:2]]
            z = [value for row in rows for value in row[-2:]]
            check(columns[:2] == ["x0", "x1"], columns)
            check(answer["x"] == x and answer["z"] == z, name, "differs")
            check(0 <= answer["y_error"] < 1e-3, name, "y_error", answer["y_error"])


def explore__a_y_outside_of_the_data_is_told_in_words():
    with Server("crescents", "sectors") as s:
        check(s.ask("sample", model=0, y=[1], n=2)["beyond"] == "", "a class")
        check("none of the labels" in s.ask("sample", model=0, y=[0.5], n=2)["beyond"], "between two classes")
        check(s.ask("sample", model=1, y=[3], n=2)["beyond"] == "", "within the data")
        check("y0 is 9" in s.ask("sample", model=1, y=[9], n=2)["beyond"], "beyond the data")


def images_of(answer):
    return list(base64.b64decode(answer["images"]["bytes"]))


def explore__images_of_a_class_are_those_of_jointflow_sample():
    """Of one number in all of y, and of a plane for each class, whose images other models make larger."""
    not_sanitized("networks of images take too long with a sanitizer")
    with Server("mnist-class", "fashion-ten") as s:
        for model, name, label in [(0, "mnist-class", 1), (1, "fashion-ten", 8)]:
            answer = s.ask("sample", model=model, y=[label], n=3, seed=7, denoise=True)
            subprocess.run([PROGRAM, "sample", name, "-y", str(label), "-n", "3", "--seed", "7", "--denoise", "-o", "a.npy"], check=True)
            expect_bytes(images_of(answer), npy("a.npy"), name)
            check(answer["beyond"] == "", name, answer["beyond"])
        told = s.ask("models")["models"][1]
        check(told["then"] == {"name": "fashion", "h": 28, "w": 28, "why": ""} and told["planes"], told["then"])
        check(answer["latent"]["h"] == 7 and answer["images"]["h"] == 28, "the latent image is that of the model")
        line = s.ask("lines", model=1, along="y", **{"from": [8], "to": [9]}, steps=3, lines=2, seed=7)
        subprocess.run([PROGRAM, "interpolate", "fashion-ten", "--along", "y", "--from", "bag", "--to", "boot", "--steps", "3",
                        "--lines", "2", "--seed", "7", "-o", "b.npy"], check=True)
        expect_bytes(images_of(line), npy("b.npy"), "a line from bags to boots")
        status, body, _ = s.request("POST", "api/sample", json.dumps({"model": 1, "y": [8], "n": 600}))
        check(status == 400 and b"510" in body, "as many as there would be of this size", status, body)


def explore__images_are_shown_small_where_what_makes_them_larger_is_gone():
    keys = ["data.down=2", "data.then=gone", "model.net=dense", "model.condition=fixed", "model.depth=1", "model.width=4"]
    recipe = (ROOT / "tests/cli/glyphs.ini").read_text(encoding="ascii").splitlines()
    with open("small.ini", "w", encoding="ascii") as small:
        small.write("\n".join(line for line in recipe if line.split(" ")[0] not in ("kernels", "cardinality", "residual", "norm")))
    subprocess.run([PROGRAM, "train", "small.ini", "-o", "small", "--quiet", "--no-report", *(word for key in keys for word in ("--set", key))],
                   check=True, capture_output=True)
    with Server("small") as s:
        check("data.then = gone" in s.ask("models")["models"][0]["then"]["why"], "why")
        check(s.ask("sample", y=[0], n=2)["images"]["h"] == 7, "as the model draws them")


def explore__decode_undoes_encode_and_the_density_integrates_to_1():
    with Server("crescents") as s:
        drawn = s.ask("sample", y=[0], n=20, seed=3)
        back = s.ask("decode", y=[0], z=drawn["z"])["x"]
        z = s.ask("encode", y=[0], x=drawn["x"])["z"]
        for i in range(40):
            near(back[i], drawn["x"][i], 1e-4, "x", i)
            near(z[i], drawn["z"][i], 1e-3, "z", i)
        density = s.ask("density", y=[0], range=[-3, 4, -3, 4], size=128)
        near(sum(density["p"]) * (7 / 128) ** 2, 1, 0.02, "the integral")


def explore__the_density_is_0_outside_of_bounds():
    draw = random.Random(1)
    with open("bounded.csv", "w", encoding="ascii") as table:
        table.write("a,y\n" + "".join(f"{draw.random()},{draw.random()}\n" for _ in range(300)))
    subprocess.run([PROGRAM, "train", "bounded.csv", "--x-columns", "a", "--y-columns", "y", "--bounds", "a=0:1", "-o", "bounded",
                    "--set", "train.epochs=2", "--quiet", "--no-report"], check=True, capture_output=True)
    with Server("bounded") as s:
        p = s.ask("density", y=[0.5], range=[-1, 2], size=30)["p"]
        check(not any(p[:10]) and not any(p[20:]) and all(p[10:20]), p)


def explore__lines_begin_and_end_where_they_should():
    with Server("sectors") as s:
        line = s.ask("lines", along="y", **{"from": [1], "to": [2]}, lines=7, steps=5, seed=4)
        check(line["rows"] == 7 and line["steps"] == 5 and line["y"] == [[1], [1.25], [1.5], [1.75], [2]], line["y"])
        for t, y in [(0, 1), (4, 2)]:
            z = line["z"][t * 14:(t + 1) * 14]
            x = s.ask("decode", y=[y], z=z)["x"]
            for a, b in zip(x, line["x"][t * 14:(t + 1) * 14]):
                near(a, b, 1e-5, "the line at y", y)
        line = s.ask("lines", along="z", y=[1], lines=3, steps=4)
        check(len(line["x"]) == 3 * 4 * 2 and line["x"][:6] != line["x"][-6:], "a line in z moves")


def explore__judgement_is_that_of_jointflow_judge():
    with Server(tiny_model()) as s:
        check(s.ask("judge")["state"] == "none", "nobody has asked")
        s.ask("judge", begin=True)
        until = time.time() + 300
        while s.ask("judge")["state"] == "running" and time.time() < until:
            time.sleep(0.2)
        answer = s.ask("judge")
        check(answer["state"] == "done", answer["state"], answer["why"])
        told = subprocess.run([PROGRAM, "judge", "tiny"], capture_output=True, text=True, check=True).stdout
        check(answer["table"] == told, "the table differs:", answer["table"], told)
        check(answer["judgement"]["points"] == 50000, "numbers are there, too")


def explore__ends_at_once_although_a_judgement_is_under_way():
    with Server("mixed") as s:
        s.ask("judge", begin=True)
        time.sleep(0.3)
        began = time.time()
        check(s.end() == 0, "ends well")
        check(time.time() - began < 5, "took", time.time() - began)


def explore__memory_stays_the_same_over_many_requests():
    not_sanitized("sanitizers keep what was freed")
    with Server("crescents") as s:
        connection = s.connect()

        def ask_many(count):
            for i in range(count):
                bodies = ['{"y":[0],"n":100,"seed":%d}' % i, "{", '{"y":[1e300]}', '{"y":[0.5],"n":1}']
                connection.request("POST", f"/{s.token}/api/sample", bodies[i % 4],
                                   {"Content-Type": "application/json"})
                connection.getresponse().read()

        ask_many(400)
        before = s.memory()
        ask_many(2000)
        grown = s.memory() - before
        check(grown < 1024, "grew by", grown, "kB in 2,000 requests")


def explore__several_at_once_get_what_each_gets_alone():
    with Server("crescents") as s:
        alone = [s.ask("sample", y=[i % 2], n=200, seed=i)["x"] for i in range(6)]
        found = [None] * 24

        def one(i):
            found[i] = s.ask("sample", y=[i % 6 % 2], n=200, seed=i % 6)["x"]

        threads = [threading.Thread(target=one, args=(i,)) for i in range(24)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        check(all(found[i] == alone[i % 6] for i in range(24)), "some differ")


# ---- any bytes ----

def mutate(r, body):
    body = bytearray(body)
    for _ in range(r.randrange(1, 8)):
        at = r.randrange(len(body) + 1)
        kind = r.randrange(4)
        if kind == 0 and body:
            body[at % len(body)] = r.randrange(256)
        elif kind == 1:
            body[at:at] = bytes(r.randrange(256) for _ in range(r.randrange(1, 6)))
        elif kind == 2:
            del body[at:at + r.randrange(1, 10)]
        else:
            body[at:at] = r.choice([b"1e999", b"-0", b"[[", b"{}", b'"', b"null", b"99999999999999999999", b"\r\n\r\n",
                                    b"Content-Length: 5\r\n", b"Transfer-Encoding: chunked\r\n", b"\x00", b":"])
    return bytes(body)


def explore__any_bytes_are_answered_or_refused():
    """Ten seconds here; tests/explore/fuzz has a minute and the sanitizers."""
    fuzz(10, 1)


def fuzz(seconds, seed):
    r = random.Random(seed)
    names = ["models", "data", "sample", "density", "decode", "encode", "lines", "superres", "held_out", "judge", "watch"]
    bodies = ['{"model":0,"y":[0],"n":3,"seed":"7"}', '{"model":1,"y":[1.5],"range":[0,1,0,1],"size":4}',
              '{"model":0,"y":[0],"z":[0,1]}', '{"model":2,"along":"z","lines":2,"steps":3,"y":[]}',
              '{"image":{"h":2,"w":2,"channels":1,"values":[0,0.5,1,0]},"counts":[1,1]}', '{"row":3}']
    counts = {}
    with Server("crescents", "sectors", "ring") as s:
        until = time.time() + seconds
        while time.time() < until:
            body = r.choice(bodies).encode()
            if r.random() < 0.7:
                body = mutate(r, body)
            head = (f"POST /{s.token}/api/{r.choice(names)} HTTP/1.1\r\nHost: 127.0.0.1:{s.port}\r\n"
                    f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n").encode()
            if r.random() < 0.3:
                head = mutate(r, head)
            with socket.create_connection(("127.0.0.1", s.port), 20) as link:
                link.settimeout(3)
                found = b"closed"
                try:
                    link.sendall(head + body)
                    link.shutdown(socket.SHUT_WR)
                    found = link.recv(64)[9:12] or b"closed"
                except TimeoutError:
                    found = b"silent"
                except OSError:
                    pass
            counts[found] = counts.get(found, 0) + 1
            check(found != b"500", "status 500", head, body)
            check(s.process.poll() is None, "it died of", head, body)
        check(s.ask("sample", y=[0], n=5)["n"] == 5, "afterwards it answers")
        check(s.end() == 0, "and ends well", s.errors)
    check(counts.get(b"200", 0) > 0 and counts.get(b"400", 0) > 0, "both were tried", counts)
    return counts


if __name__ == "__main__":
    run(globals())
