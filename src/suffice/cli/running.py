"""Run a command line: one line on stderr and an exit status where something goes wrong."""

from __future__ import annotations

import inspect
import io
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from cyclopts import App, CoercionError, CycloptsError, MissingArgumentError, Parameter, UnusedCliTokensError

from .. import __version__
from .._dialect import Remark
from .._locks import tell_of_waiting
from ..errors import (
    FrontEnd,
    SettingError,
    SufficeError,
    UnseenLevelWarning,
    brief,
    one_line,
    quoted,
    visible,
    worded_for,
)
from .output import tell
from .places import misplaced
from .problems import UsageProblem

OK, BAD_DATA, BAD_USAGE, FOUND, INTERRUPTED = 0, 1, 2, 3, 130  # FOUND: what a command looks for is there
SIGNALLED = 128  # and the number of the signal, as shells count

HELP = """Generative classification: learn what each class looks like, and answer from that.

A table is a CSV, Parquet or Arrow file with one row per case; cells may be missing. Start with:

  suffice compare table.csv --target COLUMN
  suffice fit table.csv --target COLUMN --output model.suffice
  suffice predict model.suffice new.csv

Or see the whole job done on a table of penguins, which stays in the folder demo:

  suffice demo
"""

OPTIONS = {  # of settings; those without an option, which a model fitted in Python may have, keep their names
    "n_components": "--components",
    "keep": "--key",
    "alpha": "--set",
    "random_state": "--seed",
    "sample_weight": "--weight",
    "families": "--family",
    "covariance": "--model",
}
LIKE_THE_SETTING = (
    *("by", "by_class", "costs", "decay", "dialect", "divisor", "draws", "dtype", "engine", "fdr", "folds", "given"),
    *("keep_rows", "label", "least", "like", "missing", "missing_text", "priors", "reject", "shrinkage", "smoothing"),
    *("table", "weight", "within"),
)
MODELS = {
    "GaussianDiscriminant": "a Gaussian model",
    "NaiveBayes": "a naive Bayes model",
    "MixtureDiscriminant": "a mixture model",
    "GenerativeClassifier": "an automatic classifier",
    "GenerativeForest": "a forest",
}
COMMAND_LINE = FrontEnd(OPTIONS | {name: f"--{name.replace('_', '-')}" for name in LIKE_THE_SETTING}, MODELS)

KINDS_OF_VALUES: dict[Any, str] = {
    int: "no whole number",
    float: "no number",
    bool: "neither true nor false",
    int | Literal["bic"] | None: "neither a whole number nor bic",
}

Command = Callable[..., int | None]  # an exit status of its own, if it has one


def program() -> App:
    """Return a program without commands."""
    return App(
        name="suffice",
        help=HELP,
        help_format="plaintext",
        version=f"suffice {__version__}",
        default_parameter=Parameter(negative=(), negative_iterable=()),
        result_action="return_value",
        suppress_keyboard_interrupt=False,
    )


def add(app: App, name: str, command: Command) -> None:
    """Add a command to a program."""
    # Markdown joins the lines of a paragraph again.
    app.command(command, name=name, help_format="markdown", help_epilogue=_examples(command))


def examples(command: Command) -> list[str]:
    """Return the command lines under Examples in a command's docstring; they run in the folder `suffice demo` makes."""
    section = (inspect.getdoc(command) or "").partition("Examples\n--------\n")[2]
    return [line.strip().removeprefix("$ ") for line in section.splitlines() if line.strip().startswith("$ ")]


def _examples(command: Command) -> str:
    lines = "\n".join(examples(command))
    return f"Examples, in the folder that `suffice demo` makes:\n\n```text\n{lines}\n```"


def run(build: Callable[[], App], argv: Sequence[str], commands: Sequence[str]) -> int:
    """Run a command line of a program, which means one of these commands, and return its exit status."""
    _never_fail_to_print()
    quiet = "--quiet" in argv
    try:
        with (
            worded_for(COMMAND_LINE),
            _ended_in_order(),
            _warnings_as_remarks(quiet),
            tell_of_waiting(lambda path: _tell_of(path, quiet)),
        ):
            status = build()(list(argv), exit_on_error=False, print_error=False)
        sys.stdout.flush()
    except (CycloptsError, UsageProblem, SettingError) as error:
        told = misplaced(argv) if isinstance(error, UsageProblem) else None
        return _report(told or _explain_usage(error, argv, commands), BAD_USAGE)
    except BrokenPipeError:  # the reader of our output, such as `head`, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BAD_DATA
    except _Ended as ended:
        return _report("ended; nothing was written.", SIGNALLED + ended.signal)
    except KeyboardInterrupt:
        return _report("stopped; nothing was written.", INTERRUPTED)
    except Exception as error:  # whatever happens, users get one line and no traceback
        if os.environ.get("SUFFICE_TRACEBACK"):
            raise
        return _report(misplaced(argv) or _explain(error), BAD_DATA)
    return status if isinstance(status, int) else OK


class _Ended(KeyboardInterrupt):
    """A signal asks the command to end."""

    def __init__(self, signal: int) -> None:
        super().__init__(signal)
        self.signal = signal


@contextmanager
def _ended_in_order() -> Iterator[None]:
    """Let SIGTERM and SIGHUP end the command as Ctrl-C does, so that it removes what is unfinished."""
    if threading.current_thread() is not threading.main_thread():
        yield  # where signals do not come
        return

    def end(number: int, frame: object) -> None:
        raise _Ended(number)

    wanted = [number for number in signal.Signals if number.name in ("SIGTERM", "SIGHUP")]  # Windows has no SIGHUP
    ours = [number for number in wanted if signal.getsignal(number) == signal.SIG_DFL]
    for number in ours:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number in ours:
            signal.signal(number, signal.SIG_DFL)


def _tell_of(path: Path, quiet: bool) -> None:
    if not quiet:
        tell(f"Waiting for another process that is writing {str(path)!r}.")


@contextmanager
def _warnings_as_remarks(quiet: bool) -> Iterator[None]:
    """Print warnings of the library as remarks, each once: a person at a terminal needs no file and line of ours."""
    told: set[str] = set()

    def remark(message: Warning | str, *_: object, **__: object) -> None:
        text = f"Note: {one_line(message)}"
        if not quiet and text not in told:
            tell(text)
        told.add(text)

    with warnings.catch_warnings():
        warnings.showwarning = remark
        warnings.simplefilter("always", Remark)
        warnings.simplefilter("ignore", UnseenLevelWarning)  # commands remark on every level that was never seen
        yield


def _explain_usage(error: Exception, argv: Sequence[str], commands: Sequence[str]) -> str:
    """Return what is wrong with a command line, and where to read what would be right."""
    command = [argv[0]] if argv and argv[0] in commands else []
    if isinstance(error, CoercionError) and error.target_type in KINDS_OF_VALUES and error.token is not None:
        error.msg = f"{error.token.value!r} is {KINDS_OF_VALUES[error.target_type]}."
    message = one_line(error)
    if isinstance(error, UnusedCliTokensError):
        message = f"Unexpected {quoted(error.unused_tokens or [])}; an option that may be repeated is named each time."
    if isinstance(error, MissingArgumentError) and error.argument is not None and error.keyword is None:
        message = f"{command[0] if command else 'This'} needs {error.argument.name}."
    return f"{message} Next: {' '.join(['suffice', *command, '--help'])}"


def _explain(error: Exception) -> str:
    """Return an error as one line in the users' words."""
    if isinstance(error, SufficeError) or (isinstance(error, ImportError) and "Next:" in str(error)):
        return one_line(error)
    if isinstance(error, ModuleNotFoundError):
        return f'this needs the package {error.name!r}, which is not installed. Next: pip install "suffice[cli]"'
    if isinstance(error, OSError) and error.strerror:
        return one_line(f"{error.strerror}: {error.filename!r}" if error.filename else error.strerror)
    if isinstance(error, MemoryError):
        return "there is not enough memory for this table. Next: fit fewer rows or columns."
    return one_line(
        f"an unexpected error ({type(error).__name__}: {error}). Next: please report it; with SUFFICE_TRACEBACK=1 in "
        "the environment the same command shows where it happened."
    )


def _report(message: str, status: int) -> int:
    tell(f"suffice: {brief(visible(message))}", whole=True)
    return status


def _never_fail_to_print() -> None:
    """Let a terminal that cannot show a character show a question mark instead of ending the command."""
    for stream in (sys.stdout, sys.stderr):
        if (stream.encoding or "").lower().replace("-", "") != "utf8" and isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
