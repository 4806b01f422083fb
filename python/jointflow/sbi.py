"""A flow as the posterior of simulation-based inference, over torch tensors: theta is x, the observation is y.

Needs torch (Debian: python3-torch), which nothing else of the package does. Names and shapes are those of the package sbi,
so that what takes a posterior of sbi takes this one: its ``run_sbc`` and ``run_tarp`` take the posterior, its ``pairplot``
samples of it. Mind the letters: x of sbi is the observation, which is y elsewhere in this package, and theta is x there.
"""
from __future__ import annotations

from typing import Any, Optional, Sequence, Union

import numpy as np

try:
    import torch
except ImportError:
    raise ImportError("jointflow.sbi works on tensors of torch (Debian: python3-torch)") from None

from ._arrays import Seed
from .errors import ArgumentError, ShapeError, UnsupportedError
from .flow import Flow

Sizes = Union[int, Sequence[int]]


def _size_of(sample_shape: Sizes) -> torch.Size:
    return torch.Size([sample_shape] if isinstance(sample_shape, int) else sample_shape)


def _seed_of(seed: Seed) -> Seed:
    """Without one torch.manual_seed() decides, as everywhere in torch."""
    return int(torch.randint(2**62, ()).item()) if seed is None else seed


class Posterior:
    """p(theta | x_o) by a flow that was fitted as ``Flow().fit(theta, x)``: data theta, condition x.

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
    def _rows(flow: Flow, observed: torch.Tensor) -> np.ndarray:
        """Many observations as rows of y."""
        if flow.dim_y_ == 0 or observed.numel() % flow.dim_y_ or observed.numel() == 0:
            raise ArgumentError(f"x has the shape {tuple(observed.shape)}, expected observations (rows, {flow.dim_y_})")
        rows: np.ndarray = observed.detach().cpu().reshape(-1, flow.dim_y_).numpy()
        return rows

    @staticmethod
    def _like(values: Any, tensor: torch.Tensor) -> torch.Tensor:
        dtype = tensor.dtype if tensor.is_floating_point() else torch.get_default_dtype()
        return torch.from_numpy(np.ascontiguousarray(values)).to(device=tensor.device, dtype=dtype)

    def sample(self, sample_shape: Sizes = (), x: Any = None, *, seed: Seed = None,
               max_sampling_batch_size: Optional[int] = None, show_progress_bars: bool = False) -> torch.Tensor:
        """Draws theta ~ p(theta | x): sample_shape + (dim of theta). ``max_sampling_batch_size`` and ``show_progress_bars``
        are there because sbi has them: samples are drawn in one call, without rejections and without a bar."""
        shape, flow = _size_of(sample_shape), self._now()
        y, observed = self._one(flow, x)
        drawn = flow.sample(y, shape.numel(), seed=_seed_of(seed), then=False)
        return self._like(drawn, observed).reshape(shape + (flow.dim_x_,))

    def sample_batched(self, sample_shape: Sizes, x: Any, *, seed: Seed = None,
                       max_sampling_batch_size: Optional[int] = None, show_progress_bars: bool = False) -> torch.Tensor:
        """The same for many observations (rows, dim of x): sample_shape + (rows, dim of theta)."""
        shape, flow, observed = _size_of(sample_shape), self._now(), self._observation(x)
        rows = self._rows(flow, observed)
        drawn = flow.sample(rows, shape.numel(), seed=_seed_of(seed), then=False)
        return self._like(drawn, observed).transpose(0, 1).reshape(shape + (len(rows), flow.dim_x_))

    def log_prob(self, theta: torch.Tensor, x: Any = None, *, norm_posterior: bool = True,
                 track_gradients: bool = False) -> torch.Tensor:
        """log p(theta | x) of each row, (1,) of one; ``flow.y_error_`` then tells how far to trust it. A flow is normalized,
        whatever ``norm_posterior`` says. No gradients flow through it: ``track_gradients`` is refused."""
        flow = self._now()
        y, observed = self._one(flow, x)
        return self._density(flow, theta, y[0], observed, track_gradients)

    def log_prob_batched(self, theta: torch.Tensor, x: Any, *, norm_posterior: bool = True,
                         track_gradients: bool = False) -> torch.Tensor:
        """The same for many observations (rows, dim of x), each with thetas of its own, sample_shape + (rows, dim of theta),
        as sample_batched() gives them: sample_shape + (rows)."""
        flow, observed = self._now(), self._observation(x)
        rows = self._rows(flow, observed)
        if theta.ndim < 2 or theta.shape[-2:] != (len(rows), flow.dim_x_):
            raise ShapeError(f"theta has the shape {tuple(theta.shape)}, expected one that ends with "
                             f"{(len(rows), flow.dim_x_)}")
        spread = np.broadcast_to(rows, tuple(theta.shape[:-1]) + rows.shape[-1:])
        return self._density(flow, theta, spread, observed, track_gradients)

    def _density(self, flow: Flow, theta: torch.Tensor, y: Any, observed: torch.Tensor, gradients: bool) -> torch.Tensor:
        if gradients:
            raise UnsupportedError("log_prob of a flow has no gradients for torch, expected track_gradients=False")
        values = np.atleast_1d(flow.log_prob(theta.detach().cpu().numpy(), y))
        self.flow.density_, self.flow.y_error_ = flow.density_, flow.y_error_
        return self._like(values, theta if theta.is_floating_point() else observed)

    def map(self, x: Any = None, *, num_init_samples: int = 1000, seed: Seed = None, show_progress_bars: bool = False,
            force_update: bool = False) -> torch.Tensor:
        """The likeliest theta, (1, dim of theta): where the density is highest on the way up its gradient from the likeliest
        of ``num_init_samples`` samples. It is looked for at every call, so ``force_update`` changes nothing."""
        flow = self._now()
        y, observed = self._one(flow, x)
        found: Any = flow.summary(y[0], num_init_samples, seed=_seed_of(seed))
        return self._like(found["mode"][np.newaxis], observed)
