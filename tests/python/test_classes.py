"""Classes as y: text, categories, whole numbers."""
import numpy as np
import pytest

import jointflow
from jointflow import Flow

CENTRES = {"iris": (0, 0), "moss": (4, 0), "reed": (0, 4)}


def rows(count=600, seed=0):
    """x around the centre of its class."""
    rng = np.random.default_rng(seed)
    y = rng.choice(list(CENTRES), count)
    return rng.normal([CENTRES[name] for name in y], 0.5), y


@pytest.fixture(scope="module")
def flow():
    return Flow(blocks=1, width=16, epochs=40, seed=1).fit(*rows())


def test_classes__names_are_learned_and_asked_for(flow):
    assert flow.class_names_ == ["iris", "moss", "reed"] and flow.dim_y_ == 3
    drawn = flow.sample(["moss", "reed"], 400, seed=2)
    assert drawn.shape == (2, 400, 2)
    assert np.allclose(drawn.mean(axis=1), [CENTRES["moss"], CENTRES["reed"]], atol=0.3)
    assert flow.sample("iris", 5).shape == (5, 2)


def test_classes__densities_tell_them_apart(flow):
    x, y = rows(200, 5)
    log_p = np.stack([flow.log_prob(x, name) for name in flow.class_names_])
    found = np.array(flow.class_names_)[log_p.argmax(axis=0)]
    assert (found == y).mean() > 0.95
    assert np.allclose(flow.log_prob(x, y), log_p[[flow.class_names_.index(name) for name in y], range(len(x))])


def test_classes__an_unknown_one_is_refused_with_those_that_are_known(flow):
    with pytest.raises(jointflow.errors.ArgumentError, match="no class 'fern', expected one of iris, moss, reed"):
        flow.sample("fern", 3)


def test_classes__data_to_judge_on_may_lack_some(flow):
    x, y = rows(300, 7)
    some = y != "moss"
    assert np.isfinite(flow.judge(x[some], y[some])["nll"])


def test_classes__whole_numbers_are_classes_unless_they_are_ordered():
    x, y = rows(300)
    numbers = np.array([{"iris": 3, "moss": 5, "reed": 8}[name] for name in y])
    flow = Flow(blocks=1, width=4, epochs=1).fit(x, numbers)
    assert flow.dim_y_ == 3 and flow.classes_.tolist() == [3, 5, 8]
    assert flow.sample([8, 3, 5], 2).shape == (3, 2, 2)  # as many labels as classes are still labels
    with pytest.raises(jointflow.Error, match="no class 4, expected one of 3, 5, 8"):
        flow.sample(4, 1)
    ordered = Flow(blocks=1, width=4, epochs=1, ordered=True).fit(x, numbers)
    assert ordered.dim_y_ == 1 and len(ordered.classes_) == 0
    assert ordered.sample(4.5, 2).shape == (2, 2)


def test_classes__held_out_rows_and_missing_ones_have_names_as_well():
    x, y = rows(300)
    y = y.astype(object)
    y[7] = None
    flow = Flow(blocks=1, width=4, epochs=1, seed=1).fit(x, y, validation=rows(60, 3))
    assert flow.class_names_ == ["iris", "moss", "reed"]


def test_classes__categories_of_pandas_are_names():
    pandas = pytest.importorskip("pandas")
    x, y = rows(300)
    column = pandas.Series(y, name="plant").astype("category")
    flow = Flow(blocks=1, width=4, epochs=1, seed=1).fit(pandas.DataFrame(x, columns=["a", "b"]), column)
    assert flow.y_names_ == ["plant"] and flow.class_names_ == ["iris", "moss", "reed"]
    assert flow.sample(pandas.DataFrame({"plant": ["reed", "moss"]}), 3).shape == (2, 3, 2)
    assert flow.sample(column[:4], 3).shape == (4, 3, 2)
