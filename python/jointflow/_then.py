"""Models that make larger what another one draws: which these are, and what they make of its images."""
from __future__ import annotations

import ctypes
import os
from ctypes import byref
from typing import TYPE_CHECKING, Any, List, Optional, Sequence, Union

import numpy as np

from . import _bindings as c
from ._arrays import address, take_images, whole
from ._library import check, context, encode, lib
from ._model import Model
from .chain import Chain
from .errors import ArgumentError

if TYPE_CHECKING:
    from .flow import Flow

# What users give: None (what the recipe of the model names), False (none), names, a path, or what load() has given.
Then = Union[None, bool, str, "os.PathLike[str]", Chain, "Flow"]


def load(model: Model, names: Optional[str], device: Optional[str], threads: int) -> List[Model]:
    """Those of these names, or, without, of the model's recipe; from the smallest images to the largest."""
    made = c.jf_then()
    options = c.jf_load_options(device=encode(device), threads=whole(threads, "threads"))
    check(lib.jf_then_load(byref(made), model.handle, encode(names), byref(options)))
    return [Model(made.models[i]) for i in range(made.count)]


def handles(models: Sequence[Model]) -> Any:
    """An array of C; it keeps no model alive."""
    return (ctypes.c_void_p * c.JF_CHAIN_MOST)(*(m.handle for m in models))


def chosen(model: Model, then: Then, device: Optional[str], threads: int) -> List[Model]:
    """The models that an argument stands for; none where images stay as they are."""
    if then is False or (then is None and not model.then):
        return []
    if not model.is_of_images:
        raise ArgumentError("then is for models of images, and this one is of vectors")
    if isinstance(then, Chain):
        return then.models
    if then is True and not model.then:
        raise ArgumentError("then is True, but the recipe of this model names no models (data.then)")
    if then is None or then is True:
        return load(model, None, device, threads)
    if isinstance(then, (str, os.PathLike)):
        return load(model, os.fspath(then), device, threads)
    if hasattr(then, "model_"):
        return [then.model_]
    raise ArgumentError(f"then is {then!r}, expected a name, a path, a Chain, a Flow, False or None")


def images(model: Model, x: np.ndarray, y: Optional[np.ndarray], models: Sequence[Model], seed: int, denoise: bool,
           together: int = 1) -> np.ndarray:
    """Images of rows, (n, h, w) or with channels (n, h, w, c), one of each in the size of the last of `models`."""
    small, large = c.jf_images(), c.jf_images()
    check(lib.jf_restore(byref(small), model.handle, len(x), address(x), address(y)))
    last = max((m.form for m in models), key=lambda form: form.h, default=model.form)
    chain = c.jf_then(models=handles(models), count=len(models), h=last.h, w=last.w)
    options = c.jf_then_options(seed=seed, denoise=int(denoise), together=together)
    try:
        check(lib.jf_then_enlarge(byref(large), context, byref(chain), byref(small), byref(options)))
    finally:
        lib.jf_images_free(byref(small))
    return take_images(large)
