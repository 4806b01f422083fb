"""The estimator: learns p(x | y) of arrays, draws from it and tells how likely answers are."""
from __future__ import annotations

import inspect
import itertools
import os
import warnings
from typing import Any, Dict, List, Mapping, Optional

import numpy as np

from . import _bindings as c
from ._arrays import Seed, Shape, broadcast_rows, conditions_of, rows_of, seed_of, whole
from ._data import Data, with_rows
from ._model import Model
from ._tables import in_order, names_of
from ._training import Recipe, train
from ._watch import Progress, Watch
from .chain import Cascade, Then, chosen_cascade, images_of_rows
from .errors import ArgumentError, Error, NotFittedError, ShapeError, Warning
from .judgement import Judgement

# Parameters of Flow that are keys of a recipe.
KEYS = {
    "blocks": "model.blocks", "law": "model.law", "condition": "model.condition", "depth": "model.depth",
    "width": "model.width", "epochs": "train.epochs", "batch": "train.batch", "rate": "train.rate",
}

BOUNDS_NAMED = 5  # columns that a warning names

# Files that a folder with a run has, at least one of them.
RUN_FILES = ("checkpoint.safetensors", "model.safetensors", "checkpoint-previous.safetensors")


def _one_of(name: str, value: Any, other_name: str, other: Any) -> Any:
    """An argument that has two names."""
    if value is not None and other is not None:
        raise ArgumentError(f"{name} and {other_name} are the same, expected one of them")
    return other if value is None else value


class Flow:
    """A conditional normalizing flow: learns the whole distribution p(x | y) of answers x to a condition y.

    **x is what is looked for, and y is what is known.** scikit-learn has it the other way, where fit(X, y) predicts y from
    X; so has the package sbi, whose x is what was observed. Where letters may be confused, x has the name ``data`` and y the
    name ``condition``: fit(data=..., condition=...), sample(condition=...), log_prob(data=..., condition=...).

    What is None follows from the numbers of rows and columns, or from the recipe where one is given.

    Parameters
    ----------
    recipe : name of a recipe that comes with the program ("crescents", "rule-circle") or path of one; None: chosen by the
        data.
    blocks, law, condition, depth, width : of the model; law is "affine", "spline", "additive" or "shear", condition is
        "joint", "fixed" or "flow".
    epochs, batch, rate : of training.
    discrete : y is one column and a class, which is found without this where it is text, categorical, or whole numbers, more than two
        and at most 20 different ones, each in five rows or more. The network reads a column of zeros and ones for each of
        more than two classes.
    ordered : y is one number although it looks like a class; with ``discrete``, or where it is text, the number of its class.
    bounds : where columns can be, and samples will be: "x0=0:1, x1=circle:0:6.2832"; None: intervals that x fills evenly
        are found, and a warning names them; "auto": the same without a warning; "none": they are not.
    settings : any other keys of a recipe, {"train.average": 0.999}.
    seed : of training, and of samples that are drawn without a seed of their own; a whole number, a Generator of NumPy, or
        None: another one at every call. So are the seeds of calls, but that None in sample() is this one.
    device : "cpu", "cuda", "ref", "auto"; None: the first of them.
    threads : 0: all processors. Results do not depend on it.
    folder : run folder: the model, its recipe and history, and what resuming needs; None: nothing is written.
    progress : True, False, None (in terminals and notebooks), or a function of a dictionary, called a few times a second,
        which stops training by returning True.

    Attributes after fit() or load()
    --------------------------------
    ``dim_x_``, ``dim_y_``; ``classes_`` and ``class_names_`` of models with classes; ``x_names_``, ``y_names_``;
    ``history_``, a dictionary for each epoch, ``recipe_``, its text, and ``stopped_``, of fit();
    ``y_error_`` and ``density_`` of the last log_prob().

    >>> import jointflow, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y = rng.uniform(1, 2, 2000)
    >>> x = rng.normal(y, 0.1 * y)
    >>> flow = jointflow.Flow(blocks=2, width=16, epochs=12, seed=1).fit(x, y)
    >>> flow.sample([1.0, 2.0], 1000, seed=3).mean(axis=1).round().ravel()
    array([1., 2.])
    >>> flow.log_prob(x[:5], y[:5]).shape, flow.y_error_ < 0.05
    ((5,), True)
    """

    def __init__(self, recipe: "str | os.PathLike[str] | None" = None, *, blocks: Optional[int] = None,
                 law: Optional[str] = None, condition: Optional[str] = None, depth: Optional[int] = None,
                 width: Optional[int] = None, epochs: Optional[int] = None, batch: Optional[int] = None,
                 rate: Optional[float] = None, discrete: bool = False, ordered: bool = False,
                 bounds: Optional[str] = None,
                 settings: Optional[Mapping[str, Any]] = None, seed: Seed = 0, device: Optional[str] = None,
                 threads: int = 0, folder: "str | os.PathLike[str] | None" = None, progress: Progress = None):
        self.recipe = recipe
        self.blocks, self.law, self.condition, self.depth, self.width = blocks, law, condition, depth, width
        self.epochs, self.batch, self.rate = epochs, batch, rate
        self.discrete, self.ordered, self.bounds, self.settings = discrete, ordered, bounds, settings
        self.seed, self.device, self.threads, self.folder, self.progress = seed, device, threads, folder, progress
        self._model: Optional[Model] = None
        self._vouched = False
        self._draws = itertools.count()

    # ---- as an estimator of scikit-learn ----

    @classmethod
    def _parameters(cls) -> List[str]:
        return [name for name in inspect.signature(cls.__init__).parameters if name != "self"]

    def get_params(self, deep: bool = True) -> Dict[str, Any]:
        """The parameters of the constructor, by name."""
        return {name: getattr(self, name) for name in self._parameters()}

    def set_params(self, **parameters: Any) -> "Flow":
        """Changes parameters of the constructor, for the next fit()."""
        for name, value in parameters.items():
            if name not in self._parameters():
                raise ArgumentError(f"Flow has no parameter {name}, expected one of {', '.join(self._parameters())}")
            setattr(self, name, value)
        return self

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn has to know from 1.6 on: y is optional, and so are all checks of its kinds of estimators."""
        from sklearn.utils import InputTags, Tags, TargetTags
        return Tags(estimator_type=None, target_tags=TargetTags(required=False), input_tags=InputTags())

    def __repr__(self) -> str:
        defaults = {n: p.default for n, p in inspect.signature(type(self).__init__).parameters.items()}
        given = ", ".join(f"{n}={v!r}" for n, v in self.get_params().items() if v is not defaults[n] and v != defaults[n])
        return f"Flow({given}){self._model.brief() if self._model else ''}"

    def __getstate__(self) -> Dict[str, Any]:
        state = {k: v for k, v in self.__dict__.items() if k not in ("_model", "_draws")}
        if callable(state["progress"]):
            state["progress"] = None
        model = self._model
        state["_file"] = model.to_bytes() if model else None
        state["_vouched"] = model is not None and self._can_enlarge(model)
        state["_drawn"] = next(self._draws)
        self._draws = itertools.count(state["_drawn"])
        return state

    def __setstate__(self, state: Dict[str, Any]) -> None:
        state = dict(state)
        file, drawn = state.pop("_file"), state.pop("_drawn")
        self.__dict__.update(state)
        self._draws = itertools.count(drawn)
        self._vouched = bool(state.get("_vouched"))
        self._model = None if file is None else Model.from_bytes(file, self.device, self.threads)

    # ---- learning ----

    def fit(self, x: Any = None, y: Any = None, *, data: Any = None, condition: Any = None, validation: Any = None,
            resume: bool = False, overwrite: bool = False) -> "Flow":
        """Learns p(x | y) from examples: x (rows, dim_x) and y (rows, dim_y), arrays of numbers or data frames.

        Data frames of pandas and polars are read by the names of their columns (``x_names_``, ``y_names_``), which the model
        file keeps: sample(), log_prob() and the others take them in any order, and refuse missing or unknown ones. Dates
        and durations become seconds, with a warning; missing entries, masked ones among them, become NaN; complex numbers
        are refused.

        y may be series (rows, steps, channels) or images (rows, h, w) or (rows, h, w, channels): a network that is trained
        along makes a few numbers of each ("model.embed" of ``settings``; three axes are those of series where these have at
        least four times as many steps as channels).

        float32 and float64 are read where they lie, in any order of axes: nothing is copied or written. They must not
        change meanwhile. Without y the flow learns p(x); without both it trains on what its recipe names.

        ``validation``: the share of rows that is held out, by default a tenth or less; or (x, y) of held-out rows, which
        are put behind the others, a copy of all of them. Training keeps the weights that fit the held-out rows best.

        A ``folder`` that holds a run is refused, unless ``resume`` goes on with that run, or ``overwrite`` begins a new one;
        the old one is then kept in ``old-run`` inside of it until the new one has finished.

        Ctrl-C stops training, saves the run in ``folder``, and leaves the best model so far, with a warning.
        """
        x = _one_of("x", x, "data", data)
        y = _one_of("y", y, "condition", condition)
        self._check_folder(resume, overwrite)
        recipe, kept = self._recipe(x, y, validation)
        with_recipe = {KEYS[name]: getattr(self, name) for name in KEYS if getattr(self, name) is not None}
        recipe.set({**with_recipe, **(self.settings or {})})
        if kept is not None and self.recipe is None and self.bounds is None and "data.bounds" not in (self.settings or {}):
            self._warn_of_bounds(recipe.get("data.bounds") or "", names_of(x, kept.x.shape[1]))
        watch = Watch(self.progress)
        model, stopped = train(recipe, watch, folder=self.folder, resume=resume, seed=self.seed, device=self.device,
                               threads=self.threads)
        del kept
        self._take(model)
        self.history_, self.recipe_, self.stopped_ = watch.epochs, recipe.text(), stopped
        if stopped:
            where = f"; fit(..., resume=True) goes on with {os.fspath(self.folder)}" if self.folder else ""
            warnings.warn(f"training was stopped; the flow has the best model so far{where}", Warning, stacklevel=2)
        return self

    def _check_folder(self, resume: bool, overwrite: bool) -> None:
        """A run is hours of work: it is not written over by mistake."""
        if resume and overwrite:
            raise ArgumentError("resume goes on with a run and overwrite begins a new one: expected one of them")
        if self.folder is None or resume or overwrite:
            return
        for name in RUN_FILES:
            if os.path.isfile(os.path.join(self.folder, name)):
                raise ArgumentError(f"{os.fspath(self.folder)}: holds a run already ({name}); go on with it by resume=True, "
                                    "begin a new one by overwrite=True, or choose another folder")

    def _recipe(self, x: Any, y: Any, validation: Any) -> "tuple[Recipe, Optional[Data]]":
        if x is None:
            if y is not None or validation is not None:
                raise ArgumentError("found a y (condition) or a validation without x (data), expected x as well")
            if self.recipe is None:
                raise ArgumentError("neither data nor a recipe were given: fit(x, y), or Flow(recipe).fit()")
            return Recipe.load(self.recipe), None
        held_out = 0
        if isinstance(validation, (tuple, list)):
            if not 1 <= len(validation) <= 2 or len(validation[0]) == 0:
                raise ArgumentError("validation: found no rows, or more than (x, y); expected these, or a share of the rows")
            x, y, held_out = with_rows(x, y, *validation)
        data = Data(x, y)
        if self.recipe is None:
            recipe = Recipe.for_data(data, self.discrete, self.ordered, self.bounds)
        else:
            recipe = Recipe.load(self.recipe)
            recipe.set_data(data)
            if self.discrete or data.words:
                recipe.set({"data.discrete": True})
            if self.bounds:
                recipe.set({"data.bounds": self.bounds})
        if held_out:
            recipe.set({"data.validation_rows": held_out})
        elif validation is not None:
            recipe.set({"data.validation": float(validation)})
        return recipe, data

    @staticmethod
    def _warn_of_bounds(found: str, names: Optional[List[str]]) -> None:
        """Once for all columns that were given bounds nobody asked for: "x0=cut:-3:3,x4=cut:0:1"."""
        told = []
        for item in filter(None, found.split(",")):
            column, support = item.split("=")
            _kind, lo, hi = support.split(":")
            told.append(f"{names[int(column[1:])] if names else column} from {lo} to {hi}")
        if told:
            more = f" and {len(told) - BOUNDS_NAMED} more" if len(told) > BOUNDS_NAMED else ""
            warnings.warn(f"x fills intervals evenly, which are taken as its bounds: {', '.join(told[:BOUNDS_NAMED])}{more}. No "
                          "sample will lie outside, where log_prob is -inf. Flow(bounds=\"none\") sets no bounds, "
                          "bounds=\"auto\" keeps them without this warning", Warning, stacklevel=3)

    def _take(self, model: Model) -> None:
        """What is told of a model that was trained or loaded."""
        self._model, self._vouched = model, False
        self.dim_x_, self.dim_y_ = model.dim_x, model.dim_y
        self.n_features_in_ = model.dim_x  # as scikit-learn calls it
        self.classes_, self.class_names_ = model.labels, model.class_names
        self.x_names_, self.y_names_ = model.x_names, model.y_names

    @property
    def model_(self) -> Model:
        """The trained model. Another thread may fit another one at any time: a call takes it once and keeps it."""
        model = self._model
        if model is None:
            raise NotFittedError("this flow has no model yet: call fit(), or load one with jointflow.load()")
        return model

    # ---- answers ----

    @staticmethod
    def _conditions(m: Model, y: Any) -> "tuple[Optional[np.ndarray], Shape]":
        """Rows of y, and the axes before the last; classes by name or label."""
        if m.dim_y == 0:
            if y is not None:
                raise ArgumentError("y was given to a model that has no condition")
            return None, ()
        if y is None:
            raise ArgumentError(f"this model needs a condition y of {m.dim_y} number{'s' if m.dim_y > 1 else ''}")
        y = in_order(y, m.y_names, "y")
        if len(m.labels):
            y = Flow._labels(m, y)
            whole_rows = np.ndim(y) > m.has_class_column and np.shape(y)[-1] == m.dim_y
            if m.dim_y > 1 and not whole_rows:  # labels, which stand for all elements of y
                rows, axes = conditions_of(y, (1,)) if m.has_class_column else rows_of(y, 1, "y")
                return m.y_of_labels(rows[:, 0]), axes
        return conditions_of(y, m.y_shape)

    @staticmethod
    def _labels(m: Model, y: Any) -> Any:
        """Names of classes as their labels; anything else as it is."""
        given = np.asarray(y)
        if given.dtype.kind not in "US" and not (given.dtype.kind == "O" and any(isinstance(v, str) for v in given.flat)):
            return y
        if hasattr(y, "columns"):
            given = given.reshape(-1)
        known = dict(zip(m.class_names, m.labels))
        try:
            return np.array([known[name] for name in given.ravel().tolist()]).reshape(given.shape + (1,) * (m.dim_y == 1 or m.has_class_column))
        except KeyError as error:
            raise ArgumentError(f"no class {error}, expected one of {', '.join(filter(None, known))}") from None

    @staticmethod
    def _given(x: Any, y: Any, data: Any, condition: Any) -> "tuple[Any, Any]":
        """x and y by either of their names."""
        x, y = _one_of("x", x, "data", data), _one_of("y", y, "condition", condition)
        if x is None:
            raise ArgumentError("found no x (data), expected rows of it")
        return x, y

    @staticmethod
    def _pair(m: Model, x: Any, y: Any, what: str = "x") -> "tuple[np.ndarray, Optional[np.ndarray], Shape]":
        """Rows of x and as many of y."""
        try:
            x = in_order(x, m.x_names, "x") if what == "x" else x
            x_rows, axes = rows_of(x, m.dim_x, what)
        except ShapeError as error:
            if what != "x" or not m.then:
                raise
            raise ShapeError(f"{error}; the model knows small images only: sample(..., then=False) gives them, and "
                             "from_images() makes them of large ones") from None
        y_rows, y_axes = Flow._conditions(m, y)
        if y_rows is None:
            return x_rows, None, axes
        if len(y_axes) > len(axes):
            x_rows, axes = broadcast_rows(x_rows, axes, y_axes, what), y_axes
        return x_rows, broadcast_rows(y_rows, y_axes, axes, "y"), axes

    def _seed(self, seed: Seed) -> int:
        """The one that was given, or another one for every call: a script draws the same at every run, and no two calls
        of it do."""
        if seed is not None or not isinstance(self.seed, (int, np.integer)):
            return seed_of(self.seed if seed is None else seed)
        word = (seed_of(self.seed) * 0x9E3779B97F4A7C15 + next(self._draws) + 1) * 0xBF58476D1CE4E5B9 & 0xFFFFFFFFFFFFFFFF
        return word ^ word >> 31

    def _cascade(self, m: Model, then: Then) -> Cascade:
        """What makes images larger; the models that the recipe names are loaded once."""
        if then is not None and not (then is True and m.then):
            return chosen_cascade(m, then, self.device, self.threads)
        cascade = m.cascade
        if cascade is None:
            # what could be loaded before pickling is taken by its name: the file is no longer in its folder
            names = m.then if self._vouched and m.then else None
            cascade = m.cascade = chosen_cascade(m, names, self.device, self.threads)
        return cascade

    def _can_enlarge(self, m: Model) -> bool:
        """Whether the models that the recipe names may be loaded, and can be."""
        try:
            return bool(m.then and self._cascade(m, None))
        except Error:
            return False

    def sample(self, y: Any = None, n: Optional[int] = None, *, condition: Any = None, seed: Seed = None,
               temperature: float = 1.0, denoise: bool = False, then: Then = None) -> np.ndarray:
        """Draws x ~ p(x | y): n answers for each row of y, or one without an axis of its own.

        y has the shape (dim_y,) or (rows, dim_y), where dim_y is 1 also (rows,) for more than one row; names of classes have none
        for dim_y, and series and images with their axes in place of the last. The answers have its shape with n and dim_x in place of the last axis.

        The same seed gives the same answers; without one every call gives others. ``temperature`` multiplies the latent
        points; at 0 each answer is that of z = 0. ``denoise`` takes the noise of training off (models that were trained with it).

        A model of small images may name others that make them larger (``fashion-ten`` does). Then the answers are the large
        images, (h, w) or (h, w, channels) in place of dim_x. ``then=False`` gives the model's own x, which is what
        log_prob(), encode() and images() take; names, a Chain or a Flow stand for other models than those.

        >>> import jointflow
        >>> flow = jointflow.load("crescents")
        >>> flow.sample(0, 5).shape, flow.sample(["upper", "lower"], 5).shape, flow.sample([0, 1]).shape
        ((5, 2), (2, 5, 2), (2, 2))
        >>> clothes = jointflow.load("fashion-ten")
        >>> clothes.sample(["bag", "boot"], 3).shape, clothes.sample("bag", 3, then=False).shape
        ((2, 3, 28, 28), (3, 49))
        """
        y = _one_of("y", y, "condition", condition)
        return self._sample(self.model_, y, n, seed, temperature, denoise, then)

    def _sample(self, m: Model, y: Any, n: Optional[int], seed: Seed, temperature: float = 1.0,
                denoise: bool = False, then: Then = False) -> np.ndarray:
        cascade = self._cascade(m, then)
        rows, axes = self._conditions(m, y)
        each = 1 if n is None else whole(n, "n")
        count = each * (1 if rows is None else len(rows))
        if rows is not None and each != 1:
            rows = np.repeat(rows, each, axis=0)
        options = c.jf_use_options(seed=self._seed(seed), temperature=temperature, zero_temperature=int(temperature == 0))
        x, _ = m.sample(count, rows, options)
        if denoise:
            x = m.denoise(x, rows, options)
        if cascade:
            x = images_of_rows(m, x, rows, cascade, options.seed, denoise)
        return x.reshape(axes + (() if n is None else (each,)) + x.shape[1:])

    def summary(self, y: Any = None, n: int = 10000, *, condition: Any = None, seed: Seed = None,
                masses: Any = (0.5, 0.9), quantiles: Any = (0.05, 0.25, 0.5, 0.75, 0.95)) -> "Dict[str, Any] | List[Dict[str, Any]]":
        """What can be said of x at y, from n samples: a dictionary, or one for each row of y.

        ``mean``, ``deviation`` and ``mode`` are arrays (dim_x,), ``quantiles`` (dim_x, quantiles). The mode is where the
        density is highest on the way up its gradient from the likeliest sample. Highest posterior density (HPD) regions
        are the smallest sets that hold a mass: ``hpd[mass]`` has an array (intervals, 2) for each column, with several
        intervals where it has several modes, and ``log_p_hpd[mass]`` is the threshold of the region in all columns
        together: an x belongs to it where log_prob(x, y) is above. ``log_p_mode`` is that of the mode.

        >>> import jointflow
        >>> s = jointflow.load("crescents").summary("upper", 4000, seed=1)
        >>> len(s["hpd"][0.5][0]), s["mean"].shape  # x0 is likeliest at both ends
        (2, (2,))
        """
        y = _one_of("y", y, "condition", condition)
        m = self.model_
        rows, axes = self._conditions(m, y)
        count = 1 if rows is None else len(rows)
        n = whole(n, "n", 1)
        x = self._sample(m, None if rows is None else rows, n, seed).reshape(count, n, m.dim_x)
        shares = [np.atleast_1d(np.asarray(given, dtype=float)) for given in (masses, quantiles)]
        found = m.summary(np.ascontiguousarray(x), rows, *shares)["conditions"]
        levels = [float(mass) for mass in shares[0]]
        made = [{
            "mean": np.array([k["mean"] for k in one["columns"]]),
            "deviation": np.array([k["deviation"] for k in one["columns"]]),
            "mode": np.array(one["mode"]),
            "log_p_mode": one["log_p_mode"],
            "quantiles": np.array([k["quantiles"] for k in one["columns"]]),
            "hpd": {mass: [np.array(k["hpd"][i]) for k in one["columns"]] for i, mass in enumerate(levels)},
            "log_p_hpd": dict(zip(levels, one["log_p_hpd"])),
        } for one in found]
        return made if axes else made[0]

    def log_prob(self, x: Any = None, y: Any = None, *, data: Any = None, condition: Any = None) -> np.ndarray:
        """log p(x | y) of each row, in nats and the data's units. y has the axes of x, or the first of them: one y is for
        all rows, and log_prob(sample(y, n), y) is that of the samples. Of a model whose images others make larger, x is its own
        small image, which sample(y, n, then=False) and from_images() give: the large one has no density.

        No density without its doubt: ``y_error_`` is then the mean of \\|F_Y' - y\\| of these rows, in the model's units,
        which a density takes to be 0 (below 1e-4 is good, above 1e-2 trust none), and ``density_`` has the summary: means
        of the density, of the one that samples follow and of the whole map's, and whether it is exact.

        Outside of its bounds x has the log_prob -inf; the means of ``density_`` leave such rows out, and its ``outside``
        counts them.
        """
        x, y = self._given(x, y, data, condition)
        m = self.model_
        x_rows, y_rows, axes = self._pair(m, x, y)
        log_p, density = m.log_prob(x_rows, y_rows, c.jf_use_options())
        self.density_, self.y_error_ = density, density["y_error"]
        return log_p.reshape(axes)

    def score(self, x: Any = None, y: Any = None, *, data: Any = None, condition: Any = None) -> float:
        """The mean of log_prob(x, y): greater is better. Rows with x outside of its bounds, where that is -inf, are left
        out, and a warning tells how many."""
        log_p = self.log_prob(x, y, data=data, condition=condition)
        inside = log_p[np.isfinite(log_p)]
        if inside.size < log_p.size:
            warnings.warn(f"{log_p.size - inside.size} of {log_p.size} rows have an x outside of its bounds, where log p is "
                          "-inf: the score leaves them out", Warning, stacklevel=2)
        return float(np.mean(inside)) if inside.size else float("-inf")

    def encode(self, x: Any = None, y: Any = None, *, data: Any = None, condition: Any = None, return_y: bool = False) -> Any:
        """z = F_Z(x, y), the latent points, which are normally distributed where the model is right; with ``return_y``
        also y' = F_Y'(x, y), which should equal y."""
        x, y = self._given(x, y, data, condition)
        m = self.model_
        x_rows, y_rows, axes = self._pair(m, x, y)
        z, y_out = m.encode(x_rows, y_rows, c.jf_use_options())
        return self._give(z, y_out, axes, return_y)

    def decode(self, z: Any, y: Any = None, *, condition: Any = None, return_y: bool = False) -> Any:
        """x = F_X^-1(z, y), the answers of latent points; with ``return_y`` also F_Y^-1(z, y), which should equal y.

        >>> import jointflow, numpy as np
        >>> flow = jointflow.load("sectors")
        >>> x = flow.sample([0.5, 1.5], seed=1)
        >>> bool(np.allclose(flow.decode(flow.encode(x, [0.5, 1.5]), [0.5, 1.5]), x, atol=1e-4))
        True
        """
        y = _one_of("y", y, "condition", condition)
        m = self.model_
        z_rows, y_rows, axes = self._pair(m, z, y, "z")
        x, y_back = m.decode(z_rows, y_rows, c.jf_use_options())
        return self._give(x, y_back, axes, return_y)

    @staticmethod
    def _give(first: np.ndarray, second: np.ndarray, axes: Shape, both: bool) -> Any:
        first = first.reshape(axes + first.shape[1:])
        return (first, second.reshape(axes + second.shape[1:])) if both else first

    # ---- images ----

    def conditions(self, images: Any, *, degrade: bool = False, seed: Seed = 0) -> np.ndarray:
        """Rows of y made of images, of models whose condition is one: small or damaged ones as they are, whole ones are
        made so first. Where both have the same size ``degrade`` says that they are whole."""
        return self.model_.conditions_of_images(images, degrade, seed)

    def images(self, x: Any, y: Any, *, then: Then = None, seed: Seed = None, denoise: bool = False,
               together: int = 1) -> np.ndarray:
        """The images that answers x to conditions y are, (..., h, w) or with channels (..., h, w, c).

        Where other models make them larger they do so here, too (``then``, as of sample()), one image of each, with latent
        points by the ``seed``; ``denoise`` takes their noise of training off. ``together``: so many rows that follow each
        other, the steps of a line, get the same latent points of these models.

        >>> import jointflow
        >>> flow = jointflow.load("fashion-class")
        >>> flow.images(flow.sample("sneaker", 3), "sneaker").shape
        (3, 28, 28)
        >>> flow = jointflow.load("fashion-ten")
        >>> x = flow.sample("bag", 3, then=False)
        >>> flow.images(x, "bag").shape, flow.images(x, "bag", then=False).shape
        ((3, 28, 28), (3, 7, 7))
        """
        return self._images(self.model_, x, y, then, seed, denoise, together)

    def _images(self, m: Model, x: Any, y: Any, then: Then, seed: Seed, denoise: bool = False,
                together: int = 1) -> np.ndarray:
        cascade = self._cascade(m, then)
        x_rows, y_rows, axes = self._pair(m, x, y)
        made = images_of_rows(m, x_rows, y_rows, cascade, self._seed(seed) if cascade else 0, denoise,
                              whole(together, "together", 1))
        return made.reshape(axes + made.shape[1:])

    def from_images(self, images: Any, y: Any) -> np.ndarray:
        """The other way: rows of x of whole images under the conditions y, for log_prob() and encode(). Of models of a
        class that have learned halved images, those of the data's size are halved first."""
        m = self.model_
        rows, _ = self._conditions(m, y)
        assert rows is not None
        count = len(np.reshape(images, (-1,) + np.shape(images)[-2:])) if np.ndim(images) < 4 else len(images)
        return m.answers_of_images(images, broadcast_rows(rows, (len(rows),), (count,), "y"))

    # ---- trust ----

    def judge(self, x: Any = None, y: Any = None, *, data: Any = None, condition: Any = None, points: int = 0, seed: Seed = 0,
              then: Then = None) -> Judgement:
        """How far is it to be trusted? On fresh points of the data, on held-out rows, or on x and y where they are given.

        A dictionary with a table (``print(judgement)``) and pictures (``judgement.plot()``). Samples of a model whose images
        others make larger (``then``, as of sample()) are judged and drawn in that size; densities are of its own.
        """
        x = _one_of("x", x, "data", data)
        y = _one_of("y", y, "condition", condition)
        if x is None and y is not None:
            raise ArgumentError("found a y (condition) without its x (data), expected both or none")
        m = self.model_
        test = None if x is None else Data(in_order(x, m.x_names, "x"),
                                           None if y is None else in_order(y, m.y_names, "y"))
        return Judgement.of(m, test, points, seed, self.progress, self._cascade(m, then))

    def describe(self) -> str:
        """What the model is, in words and numbers: as ``jointflow info`` prints it."""
        return self.model_.describe()

    # ---- pictures ----

    def plot(self, y: Any = None, n: Optional[int] = None, *, condition: Any = None, ax: Any = None, seed: Seed = 0,
             **style: Any) -> Any:
        """Draws n samples for each condition, 1000 by default; by default for each class. Gives the axes. Of a model of
        images, 8 of each by default, side by side: gives the figure."""
        from . import plot
        y = _one_of("y", y, "condition", condition)
        m = self.model_
        if y is None and len(m.labels):
            y = m.labels
        if m.is_of_images:
            return self._plot_images(m, y, 8 if n is None else n, seed)
        names = [name or f"x{i}" for i, name in enumerate(m.x_names)]
        return plot.samples(self._sample(m, y, 1000 if n is None else n, seed), y, names=names, ax=ax, **style)

    def _plot_images(self, m: Model, y: Any, n: int, seed: Seed) -> Any:
        """A row for each condition, the names of classes above."""
        from . import plot
        rows, _ = self._conditions(m, y)
        assert rows is not None
        made = self._images(m, self._sample(m, rows, n, seed), rows, None, seed)
        labels = dict(zip(m.labels, m.class_names))
        words = [labels.get(label) or f"y = {label:g}" for label in np.ravel(self._labels(m, y))] if labels else []
        titles = [word if k == 0 else "" for word in words for k in range(n)] if len(words) == len(rows) else None
        return plot.images(made.reshape((-1,) + made.shape[2:]), columns=n, titles=titles)

    def plot_history(self, ax: Any = None) -> Any:
        """Draws the loss over the epochs of fit()."""
        from . import plot
        return plot.history(self.history_, ax)

    # ---- files ----

    def save(self, path: "str | os.PathLike[str]", *, half: bool = False) -> None:
        """Writes the model file, which load() and the command line take; ``half``: half as large, weights in half
        precision."""
        self.model_.save(path, half)

    def export(self, path: "str | os.PathLike[str]", *, name: Optional[str] = None) -> "list[str]":
        """Writes the model as a file that answers without this library, and gives the names of what was written: ``.c``, a
        file of C99, or ``.onnx``, two graphs. ``name``: what its functions are called, by default as the file."""
        return self.model_.export(path, name)

    @classmethod
    def _of(cls, model: Model, device: Optional[str], threads: int) -> "Flow":
        flow = cls(device=device, threads=threads)
        flow._take(model)
        return flow
