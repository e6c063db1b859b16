"""`suffice compare --time`: models that learned from the periods before, each judged by the next, side by side."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ..errors import align, one_line
from .comparison import Result, with_titles
from .models import make_estimator, usable_columns
from .output import Facts
from .peers import PEER_TITLES, Fit, fit_peer
from .training import Training

if TYPE_CHECKING:
    from .._arrays import Codes
    from ..questions.forward import Answer
    from ..questions.forward_answer import ForwardValidation


@dataclass(slots=True)
class Forward:
    """How good one model is at the periods to come, None where it cannot be fitted, and why."""

    result: Result
    found: ForwardValidation | None = None

    def document(self) -> Facts:
        """Return plain values for JSON."""
        facts: Facts = {"model": self.result.name, "title": self.result.title, "notes": self.result.notes}
        return facts if self.found is None else {**facts, **self.found.to_dict()}


Cut = tuple["Codes", list[tuple[str, str]]]  # the period of each row, and the first and last time of each


def cut_times(training: Training, periods: int | None) -> Cut:
    """Return the periods of rows; DataError where their times do not tell."""
    from ..questions.forward import cut
    from ..table.labels import read_times

    return cut(read_times(training.time, len(training.labels)), periods)


def forward_of(name: str, training: Training, cut: Cut, advance: Callable[[int], None]) -> Forward:
    """Return how good a model is at each period but the first, or a note saying why that cannot be told."""
    answer = Forward(Result(name))
    try:
        if name in PEER_TITLES:
            answer.found = _peer(fit_peer(name, training), training, *cut)
        else:
            columns, answer.result.left_out = usable_columns(name, training)
            given = training.columns.select(columns), training.labels, None, training.groups
            found = make_estimator(name).validate_forward(*given, time=cut[0], periods=len(cut[1]))
            since, until = zip(*cut[1][1:], strict=True)
            answer.found = replace(found, since=since, until=until)
    except ValueError as error:  # ours, or scikit-learn's of a single class
        answer.result.note(one_line(error))
    if answer.result.left_out:
        answer.result.note(f"left out {', '.join(map(repr, answer.result.left_out))} (text)")
    advance(1)
    return answer


def _peer(fit: Fit, training: Training, period: Codes, spans: list[tuple[str, str]]) -> ForwardValidation:
    """Return the same of a model of scikit-learn, fitted anew to the rows of all periods before."""
    from .._arrays import np
    from ..questions.forward import Answer, TimedRows, forward
    from ..stats.rows import group_keys
    from ..table.labels import read_groups

    def model(start: int, stop: int) -> Callable[[Codes, bool], Answer]:
        labels, posterior, _ = fit(np.flatnonzero((period >= start) & (period < stop)))

        def answer(rows: Codes, fully: bool) -> Answer:
            with np.errstate(divide="ignore"):
                return Answer(labels.tolist(), np.log(posterior(rows) if len(rows) else np.zeros((0, len(labels)))))

        return answer

    keys = group_keys(read_groups(training.groups, len(period)), training.columns.column_names)
    rows = TimedRows(period, spans, training.classes, training.codes, None, keys)
    return forward(model, rows, (), level=0.9)


def render_forward(setup: Facts, models: Sequence[Forward], width: int) -> list[str]:
    """Return two tables as lines of text of up to `width` characters: means over all periods, and losses of each."""
    from ..questions.forward_answer import brief, span
    from ..questions.quality import in_nats, in_percent

    known = [(own.result, own.found) for own in models if own.found is not None]
    lines = [f"{setup['rows']:,} rows, {len(setup['classes'])} classes of {setup['target']!r}, by {setup['time']!r}."]
    if known:
        heads = ["model", "", "log-loss", "±", "said", "right", "confidence", "in sets", "best of last", "loses"]
        rows = [heads]
        for result, found in known:
            nats = [brief(own, in_nats) for own in (found.mean("log_loss"), found.mean_error, found.mean("said"))]
            shares = [brief(found.mean(name), in_percent) for name in ("accuracy", "confidence", "coverage")]
            window = [f"{found.best_window}", in_nats(min(found.window_loss))] if len(found.windows) > 1 else ["–", "–"]
            rows.append([result.name, result.title, *nats, *shares, *window])
        first = known[0][1]
        spans = zip(first.since, first.until, first.learned, first.rows, strict=True)
        by_period = [["period", "learned", "judged", *(result.name for result, _ in known)]]
        for t, (since, until, learned, judged) in enumerate(spans):
            losses = [brief(found.log_loss[t], in_nats) for _, found in known]
            by_period.append([span(since, until), f"{learned:,}", f"{judged:,}", *losses])
        legend = (
            "Each model learned from all periods before the one it is judged by: mean of -log p(true class) in nats, ± "
            "its standard error; what it said of itself on rows left out; the share of rows given their true class, "
            "and what it said that would be; the share whose class is in their set of 90 %; from how many of the last "
            "periods it is best learned, and what it then loses. Below, the log-loss of each period."
        )
        lines += ["", *with_titles(rows, width), "", *textwrap.wrap(legend, width), "", *align(by_period, width=width)]
    notes = [f"Note on {own.result.name}: {note.rstrip('.')}." for own in models for note in own.result.notes]
    return [*lines, *([""] if notes else []), *(part for note in notes for part in textwrap.wrap(note, width))]
