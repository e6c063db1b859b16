"""What the command line says: results on stdout, remarks and progress on stderr."""

from __future__ import annotations

import contextlib
import json
import math
import os
import shutil
import sys
import textwrap
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from ..errors import UNSEEN, SufficeError, UnseenLevelWarning, one_line, visible
from ..progress import EXPECTED, listen

if TYPE_CHECKING:
    from ..engines import Progress, Watcher
    from ..estimators.base import GenerativeEstimator
    from ..questions.quality import Quality


@Parameter(name="*")
@dataclass(frozen=True)
class Common:
    """Options of every command.

    Parameters
    ----------
    json
        Print the result as one JSON document on stdout, for other programs.
    quiet
        Print no progress and no remarks; errors are still printed.
    """

    json: Annotated[bool, Parameter(show_default=False)] = False
    quiet: Annotated[bool, Parameter(show_default=False)] = False

    def remark(self, text: object) -> None:
        """Print a line on stderr unless told to be quiet."""
        if not self.quiet:
            tell(text)


COMMON = Common()
WIDTH = 80  # of a page that is no terminal
NARROWEST = 30


Facts = dict[str, Any]  # plain values under their names, as JSON has them


def tell(text: object, whole: bool = False) -> None:
    """Print a message on stderr, broken between words where people read it: at a terminal, or as wide as COLUMNS.

    One that is to stay `whole`, as an error that programs look for, is broken at a terminal only.
    """
    width = 0 if whole else _columns_told()
    if sys.stderr.isatty():
        width = shutil.get_terminal_size((WIDTH, 24)).columns
    for line in visible(text).split("\n"):
        print("\n".join(broken(line, max(width, NARROWEST))) if width else line, file=sys.stderr)


def broken(text: str, width: int) -> list[str]:
    """Return a line as lines of at most so many characters, words and paths whole, later ones set in."""
    return textwrap.wrap(
        text, width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False, drop_whitespace=True
    ) or [text]


def print_json(document: Facts) -> None:
    """Print one JSON document; numbers that JSON cannot hold (NaN, infinity) become null."""
    ascii_only = (sys.stdout.encoding or "ascii").lower().replace("-", "") != "utf8"
    text = json.dumps(_finite(document), allow_nan=False, ensure_ascii=ascii_only, indent=2, default=str)
    print(UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text))  # the same JSON


def _finite(value: object) -> object:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return value.item() if hasattr(value, "item") else value  # of NumPy, which may not be loaded


def page_width() -> int:
    """Return how many characters a line may have: what COLUMNS says, else the terminal's, else 80 for a file."""
    width = shutil.get_terminal_size((WIDTH, 24)).columns if sys.stdout.isatty() else _columns_told() or WIDTH
    return max(width, NARROWEST)


def _columns_told() -> int:
    told = os.environ.get("COLUMNS", "")
    return int(told) if told.isdecimal() else 0


@contextlib.contextmanager
def noting_warnings(common: Common, of: str = "") -> Iterator[None]:
    """Print what is warned of while the block runs as notes at its end, each once, behind what they are `of`."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("once")
        warnings.simplefilter("ignore", UnseenLevelWarning)  # of which there is a remark when a table is read
        yield
    for message in dict.fromkeys(one_line(own.message) for own in caught if own.category is not RuntimeWarning):
        common.remark(f"Note: {of}{message}")


@contextlib.contextmanager
def progress_of_em(common: Common, what: str) -> Iterator[None]:
    """Show a bar on stderr while the block runs, with its stage, or the step and the log likelihood of EM."""
    from ..em.accelerated_em import watch

    with _bar(common, what, None) as update:

        def tell(step: int, likelihood: float) -> None:
            update({"description": visible(f"{what}: EM step {step}, log likelihood {likelihood:,.2f}")})

        def show(stage: str) -> None:
            update({"description": visible(f"{what}: {stage}")})
            if stage.startswith(EXPECTED):
                common.remark(f"{what}: {stage}.")

        with watch(tell), listen(show):
            yield


@contextlib.contextmanager
def progress(common: Common, what: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
    """Show a bar on stderr while the block runs; it receives a function that says how many steps were made.

    There is no bar when stderr is not a terminal, under --quiet, or where NO_COLOR asks for plain output.
    """
    with _bar(common, what, total) as update:
        yield lambda steps: update({"advance": steps})


@contextlib.contextmanager
def _bar(common: Common, what: str, total: int | None) -> Iterator[Callable[[Facts], None]]:
    """Show a bar while the block runs; it receives a function that changes the bar.

    There is no bar when stderr is not a terminal, under --quiet, or where NO_COLOR asks for plain output.
    """
    if common.quiet or "NO_COLOR" in os.environ or not sys.stderr.isatty():
        yield lambda change: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(visible(what), total=total)
        yield lambda change: bar.update(task, **change)


@contextlib.contextmanager
def rows_progress(common: Common, what: str) -> Iterator[Watcher]:
    """Show a bar with the rows done and the time left while the block runs; it receives what `fit_table` calls."""
    with _bar(common, what, None) as update:

        def tell(done: Progress) -> None:
            text = (
                f"{what}: {done.rows:,} rows" if done.total is None else f"{what}: {done.rows:,} of {done.total:,} rows"
            )
            if done.total is None and done.share is not None:
                text += f", {done.share:.0%}"
            left = "" if done.seconds_left is None else f", {done.seconds_left:,.0f} s left"
            known: Facts = {"completed": done.rows, "total": done.total}
            if done.total is None and done.share is not None:
                known = {"completed": done.share, "total": 1.0}
            update({"description": visible(text + left), **known})

        yield tell


def quality_of(estimator: GenerativeEstimator) -> Quality | str:
    """Return how good a model is on rows it had not seen, or why it cannot say."""
    try:
        return estimator.quality()
    except SufficeError as error:
        return one_line(error)


def judge_anew(estimator: GenerativeEstimator, common: Common) -> Quality | str:
    """Return the same of a model that was just learned and written, under a bar; Ctrl-C ends only the judging."""
    try:
        with progress(common, "Judging it on rows left out"):
            return quality_of(estimator)
    except KeyboardInterrupt:
        return "judging was stopped; the model is written"


def plain(found: Quality | str) -> Facts:
    """Return what JSON has of it."""
    return {"why_not": found} if isinstance(found, str) else found.to_dict()


def in_a_sentence(found: Quality | str) -> str:
    """Return the one sentence that ends a fit."""
    return f"How good it is, it cannot say: {found.rstrip('.')}." if isinstance(found, str) else str(found)
