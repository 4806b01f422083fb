"""Super-resolution by cascades of models: each step enlarges the images of the one before it, or of another model."""
from __future__ import annotations

import ctypes
import os
from ctypes import byref
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, List, Optional, Sequence, Union

import numpy as np

from . import _bindings as c
from ._arrays import SEEDS, address, images_of, take_images, whole
from ._library import check, context, encode, free_with, lib, take_text
from ._model import Model
from .errors import ArgumentError

if TYPE_CHECKING:
    from .flow import Flow


@dataclass
class Enlarged:
    """What Chain.sample() gives: answers of every step, beside what was asked and how well they fit it.

    Fields
    ------
    input : the small image, (h, w).
    truth : the whole image that the input was made of, where that was given, else None.
    steps : images of each step, (n1, h, w), (n1, n2, h, w), ...; axis k tells the image of step k that it was made of.
    psnr : of each step: the images, degraded again, against the input, in dB.
    y_error : mean of \\|y' - y\\| over all steps, in the model's units: the doubt of all of it.
    """

    input: np.ndarray
    truth: Optional[np.ndarray]
    steps: List[np.ndarray]
    psnr: List[float]
    y_error: float

    @property
    def images(self) -> np.ndarray:
        """Those of the last step."""
        return self.steps[-1]

    def plot(self, most: int = 8) -> Any:
        """Input, truth and the first answers, through matplotlib."""
        from . import plot
        return plot.enlarged(self, most)


class Chain:
    """Several models that each enlarge the images of the one before, under one name: what ``load("fashion")`` gives.

    >>> import jointflow, numpy as np
    >>> chain = jointflow.load("fashion")
    >>> small = np.zeros((7, 7))
    >>> small[2:5] = 0.5
    >>> chain.sample(small, (2, 3), seed=1).images.shape
    (2, 3, 28, 28)
    """

    def __init__(self, models: Sequence[Model]):
        if not 1 <= len(models) <= c.JF_CASCADE_MOST:
            raise ArgumentError(f"found {len(models)} models, expected 1 to {c.JF_CASCADE_MOST}")
        self.models = list(models)

    def __repr__(self) -> str:
        return f"<jointflow.Chain of {len(self.models)} models>"

    def sample(self, image: Any, counts: "int | Sequence[int]" = 4, *, seed: int = 0, denoise: bool = False) -> Enlarged:
        """Answers for one image: the small one, or a whole one, which is made small first.

        ``counts``: how many images each step makes of each one of the step before; one number is for all steps.
        ``denoise`` takes the noise of training off them.
        """
        models = list(self.models)
        each = [counts] * len(models) if np.ndim(counts) == 0 else counts
        numbers = [whole(n, "counts", 1) for n in each]  # type: ignore[union-attr]
        if len(numbers) != len(models):
            raise ArgumentError(f"counts is {counts}, expected {len(models)} numbers from 1 on, or one for all")
        given, kept = images_of(image)
        options = c.jf_cascade_options(counts=(ctypes.c_size_t * c.JF_CASCADE_MOST)(*numbers), denoise=int(denoise),
                                       seed=whole(seed, "seed", 0, SEEDS))
        made = Cascade.of(models).enlarge(given, options)
        del kept
        steps = []
        for k in range(made.steps):
            images = take_images(made.made[k])
            steps.append(images.reshape(tuple(numbers[:k + 1]) + images.shape[1:]))
        truth, small = take_images(made.truth), take_images(made.input)
        result = Enlarged(small[0], truth[0] if len(truth) else None, steps, list(made.psnr[:made.steps]), made.y_error)
        lib.jf_cascade_result_free(byref(made))
        return result


class Cascade:
    """Owns the handle of a cascade; without one nothing is made larger."""

    def __init__(self, handle: Optional[int], models: Sequence[Model] = ()):
        self.handle = handle
        self.models = list(models)  # those that the handle has borrowed
        if handle:
            free_with(self, lib.jf_cascade_free, handle)

    def __bool__(self) -> bool:
        return self.handle is not None

    @classmethod
    def of(cls, models: Sequence[Model]) -> "Cascade":
        made = ctypes.c_void_p()
        handles = (ctypes.c_void_p * len(models))(*(m.handle for m in models))
        check(lib.jf_cascade_create(byref(made), handles, len(models)))
        return cls(made.value, models)

    @classmethod
    def load(cls, names: Optional[str], before: Model, device: Optional[str], threads: int) -> "Cascade":
        """Models of these names, or those that the recipe of the model names whose images they make larger."""
        made = ctypes.c_void_p()
        options = c.jf_load_options(device=encode(device), threads=whole(threads, "threads"))
        check(lib.jf_cascade_load(byref(made), context, encode(names), before.handle, byref(options)))
        return cls(made.value)

    def enlarge(self, images: c.jf_images, options: c.jf_cascade_options) -> c.jf_cascade_result:
        made = c.jf_cascade_result()
        check(lib.jf_cascade_enlarge(byref(made), self.handle, byref(images), byref(options)))
        return made


# Values of the argument `then`: None (what the recipe of the model names), False (none), names, a path, or what load() has given.
Then = Union[None, bool, str, "os.PathLike[str]", Chain, "Flow"]


def chosen_cascade(model: Model, then: Then, device: Optional[str], threads: int) -> Cascade:
    """The cascade that an argument stands for; an empty one where images stay as they are."""
    if then is False or (then is None and not model.then):
        return Cascade(None)
    if not model.is_of_images:
        raise ArgumentError("then is for models of images, and this one is of vectors")
    if isinstance(then, Chain):
        return Cascade.of(then.models)
    if then is True and not model.then:
        raise ArgumentError("then is True, but the recipe of this model names no models (data.then)")
    if then is None or then is True:
        return Cascade.load(None, model, device, threads)
    if isinstance(then, (str, os.PathLike)):
        return Cascade.load(os.fspath(then), model, device, threads)
    if hasattr(then, "model_"):
        return Cascade.of([then.model_])
    raise ArgumentError(f"then is {then!r}, expected a name, a path, a Chain, a Flow, False or None")


def images_of_rows(model: Model, x: np.ndarray, y: Optional[np.ndarray], cascade: Cascade, seed: int, denoise: bool,
                   together: int = 1) -> np.ndarray:
    """Images of rows, (n, h, w) or with channels (n, h, w, c), one of each in the size that the cascade makes."""
    small = c.jf_images()
    check(lib.jf_restore(byref(small), model.handle, len(x), address(x), address(y)))
    if not cascade:
        return take_images(small)
    options = c.jf_cascade_options(seed=seed, denoise=int(denoise), of_samples=1, together=together)
    try:
        made = cascade.enlarge(small, options)
    finally:
        lib.jf_images_free(byref(small))
    large = take_images(made.made[made.steps - 1])
    lib.jf_cascade_result_free(byref(made))
    return large


def files_of(name: "str | os.PathLike[str]") -> List[str]:
    """The model files that a name or a path stands for: one, or the steps of a cascade."""
    found: List[str] = []
    while True:
        made = ctypes.c_void_p()
        check(lib.jf_model_find(byref(made), context, encode(name), len(found)))
        if not made.value:
            return found
        found.append(take_text(made.value))
