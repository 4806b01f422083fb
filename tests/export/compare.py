"""Runs the graphs of exported models and compares them with what the library answered.

    compare.py [--node MODULES] FOLDER ...

A FOLDER holds model.onnx and model.density.onnx, the rows z.csv (or none), x.csv and y.csv, and what is expected of them:
x.csv and y_back.csv of decoding; z_out.csv, y_out.csv, log_p.csv and y_error.csv of encoding, as far as they are there.
Numbers agree to 1e-4, relative to those beyond 1, or to as much as a last bit of the inputs changes them: graphs compute in float32,
and some rows are that sensitive. With --node the runtime is onnxruntime-web below MODULES.
"""
import json
import pathlib
import subprocess
import sys

import numpy as np

TOLERANCE = 1e-4


def runner_of_python(graph):
    """The names of a graph's inputs, and a function that runs it."""
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(graph), options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return [i.name for i in session.get_inputs()], lambda feeds: dict(zip(names, session.run(None, feeds)))


def runner_of_node(graph, modules):
    """The same by run.mjs."""
    def ask(feeds):
        sent = {name: {"data": table.ravel().tolist(), "dims": table.shape} for name, table in feeds.items()}
        done = subprocess.run(["node", pathlib.Path(__file__).with_name("run.mjs"), modules, graph], input=json.dumps(sent),
                              text=True, stdout=subprocess.PIPE, check=True)
        return json.loads(done.stdout)

    def run(feeds):
        return {name: np.array(o["data"], float).reshape(o["dims"]) for name, o in ask(feeds)["outputs"].items()}

    return ask({})["inputs"], run


def read(folder, name):
    """The numbers of a table without names, (rows, width); None: there is none."""
    file = folder / (name + ".csv")
    return np.loadtxt(file, delimiter=",", ndmin=2, dtype=np.float64) if file.exists() else None


def nudged(feeds, seed):
    """The inputs, each a last bit larger or smaller."""
    rng = np.random.default_rng(seed)
    return {name: np.nextafter(table, rng.choice(np.float32([-np.inf, np.inf]), table.shape)) for name, table in feeds.items()}


def compare(what, found, expected, spread):
    """spread() is how far the inputs' last bits move each number; it is asked only where 1e-4 is exceeded."""
    assert found.size == expected.size and len(found) == len(expected), \
        f"{what}: the shape is {found.shape}, expected {expected.shape}"
    found = found.reshape(expected.shape)
    allowed = TOLERANCE * np.maximum(1, np.abs(expected))
    if not np.all(np.abs(found - expected) <= allowed):
        allowed += spread().reshape(expected.shape)
    for i in np.argwhere(~(np.abs(found - expected) <= allowed)):
        raise AssertionError(f"{what}: number {i} is {found[tuple(i)]}, expected {expected[tuple(i)]} to {allowed[tuple(i)]}")


def check(make_runner, graph, inputs, outputs):
    """All rows of one graph, then the first alone: a graph takes any number of them."""
    tables = {name: read(graph.parent, name) for name in inputs}
    tables = {name: table.astype(np.float32) for name, table in tables.items() if table is not None}
    wanted = {name: read(graph.parent, file) for name, file in outputs.items()}
    wanted = {name: table for name, table in wanted.items() if table is not None}
    names, run = make_runner(graph)
    assert names == list(tables), f"{graph} takes {names}, expected {list(tables)}"
    assert wanted, f"nothing to compare {graph} with"
    for rows in [None, 1]:
        feeds = {name: table[:rows] for name, table in tables.items()}
        found = run(feeds)
        for name, expected in wanted.items():
            def spread():
                return np.max([np.abs(run(nudged(feeds, seed))[name] - found[name]) for seed in range(8)], axis=0)
            compare(f"{graph}, {name}", found[name], expected[:rows], spread)


def main(folders):
    make_runner = runner_of_python
    if folders[0] == "--node":
        modules, folders = folders[1], folders[2:]
        make_runner = lambda graph: runner_of_node(graph, modules)
    for folder in map(pathlib.Path, folders):
        check(make_runner, folder / "model.onnx", ["z", "y"], {"x": "x", "y_back": "y_back"})
        check(make_runner, folder / "model.density.onnx", ["x", "y"],
              {"z": "z_out", "y_out": "y_out", "log_p": "log_p", "y_error": "y_error"})


main(sys.argv[1:])
