"""From a recipe and data to a trained model."""
from __future__ import annotations

import ctypes
import os
from ctypes import byref
from typing import Any, Dict, Mapping, Optional

from . import _bindings as c
from ._arrays import Seed, seed_of, whole
from ._data import Data
from ._library import check, context, encode, free_with, lib, take_text, under_way, watched
from ._model import Model
from ._watch import Watch


class Recipe:
    """What to learn and how: a handle of the library."""

    def __init__(self, handle: int):
        self.handle = handle
        free_with(self, lib.jf_recipe_free, handle)

    @classmethod
    def load(cls, name: "str | os.PathLike[str]") -> "Recipe":
        made = ctypes.c_void_p()
        check(lib.jf_recipe_load(byref(made), context, encode(name)))
        return cls(made.value)  # type: ignore[arg-type]

    @classmethod
    def for_data(cls, data: Data, discrete: bool, ordered: bool, bounds: Optional[str]) -> "Recipe":
        """Sizes, law, epochs and regularisation follow from the numbers of rows and columns."""
        made = ctypes.c_void_p()
        request = c.jf_table_request(data=data.handle, discrete=int(discrete), ordered=int(ordered), bounds=encode(bounds))
        check(lib.jf_recipe_for_table(byref(made), context, byref(request)))
        return cls(made.value)  # type: ignore[arg-type]

    def set(self, values: Mapping[str, Any]) -> None:
        for key, value in values.items():
            check(lib.jf_recipe_set(self.handle, encode(key), encode(recipe_text(value))))

    def set_data(self, data: Data) -> None:
        check(lib.jf_recipe_set_data(self.handle, data.handle))

    def get(self, key: str) -> Optional[str]:
        found = lib.jf_recipe_get(self.handle, encode(key))
        return None if found is None else found.decode()

    def text(self) -> str:
        made = ctypes.c_void_p()
        check(lib.jf_recipe_text(byref(made), self.handle, 0))
        return take_text(made.value)


def recipe_text(value: Any) -> str:
    """A value as a recipe writes it.

    >>> recipe_text(True), recipe_text(0.001), recipe_text([64, 32])
    ('yes', '0.001', '64,32')
    """
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (list, tuple)):
        return ",".join(recipe_text(v) for v in value)
    return str(value)


def progress_of(p: c.jf_progress) -> Dict[str, Any]:
    """The progress of training as a dictionary: its numbers, and the terms of the loss by their names."""
    now: Dict[str, Any] = {t.name.decode(): t.value for t in p.terms[:p.term_count]}
    for name in ("epoch", "epochs", "batch", "batches", "step", "best", "rate", "seconds", "seconds_left", "ks_max",
                 "held_out", "best_epoch"):
        now[name] = getattr(p, name)
    now["phase"] = now["label"] = p.phase.decode()
    now["epoch_ended"] = bool(p.epoch_ended)
    share = p.batch / p.batches if p.batches and not p.epoch_ended else float(p.epoch_ended)
    now["done"], now["total"] = max(0.0, round(p.epoch - 1 + share, 2)), p.epochs
    held = f", held out {p.held_out:.4f}" if p.held_out == p.held_out else ""
    now["words"] = f"loss {now.get('loss', float('nan')):.4f}{held}"
    return now


def train(recipe: Recipe, watch: Watch, *, folder: Any, resume: bool, seed: Seed, device: Optional[str],
          threads: int) -> "tuple[Model, bool]":
    """The model, and whether training ended before its time."""
    def on_progress(p: Any) -> bool:
        if not p.training:  # data are read, or something is measured
            return watch.stop_wanted()
        return watch.take(progress_of(ctypes.cast(p.training, ctypes.POINTER(c.jf_training))[0]))

    options = c.jf_train_options(folder=encode(folder), resume=int(resume), seed=seed_of(seed),
                                 device=encode(device), threads=whole(threads, "threads"))
    made = ctypes.c_void_p()
    with under_way(), watch, watched(on_progress):
        status = lib.jf_train(byref(made), context, recipe.handle, byref(options))
    model = Model(made.value) if made.value else None
    watch.raise_error()
    check(status, may_stop=True)
    if model is None:
        raise KeyboardInterrupt
    return model, status == c.JF_STOPPED
