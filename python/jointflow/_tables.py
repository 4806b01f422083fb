"""What users give as tables: data frames, masked arrays, dates. Numbers are made of them, and columns are found by name."""
from __future__ import annotations

import datetime
from typing import Any, List, Optional, Sequence, Set

import numpy as np

from ._library import warn
from .errors import DataError

EPOCH = datetime.datetime(1970, 1, 1)
_reported: Set[str] = set()  # what was said of dates: once in a process


# ---- numbers ----

def numbers(values: Any, what: str) -> np.ndarray:
    """An array of real numbers, the values themselves where they are one: dates and durations in seconds, and NaN for
    what is masked or missing. Complex numbers are refused. Anything else is left as it is, for the caller to convert.

    >>> numbers(np.ma.array([1.0, 2.0], mask=[False, True]), "x")
    array([ 1., nan])
    """
    if _is_frame(values) and not _is_uniform(values):
        names = names_of(values) or []
        columns = [_real(_column(values, i), f'column "{name}" of {what}') for i, name in enumerate(names)]
        return np.column_stack([column.astype(np.float64) for column in columns])
    return _real(values, what)


def _is_frame(values: Any) -> bool:
    """A data frame of pandas or polars, whose columns have types of their own."""
    return hasattr(values, "columns") and hasattr(values, "dtypes")


def _is_uniform(values: Any) -> bool:
    """Whether a frame is an array of numbers as a whole."""
    return all(isinstance(t, np.dtype) and t.kind in "fiu" for t in values.dtypes) or not len(values.columns)


def _column(frame: Any, i: int) -> Any:
    return frame.iloc[:, i] if hasattr(frame, "iloc") else frame[frame.columns[i]]


def _real(values: Any, what: str) -> np.ndarray:
    if hasattr(values, "tocsr"):
        raise DataError(f"{what} is a sparse matrix, expected an array: give that of its toarray()")
    a = np.asanyarray(values)
    mask = np.ma.getmask(a) if isinstance(a, np.ma.MaskedArray) else np.ma.nomask
    a = np.asarray(a)
    if a.dtype.kind == "c":
        raise _complex(what)
    if a.dtype.kind == "M":
        _report(f"{what}: dates become seconds since 1970-01-01, UTC")
        a = (a - np.datetime64(0, "s")) / np.timedelta64(1, "s")
    elif a.dtype.kind == "m":
        _report(f"{what}: durations become seconds")
        a = a / np.timedelta64(1, "s")
    elif a.dtype.kind == "O":
        a = _of_objects(a, what)
    if mask is not np.ma.nomask and np.any(mask):
        a = np.array(a, dtype=np.float64)
        a[np.broadcast_to(mask, a.shape)] = np.nan
    return a


def _complex(what: str) -> DataError:
    """The first words are scikit-learn's."""
    return DataError(f"Complex data not supported: {what} has complex numbers, expected real ones, such as real and imaginary "
                     "parts in columns of their own")


def _of_objects(a: np.ndarray, what: str) -> np.ndarray:
    """Objects as numbers, as far as they are dates, durations or missing; the array itself where none is."""
    types = {type(value) for value in a.ravel()}
    if any(issubclass(t, (complex, np.complexfloating)) for t in types):
        raise _complex(what)
    dates = any(issubclass(t, (datetime.date, np.datetime64)) and not _is_missing_type(t) for t in types)
    durations = any(issubclass(t, (datetime.timedelta, np.timedelta64)) for t in types)
    if not dates and not durations and not any(map(_is_missing_type, types)):
        return a
    if dates:
        _report(f"{what}: dates become seconds since 1970-01-01, UTC")
    if durations:
        _report(f"{what}: durations become seconds")
    made = np.empty(a.shape, dtype=np.float64)
    made.ravel()[:] = [_number(value) for value in a.ravel()]
    return made


def _is_missing_type(t: type) -> bool:
    """NA and NaT of pandas, known without it."""
    return t.__name__ in ("NAType", "NaTType")


def _number(value: Any) -> float:
    if value is None or _is_missing_type(type(value)):
        return float("nan")
    if isinstance(value, np.datetime64):
        return float((value - np.datetime64(0, "s")) / np.timedelta64(1, "s"))
    if isinstance(value, np.timedelta64):
        return float(value / np.timedelta64(1, "s"))
    if isinstance(value, datetime.timedelta):
        return value.total_seconds()
    if isinstance(value, datetime.datetime):
        return (value - EPOCH).total_seconds() if value.tzinfo is None else value.timestamp()
    if isinstance(value, datetime.date):
        return (datetime.datetime(value.year, value.month, value.day) - EPOCH).total_seconds()
    return float(value)


def _report(text: str) -> None:
    if text not in _reported:
        _reported.add(text)
        warn(text)


# ---- names of columns ----

def names_of(values: Any, count: Optional[int] = None) -> "List[str] | None":
    """Names of the columns of a data frame or of one of its columns; None: there are none, or not `count`."""
    columns = getattr(values, "columns", None)
    if columns is None and getattr(values, "name", None) not in (None, ""):
        columns = [values.name]
    return [str(name) for name in columns] if columns is not None and count in (None, len(columns)) else None


def in_order(values: Any, expected: Sequence[str], what: str) -> Any:
    """The values with their columns in the order that a model knows them in, by name. Columns that are missing, unknown
    or stand twice are refused. Values without names are left as they are, and so are those for a model that was fitted
    without names, unless they have some of the names that were made up for it.

    >>> class Frame(np.ndarray):
    ...     columns = ["b", "a"]
    >>> in_order(np.array([[2, 1]]).view(Frame), ["a", "b"], "x").tolist()
    [[1, 2]]
    """
    row = _row_labels(values, expected)
    given = row or _column_names(values, expected)
    if row:
        values = np.asarray(values)
    if given is None or given == list(expected):
        return values
    made_up = list(expected) == [f"{what}{i}" for i in range(len(expected))] or not all(expected)
    if not set(given) & set(expected) and (made_up or _is_numbered(values)):
        return values
    _check_names(given, expected, what)
    order = [given.index(name) for name in expected]
    if hasattr(values, "iloc"):
        return values.iloc[:, order]
    return values[[values.columns[i] for i in order]] if _is_frame(values) else np.asarray(values)[..., order]


def _row_labels(values: Any, expected: Sequence[str]) -> "List[str] | None":
    """Names of the numbers of a series that is a row of a frame."""
    index = getattr(values, "index", None)
    labels = list(index) if is_series(values) and index is not None else []
    is_row = labels and all(isinstance(label, str) for label in labels) and (len(expected) > 1 or labels == list(expected))
    return labels if is_row else None


def _column_names(values: Any, expected: Sequence[str]) -> "List[str] | None":
    """Names of the columns of a frame, or of the one that a series is."""
    if is_series(values):
        return names_of(values) if len(expected) == 1 and isinstance(values.name, str) else None
    return names_of(values) if hasattr(values, "columns") else None


def is_series(values: Any) -> bool:
    """A column or a row of a data frame of pandas or polars."""
    return hasattr(values, "to_frame") and hasattr(values, "name")


def _is_numbered(values: Any) -> bool:
    """Whether the columns of a frame have the numbers that a frame without names gives them."""
    return list(getattr(values, "columns", ())) == list(range(np.shape(values)[-1]))


def _check_names(given: List[str], expected: Sequence[str], what: str) -> None:
    for words, found in (("has no column", [name for name in expected if name not in given]),
                         ("has the unknown column", [name for name in given if name not in expected]),
                         ("has twice the column", [name for name in expected if given.count(name) > 1])):
        if found:
            listed = ", ".join(f'"{name}"' for name in found)
            raise DataError(f"{what} {words}{'s' if len(found) > 1 else ''} {listed}, "
                            f"expected {', '.join(expected)}")
