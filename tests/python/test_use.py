"""What a model that is there answers."""
import math
import pathlib
import pickle
import threading

import numpy as np
import pytest

import jointflow


def test_sample__has_the_axes_of_y_then_n_then_those_of_x(crescents):
    assert crescents.sample(0).shape == (2,)
    assert crescents.sample(0, 3).shape == (3, 2)
    assert crescents.sample([0, 1]).shape == (2, 2)
    assert crescents.sample([[0], [1]], 3).shape == (2, 3, 2)
    assert crescents.sample(np.zeros((4, 5, 1)), 3).shape == (4, 5, 3, 2)
    assert crescents.sample([], 3).shape == (0, 3, 2)
    assert jointflow.load("ring").sample(n=7).shape == (7, 2)


def test_sample__of_a_seed_is_what_the_command_line_prints(crescents, program, tmp_path):
    import subprocess
    subprocess.run([program, "sample", "crescents", "-y", "0,1", "-n", "50", "--seed", "5", "-o", tmp_path / "s.npy"],
                   check=True, cwd=jointflow.__path__[0] + "/../..")
    table = np.load(tmp_path / "s.npy")
    assert np.array_equal(crescents.sample([0, 1], 50, seed=5).reshape(-1, 2), table[:, :2])


def test_sample__without_a_seed_gives_others_at_every_call_and_the_same_in_every_run():
    first, second = jointflow.load("crescents"), jointflow.load("crescents")
    one, two = first.sample(0, 4), first.sample(0, 4)
    assert not np.array_equal(one, two)
    assert np.array_equal(one, second.sample(0, 4)) and np.array_equal(two, second.sample(0, 4))


def test_sample__takes_classes_by_name(crescents):
    assert np.array_equal(crescents.sample(["upper", "lower"], 5, seed=1), crescents.sample([0, 1], 5, seed=1))
    with pytest.raises(jointflow.errors.ArgumentError, match="no class 'left', expected one of upper, lower"):
        crescents.sample("left")


def test_sample__of_any_number_of_threads_has_the_same_bits():
    one, two = (jointflow.load("crescents", threads=n).sample([0, 1], 3000, seed=2) for n in (1, 2))
    assert np.array_equal(one, two)


def test_sample__at_temperature_zero_decodes_the_latent_origin(crescents):
    assert np.array_equal(crescents.sample(0, 3, temperature=0), np.repeat(crescents.decode([[0, 0]], 0), 3, axis=0))


@pytest.mark.parametrize("wrong", [-1, -1e-9, math.nan, math.inf])
def test_sample__refuses_temperatures_that_are_negative_or_no_numbers(crescents, wrong):
    with pytest.raises(jointflow.errors.ArgumentError, match="temperature: found"):
        crescents.sample(0, 3, temperature=wrong)


def test_sample__a_temperature_of_nearly_zero_leaves_one_point(crescents):
    assert np.ptp(crescents.sample(0, 100, temperature=1e-6), axis=0).max() < 1e-3


def test_model__many_threads_get_what_each_would_get_alone(crescents):
    expected = [crescents.sample([0, 1], 500, seed=i) for i in range(8)]
    found = [None] * 8

    def work(i):
        for _ in range(5):
            found[i] = crescents.sample([0, 1], 500, seed=i)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert all(np.array_equal(a, b) for a, b in zip(expected, found))


def test_model__a_forked_process_uses_it_too(crescents):
    import multiprocessing
    crescents.sample(0, 2000, seed=1)  # the threads of the parent are there
    with multiprocessing.get_context("fork").Pool(1) as pool:
        found = pool.apply_async(crescents.sample, (0, 2000), {"seed": 1}).get(60)
    assert np.array_equal(found, crescents.sample(0, 2000, seed=1))


def test_log_prob__comes_with_the_error_of_y_and_integrates_to_one(crescents):
    side = np.linspace(-1.5, 1.5, 101)
    grid = np.stack(np.meshgrid(side, side), axis=-1)
    density = np.exp(crescents.log_prob(grid, "upper"))
    assert density.shape == (101, 101)
    assert density.sum() * (side[1] - side[0])**2 == pytest.approx(1, abs=0.02)
    crescents.log_prob(crescents.sample(0, 100), 0)
    assert 0 < crescents.y_error_ < 1e-4 and crescents.density_["exact"]


def test_log_prob__one_y_is_for_all_of_its_samples(crescents):
    x = crescents.sample([0, 1], 5, seed=3)
    together = crescents.log_prob(x, [0, 1])
    apart = np.stack([crescents.log_prob(x[0], 0), crescents.log_prob(x[1], np.full(5, 1))])
    assert together.shape == (2, 5) and np.array_equal(together, apart)
    assert crescents.log_prob(x[0, 0], [0, 1]).shape == (2,)


def test_score__is_the_mean_of_log_prob(crescents):
    x = crescents.sample([0, 1], 50, seed=3)
    assert crescents.score(x, [0, 1]) == pytest.approx(crescents.log_prob(x, [0, 1]).mean())
    assert crescents.score(x, [0, 1]) > crescents.score(x, [1, 0]) + 1


def test_encode__and_decode_undo_each_other(crescents):
    x = crescents.sample([0, 1], 100, seed=3)
    z, y_out = crescents.encode(x, [0, 1], return_y=True)
    back, y_back = crescents.decode(z, [0, 1], return_y=True)
    assert z.shape == x.shape and y_out.shape == (2, 100, 1)
    assert np.allclose(back, x, atol=1e-4) and np.allclose(y_back[1], 1, atol=1e-4) and np.allclose(y_out[0], 0, atol=1e-4)


def test_arrays__of_any_type_order_and_stride_are_the_same_numbers(crescents):
    x = crescents.sample([0, 1], 6, seed=3).reshape(12, 2).astype(np.float32)
    y = np.repeat([0, 1], 6)
    expected = crescents.log_prob(x.astype(float), y.astype(float))
    wide = np.zeros((24, 5), np.float32)
    wide[::2, 1:4:2] = x
    for same in (x, np.asfortranarray(x), wide[::2, 1:4:2], x.astype(">f8"), x.tolist()):
        assert np.array_equal(crescents.log_prob(same, y), expected)
    assert np.array_equal(crescents.log_prob(x[::-1], y[::-1]), expected[::-1])


def test_pickle__keeps_the_model_and_goes_on_with_its_draws(crescents):
    flow = jointflow.load("crescents")
    flow.sample(0)
    copy = pickle.loads(pickle.dumps(flow))
    assert np.array_equal(copy.sample(0, 9), flow.sample(0, 9))
    assert copy.class_names_ == ["upper", "lower"]
    assert np.array_equal(copy.log_prob([[0.5, 0.5]], 0), crescents.log_prob([[0.5, 0.5]], 0))


def test_save__writes_what_load_and_the_command_line_read(crescents, program, tmp_path):
    import subprocess
    crescents.save(tmp_path / "m.safetensors")
    crescents.save(tmp_path / "half.safetensors", half=True)
    assert np.array_equal(jointflow.load(tmp_path / "m.safetensors").sample(0, 9, seed=1), crescents.sample(0, 9, seed=1))
    assert (tmp_path / "half.safetensors").stat().st_size < 0.6 * (tmp_path / "m.safetensors").stat().st_size
    assert b"crescents" in subprocess.run([program, "info", tmp_path / "m.safetensors"], check=True, capture_output=True).stdout


def test_long_calls__leave_the_interpreter_to_other_threads(crescents):
    counted = [0]
    done = threading.Event()

    def count():
        while not done.is_set():
            counted[0] += 1

    other = threading.Thread(target=count)
    other.start()
    before = counted[0]
    crescents.sample([0, 1], 200000, seed=1)
    after = counted[0]
    done.set()
    other.join()
    assert after - before > 1000


def test_interrupt__ends_a_long_call_soon_and_is_raised():
    import signal
    import subprocess
    import sys
    import textwrap
    program = textwrap.dedent("""
        import numpy as np, os, signal, threading, time, jointflow
        flow = jointflow.load("crescents", threads=1)
        threading.Timer(1, os.kill, (os.getpid(), signal.SIGINT)).start()
        start = time.monotonic()
        try:
            flow.sample(0, 20_000_000)  # minutes
        except KeyboardInterrupt:
            print("raised", time.monotonic() - start < 40, flow.sample(0).shape)
    """)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300,
                          preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler))
    assert (done.stdout, done.stderr) == ("raised True (2,)\n", "")


def test_interrupt__that_comes_too_late_to_stop_a_call_is_raised_when_it_has_returned():
    import signal
    from jointflow import _library

    def call():
        signal.raise_signal(signal.SIGINT)
        return 0
    usual = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            _library._interruptible(call)()
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        assert _library._log.interrupts is None
    finally:
        signal.signal(signal.SIGINT, usual)


FAILURES = [
    (lambda m: m.sample(np.nan), ValueError, "row 1: y0 is nan, expected a finite number"),
    (lambda m: m.sample(None), ValueError, "needs a condition y of 1 number"),
    (lambda m: m.sample([[0, 1, 2]]), ValueError, r"y has the shape \(1, 3\), expected \(1,\) or \(rows, 1\)"),
    (lambda m: m.sample(0, -1), ValueError, "n: found -1, expected a whole number from 0"),
    (lambda m: m.log_prob(np.zeros((3, 2)), [0, 1]), ValueError, r"y has rows of the shape \(2,\), expected \(3,\)"),
    (lambda m: m.log_prob([[np.inf, 0]], 0), ValueError, "row 1: x0 is inf"),
    (lambda m: m.save("/no/such/folder/m.safetensors"), OSError, "/no/such/folder"),
    (lambda m: jointflow.load("no-such-model"), OSError, "no model of that name in"),
    (lambda m: jointflow.load("crescents", device="abacus"), RuntimeError, "abacus"),
    (lambda m: jointflow.Flow().sample(0), ValueError, "no model yet: call fit"),
    (lambda m: jointflow.Flow().fit(), ValueError, "neither data nor a recipe"),
    (lambda m: jointflow.Flow(law="cubic").fit(np.random.rand(50, 2)), ValueError, "law.*cubic.*affine"),
    (lambda m: jointflow.Flow().fit([[1.0, 2], [3, 4]], [1.0]), ValueError, "x has 2 rows and y has 1"),
    (lambda m: jointflow.Flow().fit([[np.inf, 2], [3, 4], [5, 5]]), ValueError, "row 1, column 1 of x is inf"),
    (lambda m: jointflow.load("ring").sample(0), ValueError, "has no condition"),
]


@pytest.mark.parametrize("call, kind, words", FAILURES, ids=range(len(FAILURES)))
def test_errors__are_exceptions_with_one_sentence(crescents, call, kind, words):
    with pytest.raises(kind, match=words) as found:
        call(crescents)
    assert isinstance(found.value, jointflow.Error) and "\n" not in str(found.value)


COUNTS = {"n": lambda m, v: m.sample(0, v), "seed": lambda m, v: m.sample(0, 2, seed=v),
          "points": lambda m, v: m.judge(points=v), "threads": lambda m, v: jointflow.load("crescents", threads=v)}


@pytest.mark.parametrize("what", COUNTS)
def test_counts_and_seeds__that_are_no_whole_numbers_in_range_are_refused(crescents, what):
    for value in (-1, 2**64, 1.9, np.float64(2.5), "3", float("nan")):
        with pytest.raises(ValueError, match=f"{what}: found .*, expected a whole number from 0 to"):
            COUNTS[what](crescents, value)


def test_seeds__are_refused_wherever_one_is_taken(crescents, examples):
    for call in (lambda: jointflow.Flow(seed=2**64, progress=False).fit(*examples),
                 lambda: jointflow.Flow(seed=-1, progress=False).fit(*examples), lambda: crescents.judge(seed=1.9),
                 lambda: crescents.summary(0, 10, seed=-1), lambda: crescents.summary(0, 0), lambda: crescents.plot(0, seed=2**64)):
        with pytest.raises(ValueError, match="expected a whole number from"):
            call()
    largest = crescents.sample(0, 3, seed=2**64 - 1)
    assert not np.array_equal(largest, crescents.sample(0, 3, seed=0))
    assert np.array_equal(crescents.sample(0, np.int32(3), seed=np.uint64(2**64 - 1)), largest)


def test_texts__with_a_null_character_are_refused(crescents, tmp_path):
    for call in (lambda: crescents.save(f"{tmp_path}/a\0b.safetensors"), lambda: jointflow.load("crescents\0x"),
                 lambda: jointflow.Flow("crescents\0x").fit(), lambda: jointflow.load("crescents", device="cpu\0x"),
                 lambda: jointflow.Flow(bounds="x=0:1\0").fit(np.random.rand(9, 1)),
                 lambda: jointflow.Flow(law="affine\0x").fit(np.random.rand(9, 1))):
        with pytest.raises(ValueError, match="null"):
            call()
    assert not any(tmp_path.iterdir())


def test_fit__validation_without_rows_is_refused_in_words(examples):
    x, y = examples
    for validation in ((), (x, y, y), (x[:0], y[:0]), []):
        with pytest.raises(ValueError, match="validation: found no rows, or more"):
            jointflow.Flow(progress=False).fit(x, y, validation=validation)


def test_warnings__of_the_library_name_the_line_of_the_user(small):
    with pytest.warns(jointflow.Warning) as told:
        small.sample(50.0)  # far beyond the data
    assert told[0].filename == __file__


def test_judge__is_a_dictionary_with_a_table_and_pictures(crescents, tmp_path):
    judgement = crescents.judge(points=2000)
    assert abs(judgement["gap"]) < 0.1 and judgement["classes"][1]["name"] == "lower"
    assert "\n  nll " in str(judgement) and "<img" in judgement._repr_html_()
    assert {"samples", "latent", "calibration"} <= set(judgement.pictures)
    assert judgement.report(tmp_path / "report").stat().st_size > 10000
    assert len(judgement.plot("latent", "samples").axes) == 2


def test_summary__has_moments_modes_and_regions_for_each_condition(crescents):
    upper, lower = crescents.summary(["upper", "lower"], 2000, seed=1, masses=[0.9], quantiles=0.5)
    assert upper["mean"][1] > lower["mean"][1] and upper["quantiles"].shape == (2, 1)
    assert crescents.log_prob(upper["mode"], "upper") == pytest.approx(upper["log_p_mode"], abs=1e-3)
    x = crescents.sample("upper", 5000, seed=2)
    assert np.mean(crescents.log_prob(x, "upper") >= upper["log_p_hpd"][0.9]) == pytest.approx(0.9, abs=0.03)
    inside = sum((lo <= x[:, 1]) & (x[:, 1] <= hi) for lo, hi in upper["hpd"][0.9][1])
    assert np.mean(inside) == pytest.approx(0.9, abs=0.03)
    assert isinstance(crescents.summary("upper", 100), dict)


def test_plot__has_a_colour_and_a_name_for_each_class(crescents):
    axes = crescents.plot(n=50)
    assert [t.get_text() for t in axes.get_legend().get_texts()] == ["y = 0.0", "y = 1.0"]
    assert len(axes.collections) == 2 and len(axes.collections[0].get_offsets()) == 50


def test_describe__is_what_the_command_line_says_of_it(crescents):
    assert "212064" in crescents.describe()


def test_export__writes_what_the_command_line_writes(crescents, tmp_path):
    written = crescents.export(tmp_path / "a.onnx")
    assert [pathlib.Path(name).name for name in written] == ["a.onnx", "a.density.onnx"]
    assert crescents.export(tmp_path / "a.c", name="answers") == [str(tmp_path / "a.c")]
    assert "int answers_sample(" in (tmp_path / "a.c").read_text()
    with pytest.raises(jointflow.errors.ArgumentError, match="expected .c .* or .onnx"):
        crescents.export(tmp_path / "a.txt")


def test_sample__of_one_y_has_the_same_axes_whatever_its_numbers(crescents, parameters):
    rows = np.random.default_rng(0).normal(size=(100, 4))
    of_two = jointflow.Flow(**{**parameters, "epochs": 1, "batch": 20}).fit(rows[:, :2], rows[:, 2:])
    for n, axes in ((None, ()), (5, (5,))):
        assert crescents.sample(np.zeros(1), n).shape == of_two.sample(np.ones(2), n).shape == axes + (2,)
        assert crescents.sample(np.zeros((1, 1)), n).shape == of_two.sample(np.ones((1, 2)), n).shape == (1,) + axes + (2,)
    assert crescents.sample(["upper"], 5).shape == (1, 5, 2)
    assert crescents.log_prob(np.zeros(2), np.zeros(1)).shape == ()
    assert crescents.log_prob(np.zeros((3, 2)), np.zeros(1)).shape == (3,)


def test_repr__of_a_loaded_model_tells_what_it_is_of(crescents, small):
    assert repr(crescents) == "Flow() of p(x0, x1 | y0), classes upper, lower"
    assert repr(small).endswith("progress=False) of p(x0 | y0)") and repr(jointflow.Flow(blocks=2)) == "Flow(blocks=2)"
    assert repr(jointflow.load("ring")) == "Flow() of p(x0, x1)"
    assert repr(jointflow.load("fashion-class")).startswith("Flow() of p(images 28x28 | y0, y1, ..., y")


@pytest.mark.parametrize("make", [np.random.default_rng, np.random.RandomState])
def test_seeds__of_a_generator_follow_it(crescents, make):
    one, two = make(3), make(3)
    first, second = crescents.sample(0, 5, seed=one), crescents.sample(0, 5, seed=one)
    assert not np.array_equal(first, second)
    assert np.array_equal(crescents.sample(0, 5, seed=two), first) and np.array_equal(crescents.sample(0, 5, seed=two), second)
    one, two = (jointflow.load("crescents").set_params(seed=make(4)) for _ in range(2))
    assert np.array_equal(one.sample(0, 5), two.sample(0, 5)) and np.array_equal(one.sample(0, 5), two.sample(0, 5))


def test_seeds__that_are_none_are_new_ones(crescents, parameters, examples):
    one, two = (jointflow.load("crescents").set_params(seed=None) for _ in range(2))
    assert not np.array_equal(one.sample(0, 5), two.sample(0, 5))
    one, two = (jointflow.Flow(**{**parameters, "seed": None}).fit(*examples) for _ in range(2))
    assert not np.array_equal(one.decode([[0.5]], 1.5), two.decode([[0.5]], 1.5))
    x, y = (a[:50] for a in examples)
    fixed, again, first, second = (str(dict(one.judge(x, y, seed=seed))) for seed in (3, 3, None, None))
    assert fixed == again and first != second


def test_names__data_and_condition_are_x_and_y(crescents, parameters, examples):
    x, y = crescents.sample([0, 1], 10, seed=1), [0, 1]
    assert np.array_equal(crescents.sample(condition=y, n=10, seed=1), x)
    assert np.array_equal(crescents.log_prob(data=x, condition=y), crescents.log_prob(x, y))
    assert crescents.score(data=x, condition=y) == crescents.score(x, condition=y) == crescents.score(x, y)
    z = crescents.encode(data=x, condition=y)
    assert np.array_equal(crescents.decode(z, condition=y), crescents.decode(crescents.encode(x, y), y))
    fitted = jointflow.Flow(**{**parameters, "epochs": 1}).fit(data=examples[0], condition=examples[1])
    expected = jointflow.Flow(**{**parameters, "epochs": 1}).fit(*examples)
    assert np.array_equal(fitted.sample(1.5, 9, seed=1), expected.sample(1.5, 9, seed=1))
    assert fitted.summary(condition=1.5, n=50, seed=1)["log_p_mode"] == expected.summary(1.5, 50, seed=1)["log_p_mode"]
    given = [a[:50] for a in examples]
    assert fitted.judge(data=given[0], condition=given[1])["nll"] == expected.judge(*given)["nll"]


def test_names__both_of_one_argument_are_refused(crescents, examples):
    x, y = np.zeros((3, 2)), np.zeros(3)
    for call in (lambda **k: crescents.sample(y, **k), lambda **k: crescents.log_prob(x, y, **k),
                 lambda **k: crescents.score(x, y, **k), lambda **k: crescents.encode(x, y, **k),
                 lambda **k: crescents.decode(x, y, **k), lambda **k: crescents.judge(x, y, **k),
                 lambda **k: crescents.summary(y, **k), lambda **k: crescents.plot(y, **k),
                 lambda **k: jointflow.Flow(progress=False).fit(*examples, **k)):
        with pytest.raises(jointflow.errors.ArgumentError, match="y and condition are the same"):
            call(condition=y)
    for call in (crescents.log_prob, crescents.score, crescents.encode, crescents.judge):
        with pytest.raises(jointflow.errors.ArgumentError, match="x and data are the same"):
            call(x, y, data=x)
        if call != crescents.judge:
            with pytest.raises(jointflow.errors.ArgumentError, match="found no x"):
                call(condition=y)
    for call in (crescents.judge, jointflow.Flow("rule-circle", progress=False).fit):
        with pytest.raises(jointflow.errors.ArgumentError, match=r"found a y \(condition\) .*without"):
            call(condition=y)
