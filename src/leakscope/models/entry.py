"""Models from Python code: ``model.py:load`` or ``package.module:function`` names a function that returns the model.

Importing the module and calling the function run the user's own code in this process, without limits and without checks.
"""

from __future__ import annotations

import contextlib
import importlib
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from leakscope.core.errors import InputError
from leakscope.core.failures import cause, describe

_NAME = r"[^\W\d]\w*(?:\.[^\W\d]\w*)*"
_ENTRY = re.compile(rf"(?P<module>.+\.py|{_NAME}):(?P<function>{_NAME})", re.DOTALL)


@dataclass(frozen=True)
class EntryPoint:
    """A Python file or the dotted name of a module, and the name of a function in it."""

    module: str
    function: str

    def __str__(self) -> str:
        return f"{self.module}:{self.function}"


def entry_point(text: str | Path) -> EntryPoint | None:
    """Return the entry point that a text names, or None if it names something else, such as a model file.

    Examples
    --------
    >>> entry_point("models/bank.py:load")
    EntryPoint(module='models/bank.py', function='load')
    >>> entry_point("bank.models:load").function, entry_point("model.skops"), entry_point("https://host/predict")
    ('load', None, None)
    """
    found = _ENTRY.fullmatch(str(text))
    return None if found is None or Path(text).is_file() else EntryPoint(found["module"], found["function"])


def search_folders(folders: Sequence[str | Path]) -> None:
    """Add folders to the front of the module search path of this process, which worker processes take over."""
    for folder in reversed(folders):
        if not Path(folder).is_dir():
            raise InputError(f"there is no folder {str(folder)!r}: pass --path with the folder that holds the module")
        if (place := str(Path(folder).resolve())) not in sys.path:
            sys.path.insert(0, place)


def load_entry_point(entry: EntryPoint) -> tuple[Any, Callable[..., Any] | None]:
    """Import the module, call the function, and return the model with the attribute ``fit`` of the function, if any.

    Raises
    ------
    InputError
        If there is no such file, module or function, if its code fails, or if it returns no model.
    """
    from leakscope.models.adapters import booster_library, is_estimator
    from leakscope.models.model import Model

    function = find_function(entry)
    fit = getattr(function, "fit", None)
    if fit is not None and not callable(fit):
        raise InputError(
            f"'{entry}.fit' is not a function: assign a function fit(X, y, rng) that returns a trained model"
        )
    with _foreign_code(f"'{entry}' failed"):
        model = function()
    if model is None:
        raise InputError(f"'{entry}' returns None: return the model")
    if not (callable(model) or is_estimator(model) or isinstance(model, Model) or booster_library(model)):
        raise InputError(
            f"'{entry}' returns a {type(model).__name__}, which is not a model: return a fitted estimator, a torch "
            "module, or a function from records to probabilities"
        )
    return model, fit


def find_function(entry: EntryPoint) -> Callable[..., Any]:
    """Import the module and return the function."""
    from leakscope.data.records import list_names
    from leakscope.models.adapters import is_estimator, is_torch_module

    module = _import_file(Path(entry.module)) if entry.module.endswith(".py") else _import_name(entry.module)
    found: Any = module
    for name in entry.function.split("."):
        found = getattr(found, name, None)
    if found is None:
        own = [name for name, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__]
        names = [name for name in own if callable(getattr(module, name)) and not name.startswith("_")]
        raise InputError(
            f"{entry.module!r} has no function {entry.function!r}"
            + (f": it has {list_names(names)}" if names else ": write one that returns the model")
        )
    if not callable(found) or isinstance(found, type) or is_estimator(found) or is_torch_module(found):
        raise InputError(f"'{entry}' is not a function: name a function without parameters that returns the model")
    return found  # type: ignore[no-any-return]


def _import_file(path: Path) -> Any:
    """Import a file by its name, as Python does for scripts, so that worker processes can import it as well."""
    if not path.is_file():
        raise InputError(f"there is no Python file {str(path)!r}: check the path")
    if "." in path.stem:
        raise InputError(f"{str(path)!r} can't be imported, since its name has several dots: rename the file")
    search_folders([path.parent])
    module = _import(path.stem, str(path))
    file = getattr(module, "__file__", None)
    if file is None or Path(file).resolve() != path.resolve():
        raise InputError(f"{str(path)!r} has the name of another Python module: rename the file")
    return module


def _import_name(name: str) -> Any:
    search_folders([Path()])
    return _import(name, name)


def _import(name: str, shown: str) -> Any:
    importlib.invalidate_caches()
    with _foreign_code(f"{shown!r} can't be imported"):
        return importlib.import_module(name)


@contextlib.contextmanager
def _foreign_code(fault: str) -> Iterator[None]:
    """Turn errors of the user's code into one sentence, and print its output on standard error."""
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    except MemoryError:
        raise
    except ModuleNotFoundError as error:
        raise InputError(f"{fault}: {missing_module(error)}") from cause(error)
    except SyntaxError as error:
        raise InputError(
            f"{fault}: line {error.lineno} of {Path(error.filename or '').name} is not valid Python"
        ) from (cause(error))
    except (Exception, SystemExit) as error:
        raise InputError(f"{fault}: {describe(error)}") from cause(error)


def missing_module(error: ModuleNotFoundError) -> str:
    """Return what is missing and what to do, as the end of a sentence.

    Examples
    --------
    >>> missing_module(ModuleNotFoundError(name="bank.features"))
    "there is no Python module 'bank.features'; install its package, or pass --path DIR (in Python sys.path) with its folder"
    """
    return (
        f"there is no Python module {error.name or ''!r}; install its package, or pass --path DIR (in Python "
        "sys.path) with its folder"
    )
