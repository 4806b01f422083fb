"""Tables as users have them: data frames by the names of their columns, dates, missing and complex numbers."""
import datetime
import warnings

import numpy as np
import pytest

import jointflow
from jointflow import _tables
from jointflow.errors import DataError

NAN = float("nan")


@pytest.fixture(scope="module")
def columns():
    """a follows c, and b is far away from both."""
    rng = np.random.default_rng(0)
    c = rng.uniform(1, 2, 1000)
    return {"a": rng.normal(c, 0.1 * c), "b": rng.normal(50, 1, 1000), "c": c, "d": rng.uniform(size=1000)}


@pytest.fixture(params=["pandas", "polars"])
def frame(request, columns):
    module = pytest.importorskip(request.param, reason=f"{request.param} is not installed")
    return module.DataFrame(columns)


@pytest.fixture
def pandas():
    return pytest.importorskip("pandas", reason="pandas is not installed")


@pytest.fixture
def frame_flow(frame, parameters):
    return jointflow.Flow(**parameters).fit(frame[["a", "b"]], frame[["c", "d"]])


def test_frames__columns_in_another_order_are_the_same(frame, frame_flow, tmp_path):
    frame_flow.save(tmp_path / "m.safetensors")
    for flow in (frame_flow, jointflow.load(tmp_path / "m.safetensors")):
        assert flow.x_names_ == ["a", "b"] and flow.y_names_ == ["c", "d"]
        expected = flow.log_prob(frame[["a", "b"]].to_numpy(), frame[["c", "d"]].to_numpy())
        assert np.array_equal(flow.log_prob(frame[["b", "a"]], frame[["d", "c"]]), expected)
        assert flow.score(frame[["b", "a"]], frame[["d", "c"]]) == expected.mean()
        assert np.array_equal(flow.sample(frame[["d", "c"]], 2, seed=1), flow.sample(frame[["c", "d"]].to_numpy(), 2, seed=1))
        judged = flow.judge(frame[["b", "a"]], frame[["d", "c"]])
        assert judged["nll"] == flow.judge(frame[["a", "b"]].to_numpy(), frame[["c", "d"]].to_numpy())["nll"]


def test_frames__missing_and_unknown_columns_are_refused(frame, frame_flow, tmp_path):
    frame_flow.save(tmp_path / "m.safetensors")
    x, y = frame[["a", "b"]], frame[["c", "d"]]
    for flow in (frame_flow, jointflow.load(tmp_path / "m.safetensors")):
        for wrong, words in ((frame[["a"]], 'x has no column "b", expected a, b'), (frame[["a", "d"]], 'no column "b"'),
                             (frame[["c", "d"]], 'no columns "a", "b"'), (frame[["a", "b", "d"]], 'unknown column "d"')):
            for call in (flow.log_prob, flow.score, flow.judge, flow.encode):
                with pytest.raises(DataError, match=words):
                    call(wrong, y)
        for call in (flow.sample, flow.summary, lambda y: flow.log_prob(x, y), lambda y: flow.judge(x, y)):
            with pytest.raises(DataError, match='y has no column "d", expected c, d'):
                call(frame[["c", "a"]])


def test_frames__of_the_validation_are_read_by_name(frame, parameters):
    x, y, held = frame[["a", "b"]], frame["c"], frame[:100]
    flow = jointflow.Flow(**parameters).fit(x, y, validation=(held[["a", "b"]], held["c"]))
    other = jointflow.Flow(**parameters).fit(x, y, validation=(held[["b", "a"]], held["c"]))
    assert flow.history_[-1]["held_out"] == other.history_[-1]["held_out"]
    with pytest.raises(DataError, match='x of the validation has no column "b"'):
        jointflow.Flow(**parameters).fit(x, y, validation=(held[["a", "d"]], held["c"]))


def test_frames__one_column_and_one_row_are_read_by_name(pandas, columns, parameters):
    frame = pandas.DataFrame(columns)
    flow = jointflow.Flow(**parameters).fit(frame[["a", "b"]], frame["c"])
    row = frame.iloc[3]
    expected = flow.log_prob(frame[["a", "b"]].to_numpy()[3], columns["c"][3])
    assert flow.log_prob(row[["b", "a"]], row["c"]) == expected
    assert flow.log_prob(row[["b", "a"]], row[["c"]]) == expected
    assert flow.sample(row[["c"]], 4).shape == (4, 2) and flow.sample(frame["c"][:2], 4).shape == (2, 4, 2)
    assert flow.sample(frame["c"][:1], 4).shape == flow.sample(frame[["c"]][:1], 4).shape == (1, 4, 2)
    with pytest.raises(DataError, match='y has no column "c"'):
        flow.sample(frame["d"])
    with pytest.raises(DataError, match='x has no column "a"'):
        flow.log_prob(row[["b", "c"]], row["c"])


def test_frames__without_names_are_arrays(pandas, columns, parameters, tmp_path):
    x, y = np.stack([columns["a"], columns["b"]], axis=1), columns["c"]
    unnamed = jointflow.Flow(**parameters).fit(x, y)
    assert np.array_equal(unnamed.log_prob(pandas.DataFrame(x, columns=["p", "q"]), y), unnamed.log_prob(x, y))
    named = jointflow.Flow(**parameters).fit(pandas.DataFrame(x, columns=["p", "q"]), y)
    assert named.y_names_ == ["y0"]
    assert np.array_equal(named.log_prob(pandas.DataFrame(x), pandas.Series(y, name="c")), named.log_prob(x, y))
    with pytest.raises(DataError, match='no columns "p", "q", expected p, q'):
        named.log_prob(pandas.DataFrame(x, columns=["x0", "x1"]), y)


def test_frames__dates_and_durations_are_seconds_and_told_once(pandas, columns, parameters):
    _tables._reported.clear()
    hours = np.arange(1000)
    frame = pandas.DataFrame({"at": np.datetime64("2020-01-01", "ns") + hours * np.timedelta64(1, "h"),
                              "for": hours * np.timedelta64(1, "h")})
    numbers = pandas.DataFrame({"at": 1577836800 + 3600.0 * hours, "for": 3600.0 * hours})
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        dated = jointflow.Flow(**parameters).fit(frame, columns["a"])
        at = dated.log_prob(frame, columns["a"])
    told = [str(w.message) for w in told if "seconds" in str(w.message)]
    assert told == ['column "at" of x: dates become seconds since 1970-01-01, UTC',
                    'column "for" of x: durations become seconds']
    assert np.array_equal(at, jointflow.Flow(**parameters).fit(numbers, columns["a"]).log_prob(numbers, columns["a"]))


@pytest.mark.filterwarnings("ignore:.*become seconds")
@pytest.mark.parametrize("values, seconds", [
    (np.array(["1970-01-02", "NaT"], "datetime64[D]"), [86400, NAN]),
    (np.array(["2020-01-01T00:00:00.5"], "datetime64[ns]"), [1577836800.5]),
    (np.array([1500, "NaT"], "timedelta64[ms]"), [1.5, NAN]),
    ([datetime.datetime(1970, 1, 1, 1), None], [3600, NAN]),
    ([datetime.datetime(1970, 1, 1, 1, tzinfo=datetime.timezone(datetime.timedelta(hours=1)))], [0]),
    ([datetime.date(1970, 1, 2)], [86400]),
    ([datetime.timedelta(minutes=1), np.timedelta64(2, "s")], [60, 2]),
    (np.ma.array(["1970-01-02", "1970-01-02"], "datetime64[D]", mask=[False, True]), [86400, NAN]),
])
def test_numbers__of_dates_and_durations_are_seconds(values, seconds):
    np.testing.assert_array_equal(_tables.numbers(values, "x"), np.array(seconds, dtype=float))


def test_numbers__that_are_masked_or_missing_are_nan(pandas):
    masked = np.ma.array([[1, 2], [3, 4]], mask=[[False, True], [False, False]])
    np.testing.assert_array_equal(_tables.numbers(masked, "x"), [[1, NAN], [3, 4]])
    frame = pandas.DataFrame({"whole": pandas.array([1, None], dtype="Int64"),
                              "flag": pandas.array([None, True], dtype="boolean"),
                              "real": pandas.array([0.5, None], dtype="Float64"),
                              "at": pandas.to_datetime(["1970-01-01 01:00", None]).tz_localize("Europe/Berlin")})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        np.testing.assert_array_equal(_tables.numbers(frame, "x"), [[1, NAN, 0.5, 0], [NAN, 1, NAN, NAN]])


def test_masked__are_refused_as_nan_is(small, examples):
    x, y = examples[0][:3], examples[1][:3]
    for call in (lambda a, b: small.log_prob(a, b), lambda a, b: small.score(a, b), lambda a, b: small.sample(b, 2)):
        found = []
        for missing in (np.where([[False], [True], [False]], NAN, y), np.ma.array(y, mask=[[False], [True], [False]])):
            with pytest.raises(jointflow.Error) as error:
                call(x, missing)
            found.append(str(error.value))
        assert found[0] == found[1] and "nan" in found[0]


@pytest.mark.parametrize("make", [np.asarray, np.ndarray.tolist, lambda a: np.ma.array(a), lambda a: a.astype(object)])
def test_complex__numbers_are_refused_in_a_sentence(small, examples, parameters, make):
    x, y = examples
    wrong = make(x + 0j)
    for call in (jointflow.Flow(**parameters).fit, small.log_prob, small.score, small.judge):
        with pytest.raises(DataError, match="x has complex numbers, expected real ones"):
            call(wrong, y)
    with pytest.raises(DataError, match="y has complex numbers"):
        small.sample(make(y + 0j))
