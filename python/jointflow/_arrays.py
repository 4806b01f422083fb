"""Arrays of any shape as the rows that the library takes: dense, double, (n, dim). Nothing is copied that already is."""
from __future__ import annotations

import ctypes
import operator
from typing import Any, Tuple, Union

import numpy as np

from . import _bindings as c
from ._library import free_with, lib
from ._tables import is_series, numbers
from .errors import ArgumentError, ShapeError

Shape = Tuple[int, ...]
Seed = Union[int, None, np.random.Generator, np.random.RandomState]


SEEDS = 2 ** 64 - 1


def whole(value: Any, what: str, least: int = 0, most: int = 2 ** 31 - 1) -> int:
    """A count or a seed as it is: C would wrap what is out of range, and cut a fraction off.

    >>> whole(np.int64(3), "n")
    3
    """
    try:
        number = operator.index(value)
    except TypeError:
        number = least - 1
    if not least <= number <= most:
        raise ArgumentError(f"{what}: found {value!r}, expected a whole number from {least} to {most}")
    return number


def seed_of(value: Any) -> int:
    """A seed as it was given; a new one of a generator of NumPy, whose state moves on, and of the system where it is None.

    >>> seed_of(7), seed_of(np.random.default_rng(1)) == seed_of(np.random.default_rng(1))
    (7, True)
    """
    if value is None:
        value = np.random.default_rng()
    if isinstance(value, np.random.Generator):
        return int(value.integers(SEEDS, dtype=np.uint64))
    if isinstance(value, np.random.RandomState):
        return int(value.randint(SEEDS, dtype=np.uint64))
    return whole(value, "seed", 0, SEEDS)


def dense(values: Any) -> np.ndarray:
    """float64, row after row; the array itself where it is that."""
    return np.ascontiguousarray(values, dtype=np.float64)


def rows_of(values: Any, dim: int, what: str) -> "tuple[np.ndarray, Shape]":
    """(rows, dim), and the axes before the last. One column may come without its axis.

    >>> rows, axes = rows_of([[1, 2], [3, 4], [5, 6]], 2, "x")
    >>> rows.shape, axes
    ((3, 2), (3,))
    >>> rows_of([1, 2, 3], 1, "y")[1], rows_of(0.5, 1, "y")[1]
    ((3,), ())
    """
    a = np.asarray(numbers(values, what), dtype=np.float64)
    shape = a.shape
    if dim == 1 and a.ndim < 2:
        axes = shape
    elif a.ndim and shape[-1] == dim:
        axes = shape[:-1]
    else:
        raise ShapeError(f"{what} has the shape {shape}, expected ({dim},) or (rows, {dim})")
    return np.ascontiguousarray(a.reshape(-1, dim)), axes


def conditions_of(values: Any, axes_of_one: Shape) -> "tuple[np.ndarray, Shape]":
    """rows_of() where one y may have several axes, (steps, channels) or (h, w, channels): their numbers in one axis, or these
    axes, of which a last one of 1 can be left out.

    >>> rows, axes = conditions_of(np.zeros((3, 4, 100)), (100, 1))
    >>> rows.shape, axes, conditions_of(np.zeros((3, 28, 28)), (28, 28, 1))[1]
    ((12, 100), (3, 4), (3,))
    >>> conditions_of([0.5], (1,))[1], conditions_of([0.5, 0.6], (1,))[1]
    ((), (2,))
    """
    a = np.asarray(numbers(values, "y"), dtype=np.float64)
    dim = int(np.prod(axes_of_one))
    for one in (axes_of_one, axes_of_one[:-1] if axes_of_one[-1] == 1 else axes_of_one):
        if len(one) > 1 and a.shape[-len(one):] == one:
            return np.ascontiguousarray(a.reshape(-1, dim)), a.shape[:-len(one)]
    if len(axes_of_one) > 1 and (a.ndim == 0 or a.shape[-1] != dim):
        raise ShapeError(f"y has the shape {a.shape}, expected one that ends with {axes_of_one}, or with ({dim},)")
    if a.shape == (1,) == (dim,) and not is_series(values):  # one y, as (dim,) is in general, and no list of one
        return np.ascontiguousarray(a.reshape(1, 1)), ()
    return rows_of(a, dim, "y")


def broadcast_rows(rows: np.ndarray, axes: Shape, wanted: Shape, what: str) -> np.ndarray:
    """The rows repeated along the axes that they lack, which are the last ones: one y is for all of its samples.

    >>> broadcast_rows(np.array([[1.0], [2.0]]), (2,), (2, 3), "y").ravel()
    array([1., 1., 1., 2., 2., 2.])
    """
    if axes == wanted:
        return rows
    dim = rows.shape[-1]
    spread = rows.reshape(axes + (1,) * (len(wanted) - len(axes)) + (dim,))
    try:
        return np.ascontiguousarray(np.broadcast_to(spread, wanted + (dim,)).reshape(-1, dim))
    except ValueError:
        raise ShapeError(f"{what} has rows of the shape {axes}, expected {wanted} or what repeats to it") from None


def address(a: "np.ndarray | None") -> "int | None":
    return None if a is None else a.ctypes.data


def adopt(pointer: int, shape: Shape, free: Any, *arguments: Any) -> np.ndarray:
    """An array of doubles that the library allocated, without a copy: free(*arguments) is called when it is gone."""
    buffer = (ctypes.c_double * int(np.prod(shape))).from_address(pointer)
    free_with(buffer, free, *arguments)
    return np.frombuffer(memoryview(buffer), dtype=np.float64).reshape(shape)


# ---- images ----

def images_of(values: Any) -> "tuple[c.jf_images, np.ndarray]":
    """Images (h, w), (h, w, c), (n, h, w) or (n, h, w, c), intensities from 0 to 1, or bytes. A last axis of at most 4 is
    that of the channels. The array is what the struct points into."""
    a = numbers(values, "images")
    scale = 255.0 if a.dtype == np.uint8 else 1.0
    a = dense(a) if scale == 1.0 else dense(a) / scale
    with_channels = a.ndim >= 3 and a.shape[-1] <= 4
    if not with_channels:
        a = a[..., np.newaxis]
    if a.ndim not in (3, 4):
        raise ShapeError(f"images have the shape {np.shape(values)}, expected (h, w), (n, h, w), or these with channels")
    a = a.reshape((-1,) + a.shape[-3:])
    count, h, w, channels = a.shape
    return c.jf_images(values=address(a), count=count, h=h, w=w, channels=channels), a


def take_images(made: c.jf_images) -> np.ndarray:
    """(count, h, w), with channels (count, h, w, c) where there are several; the memory is the library's own."""
    shape = (made.count, made.h, made.w) + ((made.channels,) if made.channels > 1 else ())
    if not made.values or made.count == 0:
        lib.jf_images_free(ctypes.byref(made))
        return np.empty((0,) + shape[1:])
    own = c.jf_images.from_buffer_copy(made)  # `made` may be a part of a struct that ends sooner
    array = adopt(own.values, shape, _free_images, own)
    made.values, made.count = None, 0
    return array


def _free_images(images: c.jf_images) -> None:
    lib.jf_images_free(ctypes.byref(images))
