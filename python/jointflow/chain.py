"""Super-resolution by chains of models: each step enlarges the images of the one before it."""
from __future__ import annotations

import ctypes
import os
from ctypes import byref
from dataclasses import dataclass
from typing import Any, List, Optional, Sequence

import numpy as np

from . import _bindings as c
from ._arrays import SEEDS, images_of, take_images, whole
from ._library import check, context, encode, lib, take_text
from ._model import Model
from .errors import ArgumentError


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
        if not 1 <= len(models) <= c.JF_CHAIN_MOST:
            raise ArgumentError(f"found {len(models)} models, expected 1 to {c.JF_CHAIN_MOST}")
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
        options = c.jf_chain_options(counts=(ctypes.c_size_t * c.JF_CHAIN_MOST)(*numbers), seed=whole(seed, "seed", 0, SEEDS),
                                     denoise=int(denoise))
        handles = (ctypes.c_void_p * len(models))(*(m.handle for m in models))
        made = c.jf_chain_result()
        check(lib.jf_superres_chain(byref(made), handles, len(handles), byref(given), byref(options)))
        del kept
        steps = []
        for k in range(made.steps):
            images = take_images(made.made[k])
            steps.append(images.reshape(tuple(numbers[:k + 1]) + images.shape[1:]))
        truth, small = take_images(made.truth), take_images(made.input)
        result = Enlarged(small[0], truth[0] if len(truth) else None, steps, list(made.psnr[:made.steps]), made.y_error)
        lib.jf_chain_result_free(byref(made))
        return result


def files_of(name: "str | os.PathLike[str]") -> List[str]:
    """The model files that a name or a path stands for: one, or the steps of a chain."""
    found: List[str] = []
    while True:
        made = ctypes.c_void_p()
        check(lib.jf_model_find(byref(made), context, encode(name), len(found)))
        if not made.value:
            return found
        found.append(take_text(made.value))
