"""Ends of processes, forked ones among them, and models that change while others use them."""
import os
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest

import jointflow

EXITS = 4  # of each kind; each of them crashed before


def run(code, seconds=60):
    """A process of its own, which says nothing but what it prints."""
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=seconds,
                          cwd=jointflow.__path__[0] + "/../..")
    assert (done.returncode, done.stderr) == (0, ""), done
    return done.stdout


@pytest.mark.parametrize("call", ["flow.sample(0, 200000)", "flow.log_prob(x, 0)", "flow.judge(points=20000)",
                                  "jointflow.Flow(epochs=10000, progress=False).fit(x[:, :1], x[:, 1:])"])
def test_exit__while_a_daemon_thread_is_inside_of_a_call_is_quiet(call):
    code = f"""
        import threading, time, jointflow
        flow = jointflow.load("crescents", threads=2)
        x = flow.sample(0, 20000, seed=1)
        def work():
            while True:
                {call}
        threading.Thread(target=work, daemon=True).start()
        time.sleep(0.3)
        print("done")
    """
    for _ in range(EXITS):
        assert run(code) == "done\n"


def test_fit__again_while_other_threads_use_the_flow_gives_each_call_one_model(parameters):
    rng = np.random.default_rng(0)
    flow = jointflow.Flow(**{**parameters, "epochs": 1, "batch": 20, "threads": 1})
    small, large, y = (rng.normal(size=(100, columns)) for columns in (2, 40, 1))
    flow.fit(large, y)
    stop, wrong = threading.Event(), []

    def work():
        while not stop.is_set():
            try:
                drawn = flow.sample(np.zeros((50, 1)), 3, seed=1)
                assert drawn.shape in ((50, 3, 2), (50, 3, 40))
                flow.log_prob(drawn, np.zeros((50, 1)))
            except jointflow.errors.ShapeError:
                pass  # drawn of one model and asked of the next
            except BaseException as error:
                wrong.append(error)
                return

    threads = [threading.Thread(target=work) for _ in range(3)]
    for t in threads:
        t.start()
    try:
        for i in range(40):
            flow.fit(small if i % 2 else large, y)
    finally:
        stop.set()
    for t in threads:
        t.join()
    assert not wrong


@pytest.mark.parametrize("leave", ["sys.exit(0)", "flow = None"])
@pytest.mark.parametrize("work", ["flow.sample(0, 2000)", "flow.log_prob(x, 0)",
                                  "jointflow.Flow(blocks=1, width=8, epochs=2, progress=False).fit(x[:, :1], x[:, 1:])"])
def test_forks__a_child_works_and_leaves_in_time(work, leave):
    run(f"""
        import os, signal, sys, jointflow
        flow = jointflow.load("crescents", threads=3)
        x = flow.sample(0, 5000, seed=1)
        child = os.fork()
        if child == 0:
            signal.alarm(60)
            {work}
            {leave}
            sys.exit(0)
        assert os.waitpid(child, 0)[1] == 0
    """, 120)


def test_forks__a_child_of_a_process_whose_threads_are_inside_of_calls_leaves_in_time():
    run("""
        import os, signal, sys, threading, time, jointflow
        flow = jointflow.load("crescents", threads=3)
        def work():
            while True:
                flow.sample(0, 20000)
        threading.Thread(target=work, daemon=True).start()
        for _ in range(5):
            time.sleep(0.05)
            child = os.fork()
            if child == 0:
                signal.alarm(60)
                began = time.process_time()
                flow.sample(0, 10, seed=1)
                sys.exit(0)
            assert os.waitpid(child, 0)[1] == 0
    """)


def test_forks__a_child_of_the_progress_function_leaves_the_run_alone(examples, parameters, tmp_path):
    children, parent = [], os.getpid()

    def files():
        return {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    def watch(now):
        if not children and now["epoch"] == 2:
            before = files()
            children.append(os.fork())
            if os.getpid() != parent:
                sys.exit(3)
            children.append(os.waitpid(children[0], 0)[1])
            children.append(files() == before)

    try:
        flow = jointflow.Flow(**{**parameters, "progress": watch, "folder": tmp_path}).fit(*examples)
    except BaseException:
        if os.getpid() != parent:
            os._exit(0)
        raise
    if os.getpid() != parent:
        os._exit(1)
    assert children[1:] == [0, True] and not flow.stopped_
    assert len(flow.history_) == parameters["epochs"]
    same = jointflow.Flow(**parameters).fit(*examples)
    assert np.array_equal(flow.sample(1.5, 10, seed=1), same.sample(1.5, 10, seed=1))
