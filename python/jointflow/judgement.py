"""How far a model is to be trusted: what Flow.judge() gives."""
from __future__ import annotations

import base64
import ctypes
import html
import json
import os
import pathlib
import tempfile
from ctypes import byref
from typing import Any, Dict, Optional

from . import _bindings as c
from ._arrays import Seed, seed_of, whole
from ._data import Data
from ._library import check, encode, free_with, lib
from ._model import Model
from ._watch import Progress
from .chain import Cascade


class Judgement(Dict[str, Any]):
    """A dictionary of the numbers of ``jointflow judge --json``, with their table and their pictures.

    ``text`` is the table for people. ``pictures`` are those of a report, drawn when they are first asked for; ``plot()``
    shows them through matplotlib, and a notebook does when the judgement is the last thing in a cell.

    >>> import jointflow
    >>> judgement = jointflow.load("crescents").judge(points=2000)
    >>> judgement["joint_to_be_trusted"], judgement["y_error"] < 1e-4
    (True, True)
    >>> print(judgement["verdict"][0])  # how good it is; then whether it is calibrated, and what to do
    The model is better than a linear regression with Gaussian errors by 1.7... nats...
    """

    def __init__(self, model: Model, handle: int, test: Optional[Data] = None):
        self._model, self._handle, self._test = model, handle, test
        free_with(self, lib.jf_judgement_free, handle)
        self._pictures: Optional[Dict[str, bytes]] = None
        super().__init__(json.loads(lib.jf_judgement_json(handle)))
        self.text: str = lib.jf_judgement_text(handle).decode()

    @classmethod
    def of(cls, model: Model, test: Optional[Data], points: int, seed: Seed, progress: Progress,
           cascade: Cascade) -> "Judgement":
        """Judges a model, on data of its own or on these; the cascade makes its images larger before."""
        options = c.jf_judge_options(points=whole(points, "points"), seed=seed_of(seed), cascade=cascade.handle)
        if test is not None:
            options.test_data = test.handle
        made = ctypes.c_void_p()
        check(lib.jf_judge(byref(made), model.handle, byref(options)))
        return cls(model, made.value, test)  # type: ignore[arg-type]

    def __reduce__(self) -> Any:
        return dict, (dict(self),)  # what is left elsewhere: the numbers

    def __str__(self) -> str:
        return self.text

    def report(self, folder: "str | os.PathLike[str]") -> pathlib.Path:
        """Writes numbers, pictures and report.html into a folder; the path of the latter."""
        check(lib.jf_report(self._model.handle, self._handle, encode(folder)))
        return pathlib.Path(folder) / "report.html"

    @property
    def pictures(self) -> Dict[str, bytes]:
        """PNG files by name: "samples", "latent", "calibration", ..., as far as they apply to the model."""
        if self._pictures is None:
            with tempfile.TemporaryDirectory(prefix="jointflow-") as folder:
                self.report(folder)
                self._pictures = {p.stem: p.read_bytes() for p in sorted(pathlib.Path(folder).glob("*.png"))}
        return self._pictures

    def plot(self, *names: str) -> Any:
        """The pictures, or those of these names, below each other in a matplotlib figure."""
        from . import plot
        return plot.pictures(self.pictures if not names else {n: self.pictures[n] for n in names})

    def _repr_html_(self) -> str:
        images = "".join(f'<img alt="{html.escape(name)}" src="data:image/png;base64,{base64.b64encode(png).decode()}">'
                         for name, png in self.pictures.items())
        return f"<pre>{html.escape(self.text)}</pre>{images}"
