"""jointflow: learns the whole distribution p(x | y) of answers to an ill-posed problem.

    import jointflow
    flow = jointflow.Flow().fit(x, y)       # arrays, one example a row
    flow.sample(y[0], 1000)                 # as many answers as you like
    flow.log_prob(x, y), flow.y_error_      # how likely, and how far to trust that
    print(flow.judge())                     # how far to trust all of it
    flow.save("flow.safetensors")           # jointflow.load() and the command line take it

Every function releases the interpreter's lock while it computes, and one flow may be used by several threads at once.
"""
from __future__ import annotations

import ctypes
import os
from typing import Dict, Optional, Union

from . import errors, plot
from ._bindings import JF_VERSION as __version__
from ._library import check as _check, context as _context, lib as _lib, take_text as _take_text
from ._model import Model as _Model
from .chain import Chain, Enlarged, files_of as _files_of
from .errors import Error, Warning
from .flow import Flow
from .judgement import Judgement

__all__ = ["Flow", "load", "models", "recipes", "Chain", "Enlarged", "Judgement", "Error", "Warning", "errors",
           "plot", "__version__"]


def load(path: "str | os.PathLike[str]", *, device: Optional[str] = None, threads: int = 0) -> Union[Flow, Chain]:
    """A model file, a run folder, or the name of a model that came with the program (``models()`` lists them): a Flow, or
    a Chain where it stands for several steps of super-resolution. Those that make the images of a model larger
    (``fashion-ten`` names them) are loaded when it first draws some.

    >>> import jointflow
    >>> flow = jointflow.load("crescents")
    >>> flow.dim_x_, flow.dim_y_, flow.class_names_
    (2, 1, ['upper', 'lower'])
    """
    loaded = [_Model.load(file, device, threads) for file in _files_of(path)]
    return Flow._of(loaded[0], device, threads) if len(loaded) == 1 else Chain(loaded)


def _listed(function: str) -> Dict[str, str]:
    made = ctypes.c_void_p()
    _check(getattr(_lib, function)(ctypes.byref(made), _context))
    return dict(line.split("\t", 1) for line in _take_text(made.value).splitlines())


def models() -> Dict[str, str]:
    """The models that came with the program: names, and what each is.

    >>> import jointflow
    >>> "crescents" in jointflow.models()
    True
    """
    return _listed("jf_model_list")


def recipes() -> Dict[str, str]:
    """The recipes that came with the program: names, and what each is for.

    >>> import jointflow
    >>> "rule-circle" in jointflow.recipes()
    True
    """
    return _listed("jf_recipe_list")
