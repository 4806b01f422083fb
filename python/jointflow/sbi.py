"""A flow as the posterior of simulation-based inference, over torch tensors: theta is x, the observation is y.

Needs torch (Debian: python3-torch), which nothing else of the package does. The names are those of the package sbi, so
that what takes a posterior of sbi takes this one.
"""
from __future__ import annotations

from typing import Any, Optional, Sequence, Union

try:
    import torch
except ImportError:
    raise ImportError("jointflow.sbi works on tensors of torch (Debian: python3-torch)") from None

from .errors import ArgumentError
from .flow import Flow

Sizes = Union[int, Sequence[int]]


class Posterior:
    """p(theta | x_o) by a flow that was fitted as ``Flow().fit(theta, x)``.

    >>> import jointflow, torch
    >>> from jointflow.sbi import Posterior
    >>> posterior = Posterior(jointflow.load("crescents")).set_default_x(torch.tensor([1.0]))
    >>> theta = posterior.sample((100,), seed=1)
    >>> theta.shape, posterior.log_prob(theta).shape, posterior.log_prob(theta).mean() > 0
    (torch.Size([100, 2]), torch.Size([100]), tensor(True))
    """

    def __init__(self, flow: Flow, x: Any = None):
        self.flow = flow
        self.default_x: Optional[torch.Tensor] = None
        if x is not None:
            self.set_default_x(x)

    def set_default_x(self, x: Any) -> "Posterior":
        """The observation for calls without one."""
        self.default_x = torch.as_tensor(x)
        return self

    def _now(self) -> Flow:
        """The flow with the model that it has now: another thread may fit another one during a call."""
        return Flow._of(self.flow.model_, self.flow.device, self.flow.threads)

    def _observation(self, x: Any) -> torch.Tensor:
        found = self.default_x if x is None else torch.as_tensor(x)
        if found is None:
            raise ArgumentError("no observation: give x, or set_default_x() before")
        return found

    def _one(self, flow: Flow, x: Any) -> "tuple[Any, torch.Tensor]":
        """One observation as a row of y, and the tensor, whose type and device answers have."""
        observed = self._observation(x)
        if observed.numel() != flow.dim_y_:
            raise ArgumentError(f"x has the shape {tuple(observed.shape)}, expected one observation of "
                                f"{flow.dim_y_} number{'s' if flow.dim_y_ > 1 else ''}")
        return observed.detach().cpu().reshape(1, -1).numpy(), observed

    @staticmethod
    def _like(values: Any, tensor: torch.Tensor) -> torch.Tensor:
        dtype = tensor.dtype if tensor.is_floating_point() else torch.get_default_dtype()
        return torch.from_numpy(values).to(device=tensor.device, dtype=dtype)

    def sample(self, sample_shape: Sizes = (), x: Any = None, *, seed: Optional[int] = None) -> torch.Tensor:
        """Draws theta ~ p(theta | x): sample_shape + (dim of theta)."""
        shape = torch.Size([sample_shape] if isinstance(sample_shape, int) else sample_shape)
        flow = self._now()
        y, observed = self._one(flow, x)
        if seed is None:  # torch.manual_seed() decides, as everywhere in torch
            seed = int(torch.randint(2**62, ()).item())
        drawn = flow.sample(y, shape.numel(), seed=seed, then=False)
        return self._like(drawn, observed).reshape(shape + (flow.dim_x_,))

    def sample_batched(self, sample_shape: Sizes, x: Any, *, seed: Optional[int] = None) -> torch.Tensor:
        """The same for many observations (rows, dim of x): sample_shape + (rows, dim of theta)."""
        shape = torch.Size([sample_shape] if isinstance(sample_shape, int) else sample_shape)
        flow, observed = self._now(), self._observation(x)
        rows = observed.detach().cpu().reshape(-1, flow.dim_y_).numpy()
        if seed is None:
            seed = int(torch.randint(2**62, ()).item())
        drawn = self._like(flow.sample(rows, shape.numel(), seed=seed, then=False), observed).transpose(0, 1)
        return drawn.reshape(shape + (len(rows), flow.dim_x_))

    def log_prob(self, theta: torch.Tensor, x: Any = None) -> torch.Tensor:
        """log p(theta | x) of each row; ``flow.y_error_`` then tells how far to trust it. No gradients flow through it."""
        flow = self._now()
        y, observed = self._one(flow, x)
        values = flow.log_prob(theta.detach().cpu().numpy(), y[0])
        self.flow.density_, self.flow.y_error_ = flow.density_, flow.y_error_
        return self._like(values, theta if theta.is_floating_point() else observed)
