"""NumPy arrays as data of the library: it reads them where they lie, whatever their order in memory."""
from __future__ import annotations

import ctypes
from ctypes import byref
from typing import Any, Dict, List, Optional

import numpy as np

from . import _bindings as c
from ._classes import coded, text_of
from ._library import check, context, encode, free_with, lib
from ._tables import in_order, names_of, numbers
from .errors import DataError, ShapeError

TYPES = {np.dtype(np.float32): c.JF_FLOAT, np.dtype(np.float64): c.JF_DOUBLE}

# Arrays that the library reads, by the number of their data: it says when it needs them no more.
_kept: Dict[int, Any] = {}
ctypes.pythonapi.Py_IncRef(ctypes.py_object(_kept))  # not even at the end of the process, while daemon threads read them


@ctypes.CFUNCTYPE(None, ctypes.c_void_p)
def _on_release(number: int) -> None:
    _kept.pop(number, None)


ctypes.pythonapi.Py_IncRef(ctypes.py_object(_on_release))


def table_of(values: Any, what: str) -> np.ndarray:
    """(rows, columns) of float or double as they are; of other numbers a copy in double."""
    a = numbers(values, what)
    if a.dtype not in TYPES or not a.dtype.isnative:
        a = a.astype(np.float64)
    if a.ndim == 1:
        a = a[:, np.newaxis]
    if a.ndim != 2:
        raise ShapeError(f"{what} has the shape {a.shape}, expected (rows, columns)")
    return a


def condition_of(values: Any, what: str) -> "tuple[np.ndarray, tuple[int, ...]]":
    """(rows, columns) of y, and the axes of one y where it is a series (rows, steps, channels) or an image (rows, h, w) or
    (rows, h, w, channels); otherwise none.

    >>> condition_of(np.zeros((5, 100, 2)), "y")[0].shape, condition_of(np.zeros((5, 2)), "y")[1]
    ((5, 200), ())
    """
    a = numbers(values, what)
    if a.ndim not in (3, 4):
        return table_of(a, what), ()
    return table_of(a.reshape(len(a), int(np.prod(a.shape[1:]))), what), a.shape[1:]


def with_rows(x: Any, y: Any, more_x: Any, more_y: Any = None) -> "tuple[Any, Any, int]":
    """Both tables with more rows at their end, and how many these are."""
    if (y is None) != (more_y is None):
        raise ShapeError("validation has a y where the data have none, or none where they do")
    joined: List[Any] = []
    for values, more, what in ((x, more_x, "x"), (y, more_y, "y")):
        if values is None:
            joined.append(None)
            continue
        text = text_of(values) if what == "y" else None
        if text is not None:
            words = np.concatenate((text, np.asarray(more).astype(object).reshape(-1)))
            joined.append(Named(words, names_of(values, 1) or []))
            continue
        names, of_more = names_of(values), f"{what} of the validation"
        more = more if names is None else in_order(more, names, of_more)
        (first, axes), (second, more_axes) = condition_of(values, what), condition_of(more, of_more)
        if first.shape[1] != second.shape[1]:
            raise ShapeError(f"{what} of the validation has {second.shape[1]} columns, expected {first.shape[1]}")
        if axes != more_axes:
            raise ShapeError(f"{what} of the validation has the axes {more_axes}, expected {axes}")
        both = np.concatenate((first, second))
        if axes:
            joined.append(both.reshape((-1,) + axes))
            continue
        names = names_of(values, both.shape[1])
        joined.append(both if names is None else Named(both, names))
    return joined[0], joined[1], len(more_x)


class Named:
    """An array whose columns have names, as those of a data frame have."""

    def __init__(self, values: np.ndarray, columns: List[str]):
        self.values, self.columns = values, columns

    def __array__(self, dtype: Any = None) -> np.ndarray:
        return self.values if dtype is None else self.values.astype(dtype)


def _describe(a: np.ndarray) -> c.jf_array:
    return c.jf_array(values=a.ctypes.data, type=TYPES[a.dtype], rows=a.shape[0], columns=a.shape[1],
                      row_stride=a.strides[0], column_stride=a.strides[1])


class Data:
    """A handle of rows of x and y. The arrays stay alive until the library has let go of them."""

    def __init__(self, x: Any, y: Any = None):
        self.x = table_of(x, "x")
        self.y: Optional[np.ndarray] = None
        axes: "tuple[int, ...]" = ()
        of_classes = None if y is None else coded(y)
        self.words: List[str] = of_classes[1] if of_classes else []  # names of classes, which y has the numbers of
        if of_classes:
            self.y = of_classes[0]
        elif y is not None:
            self.y, axes = condition_of(y, "y")
        made = ctypes.c_void_p()
        of_y = None if self.y is None else byref(_describe(self.y))
        check(lib.jf_data_create(byref(made), context, byref(_describe(self.x)), of_y))
        self.handle = made.value
        free_with(self, lib.jf_data_free, made.value)
        _kept[made.value] = (self.x, self.y)  # type: ignore[index]
        lib.jf_data_on_release(made, _on_release, made)
        if self.words:
            words = (ctypes.c_char_p * len(self.words))(*map(encode, self.words))
            check(lib.jf_data_set_classes(made, words, len(self.words)))
        if axes:
            check(lib.jf_data_set_y_shape(made, (ctypes.c_size_t * len(axes))(*axes), len(axes)))
        self._name(names_of(x, self.x.shape[1]), None if self.y is None else names_of(y, self.y.shape[1]))

    def _name(self, of_x: Optional[List[str]], of_y: Optional[List[str]]) -> None:
        if of_x is None and of_y is None:
            return
        names = of_x or [f"x{i}" for i in range(self.x.shape[1])]
        if self.y is not None:
            names = names + (of_y or [f"y{i}" for i in range(self.y.shape[1])])
        self._check_once(names)
        check(lib.jf_data_set_names(self.handle, (ctypes.c_char_p * len(names))(*map(encode, names))))

    def _check_once(self, names: List[str]) -> None:
        """A frame gives copies of its columns: one that stands twice is known by its name and its values."""
        tables = [self.x] if self.y is None else [self.x, self.y]
        first: Dict[str, np.ndarray] = {}
        for name, column in zip(names, (column for table in tables for column in table.T)):
            if name in first and np.array_equal(first[name], column):
                raise DataError(f'column "{name}" stands twice among those of x and y, expected each once')
            first.setdefault(name, column)
