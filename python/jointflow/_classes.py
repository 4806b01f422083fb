"""Classes that are text: numbers and names of them."""
from __future__ import annotations

from typing import Any, List, Optional, Tuple

import numpy as np

from .errors import ShapeError


def text_of(values: Any) -> Optional[np.ndarray]:
    """The values as one column of objects where some are text, as those of a categorical column may be; None: none is.

    >>> text_of(["a", None]), text_of([1.0, 2.0])
    (array(['a', None], dtype=object), None)
    """
    a = np.asarray(values)
    if a.dtype.kind not in "USO" or (a.dtype.kind == "O" and not any(isinstance(v, (str, bytes)) for v in a.flat)):
        return None
    if a.ndim > 2 or (a.ndim == 2 and a.shape[1] != 1):
        raise ShapeError(f"y holds text and has the shape {a.shape}, expected one column of classes")
    return a.astype(object).reshape(-1)


def coded(values: Any) -> "Optional[Tuple[np.ndarray, List[str]]]":
    """(rows, 1) numbers of the classes and their names in alphabetical order; None: the values are no text. Missing ones are
    NaN.

    >>> coded(["b", "a", "b"])
    (array([[1.],
           [0.],
           [1.]]), ['a', 'b'])
    """
    text = text_of(values)
    if text is None:
        return None
    names = sorted({_name(v) for v in text if not _is_missing(v)})
    number = {name: float(i) for i, name in enumerate(names)}
    return np.array([[np.nan if _is_missing(v) else number[_name(v)]] for v in text]).reshape(-1, 1), names


def _name(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def _is_missing(value: Any) -> bool:
    """None, NaN, NA and NaT."""
    return value is None or type(value).__name__ in ("NAType", "NaTType") or (isinstance(value, float) and value != value)
