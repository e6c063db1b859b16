"""How good models are at the periods to come: a value that prints as a report, and has two tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from textwrap import wrap
from typing import Any, Literal

from .._arrays import Array, Codes, np
from ..errors import SettingError, align
from ..schema import Kind
from ..table import NewColumn, make_table
from .quality import in_nats, in_percent

SURE = 2.0  # standard errors beyond which a difference is called one
WIDE = 80
FIGURES = (
    *("learned", "rows", "new", "log_loss", "log_loss_error", "said", "unchanged", "accuracy", "confidence"),
    *("calibration_error", "coverage", "set_size"),
)


@dataclass(frozen=True, eq=False)
class ForwardValidation:
    """How good models that learned from the periods before are at each next period. `str` of it is a report.

    Means are weighted as rows are; what cannot be told is NaN.

    Attributes
    ----------
    since, until : tuples (t,)
        The first and the last time of each period judged, as text.
    learned, rows, new : arrays (t,) of int
        Rows of all periods before; rows judged; and how many of these are of a class that no period before has.
    weight : array (t,)
        The weight of the rows judged.
    log_loss, log_loss_error : arrays (t,)
        The mean of −log p(true class) in nats, p at least 1e-15, and its standard error, over the rows that are not
        `new`: these have p = 0, and an infinite loss would say no more than their number.
    mean_error : float
        The standard error of `mean("log_loss")`.
    said : array (t,)
        What each model expected: the log-loss on rows of the periods before, each left out (`loss_`, `quality()`).
    unchanged : array (t,)
        The log-loss of the model of the first period, which learns nothing more.
    accuracy, confidence : arrays (t,)
        The share of rows given their true class, and what the models said it would be: the mean of the largest
        probability. A row of a `new` class counts as a mistake.
    calibration_error : array (t,)
        Σ over 15 equally wide bins of (share of rows) · |mean confidence − share right|.
    coverage, set_size : arrays (t,)
        The share of rows whose set of classes holds the true one, which is to be `level`, and how many classes are in a
        set. A set never holds a `new` class.
    level : float
        The probability with which sets are to hold the true class.
    windows : tuple (w,) of int
        From how many of the last periods models have learned; the last of them is all.
    window_loss, window_above, window_error : arrays (w,)
        Their mean log-loss over all rows judged, by how much that is more than that of all periods, and the standard
        error of the difference. NaN where no model could be made of so few.
    unlabelled : int
        Rows without a label, which are neither learned nor judged.
    """

    since: tuple[str, ...]
    until: tuple[str, ...]
    learned: Codes
    rows: Codes
    new: Codes
    weight: Array
    log_loss: Array
    log_loss_error: Array
    said: Array
    unchanged: Array
    accuracy: Array
    confidence: Array
    calibration_error: Array
    coverage: Array
    set_size: Array
    level: float
    mean_error: float
    windows: tuple[int, ...]
    window_loss: Array
    window_above: Array
    window_error: Array
    unlabelled: int = 0
    container: str = "pandas"

    @property
    def best_window(self) -> int:
        """How many of the last periods lose least, learned alone."""
        return self.windows[int(np.nanargmin(self.window_loss))]

    def mean(self, name: str) -> float:
        """Return the mean of a figure, by its name, over the rows of all periods; NaN where no period has it."""
        values = np.asarray(getattr(self, name), dtype=np.float64)
        known = ~np.isnan(values) & (self.weight > 0)
        return float(np.average(values[known], weights=self.weight[known])) if known.any() else float("nan")

    def to_frame(self, what: Literal["periods", "windows"] = "periods") -> Any:
        """Return one of the tables as a data frame, of the library that the rows came in where it was one."""
        if what not in ("periods", "windows"):
            raise SettingError.choice("what", what, ("periods", "windows"))
        names: Mapping[str, Any] = {name: getattr(self, name) for name in FIGURES}
        if what == "windows":
            names = {"periods": self.windows, "log_loss": self.window_loss}
            names |= {"above_all": self.window_above, "above_all_error": self.window_error}
        columns = [NewColumn(name, Kind.NUMERIC, np.asarray(own)) for name, own in names.items()]
        if what == "periods":
            ends = {"since": self.since, "until": self.until}
            texts = [NewColumn(name, Kind.STRING, np.array(own, dtype=object)) for name, own in ends.items()]
            columns = [*texts, *columns]
        return make_table(self.container if self.container not in ("numpy", "sparse") else "pandas", True, columns)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values: `periods` and `windows` as lists of records, means over all periods, and `level`."""
        periods = [
            {"since": since, "until": until, **{name: _plain(getattr(self, name)[t]) for name in FIGURES}}
            for t, (since, until) in enumerate(zip(self.since, self.until, strict=True))
        ]
        figures = zip(self.windows, self.window_loss, self.window_above, self.window_error, strict=True)
        windows = [
            {"periods": m, "log_loss": _plain(loss), "above_all": _plain(above), "above_all_error": _plain(error)}
            for m, loss, above, error in figures
        ]
        means = ("log_loss", "said", "unchanged", "accuracy", "confidence", "coverage", "set_size")
        return {
            **{name: _plain(self.mean(name)) for name in means},
            "log_loss_error": _plain(self.mean_error),
            "level": self.level,
            "best_window": self.best_window,
            "periods": periods,
            "windows": windows,
            "unlabelled": self.unlabelled,
        }

    def __str__(self) -> str:
        return self.report()

    __repr__ = __str__

    def report(self, width: int = WIDE) -> str:
        """Return the answer as text of lines up to `width` characters."""
        head = ["period", "learned", "judged", "log-loss", "±", "said", "unchanged", "right", "confidence", "in sets"]
        rows = [head]
        for t, (since, until) in enumerate(zip(self.since, self.until, strict=True)):
            losses = [brief(own[t], in_nats) for own in (self.log_loss, self.log_loss_error, self.said, self.unchanged)]
            shares = [brief(own[t], in_percent) for own in (self.accuracy, self.confidence, self.coverage)]
            rows.append([span(since, until), f"{self.learned[t]:,}", f"{self.rows[t]:,}", *losses, *shares])
        sentences = [line for text in self._sentences() for line in wrap(text, width)]
        return "\n".join([*align(rows, width=width), "", *sentences])

    def _sentences(self) -> list[str]:
        """Return what follows from the table, one plain sentence each."""
        loss, said, covered = self.mean("log_loss"), self.mean("said"), self.mean("coverage")
        expected = "" if np.isnan(said) else f", where models expected {in_nats(said)} from the periods before"
        found = [f"The next period loses {in_nats(loss)} nats a row (± {in_nats(self.mean_error)}){expected}."]
        if not np.isnan(covered):
            found.append(f"Sets of {in_percent(self.level)} hold the class of {in_percent(covered)} of the rows.")
        if len(self.since) > 1:
            found.append(f"The first of these models, never updated, loses {in_nats(self.mean('unchanged'))}.")
        if len(self.windows) > 1:
            found.append(self._which_window())
        if self.new.any():
            found.append(
                f"{int(self.new.sum()):,} rows are of a class that no period before has: mistakes, in no set, and not "
                "in the loss, which is infinite for them."
            )
        if self.unlabelled:
            found.append(f"{self.unlabelled:,} rows without a label are neither learned nor judged.")
        return found

    def _which_window(self) -> str:
        best = int(np.nanargmin(self.window_loss[:-1]))
        size, above, error = self.windows[best], float(self.window_above[best]), float(self.window_error[best])
        periods = "The last period" if size == 1 else f"The last {size} periods"
        if above < -SURE * error:
            return (
                f"{periods} alone {'serves' if size == 1 else 'serve'} best: {in_nats(-above)} nats less than all "
                f"(± {in_nats(error)})."
            )
        return (
            f"All periods serve best, or as well as fewer: {periods.lower()} alone "
            f"{'loses' if size == 1 else 'lose'} {in_nats(abs(above))} nats {'more' if above > 0 else 'less'} "
            f"(± {in_nats(error)})."
        )


def span(since: str, until: str) -> str:
    """Return what a period is called."""
    return since if since == until else f"{since} to {until}"


def brief(value: float, words: Callable[[float], str]) -> str:
    """Return a number in words, a dash where it is not known."""
    return "–" if value != value else words(float(value))


def _plain(value: Any) -> float | int | None:
    number = value.item() if isinstance(value, np.generic) else value
    return None if number != number else number
