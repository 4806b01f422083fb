"""A flow as a posterior over tensors."""
import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

import jointflow  # noqa: E402
from jointflow.sbi import Posterior  # noqa: E402


def test_posterior__samples_and_densities_are_tensors_of_those_of_the_flow(crescents):
    posterior = Posterior(crescents, torch.tensor([1.0], dtype=torch.float64))
    theta = posterior.sample((3, 4), seed=7)
    assert theta.shape == (3, 4, 2) and theta.dtype == torch.float64
    assert torch.equal(theta.reshape(-1, 2), torch.from_numpy(crescents.sample(1, 12, seed=7)))
    assert torch.equal(posterior.log_prob(theta), torch.from_numpy(crescents.log_prob(theta.numpy(), 1)))
    assert posterior.log_prob(theta.float()).dtype == torch.float32
    assert posterior.sample_batched((5,), torch.tensor([[0.0], [1.0]])).shape == (5, 2, 2)


def test_posterior__follows_the_seed_of_torch(crescents):
    posterior = Posterior(crescents).set_default_x(0.0)
    torch.manual_seed(1)
    first, second = posterior.sample((5,)), posterior.sample((5,))
    torch.manual_seed(1)
    assert torch.equal(posterior.sample((5,)), first) and not torch.equal(first, second)


def test_posterior__needs_one_observation(crescents):
    with pytest.raises(ValueError, match="no observation"):
        Posterior(crescents).sample((2,))
    with pytest.raises(ValueError, match="expected one observation of 1 number"):
        Posterior(crescents).sample((2,), x=torch.zeros(3))
    with pytest.raises(ValueError, match=r"expected observations \(rows, 1\)"):
        Posterior(crescents).sample_batched((2,), torch.zeros(0, 1))


def test_posterior__batches_are_those_of_one_observation_after_the_other(crescents):
    posterior, x = Posterior(crescents), torch.tensor([[0.0], [1.0]])
    theta = posterior.sample_batched((3, 4), x, seed=1, show_progress_bars=False)
    together = posterior.log_prob_batched(theta, x)
    assert theta.shape == (3, 4, 2, 2) and together.shape == (3, 4, 2)
    for i in range(2):
        assert torch.allclose(together[..., i], posterior.log_prob(theta[..., i, :], x[i]), atol=1e-5)
    with pytest.raises(ValueError, match=r"expected one that ends with \(2, 2\)"):
        posterior.log_prob_batched(theta[..., :1, :], x)


def test_posterior__map_has_no_sample_that_is_likelier(crescents):
    posterior = Posterior(crescents, torch.tensor([1.0]))
    found = posterior.map(num_init_samples=200, seed=1)
    assert found.shape == (1, 2) and found.dtype == torch.float32
    assert posterior.log_prob(found) >= posterior.log_prob(posterior.sample((500,), seed=2)).max() - 0.05


def test_posterior__log_prob_has_the_shapes_of_sbi(crescents):
    posterior = Posterior(crescents, torch.tensor([1.0]))
    assert posterior.log_prob(torch.zeros(2)).shape == (1,) and posterior.log_prob(torch.zeros(5, 2)).shape == (5,)
    assert torch.equal(posterior.log_prob(torch.zeros(5, 2), norm_posterior=False), posterior.log_prob(torch.zeros(5, 2)))
    with pytest.raises(NotImplementedError, match="gradients"):
        posterior.log_prob(torch.zeros(5, 2), track_gradients=True)


# ---- with the package sbi ----

@pytest.fixture(scope="module")
def sbi():
    """Imported by the tests that need it: that takes seconds."""
    return pytest.importorskip("sbi", reason="the package sbi is not installed")


@pytest.fixture(scope="module", params=[1, 2])
def problem(request, parameters):
    """x = theta + noise, of one number or two: theta, x, and the posterior of a flow that has learned it."""
    rng = np.random.default_rng(0)
    theta = rng.normal(size=(2200, request.param))
    x = theta + 0.5 * rng.normal(size=theta.shape)
    flow = jointflow.Flow(**{**parameters, "epochs": 60}).fit(theta[:2000], x[:2000])
    return (*(torch.from_numpy(a[2000:]).float() for a in (theta, x)), Posterior(flow))


@pytest.mark.parametrize("batched", [True, False])
def test_sbi__run_sbc_and_run_tarp_take_the_posterior(sbi, problem, batched):
    from sbi.diagnostics import check_sbc, check_tarp, run_sbc, run_tarp
    theta, x, posterior = problem
    options = dict(num_posterior_samples=100, show_progress_bar=False, use_batched_sampling=batched)
    torch.manual_seed(1)
    ranks, averaged = run_sbc(theta, x, posterior, **options)
    assert ranks.shape == theta.shape and averaged.shape == theta.shape
    assert check_sbc(ranks, theta, averaged, 100)["ks_pvals"].min() > 0.001
    shifted, _ = run_sbc(theta + 1, x, posterior, **options)
    assert check_sbc(shifted, theta, averaged, 100)["ks_pvals"].max() < 1e-6
    ecp, alpha = run_tarp(theta, x, posterior, **options)
    assert abs(float(check_tarp(ecp, alpha)[0])) < 3


def test_sbi__run_sbc_takes_its_log_prob(sbi, problem):
    from sbi.diagnostics import run_sbc
    theta, x, posterior = (problem[0][:30], problem[1][:30], problem[2])
    ranks, _ = run_sbc(theta, x, posterior, num_posterior_samples=50, reduce_fns=posterior.log_prob, show_progress_bar=False)
    assert ranks.shape == (30, 1) and 5 < ranks.mean() < 45


def test_sbi__pairplot_takes_its_samples(sbi, problem):
    from sbi.analysis import pairplot
    theta, x, posterior = problem
    figure, axes = pairplot(posterior.set_default_x(x[0]).sample((200,), seed=1), points=posterior.map(num_init_samples=50))
    assert np.size(axes) == theta.shape[1]**2
