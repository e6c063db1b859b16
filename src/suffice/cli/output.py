"""What the command line says: results on stdout, remarks and progress on stderr, and errors in its own words."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
import textwrap
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from ..errors import UNSEEN, DataError, SufficeError, UnseenLevelWarning, count, one_line, quoted, visible
from ..progress import EXPECTED, listen

if TYPE_CHECKING:
    from ..engines import CsvTable, Progress, Watcher
    from ..estimators.base import GenerativeEstimator
    from ..questions.quality import Quality


Facts = dict[str, Any]  # plain values under their names, as JSON has them


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

    def answer(self, document: Facts, text: object) -> None:
        """Print an answer on stdout: its document where JSON is asked for, else the text that people read."""
        if self.json:
            print_json(document)
        else:
            print(visible(text))


COMMON = Common()
WIDTH = 80  # of a page that is no terminal
NARROWEST = 30


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
    from ..questions.frames import plain

    ascii_only = (sys.stdout.encoding or "ascii").lower().replace("-", "") != "utf8"
    text = json.dumps(plain(document), allow_nan=False, ensure_ascii=ascii_only, indent=2, default=str)
    print(UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text))  # the same JSON


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

        def show_step(step: int, likelihood: float) -> None:
            update({"description": visible(f"{what}: EM step {step}, log likelihood {likelihood:,.2f}")})

        def show_stage(stage: str) -> None:
            update({"description": visible(f"{what}: {stage}")})
            if stage.startswith(EXPECTED):
                common.remark(f"{what}: {stage}.")

        with watch(show_step), listen(show_stage):
            yield


@contextlib.contextmanager
def progress(common: Common, what: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
    """Show a bar on stderr while the block runs; it receives a function that says how many steps were made."""
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

        def show(done: Progress) -> None:
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

        yield show


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


def quality_facts(found: Quality | str) -> Facts:
    """Return what JSON has of a quality, or why there is none."""
    return {"why_not": found} if isinstance(found, str) else found.to_dict()


def quality_sentence(found: Quality | str) -> str:
    """Return the one sentence that ends a fit."""
    return f"How good it is, it cannot say: {found.rstrip('.')}." if isinstance(found, str) else str(found)


# ── Errors about files, columns and combinations of options, in the words of the command line ─────────────────────────


class UsageProblem(Exception):
    """The options do not fit together; the command ends with status 2."""


class TargetProblem(DataError):
    """The target column does not name classes that could be told apart."""

    @classmethod
    def one_class(cls, target: str, label: object, rows: int) -> TargetProblem:
        return cls(
            f"Column {target!r} holds one class only, {label!r}, in all of the {count(rows, 'row')} with a label: "
            "there is nothing to tell apart. Next: choose another --target, or add rows of another class."
        )

    @classmethod
    def not_classes(cls, target: str, what: str) -> TargetProblem:
        return cls(
            f"Column {target!r} holds {what}, and a target holds classes: text, whole numbers, or true and false. "
            "Next: choose another --target, or turn it into classes first."
        )

    @classmethod
    def check(cls, target: str, csv: CsvTable | None) -> None:
        """Raise where the target of a table that is read as text holds measurements or dates."""
        if csv is not None and csv.measured:
            raise cls(
                f"Column {target!r} holds {csv.measured}, and a target holds classes. Next: choose another --target, "
                "turn it into classes first, or take every different text for a class with --labels text."
            )

    @classmethod
    def other_labels(cls, target: str, label: str, what: str, classes: Sequence[object]) -> TargetProblem:
        return cls(
            f"Column {target!r} holds {label!r}, and the classes of the model are {quoted(classes)}: a label is "
            f"{what}. Next: correct the label."
        )


def drop_flags(names: Sequence[str], option: str = "--drop") -> str:
    """Return the options that leave these columns out, or another one for each, ready to paste."""
    return " ".join(f"{option} {quote(name)}" for name in names)
