"""Learning from arrays."""
import gc
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest

import jointflow


def same(a, b, y=((1.2,), (1.7,))):
    return np.array_equal(a.sample(y, 20, seed=1), b.sample(y, 20, seed=1))


def test_fit__learns_what_the_examples_follow(parameters, examples):
    flow = jointflow.Flow(**{**parameters, "epochs": 60}).fit(*examples)
    drawn = flow.sample([1.0, 2.0], 4000, seed=1)[..., 0]
    assert np.allclose(drawn.mean(axis=1), [1, 2], atol=0.05)
    assert np.allclose(drawn.std(axis=1), [0.1, 0.2], rtol=0.3)
    assert flow.dim_x_ == flow.dim_y_ == 1 and not flow.stopped_
    assert flow.history_[-1]["epoch"] == 60 and flow.history_[-1]["loss"] < flow.history_[0]["loss"]
    assert "epochs = 60" in flow.recipe_


def test_fit__gives_the_model_that_the_command_line_gives_of_the_same_arrays(program, parameters, examples, small, tmp_path):
    np.save(tmp_path / "x.npy", examples[0])
    np.save(tmp_path / "y.npy", examples[1])
    sets = [f"--set=model.{k}={parameters[k]}" for k in ("blocks", "width", "depth")]
    sets += [f"--set=train.{k}={parameters[k]}" for k in ("epochs", "batch")]
    subprocess.run([program, "train", "--x", tmp_path / "x.npy", "--y", tmp_path / "y.npy", "-o", tmp_path / "run", *sets,
                    "--seed", "1", "--no-report", "--quiet"], check=True)
    assert same(jointflow.load(tmp_path / "run"), small)


def test_fit__reads_float_fortran_order_and_strides_in_place(parameters, examples):
    x, y = (np.round(a * 64) / 64 for a in examples)  # numbers that float holds, too
    expected = jointflow.Flow(**parameters).fit(x, y)
    wide = np.zeros((len(x) * 2, 3))
    wide[::2, 2:] = x
    both = np.asfortranarray(np.hstack([x, y]))
    assert same(expected, jointflow.Flow(**parameters).fit(x.astype(np.float32), y.astype(np.float32)))
    assert same(expected, jointflow.Flow(**parameters).fit(wide[::2, 2:], y[:, 0]))
    assert same(expected, jointflow.Flow(**parameters).fit(both[:, :1], both[:, 1:]))
    assert same(expected, jointflow.Flow(**parameters).fit(x[::-1][::-1], y.tolist()))


def test_fit__of_any_number_of_threads_has_the_same_bits(parameters, examples, small):
    assert same(jointflow.Flow(**{**parameters, "threads": 1}).fit(*examples), small)


def test_fit__holds_out_the_rows_that_it_is_given(parameters, examples):
    x, y = examples
    flow = jointflow.Flow(**parameters).fit(x[:1500], y[:1500], validation=(x[1500:], y[1500:]))
    shuffled = np.random.default_rng(1).permutation(500)
    other = jointflow.Flow(**parameters).fit(x[:1500], y[:1500], validation=(x[1500:] + 5, y[1500:]))
    again = jointflow.Flow(**parameters).fit(x[:1500], y[:1500], validation=(x[1500:][shuffled], y[1500:][shuffled]))
    assert "validation_rows = 500" in flow.recipe_
    assert again.history_[-1]["held_out"] == pytest.approx(flow.history_[-1]["held_out"], rel=1e-6)
    assert other.history_[-1]["held_out"] > flow.history_[-1]["held_out"] + 1
    assert "validation = 0.3" in jointflow.Flow(**parameters).fit(x, y, validation=0.3).recipe_
    with pytest.raises(ValueError, match="2 columns, expected 1"):
        jointflow.Flow().fit(x, y, validation=(np.hstack([x, x]), y))


def test_fit__without_y_learns_p_of_x(parameters):
    x = np.random.default_rng(0).normal(3, 0.5, (2000, 2))
    flow = jointflow.Flow(**{**parameters, "epochs": 15}).fit(x)
    assert flow.dim_y_ == 0
    assert np.allclose(flow.sample(n=3000, seed=1).mean(axis=0), 3, atol=0.1)


def test_fit__of_classes_draws_for_each(parameters):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 3000) * 4 + 3
    x = rng.normal(y[:, None], 0.3, (3000, 2))
    flow = jointflow.Flow(**{**parameters, "epochs": 15}, discrete=True).fit(x, y)
    assert flow.classes_.tolist() == [3, 7]
    assert np.allclose(flow.sample([3, 7], 500, seed=1).mean(axis=(1, 2)), [3, 7], atol=0.5)


def test_fit__keeps_the_names_of_a_data_frame(parameters, examples):
    class Frame(np.ndarray):
        columns = ["east"]

    flow = jointflow.Flow(**{**parameters, "epochs": 1}).fit(examples[0].view(Frame), examples[1])
    assert flow.x_names_ == ["east"] and flow.y_names_ == ["y0"]


class Frame(np.ndarray):
    """As much of a data frame as is asked for."""

    def __new__(cls, values, columns):
        made = np.asarray(values).view(cls)
        made.columns = columns
        return made


def test_fit__refuses_a_column_that_is_x_and_y_or_stands_twice(examples):
    x, y = examples
    both = np.hstack((x, y))
    for a, b in ((both, both[:, 1:]), (both[:, ::-1], both[:, :1]),
                 (Frame(x, ["a"]), Frame(x.copy(), ["a"])), (Frame(np.hstack((x, x)), ["a", "a"]), y)):
        with pytest.raises(jointflow.errors.DataError, match="column .*expected each once"):
            jointflow.Flow(progress=False).fit(a, b)
    jointflow.Flow(progress=False, epochs=1, blocks=1, width=4).fit(Frame(x, ["a"]), Frame(y, ["a"]))


def test_fit__refuses_names_with_control_characters(examples):
    x, y = examples
    for name in ("a\nb", "a\x1b[31m", "a\x00b", "\udcf6"):
        with pytest.raises(ValueError, match="column|null"):
            jointflow.Flow(progress=False).fit(Frame(x, [name]), y)


def test_fit__keeps_within_bounds(parameters):
    x = np.random.default_rng(0).uniform(0, 1, (3000, 1))
    flow = jointflow.Flow(**parameters, bounds="x0=0:1").fit(x, x**2)
    drawn = flow.sample([0.01, 0.99], 2000)
    assert 0 <= drawn.min() and drawn.max() <= 1


def test_fit__warns_once_of_bounds_that_it_found(parameters, recwarn):
    rng = np.random.default_rng(0)
    x = np.stack([rng.uniform(0, 1, 500), rng.normal(0, 1, 500), rng.uniform(-2, 2, 500)], axis=1)
    y = x.sum(axis=1)
    jointflow.Flow(**parameters).fit(Frame(x, ["share", "height", "offset"]), y)
    told = [str(w.message) for w in recwarn if "bounds" in str(w.message)]
    assert len(told) == 1 and "share from 0 to 1, offset from -2 to 2." in told[0] and 'bounds="none"' in told[0]
    assert all(w.filename == __file__ for w in recwarn if "bounds" in str(w.message))
    recwarn.clear()
    for bounds in ("auto", "none", "x0=0:1"):
        jointflow.Flow(**parameters, bounds=bounds).fit(x, y)
    jointflow.Flow(**parameters).fit(x[:, 1:2], y)  # a normal column
    assert not [w for w in recwarn if "bounds" in str(w.message)]


def test_log_prob__outside_of_bounds_is_minus_infinity_and_left_out_of_the_score(parameters):
    x = np.random.default_rng(0).uniform(0, 1, (300, 1))
    flow = jointflow.Flow(**parameters, bounds="x0=0:1").fit(x, x**2)
    log_p = flow.log_prob([[0.5], [1.5], [0.7]], [0.3])
    assert log_p[1] == -np.inf and np.isfinite(log_p[[0, 2]]).all() and flow.density_["outside"] == 1
    with pytest.warns(jointflow.errors.Warning, match="1 of 3 rows have an x outside of its bounds"):
        assert flow.score([[0.5], [1.5], [0.7]], [0.3]) == pytest.approx(log_p[[0, 2]].mean())
    assert flow.judge(np.append(x[:20], [[2.0]], axis=0), np.append(x[:20] ** 2, [[0.1]], axis=0))["outside"] == 1


def test_fit__trains_a_recipe_without_data(parameters):
    flow = jointflow.Flow("rule-circle", epochs=3, progress=False, settings={"train.batches": 5}).fit()
    assert flow.dim_x_ == 2 and flow.dim_y_ == 0 and flow.history_[-1]["epochs"] == 3


def test_progress__is_told_and_can_stop(parameters, examples):
    told = []

    def progress(now):
        told.append(now)
        return now["epoch"] >= 3

    with pytest.warns(jointflow.Warning, match="training was stopped"):
        flow = jointflow.Flow(**{**parameters, "epochs": 1000, "progress": progress}).fit(*examples)
    assert flow.stopped_ and told[-1]["epoch"] == 3 and np.isfinite(told[-1]["loss"])
    assert flow.sample(1.5, 3).shape == (3, 1)


def test_progress__an_exception_of_it_ends_the_call_and_is_raised(parameters, examples):
    def progress(now):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        jointflow.Flow(**{**parameters, "progress": progress}).fit(*examples)


def test_progress__is_a_bar_where_it_is_wanted(parameters, examples, capsys):
    jointflow.Flow(**{**parameters, "progress": True}).fit(*examples)
    assert "train" in capsys.readouterr().err


INTERRUPTED = """
    import os, signal, sys, warnings
    import numpy as np, jointflow
    rng = np.random.default_rng(0)
    y = rng.uniform(1, 2, (2000, 1)); x = rng.normal(y, 0.1 * y)
    def tell(now):
        if now["epoch"] == 5: os.kill(os.getpid(), signal.SIGINT)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        flow = jointflow.Flow(blocks=2, width=16, depth=1, epochs=200, batch=200, seed=1, folder=sys.argv[1],
                              progress=tell).fit(x, y)
    assert flow.stopped_ and "resume=True" in str(told[-1].message), told
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    flow.set_params(progress=False).fit(x, y, resume=True)
    whole = jointflow.Flow(blocks=2, width=16, depth=1, epochs=200, batch=200, seed=1, progress=False).fit(x, y)
    assert not flow.stopped_ and np.array_equal(flow.sample(1.5, 50, seed=1), whole.sample(1.5, 50, seed=1))
    print("as unbroken")
"""


def heed_interrupts():
    """In a new process: tests that run in the background are started with Ctrl-C ignored."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_interrupt__stops_saves_and_the_resumed_run_is_as_an_unbroken_one(tmp_path):
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(INTERRUPTED), tmp_path / "run"], capture_output=True,
                          text=True, timeout=120, preexec_fn=heed_interrupts)
    assert done.stdout.strip() == "as unbroken", done.stderr
    assert (tmp_path / "run" / "model.safetensors").exists()


def test_interrupt__from_outside_ends_fit_soon(tmp_path):
    program = textwrap.dedent("""
        import numpy as np, jointflow
        x = np.random.default_rng(0).normal(size=(5000, 2))
        print("begins", flush=True)
        flow = jointflow.Flow(epochs=100000, progress=False, settings={"train.patience": 0}).fit(x)
        print("stopped" if flow.stopped_ else "finished", flow.sample(n=3).shape, flush=True)
    """)
    with subprocess.Popen([sys.executable, "-W", "ignore", "-c", program], stdout=subprocess.PIPE, text=True,
                          preexec_fn=heed_interrupts) as process:
        assert process.stdout.readline() == "begins\n"
        time.sleep(2)
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=30)[0] == "stopped (3, 2)\n"


MEMORY = """
    import os, resource, sys, tempfile
    import numpy as np, jointflow
    megabytes = int(sys.argv[1])
    def train(values):
        jointflow.Flow(blocks=1, width=8, depth=1, epochs=1, batch=1000, threads=1, progress=False, bounds="none",
                       settings={"train.rows": 20000, "train.anneal": 0, "train.keep": 1}).fit(values[:, :6], values[:, 6:])
    train(np.random.default_rng(0).random((20000, 8)))  # what any training takes, the library itself among it
    values = np.random.default_rng(0).random((megabytes << 17 >> 3, 8))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    train(values)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    written = sum(os.path.getsize(os.path.join(d, f)) for d, _, files in os.walk(tempfile.gettempdir()) for f in files)
    print(grown / megabytes, written)
"""


def test_fit__takes_less_memory_than_the_array_once_more_and_writes_no_file(tmp_path):
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(MEMORY), "96"], capture_output=True, text=True,
                          timeout=300, env=environment, cwd=tmp_path)
    share, written = map(float, done.stdout.split()) if done.stdout else pytest.fail(done.stderr)
    assert share < 0.5 and written == 0


def test_data__stay_while_the_model_may_judge_on_them_and_no_longer(parameters):
    from jointflow import _data
    gc.collect()
    rng, before = np.random.default_rng(0), set(_data._kept)
    y = rng.uniform(1, 2, (2000, 1))
    flow = jointflow.Flow(**parameters).fit(rng.normal(y, 0.1 * y), y * 1.0)
    del y
    clutter = [np.full(2000, np.nan) for _ in range(50)]  # what freed arrays would be overwritten with
    assert np.isfinite(flow.judge(points=200)["nll"])
    assert len(_data._kept) == len(before) + 1
    del clutter, flow
    gc.collect()
    assert set(_data._kept) == before


def test_judge__takes_other_rows_and_says_where_the_data_are_gone(small, examples, tmp_path):
    x, y = examples
    fine, wrong = small.judge(x[:400], y[:400]), small.judge(x[:400] + 1, y[:400])
    assert fine["nll"] < wrong["nll"] - 1
    copy = pickle.loads(pickle.dumps(small))
    assert copy.judge(x[:400], y[:400])["nll"] == fine["nll"]
    with pytest.raises(jointflow.Error, match="given again"):
        copy.judge()


def test_params__are_those_of_the_constructor(parameters):
    flow = jointflow.Flow(**parameters)
    assert {k: flow.get_params()[k] for k in parameters} == parameters
    assert flow.set_params(blocks=3).blocks == 3
    assert repr(jointflow.Flow(blocks=4, law="spline")) == "Flow(blocks=4, law='spline')"
    with pytest.raises(ValueError, match="no parameter block, expected one of"):
        flow.set_params(block=3)


def test_params__scikit_learn_clones_and_searches(parameters, examples):
    base = pytest.importorskip("sklearn.base", reason="scikit-learn is not installed")
    from sklearn.model_selection import GridSearchCV
    copy = base.clone(jointflow.Flow(**parameters))
    assert copy.get_params() == jointflow.Flow(**parameters).get_params()
    search = GridSearchCV(copy, {"epochs": [1, 12]}, cv=2).fit(*examples)
    assert search.best_params_ == {"epochs": 12}


def series(rows=400):
    """(frequency), and (rows, 40, 2): its sine and cosine with noise."""
    rng = np.random.default_rng(7)
    x = rng.uniform(1, 3, rows)
    phase = 2 * np.pi * np.outer(x, np.arange(40) / 40)
    return x, np.stack([np.sin(phase), np.cos(phase)], axis=-1) + 0.2 * rng.normal(size=(rows, 40, 2))


def test_fit__y_of_several_axes_gets_an_embedding_and_is_taken_with_its_axes():
    x, y = series()
    flow = jointflow.Flow(epochs=3, width=8, blocks=1, seed=1, progress=False).fit(x, y)
    assert "embedding   conv1d, 40x2 numbers" in flow.describe()
    assert flow.sample(y[0], 5).shape == (5, 1) and flow.sample(y[:3], 5).shape == (3, 5, 1)
    flat = y.reshape(len(y), -1)
    np.testing.assert_array_equal(flow.log_prob(x[:9], y[:9]), flow.log_prob(x[:9], flat[:9]))
    with pytest.raises(jointflow.errors.ShapeError, match=r"ends with \(40, 2\)"):
        flow.sample(y[:, :20], 5)


def test_fit__validation_rows_of_y_have_its_axes():
    x, y = series()
    settings = {"model.embed": "dense"}
    flow = jointflow.Flow(epochs=1, width=8, blocks=1, settings=settings, progress=False)
    flow.fit(x[:300], y[:300], validation=(x[300:], y[300:]))
    assert flow.sample(y[:2]).shape == (2, 1)
    with pytest.raises(jointflow.errors.ShapeError, match="axes"):
        flow.fit(x[:300], y[:300], validation=(x[300:], y[300:].swapaxes(1, 2)))


def test_fit__refuses_a_folder_that_holds_a_run(parameters, examples, tmp_path):
    x, y = examples
    folder = tmp_path / "run"
    flow = jointflow.Flow(**parameters, folder=folder).fit(x, y)
    before = (folder / "model.safetensors").read_bytes()
    with pytest.raises(ValueError, match="holds a run already .* resume=True, .* overwrite=True"):
        flow.fit(x + 5, y)
    with pytest.raises(ValueError, match="expected one of them"):
        flow.fit(x + 5, y, resume=True, overwrite=True)
    assert (folder / "model.safetensors").read_bytes() == before
    flow.fit(x, y, resume=True)
    assert same(jointflow.load(folder), jointflow.Flow(**parameters).fit(x, y))
    flow.fit(x + 5, y, overwrite=True)
    assert jointflow.load(folder).sample(1.5, 50, seed=1).mean() > 5


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("rows", [2, 9, 10, 17, 19, 20])
def test_fit__learns_from_a_few_rows_by_the_defaults(rows):
    table = np.random.default_rng(0).normal(size=(rows, 3))
    flow = jointflow.Flow(progress=False).fit(table[:, :2], table[:, 2])
    assert np.isfinite(flow.sample(table[0, 2], 10)).all()
