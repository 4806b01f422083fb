"""Failures of the library as exceptions, each with the library's own sentence."""
from . import _bindings as c


class Error(Exception):
    """A call of the library failed; the text says what was found, what was expected and what to do.

    Every kind of failure is a subclass that is also the built-in exception one would expect:

    >>> import jointflow
    >>> try:
    ...     jointflow.load("no-such-model")
    ... except OSError as error:
    ...     print(str(error)[:28])
    no-such-model: no such file,
    """


class ArgumentError(Error, ValueError):
    """An argument is out of its range."""


class OutOfMemoryError(Error, MemoryError):
    """Not enough memory."""


class FileError(Error, OSError):
    """A file could not be read or written."""


class FormatError(Error, ValueError):
    """A file does not hold what its format demands."""


class RecipeError(Error, ValueError):
    """A recipe has an unknown key or a wrong value."""


class DataError(Error, ValueError):
    """The data cannot be used as they are."""


class ShapeError(Error, ValueError):
    """Sizes do not fit together."""


class DeviceError(Error, RuntimeError):
    """The device is unknown, missing or has failed."""


class NumericError(Error, ArithmeticError):
    """A value that should be finite is not."""


class UnsupportedError(Error, NotImplementedError):
    """This model cannot answer that."""


class RankError(Error, RuntimeError):
    """A process of several that work together is missing, lost or different."""


class NotFittedError(Error, ValueError, AttributeError):
    """The flow has no model yet: call fit() or use load()."""


class Warning(UserWarning):
    """What the library warns of."""


BY_STATUS: "dict[int, type[Error]]" = {
    c.JF_ERROR_ARGUMENT: ArgumentError,
    c.JF_ERROR_MEMORY: OutOfMemoryError,
    c.JF_ERROR_IO: FileError,
    c.JF_ERROR_FORMAT: FormatError,
    c.JF_ERROR_RECIPE: RecipeError,
    c.JF_ERROR_DATA: DataError,
    c.JF_ERROR_SHAPE: ShapeError,
    c.JF_ERROR_DEVICE: DeviceError,
    c.JF_ERROR_NUMERIC: NumericError,
    c.JF_ERROR_UNSUPPORTED: UnsupportedError,
    c.JF_ERROR_RANK: RankError,
}
