"""A flow as a posterior over tensors."""
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

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
