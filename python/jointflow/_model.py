"""A trained model: the handle of the library with what it is asked for, on rows. Flow gives it the looks of an estimator."""
from __future__ import annotations

import ctypes
import json
import os
import tempfile
from ctypes import byref
from typing import Any, Dict, List, Optional

import numpy as np

from . import _bindings as c
from ._arrays import Seed, address, images_of, seed_of, whole
from ._library import check, context, encode, free_with, lib, take_text


class Model:
    """Owns a handle, which is freed with it. Any number of threads may use one."""

    def __init__(self, handle: int):
        self.handle = handle
        free_with(self, lib.jf_model_free, handle)
        self.dim_x: int = lib.jf_model_dim_x(handle)
        self.dim_y: int = lib.jf_model_dim_y(handle)
        sizes = (ctypes.c_size_t * 3)()
        self.y_shape = tuple(sizes[:lib.jf_model_y_shape(handle, sizes)])  # (dim_y,), or the axes of a series or an image
        count = lib.jf_model_classes(handle)
        self.labels = np.array([lib.jf_model_label(handle, i) for i in range(count)])
        self.class_names = [lib.jf_model_class_name(handle, i).decode() for i in range(count)]
        self.column_names = [lib.jf_model_column_name(handle, i).decode() for i in range(self.dim_x + self.dim_y)]
        self.form = c.jf_image_form()
        check(lib.jf_model_image_form(byref(self.form), handle))
        # an element of y for each class of a table, which users know as one column
        self.has_class_column = count > 1 and self.dim_y == count and self.form.h == 0
        self.x_names = self.column_names[:self.dim_x]
        self.y_names = self.column_names[self.dim_x:][:1 if self.has_class_column else None]
        self.then: str = lib.jf_model_then(handle).decode()  # names of models that make its images larger; "": none
        self.cascade: Any = None  # of those models, once they were loaded

    @property
    def is_of_images(self) -> bool:
        return self.form.h > 0

    # ---- files ----

    @classmethod
    def load(cls, path: "str | os.PathLike[str]", device: Optional[str], threads: int) -> "Model":
        made = ctypes.c_void_p()
        options = c.jf_load_options(device=encode(device), threads=whole(threads, "threads"))
        check(lib.jf_model_load(byref(made), context, encode(path), byref(options)))
        return cls(made.value)  # type: ignore[arg-type]

    def save(self, path: "str | os.PathLike[str]", half: bool = False) -> None:
        check((lib.jf_model_save_half if half else lib.jf_model_save)(self.handle, encode(path)))

    def export(self, path: "str | os.PathLike[str]", name: Optional[str]) -> "list[str]":
        made = ctypes.c_void_p()
        check(lib.jf_model_export(byref(made), self.handle, encode(path), encode(name)))
        return take_text(made.value).splitlines()

    def to_bytes(self) -> bytes:
        """The model file."""
        with tempfile.TemporaryDirectory(prefix="jointflow-") as folder:
            path = os.path.join(folder, "model.safetensors")
            self.save(path)
            with open(path, "rb") as file:
                return file.read()

    @classmethod
    def from_bytes(cls, data: bytes, device: Optional[str], threads: int) -> "Model":
        with tempfile.TemporaryDirectory(prefix="jointflow-") as folder:
            path = os.path.join(folder, "model.safetensors")
            with open(path, "wb") as file:
                file.write(data)
            return cls.load(path, device, threads)

    def describe(self) -> str:
        made = ctypes.c_void_p()
        check(lib.jf_model_info(byref(made), self.handle))
        return take_text(made.value)

    def brief(self) -> str:
        """What it is of, for a line: " of p(x0, x1 | y0), classes upper, lower".

        >>> Model.load("crescents", None, 0).brief()
        ' of p(x0, x1 | y0), classes upper, lower'
        """
        x, y = self.x_names, self.y_names
        of_x, of_y = _listed(x, "x"), _listed(y, "y")
        if self.is_of_images:
            of_x = f"images {self.form.h}x{self.form.w}" + (f"x{self.form.channels}" if self.form.channels > 1 else "")
        classes = [name or f"{label:g}" for name, label in zip(self.class_names, self.labels)]
        return (f" of p({of_x}{' | ' + of_y if y else ''})" +
                (f", {len(classes)} classes" if len(classes) > 8 else f", classes {', '.join(classes)}" if classes else ""))

    # ---- rows: dense arrays of doubles, (n, dim_x) and (n, dim_y) ----

    def y_of_labels(self, labels: np.ndarray) -> np.ndarray:
        """(n, dim_y) for labels (n): of images all pixels have the label, or the plane of its class."""
        y = np.empty((len(labels), self.dim_y))
        for row, label in zip(y, labels):
            check(lib.jf_model_y_of_label(self.handle, float(label), address(row)))
        return y

    def sample(self, n: int, y: Optional[np.ndarray], options: c.jf_use_options,
               want_z: bool = False) -> "tuple[np.ndarray, np.ndarray | None]":
        x = np.empty((n, self.dim_x))
        z = np.empty((n, self.dim_x)) if want_z else None
        check(lib.jf_sample(self.handle, n, address(y), address(x), None, address(z), byref(options)))
        return x, z

    def encode(self, x: np.ndarray, y: Optional[np.ndarray],
               options: c.jf_use_options) -> "tuple[np.ndarray, np.ndarray]":
        z, y_out = np.empty((len(x), self.dim_x)), np.empty((len(x), self.dim_y))
        check(lib.jf_encode(self.handle, len(x), address(x), address(y), address(z), address(y_out), byref(options)))
        return z, y_out

    def decode(self, z: np.ndarray, y: Optional[np.ndarray],
               options: c.jf_use_options) -> "tuple[np.ndarray, np.ndarray]":
        x, y_back = np.empty((len(z), self.dim_x)), np.empty((len(z), self.dim_y))
        check(lib.jf_decode(self.handle, len(z), address(z), address(y), address(x), address(y_back), byref(options)))
        return x, y_back

    def denoise(self, x: np.ndarray, y: Optional[np.ndarray], options: c.jf_use_options) -> np.ndarray:
        clean = np.empty((len(x), self.dim_x))
        check(lib.jf_denoise(self.handle, len(x), address(x), address(y), address(clean), byref(options)))
        return clean

    def log_prob(self, x: np.ndarray, y: Optional[np.ndarray],
                 options: c.jf_use_options) -> "tuple[np.ndarray, Dict[str, Any]]":
        log_p, summary = np.empty(len(x)), c.jf_density_summary()
        check(lib.jf_density(self.handle, len(x), address(x), address(y), address(log_p), byref(summary), byref(options)))
        return log_p, {name: getattr(summary, name) for name, *_ in summary._fields_ if name != "size"}

    def summary(self, x: np.ndarray, y: Optional[np.ndarray], masses: np.ndarray, quantiles: np.ndarray) -> Dict[str, Any]:
        """Of samples x (conditions, each, dim_x) at y (conditions, dim_y)."""
        made = ctypes.c_void_p()
        options = c.jf_summary_options(mass_count=len(masses), masses=address(masses), quantile_count=len(quantiles),
                                       quantiles=address(quantiles))
        check(lib.jf_summarise(byref(made), self.handle, len(x), x.shape[1], address(x), address(y), byref(options)))
        try:
            return json.loads(lib.jf_summary_json(made))
        finally:
            lib.jf_summary_free(made)

    # ---- images ----

    def conditions_of_images(self, images: Any, degrade: bool, seed: Seed) -> np.ndarray:
        given, kept = images_of(images)
        made = c.jf_image_conditions()
        check(lib.jf_image_conditions_create(byref(made), self.handle, byref(given), int(degrade),
                                             seed_of(seed)))
        try:
            rows = np.ctypeslib.as_array((ctypes.c_double * (len(kept) * self.dim_y)).from_address(made.y))
            return rows.reshape(len(kept), self.dim_y).copy()
        finally:
            lib.jf_image_conditions_free(byref(made))

    def answers_of_images(self, images: Any, y: np.ndarray) -> np.ndarray:
        given, kept = images_of(images)
        x = np.empty((len(kept), self.dim_x))
        check(lib.jf_image_answers(self.handle, byref(given), address(y), address(x)))
        return x


def _listed(names: List[str], letter: str) -> str:
    """Names of columns, of which none may have one; of many the first and the last."""
    known = [name or f"{letter}{i}" for i, name in enumerate(names)]
    return ", ".join(known if len(known) <= 8 else [*known[:2], "...", known[-1]])
