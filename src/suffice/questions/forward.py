"""How good models are at what comes next: learned from the periods before, judged by the period after, one by one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial, reduce
from textwrap import wrap
from typing import Any, Literal, NamedTuple

from .._arrays import Array, Codes, Flags, NDArray, is_whole, np
from ..errors import DataError, SettingError, SufficeError, align, count, setting
from ..fitted import NOTHING, Fitted
from ..learning.fit import learn
from ..losses import LabelledRows, row_losses
from ..schema import Level, sort_levels
from ..stats import ByClass
from ..stats.by_class import Batch
from ..stats.rows import Keys, group_numbers
from ..table import Table
from ..table.cells import plain_value
from ..table.labels import read_times, read_weights
from .frames import frame_of, plain, records
from .quality import calibration_error, in_nats, in_percent, quality
from .sample import read_share
from .sets import in_sets, set_limits

# ── How good models are at the periods to come: a value that prints as a report, and has two tables ───────────────────


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
        return frame_of(self._table(what), self.container)

    def _table(self, what: str) -> dict[str, Any]:
        """Return the columns of a table by name."""
        if what == "periods":
            return {name: getattr(self, name) for name in ("since", "until", *FIGURES)}
        above = {"above_all": self.window_above, "above_all_error": self.window_error}
        return {"periods": self.windows, "log_loss": self.window_loss, **above}

    def to_dict(self) -> dict[str, Any]:
        """Return plain values: `periods` and `windows` as lists of records, means over all periods, and `level`."""
        means = ("log_loss", "said", "unchanged", "accuracy", "confidence", "coverage", "set_size")
        return plain(
            {
                **{name: self.mean(name) for name in means},
                "log_loss_error": self.mean_error,
                "level": self.level,
                "best_window": self.best_window,
                "periods": records(self._table("periods")),
                "windows": records(self._table("windows")),
                "unlabelled": self.unlabelled,
            }
        )

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
        if not np.isnan(self.window_loss[:-1]).all():
            found.append(self._which_window())
        if self.new.any():
            new = count(int(self.new.sum()), "row")
            found.append(f"{new} of a class that no period before has: wrong, in no set, left out of the loss.")
        if self.unlabelled:
            found.append(f"{count(self.unlabelled, 'row')} without a label, neither learned nor judged.")
        return found

    def _which_window(self) -> str:
        best = int(np.nanargmin(self.window_loss[:-1]))
        size, above, error = self.windows[best], float(self.window_above[best]), float(self.window_error[best])
        alone = "The last period alone loses" if size == 1 else f"The last {size} periods alone lose"
        apart = f"{alone} {in_nats(abs(above))} nats {'more' if above > 0 else 'less'} than all (± {in_nats(error)})"
        return f"{apart}." if above < -SURE * error else f"{apart}: all periods serve best, or as well as fewer."


def span(since: str, until: str) -> str:
    """Return what a period is called."""
    return since if since == until else f"{since} to {until}"


def brief(value: float, words: Callable[[float], str]) -> str:
    """Return a number in words, a dash where it is not known."""
    return "–" if value != value else words(float(value))


# ── Models of the periods before each, and what they lose at the next ─────────────────────────────────────────────────


DISTINCT = 12  # times that are a period each, where nothing is said
PERIODS = 10  # of about as many rows each, where there are more times


class Answer(NamedTuple):
    """What a model says of rows: log posteriors (n, k) of its classes, and which are in their sets (n, k).

    `said` is the log-loss that it expects, by rows left out. NaN and None where the model does not say.
    """

    classes: Sequence[Level]
    log_posterior: Array
    said: float = np.nan
    inside: Flags | None = None


Model = Callable[[Codes, bool], Answer]  # of rows, by their numbers; the bool: `said` and `inside` too
Models = Callable[[int, int], Model]  # of the periods from a number on, up to another


@dataclass(frozen=True)
class TimedRows:
    """Rows (n,) of known class: the numbers of their periods, `spans` of which have the first and last time of each.

    `before` are groups that models had learned from before the first period, and `already` how many rows.
    """

    period: Codes
    spans: Sequence[tuple[str, str]]
    classes: Sequence[Level]
    codes: Codes
    weight: Array | None = None
    group: Keys | None = None
    before: Keys | None = None
    already: int = 0

    def labelled(self, index: Codes) -> LabelledRows:
        """Return some of the rows as losses are averaged over."""
        weight = np.ones(len(index)) if self.weight is None else self.weight[index]
        group = None if self.group is None else group_numbers(self.group[index])
        return LabelledRows(self.codes[index], weight, weight, len(self.classes), group)

    def judged(self, t: int) -> Codes:
        """Return the rows of a period whose group, if they are of one, was not learned from before."""
        here = np.flatnonzero(self.period == t)
        if self.group is None:
            return here
        own, known = self.group[here], self.group[self.period < t]
        known = known if self.before is None else np.concatenate([known, self.before])
        return here[~(np.isin(own, known) & (own > 0))]


def validate_forward(
    fitted: Fitted,
    table: Table,
    y: object,
    time: object,
    sample_weight: object = None,
    groups: object = None,
    *,
    periods: int | None = None,
    windows: Sequence[int] | None = None,
    level: float = 0.9,
    learned: bool = False,
) -> ForwardValidation:
    """Return how good models with the settings of a value are at the next period; see `Answers.validate_forward`."""
    read_share(level, "level", "0.9, say")
    begun, order = replace(fitted, statistics=NOTHING, chosen=None), fitted.align(table)
    times, weight = read_times(time, table.rows), read_weights(sample_weight, table.rows)
    batch = begun.batch(table, order, y, weight, "em", groups)
    labelled = np.flatnonzero(batch.codes >= 0)
    known = batch.take(labelled)
    times = times if weight is None else times[weight > 0]
    period, spans = cut_periods(times[labelled], periods, 1 if learned else 2)
    models = _PeriodModels(begun, known, period, partial(begun.declared, table.schema, order), level)
    rows = TimedRows(period, spans, known.classes, known.codes, known.weight, known.group)
    if learned:
        rows = models.begin_with(fitted, rows)
    found = judge_periods(models, rows, windows, level)
    return replace(found, unlabelled=len(batch.codes) - len(labelled), container=fitted.schema.container)


def cut_periods(times: NDArray[Any], periods: int | None, least: int = 2) -> tuple[Codes, list[tuple[str, str]]]:
    """Return the number of the period of each time (n,), and the first and last time of each; equal times are in one.

    Periods hold about as many rows each; None: each time is one, or there are ten where there are many times.
    DataError where there are fewer than `least`.
    """
    if periods is not None and not is_whole(periods, 2):
        raise SettingError(f"{setting('periods', periods)} must be a whole number, 2 or more. Next: 10, say.")
    distinct, place, counts = np.unique(times, return_inverse=True, return_counts=True)
    number = np.arange(len(distinct))
    if periods is not None or len(distinct) > DISTINCT:
        middle = np.cumsum(counts) - 0.5 * counts
        number = np.unique((middle * (periods or PERIODS) / len(times)).astype(np.int64), return_inverse=True)[1]
    starts = np.flatnonzero(np.diff(number, prepend=-1))
    ends = np.append(starts[1:], len(distinct)) - 1
    if len(starts) < least:
        raise DataError(
            f"All rows are of one period ({_text_of(distinct[0])} to {_text_of(distinct[-1])}), so that none comes "
            f"after another. Next: give rows of more times, or more {setting('periods')}."
        )
    spans = [(_text_of(a), _text_of(b)) for a, b in zip(distinct[starts], distinct[ends], strict=True)]
    return number[place.reshape(-1)], spans


def _text_of(time: Any) -> str:
    dated = isinstance(time, np.datetime64)
    return str(np.datetime_as_string(time, unit="auto")) if dated else str(plain_value(time))


class _PeriodModels:
    """Models with the settings of a value, of the merged statistics of periods; of their rows where these do not merge.

    Those from the first period on are asked for in order, and grow by one period at a time.
    """

    def __init__(
        self, begun: Fitted, rows: Batch, period: Codes, declared: Callable[[], Sequence[Sequence[bool]]], level: float
    ) -> None:
        self.begun, self.rows, self.period, self.declared, self.level = begun, rows, period, declared, level
        own = range(int(period.max()) + 1)
        self.parts = [] if begun.needs_all_rows else [begun.summarize(self._rows(t, t + 1)) for t in own]
        self.whole, self.until = (NOTHING, 0) if begun.needs_all_rows else (self.parts[0], 1)

    def begin_with(self, fitted: Fitted, rows: TimedRows) -> TimedRows:
        """Let what a value has learned be the period before all others; return the rows as they are then."""
        if fitted.needs_all_rows:
            raise DataError(
                "Mixtures of several components are fitted anew to all rows of a period and those before, and this "
                "model no longer has its own. Next: judge it as it is, without periods."
            )
        known = fitted.statistics
        self.parts, self.whole = [known, *self.parts], known
        classes = sort_levels([*known.classes, *rows.classes])
        return replace(
            rows,
            period=rows.period + 1,
            spans=[("", ""), *rows.spans],
            classes=classes,
            codes=np.array([classes.index(label) for label in rows.classes])[rows.codes],
            before=None if known.sample is None else known.sample.group,
            already=known.rows,
        )

    def _rows(self, start: int, stop: int) -> Batch:
        """Return the rows of periods with the classes and levels that are among them."""
        weight = np.ones(len(self.period)) if self.rows.weight is None else self.rows.weight
        within = (self.period >= start) & (self.period < stop)
        return self.rows._replace(weight=weight * within).without_empty_rows(self.declared)

    def __call__(self, start: int, stop: int) -> Model:
        if self.begun.needs_all_rows:
            return partial(self._answer, learn(self.begun, self._rows(start, stop)))
        if start:
            return partial(self._answer, self.begun.with_statistics(reduce(ByClass.merge, self.parts[start:stop])))
        self.whole = reduce(ByClass.merge, self.parts[self.until : stop], self.whole)
        self.until = stop
        return partial(self._answer, self.begun.with_statistics(self.whole))

    def _answer(self, value: Fitted, index: Codes, fully: bool) -> Answer:
        rows = value.recoded(self.rows.take(index).rows)
        found = Answer(value.statistics.classes, value.log_posterior(rows))
        if fully:
            with suppress(SufficeError):  # a model of one class, or without rows, says nothing of itself
                found = found._replace(said=quality(value).log_loss)
                limits = set_limits(value, 1.0 - self.level, by_class=False)
                found = found._replace(inside=in_sets(value, rows, found.log_posterior, limits))
        return found


def judge_periods(models: Models, rows: TimedRows, windows: Sequence[int] | None, level: float) -> ForwardValidation:
    """Return how good models of the periods before are at each period but the first."""
    last = len(rows.spans) - 1
    windows = [2**power for power in range(last.bit_length())] if windows is None else windows
    if not all(is_whole(size, 1) for size in windows):
        raise SettingError(f"{setting('windows', windows)} must be numbers of periods, 1 or more. Next: [1, 2, 4].")
    sizes = sorted({*(int(size) for size in windows if size < last), last})
    first, figures, judged = models(0, 1), list[dict[str, Any]](), list[tuple[Codes, Array]]()
    for t in range(1, last + 1):
        here = rows.judged(t)
        answer = (models(0, t) if t > 1 else first)(here, True)
        posterior = _in_all(answer, rows.classes)
        seen = np.isin(rows.codes[here], [rows.classes.index(label) for label in answer.classes])
        shorter = [posterior if m >= t else _posterior(models, (t - m, t), here, rows) for m in sizes]
        shorter.append(_in_all(first(here, False), rows.classes))
        lost = np.stack([row_losses(own, rows.codes[here]) for own in shorter])[:, seen]
        judged.append((here[seen], lost))
        figures.append(
            _figures(rows, here, seen, answer, posterior) | {"learned": rows.already + int((rows.period < t).sum())}
        )
    values: dict[str, Any] = {name: np.array([own[name] for own in figures]) for name in figures[0]}
    values |= {"since": tuple(a for a, _ in rows.spans[1:]), "until": tuple(b for _, b in rows.spans[1:])}
    return ForwardValidation(**values, **_by_window(rows, judged), windows=tuple(sizes), level=level)


def _in_all(answer: Answer, classes: Sequence[Level]) -> Array:
    """Return log posteriors of all classes (n, k), −∞ for those that the model does not know."""
    found = np.full((len(answer.log_posterior), len(classes)), -np.inf)
    found[:, [classes.index(label) for label in answer.classes]] = answer.log_posterior
    return found


def _posterior(models: Models, span: tuple[int, int], here: Codes, rows: TimedRows) -> Array:
    """Return log posteriors (n, k) by a model of these periods, NaN where none can be made of them."""
    with suppress(SufficeError):
        return _in_all(models(*span)(here, False), rows.classes)
    return np.full((len(here), len(rows.classes)), np.nan)


def _figures(rows: TimedRows, here: Codes, seen: Flags, answer: Answer, log_posterior: Array) -> dict[str, Any]:
    """Return the figures of a period; a row of a class that the model does not know (not `seen`) is a mistake."""
    codes, weight = rows.codes[here], np.ones(len(here)) if rows.weight is None else rows.weight[here]
    names = ("log_loss", "log_loss_error", "accuracy", "confidence", "calibration_error", "coverage", "set_size")
    found: dict[str, float] = dict.fromkeys(names, np.nan)
    if seen.any():
        loss, error = _mean_and_error(rows.labelled(here[seen]), row_losses(log_posterior, codes)[seen])
        found |= {"log_loss": float(loss), "log_loss_error": float(error)}
    if len(here):
        confidence, right = np.exp(log_posterior.max(axis=1)), log_posterior.argmax(axis=1) == codes
        found["accuracy"], found["confidence"] = (float(np.average(own, weights=weight)) for own in (right, confidence))
        found["calibration_error"] = calibration_error(confidence, right.astype(np.float64), weight)
    if len(here) and answer.inside is not None:
        inside = np.zeros(log_posterior.shape, dtype=bool)
        inside[:, [rows.classes.index(label) for label in answer.classes]] = answer.inside
        sets = inside[np.arange(len(here)), codes], inside.sum(axis=1)
        found["coverage"], found["set_size"] = (float(np.average(own, weights=weight)) for own in sets)
    counts = {"rows": len(here), "new": int((~seen).sum()), "weight": float(weight.sum())}
    return {**counts, **found, "said": answer.said}


def _mean_and_error(rows: LabelledRows, values: Array) -> tuple[Array, Array]:
    """Return the mean of values (…, n), and its standard error, which one row or one group does not tell."""
    single = len(rows.codes) < 2 or (rows.group is not None and not rows.group.any())
    mean = rows.mean(values)
    return mean, np.full(mean.shape, np.nan) if single else rows.error(values)


def _by_window(rows: TimedRows, judged: Sequence[tuple[Codes, Array]]) -> dict[str, Any]:
    """Return means of losses (windows and one more, n) of the rows judged in each period, the last never updated."""
    index, lost = np.concatenate([own for own, _ in judged]), np.concatenate([own for _, own in judged], axis=1)
    if not len(index):
        raise DataError(
            "No row can be judged: those of each period are of classes that no period before has, or of groups that "
            "one has. Next: give fewer periods, or leave groups out to judge rows of groups known before."
        )
    means = [rows.labelled(own).mean(part) if len(own) else np.full(len(part), np.nan) for own, part in judged]
    above, error = _mean_and_error(rows.labelled(index), lost[:-1] - lost[-2])
    return {
        "unchanged": np.array(means)[:, -1],
        "mean_error": float(_mean_and_error(rows.labelled(index), lost[-2])[1]),
        "window_loss": rows.labelled(index).mean(lost[:-1]),
        "window_above": above,
        "window_error": error,
    }
