"""A flow beside estimators of scikit-learn."""
import warnings

import pytest

import jointflow

checks = pytest.importorskip("sklearn.utils.estimator_checks", reason="scikit-learn is not installed")

# Checks of scikit-learn that a flow does not pass, and why. docs/reliability.md lists them.
EXPECTED_FAILED = {
    "check_n_features_in_after_fitting": "the error is of another wording: it tells the shape that was expected",
    "check_estimators_empty_data_messages": "the error is of another wording: x has 0 columns, expected 1 to 1000000",
    "check_estimators_nan_inf": "what is not finite is told with its row and column, in other words than NaN and inf",
    "check_fit2d_1sample": "the error is of another wording: found 1 rows, expected at least 2",
    "check_fit1d": "x of one axis is one column",
}


@pytest.mark.filterwarnings("ignore")
def test_estimator__passes_the_checks_of_scikit_learn_but_those_listed():
    if not hasattr(checks, "estimator_checks_generator"):
        pytest.skip("this scikit-learn is older than 1.6, which told the checks apart by name")
    flow = jointflow.Flow(blocks=1, width=4, depth=1, epochs=2, progress=False)
    results = checks.check_estimator(flow, expected_failed_checks=EXPECTED_FAILED, on_fail=None, on_skip=None)
    failed = {r["check_name"]: repr(r["exception"]) for r in results if r["status"] in ("failed", "xfail")}
    assert len(results) > 35
    assert {name: why for name, why in failed.items() if name not in EXPECTED_FAILED} == {}
    assert set(EXPECTED_FAILED) - set(failed) == set(), "pass now: take them off the list"


def test_estimator__is_a_step_of_a_pipeline(examples, parameters):
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    x, y = examples
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pipeline = make_pipeline(StandardScaler(), jointflow.Flow(**{**parameters, "epochs": 2})).fit(x, y)
    scaled = (x - x.mean()) / x.std()
    assert pipeline.score(x, y) == pytest.approx(pipeline[-1].score(scaled, y))
    assert pipeline[-1].n_features_in_ == 1
