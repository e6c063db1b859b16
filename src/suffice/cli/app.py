"""All commands, and how one of them is run: one line on stderr and an exit status where something goes wrong."""

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
from importlib import import_module
from pathlib import Path
from shlex import join
from typing import Annotated, Any, Literal

from cyclopts import App, CoercionError, CycloptsError, MissingArgumentError, Parameter, UnusedCliTokensError

from .. import __version__
from .._dialect import Remark
from .._files import format_of, tell_of_waiting
from ..errors import (
    FrontEnd,
    SettingError,
    SufficeError,
    UnseenLevelWarning,
    brief,
    one_line,
    pip_install,
    quoted,
    visible,
    worded_for,
)
from .output import COMMON, Common, UsageProblem, print_json, tell
from .parameters import KINDS

# The file and function of each, in the order in which they are listed.
PLACES = (
    *("look:look", "fit:fit", "predict:predict", "assess:score", "rows:explain", "rows:outliers", "rows:next_"),
    *("look:labels", "look:cells", "assess:columns", "assess:drift", "draw:impute", "draw:sample", "show:show"),
    *("export:report", "export:export", "compare:compare", "edit:update", "edit:forget", "edit:merge"),
    *("edit:drop_class", "edit:rename_class", "edit:release", "demo:demo", "app:completion"),
)
COMMANDS = {place.partition(":")[2].strip("_").replace("_", "-"): place for place in PLACES}


OK, BAD_DATA, BAD_USAGE, FOUND, INTERRUPTED = 0, 1, 2, 3, 130  # FOUND: what a command looks for is there
WAITING = "Waiting for another process that is writing"
SIGNALLED = 128  # and the number of the signal, as shells count

HELP = f"""Generative classification: learn what each class looks like, and answer from that.

A table has one row per case, and cells may be missing. It is {KINDS}.

Start with:

  suffice look table.csv --target COLUMN
  suffice compare table.csv --target COLUMN
  suffice fit table.csv --target COLUMN --output model.suffice
  suffice predict model.suffice new.csv

Or see the whole job done on a table of penguins: suffice demo (its files stay in the folder demo).
"""

EXAMPLES = "Examples, in the folder that `suffice demo` makes:\n\n```text\n{}\n```"

OPTIONS = {  # of settings; those without an option, which a model fitted in Python may have, keep their names
    "n_components": "--components",
    "keep": "--key",
    "alpha": "--set",
    "level": "--interval",
    "random_state": "--seed",
    "sample_weight": "--weight",
    "families": "--family",
    "covariance": "--model",
}
LIKE_THE_SETTING = (
    *("by", "by_class", "costs", "decay", "dialect", "divisor", "draws", "dtype", "engine", "fdr", "folds", "given"),
    *("keep_rows", "label", "least", "like", "missing", "missing_columns", "missing_text", "priors", "reject"),
    *("shift", "shrinkage", "smoothing", "table", "weight", "within"),
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


def command(name: str) -> Command:
    """Return the function behind a command, its file read now."""
    file, _, function = COMMANDS[name].partition(":")
    found: Command = getattr(import_module(f".{file}", __package__), function)
    return found


def summary(name: str) -> str:
    """Return the first line of the help of a command, read off its source: to import them all takes long."""
    file, _, function = COMMANDS[name].partition(":")
    source = Path(__file__).with_name(f"{file}.py")
    text = source.read_text(encoding="utf-8") if source.is_file() else ""  # installed as bytecode alone, it has none
    return text.partition(f"\ndef {function}(")[2].partition('"""')[2].partition("\n")[0]


def build(read: Sequence[str] = tuple(COMMANDS)) -> App:
    """Return the tree of all commands; of those not to `read` the names and first lines alone."""
    app = App(
        name="suffice",
        help=HELP,
        help_format="plaintext",
        version=f"suffice {__version__}",
        default_parameter=Parameter(negative=(), negative_iterable=()),
        result_action="return_value",
        suppress_keyboard_interrupt=False,
    )
    for name, place in COMMANDS.items():
        if name in read:
            # Markdown joins the lines of a paragraph again.
            app.command(
                command(name),
                name=name,
                help_format="markdown",
                help_epilogue=EXAMPLES.format("\n".join(examples(command(name)))),
            )
        else:
            app.command(f"{__package__}.{place}", name=name, help=summary(name))
    return app


def examples(command: Command) -> list[str]:
    """Return the command lines under Examples in a command's docstring; they run in the folder `suffice demo` makes."""
    section = (inspect.getdoc(command) or "").partition("Examples\n--------\n")[2]
    return [line.strip().removeprefix("$ ") for line in section.splitlines() if line.strip().startswith("$ ")]


def run(argv: Sequence[str]) -> int:
    """Run one command line and return its exit status."""
    _never_fail_to_print()
    quiet = "--quiet" in argv
    try:
        with (
            worded_for(COMMAND_LINE),
            _ended_in_order(),
            _warnings_as_remarks(quiet),
            tell_of_waiting(lambda path: None if quiet else tell(f"{WAITING} {str(path)!r}.")),
        ):
            status = build(argv[:1])(list(argv), exit_on_error=False, print_error=False)
        sys.stdout.flush()
    except (CycloptsError, UsageProblem, SettingError) as error:
        told = swapped(argv) if isinstance(error, UsageProblem) else None
        return _report(told or _explain_usage(error, argv), BAD_USAGE)
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
        return _report(swapped(argv) or _explain(error), BAD_DATA)
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


def _explain_usage(error: Exception, argv: Sequence[str]) -> str:
    """Return what is wrong with a command line, and where to read what would be right."""
    command = [argv[0]] if argv and argv[0] in COMMANDS else []
    if isinstance(error, CoercionError) and error.target_type in KINDS_OF_VALUES and error.token is not None:
        error.msg = f"{error.token.value!r} is {KINDS_OF_VALUES[error.target_type]}."
    message = one_line(error)
    if isinstance(error, UnusedCliTokensError):
        message = f"Unexpected {quoted(error.unused_tokens or [])}; an option that may be repeated is named each time."
    if isinstance(error, MissingArgumentError) and error.argument is not None and error.keyword is None:
        message = f"{command[0] if command else 'This'} needs {error.argument.name}."
    return message if "Next:" in message else f"{message} Next: {' '.join(['suffice', *command, '--help'])}"


def _explain(error: Exception) -> str:
    """Return an error as one line in the users' words."""
    if isinstance(error, SufficeError) or (isinstance(error, ImportError) and "Next:" in str(error)):
        return one_line(error)
    if isinstance(error, ModuleNotFoundError):
        return f"this needs the package {error.name!r}, which is not installed. Next: {pip_install('cli')}"
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


def swapped(argv: Sequence[str]) -> str | None:
    """Return what to say where a table stands in front of its model, None where it does not; asked after a failure."""
    models = [is_model(word) for word in argv[1:3]]
    if argv[:1] == ["merge"] or models != [False, True] or format_of(Path(argv[1])) is None:  # merge takes models alone
        return None
    right = join(["suffice", argv[0], argv[2], argv[1], *argv[3:]])
    return f"{argv[0]} takes the model first and then the table, and {argv[1]!r} is no model. Next: {right}"


def is_model(word: str) -> bool:
    """Return whether a word of the command line names a file that begins as models do."""
    from ..files.model_file import holds_model

    try:
        return not word.startswith("-") and Path(word).is_file() and holds_model(word)
    except OSError:  # a name that cannot be one
        return False


def completion(
    shell: Annotated[Literal["bash", "zsh", "fish"], Parameter(metavar="SHELL", show_choices=False)],
    /,
    *,
    common: Common = COMMON,
) -> None:
    """Print a script that teaches a shell to complete commands, options, their values and file names.

    For this session only: `source <(suffice completion bash)`, in zsh the same with zsh, and in fish
    `suffice completion fish | source`. For every session, write the script where the shell looks for it, as in the
    examples; in zsh the folder must be on `fpath` before `compinit` runs. The script changes with new versions of
    suffice, so write it again then.

    Parameters
    ----------
    shell
        `bash`, `zsh` or `fish`.

    Examples
    --------
    $ suffice completion bash > ~/.local/share/bash-completion/completions/suffice
    $ suffice completion zsh > ~/.zfunc/_suffice
    $ suffice completion fish > ~/.config/fish/completions/suffice.fish
    """
    script = build().generate_completion(shell=shell)
    if common.json:
        print_json({"shell": shell, "script": script})
    else:
        print(script)
