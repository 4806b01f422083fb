"""Pictures through matplotlib, which is needed here only. Each function takes axes or makes a figure, and gives it back."""
from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any, Dict, List, Optional

import numpy as np

if TYPE_CHECKING:
    from .chain import Enlarged


def _pyplot() -> Any:
    try:
        from matplotlib import pyplot
    except ImportError:
        raise ImportError("pictures need matplotlib (Debian: python3-matplotlib)") from None
    return pyplot


def _labels(y: Any, count: int) -> List[Optional[str]]:
    """Of each condition, where that is one number or a name."""
    values = np.asarray(y).ravel()
    return [f"y = {value}" for value in values] if y is not None and len(values) == count else [None] * count


def samples(x: Any, y: Any = None, *, names: Optional[Any] = None, ax: Any = None, **style: Any) -> Any:
    """Samples (n, dim_x), or (conditions, n, dim_x) in a colour each: the first two elements against each other, or
    histograms of one."""
    if ax is None:
        ax = _pyplot().subplots()[1]
    x = np.asarray(x)
    groups = x if x.ndim == 3 else x[np.newaxis]
    labels = _labels(y, len(groups))
    for group, label in zip(groups, labels):
        if groups.shape[-1] > 1:
            ax.scatter(group[:, 0], group[:, 1], label=label, **{"s": 3, "alpha": 0.6, "linewidths": 0, **style})
        else:
            ax.hist(group[:, 0], density=True, label=label, **{"bins": 60, "alpha": 0.6, **style})
    columns = list(names) if names is not None else []
    ax.set_xlabel(columns[0] if columns and columns[0] else "x0")
    if groups.shape[-1] > 1:
        ax.set_ylabel(columns[1] if len(columns) > 1 and columns[1] else "x1")
    if any(labels):
        ax.legend(markerscale=3)
    return ax


def history(epochs: Any, ax: Any = None) -> Any:
    """The loss over the epochs of training, and that of held-out rows."""
    if ax is None:
        ax = _pyplot().subplots()[1]
    at = np.arange(1, len(epochs) + 1)
    ax.plot(at, [e["loss"] for e in epochs], label="training")
    held_out = np.array([e["held_out"] for e in epochs], dtype=float)
    if np.isfinite(held_out).any():
        ax.plot(at, held_out, label="held out")
        ax.legend()
    ax.set_xlabel("epoch")
    ax.set_ylabel("loss, nats")
    return ax


def images(stack: Any, columns: int = 8, titles: Optional[Any] = None) -> Any:
    """Images (n, h, w) or (n, h, w, c), intensities from 0 to 1, side by side."""
    stack = np.asarray(stack)
    rows = -(-len(stack) // columns)
    figure, axes = _pyplot().subplots(rows, columns, squeeze=False, figsize=(1.2 * columns, 1.2 * rows))
    for i, ax in enumerate(axes.flat):
        ax.axis("off")
        if i < len(stack):
            ax.imshow(np.clip(stack[i], 0, 1), cmap="gray", vmin=0, vmax=1)
            if titles is not None and i < len(titles):
                ax.set_title(titles[i], fontsize=8)
    figure.tight_layout(pad=0.3)
    return figure


def enlarged(result: "Enlarged", most: int = 8) -> Any:
    """Input, truth and the first answers of a cascade."""
    last = result.images.reshape((-1,) + result.images.shape[len(result.steps):])[:most]
    size = last.shape[1]
    small = np.kron(result.input, np.ones((size // result.input.shape[0],) * 2)) if result.input.ndim == 2 else result.input
    shown = [small] + ([result.truth] if result.truth is not None else []) + list(last)
    titles = ["input"] + (["truth"] if result.truth is not None else []) + ["answers"]
    return images(shown, columns=min(len(shown), 10), titles=titles)


def pictures(files: Dict[str, bytes]) -> Any:
    """PNG files below each other."""
    pyplot = _pyplot()
    arrays = {name: pyplot.imread(io.BytesIO(png)) for name, png in files.items()}
    width = 8.0
    heights = [width * a.shape[0] / a.shape[1] for a in arrays.values()]
    figure, axes = pyplot.subplots(len(arrays), 1, squeeze=False, figsize=(width, sum(heights) + 0.2),
                                   gridspec_kw={"height_ratios": heights})
    for ax, (name, a) in zip(axes.flat, arrays.items()):
        ax.imshow(a, aspect="auto")
        ax.axis("off")
        ax.set_label(name)
    figure.tight_layout(pad=0.1)
    return figure
