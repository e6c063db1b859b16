"""`suffice compare --curve`: the learning curve of each model, and what more rows would bring."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from ..errors import one_line
from .comparison import Result, with_titles
from .models import usable_columns
from .output import WIDTH, Facts, broken
from .peers import PEER_TITLES, Fit, fit_ours, fit_peer
from .problems import count
from .training import Training

if TYPE_CHECKING:
    from .._arrays import Array, Codes
    from ..engines.arrow import Table
    from ..questions.learning_curve import LearningCurve
    from ..schema import Level

TIMES = (2.0, 4.0)  # as many rows as there are, to project to
LEVEL = 0.9


@dataclass(slots=True)
class Curve:
    """The learning curve of one model, None where there is none, and why."""

    result: Result
    curve: LearningCurve | None = None
    notes: list[str] = field(default_factory=list)

    def points(self) -> list[Facts]:
        """Return what was measured, and what is projected, with the ends of 90 % intervals of that."""
        if self.curve is None:
            return []
        measured = zip(self.curve.rows.tolist(), self.curve.loss.tolist(), self.curve.error.tolist(), strict=True)
        found: list[Facts] = [
            {"rows": rows, "measured": True, "loss": loss, "error": error, "low": None, "high": None}
            for rows, loss, error in measured
        ]
        for times in (1.0, *TIMES):
            there = self.curve.project(times * self.curve.total, LEVEL)
            ends = {"loss": there.value, "error": None, "low": there.low, "high": there.high}
            found.append({"rows": times * self.curve.total, "measured": False, **ends})
        return found

    def document(self) -> Facts:
        """Return plain values for JSON."""
        facts: Facts = {"model": self.result.name, "title": self.result.title, "points": self.points()}
        facts |= {"says": None, "helps": None, "gain": None, "notes": self.notes}
        if self.curve is not None:
            gain = [{"times": times, **self.curve.gain(times, LEVEL)._asdict()} for times in TIMES]
            facts |= {"says": str(self.curve), "helps": self.curve.helps, "gain": gain}
        return facts


def curve_of(
    name: str,
    training: Training,
    draws: int,
    seed: int,
    advance: Callable[[int], None],
    group: Codes | None = None,
) -> Curve:
    """Return the learning curve of a model, or a note saying why there is none."""
    from ..questions.learning_curve import FOLDS, PARTS, learning_curve

    found = Curve(Result(name))
    place = {label: i for i, label in enumerate(training.classes)}
    try:
        ours = name not in PEER_TITLES
        found.result.columns, found.result.left_out = usable_columns(name, training) if ours else ([], [])
        fit = fit_ours(name, training, found.result.columns) if ours else fit_peer(name, training)
        judge = partial(_judged, fit, place, advance)
        found.curve = learning_curve(
            training.codes, training.classes, None, judge, draws=draws, seed=seed, groups=group
        )
    except ValueError as error:  # ours, or scikit-learn's on few rows
        found.notes.append(one_line(error))
        advance(draws * FOLDS * len(PARTS))
    if found.result.left_out:
        found.notes.insert(0, f"left out {', '.join(map(repr, found.result.left_out))} (text)")
    return found


def _judged(fit: Fit, place: Mapping[Level, int], advance: Callable[[int], None], learn: Codes, rest: Codes) -> Array:
    """Return log posteriors (n, k) of the rows `rest` by a model of the rows `learn`."""
    from .._arrays import np

    labels, answer, _ = fit(learn)
    posterior = np.zeros((len(rest), len(place)))
    posterior[:, [place[label] for label in labels.tolist()]] = answer(rest)
    advance(1)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(posterior))


def table_of(curves: Sequence[Curve]) -> Table:
    """Return all points as a table."""
    import pyarrow as pa

    rows = [{"model": own.result.name, **point} for own in curves for point in own.points()]
    kinds = {
        "rows": pa.float64(),
        "measured": pa.bool_(),
        **dict.fromkeys(("loss", "error", "low", "high"), pa.float64()),
    }
    found: Table = pa.Table.from_pylist(rows, pa.schema({"model": pa.string(), **kinds}))
    return found


def render_curves(setup: Facts, curves: Sequence[Curve], width: int = WIDTH) -> list[str]:
    """Return the curves as lines of text of up to `width` characters."""
    from ..questions.learning_curve import FOLDS

    known = next((own.curve for own in curves if own.curve is not None), None)
    lines = [f"Learning curves on {setup['rows']:,} rows, {len(setup['classes'])} classes of {setup['target']!r}."]
    if known is not None:
        heads = [f"{rows:,.0f} rows" for rows in known.rows]
        heads += [f"{times * known.total:,.0f} rows (projected)" for times in TIMES]
        rows = [["model", "", *heads]]
        for own in (own for own in curves if own.curve is not None):
            points = own.points()
            cells = [f"{p['loss']:.3f} ± {p['error']:.3f}" for p in points if p["measured"]]
            ahead = [p for p in points if not p["measured"]][1:]
            cells += [f"{p['loss']:.3f} ({p['low']:.3f} to {p['high']:.3f})" for p in ahead]
            rows.append([own.result.name, own.result.title, *cells])
        lines += ["", *with_titles(rows, width), ""]
        lines += [f"{own.result.name}: {own.curve}" for own in curves if own.curve is not None]
        dealt = f"{FOLDS} folds, {count(setup['draws'], 'draw')}, seed {setup['seed']}"
        about = (
            f"Mean of -log p(true class) in nats on rows held out ({dealt}) ± its standard error, and what is expected "
            f"of more rows, with {LEVEL:.0%} intervals; the classes' shares lose {known.chance:.3f}."
        )
        lines = [part for line in lines for part in (broken(line, width) if "  " not in line else [line])]
        lines += ["", *textwrap.wrap(about, width)]
    notes = [f"Note on {own.result.name}: {text.rstrip('.')}." for own in curves for text in own.notes]
    told = [part for note in dict.fromkeys(notes) for part in broken(note, width)]
    return [*lines, "", *told] if notes else lines
