"""What `suffice compare` found: scores and learning curves of each model, and the tables that show them."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..errors import align, count, one_line, quoted
from ..notes import Note, to_know
from .models import PEER_TITLES, TITLES, encode, fit_ours, fit_peer, usable_columns
from .output import WIDTH, Facts, broken
from .training import Training, group_numbers

if TYPE_CHECKING:
    from .._arrays import Array, Codes
    from ..engines.arrow import Table
    from ..questions.forward import ForwardValidation
    from ..questions.learning_curve import LearningCurve
    from ..questions.quality import Quality


LEAST_PROBABILITY, BINS = 1e-15, 15  # as `questions.quality` has them, which is not loaded for a help text
ABOVE = ("above_best", "above_best_low", "above_best_high")
MOST_NOTES = 2  # shown per model
TIMES = (2.0, 4.0)  # as many rows as there are, to project to
LEVEL = 0.9


@dataclass(slots=True)
class Result:
    """How one model did on rows it had not seen: its columns, those it could not use, and how good it is, if known.

    `own` is what the model fitted to all rows says of itself, as `suffice fit` and `suffice show` do; `crossed` judges
    models of the same kind by cross-validation on the same parts as all others. `lost` (n,) is what each row loses by
    `crossed`, else by `own`, and `above` by how much that is more on average than by the best, with its interval; None
    where it is not known by row. `notes` are all there are, `to_know` those that tell something to know or to do.
    """

    name: str
    own: Quality | None = None
    crossed: Quality | None = None
    fit_seconds: float | None = None
    columns: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    lost: Array | None = None
    above: tuple[float, float, float] | None = None
    notes: list[str] = field(default_factory=list)
    to_know: list[str] = field(default_factory=list)
    curve: LearningCurve | None = None
    forward: ForwardValidation | None = None

    @property
    def title(self) -> str:
        """What the model is called in the table."""
        return {**TITLES, **PEER_TITLES}[self.name]

    @property
    def left_out_quality(self) -> Quality | None:
        """What the model says of itself by leave-one-out, if it does."""
        return self.own if self.own is not None and self.own.judged_by == "leave-one-out" else None

    def note(self, *notes: Note | str) -> None:
        """Keep notes, each once."""
        told = [note for note in notes if isinstance(note, Note)]
        texts = [note for note in notes if isinstance(note, str)]
        self.notes = list(dict.fromkeys([*self.notes, *map(str, notes)]))
        self.to_know = list(dict.fromkeys([*self.to_know, *texts, *to_know(told)]))

    def usable(self, training: Training) -> list[str]:
        """Return the columns that the model can use, with a note on others."""
        self.columns, self.left_out = usable_columns(self.name, training.columns)
        if self.left_out:
            self.note(f"left out {', '.join(map(repr, self.left_out))} (text)")
        return self.columns

    def document(self) -> Facts:
        """Return plain values for JSON: figures by cross-validation where there are some, else the model's own."""
        found, left_out = self.crossed or self.own, self.left_out_quality
        names = ("accuracy", "accuracy_error", "log_loss", "log_loss_error", "calibration_error")
        return {
            "model": self.name,
            "title": self.title,
            **{name: getattr(found, name, None) for name in names},
            **dict(zip(ABOVE, self.above or (None, None, None), strict=True)),
            **{f"loo_{name}": getattr(left_out, name, None) for name in ("accuracy", "log_loss")},
            "fit_seconds": self.fit_seconds,
            "judged_by": None if found is None else "loo" if found is left_out else "folds",
            "columns": self.columns,
            "left_out": self.left_out,
            "notes": self.notes,
            "quality": None if self.own is None else self.own.to_dict(),
        }

    def points(self) -> list[Facts]:
        """Return what was measured, and what is projected, with the ends of 90 % intervals of that."""
        from ..questions.frames import records

        if self.curve is None:
            return []
        kept = {name: getattr(self.curve, name).tolist() for name in ("rows", "loss", "error")}
        found = [own | {"measured": True, "low": None, "high": None} for own in records(kept)]
        for times in (1.0, *TIMES):
            there = self.curve.project(times * self.curve.total, LEVEL)
            ends = {"loss": there.value, "error": None, "low": there.low, "high": there.high}
            found.append({"rows": times * self.curve.total, "measured": False, **ends})
        return found

    def forward_document(self) -> Facts:
        """Return plain values of how good it is at periods to come for JSON."""
        facts: Facts = {"model": self.name, "title": self.title, "notes": self.notes}
        return facts if self.forward is None else {**facts, **self.forward.to_dict()}

    def curve_document(self) -> Facts:
        """Return plain values of its learning curve for JSON."""
        facts: Facts = {"model": self.name, "title": self.title, "points": self.points()}
        facts |= {"says": None, "helps": None, "gain": None, "notes": self.notes}
        if self.curve is not None:
            gain = [{"times": times, **self.curve.gain(times, LEVEL)._asdict()} for times in TIMES]
            facts |= {"says": str(self.curve), "helps": self.curve.helps, "gain": gain}
        return facts


def behind_the_best(results: Sequence[Result], parts: Sequence[Codes]) -> Facts:
    """Fill in by how much more each model loses than the best; return which that is, and what choosing it costs.

    `parts` are the rows of each fold.
    """
    from .._arrays import np
    from ..questions.quality import best_of

    known = [(own, own.lost) for own in results if own.lost is not None]
    if len(known) < 2:
        return {"best": None, "choice_cost": None}
    place = np.empty(len(known[0][1]), dtype=np.int64)
    for number, rows in enumerate(parts):
        place[rows] = number
    found = best_of(np.stack([lost for _, lost in known]), place)
    for (own, _), above, low, high in zip(known, found.above, found.low, found.high, strict=True):
        own.above = float(above), float(low), float(high)
    return {"best": known[found.best][0].name, "choice_cost": found.cost}


def describe(training: Training, target: str, by: str, folds: int, seed: int) -> Facts:
    """Return what was compared and how, as plain values."""
    counts = [item["counts"] for item in training.labels.value_counts().to_pylist()]
    return {
        "target": target,
        "rows": len(training.labels),
        "rows_without_label": training.unlabelled,
        "classes": training.classes,
        "smallest_class_rows": min(counts),
        "by": by,
        "folds": folds,
        "seed": seed,
        "always_commonest_accuracy": max(counts) / len(training.labels),
        "least_probability": LEAST_PROBABILITY,
        "calibration_bins": BINS,
    }


def render(setup: Facts, results: Sequence[Result], width: int = WIDTH) -> list[str]:
    """Return the comparison as lines of text of up to `width` characters."""
    rows = [["model", "", "right", "log-loss", "cv right", "cv loss", "calib.", "fit time"]]
    for r in results:
        judged, spent = r.crossed or r.own, r.fit_seconds
        gap = "-" if judged is None else f"{judged.calibration_error:.3f}"
        time = "-" if spent is None else f"{spent * 1e3:.1f} ms" if spent < 1 else f"{spent:.1f} s"
        rows.append([r.name, r.title, *_figures(r.left_out_quality), *_figures(r.crossed), gap, time])
    fewest = min((r.own.rows for r in results if r.own is not None), default=setup["rows"])
    some = f" ({fewest:,} rows or more)" if fewest < setup["rows"] else ""
    legend = [
        f"right     share of rows given their true class, by leave-one-out, as fit and show say it{some}",
        "log-loss  mean of -log p(true class) in nats, in the same way; lower is better",
        f"cv        the same two by {setup['folds']}-fold cross-validation, on the same parts for all",
        f"calib.    mean gap between confidence and share right, in {BINS} bins (cv, where there is one)",
        f"fit time  {FIT_TIMES[setup['by']]}",
    ]
    lines = [
        *textwrap.wrap(_headline(setup), width),
        "",
        *with_titles(rows, width),
        "",
        *(part for line in legend for part in textwrap.wrap(line, width, subsequent_indent=" " * 10)),
        "",
        *textwrap.wrap(_measure(setup, results), width),
        *_behind(setup, results, width),
    ]
    return with_notes(lines, _notes(setup, results), width)


def with_notes(lines: list[str], notes: Iterable[str], width: int) -> list[str]:
    """Return lines with notes below them, each once."""
    told = [part for note in dict.fromkeys(notes) for part in broken(note, width)]
    return [*lines, "", *told] if told else lines


def with_titles(rows: Sequence[Sequence[str]], width: int) -> list[str]:
    """Return a table whose second column says what the models are called; below it, where the page is narrow."""
    lines = align(rows, left=(0, 1))
    if max(map(len, lines)) <= width:
        return lines
    longest = max(len(name) for name, *_ in rows)
    titles = [broken(f"{name.ljust(longest)}  {title}", width) for name, title, *_ in rows[1:]]
    narrow = align([[name, *cells] for name, _, *cells in rows], width=width)
    return [*narrow, "", *(line for lines in titles for line in lines)]


def _figures(found: Quality | None) -> tuple[str, str]:
    shown = {} if found is None else found.figures()
    return shown.get("accuracy", "-"), shown.get("log_loss", "-")


def _measure(setup: Facts, results: Sequence[Result]) -> str:
    """Return what figures are to be held against: the commonest class, the shares of the classes, and chance."""
    from ..questions.quality import in_nats, in_percent

    judged = [found for r in results for found in (r.own, r.crossed) if found is not None]
    text = f"Always naming the commonest class would be right for {in_percent(setup['always_commonest_accuracy'])}"
    if not judged:
        return f"{text}."
    best = min(judged, key=lambda found: found.log_loss)
    return (
        f"{text}, and the shares of the classes lose {in_nats(best.baseline)} nats. Standard errors are about "
        f"{in_percent(best.accuracy_error)} and {in_nats(best.log_loss_error)} nats (the model of least loss): smaller "
        "differences may be chance."
    )


def _behind(setup: Facts, results: Sequence[Result], width: int) -> list[str]:
    """Return by how much each model loses more than the best, and what it costs to have chosen that."""
    from ..questions.quality import in_nats

    if setup.get("best") is None:
        return []
    rows = [["model", "loses more", "between"]]
    for own in results:
        if own.above is not None and own.name != setup["best"]:
            above, low, high = own.above
            rows.append([own.name, in_nats(above), f"{in_nats(low)} and {in_nats(high)}"])
    crossed = any(own.crossed is not None for own in results)
    what = "cv loss, or log-loss where there is none" if crossed else "log-loss"
    cost = setup["choice_cost"]
    least = (
        f"is too small: choosing costs about {in_nats(cost)} nats" if cost else "is not seen to be too small for that"
    )
    text = (
        f"Beside {setup['best']}, which loses least ({what}), in nats, with intervals that hold all together in 95 of "
        "100 tables; where one holds 0, either model may be the better. The least "
        f"of {len(rows)} losses {least}."
    )
    return ["", *align(rows, width=width), "", *textwrap.wrap(text, width)]


FIT_TIMES = {"folds": "median of the folds", "loo": "one fit to all rows; with folds, their median"}


def _headline(setup: Facts) -> str:
    task = f"{setup['rows']:,} rows, {len(setup['classes'])} classes of {setup['target']!r}"
    folds = f"{setup['folds']}-fold cross-validation"
    if setup["by"] == "folds":
        return f"{folds} on {task}, seed {setup['seed']}."
    return f"Exact leave-one-out (loo) or {folds} (seed {setup['seed']}): {task}."


def _notes(setup: Facts, results: Sequence[Result]) -> list[str]:
    """Return one line per thing to know."""
    lines = _noted((own.name, _to_tell(own)) for own in results)
    if setup["smallest_class_rows"] < setup["folds"] and any(r.crossed is not None for r in results):
        lines.append(
            f"Note: the smallest class has {setup['smallest_class_rows']} rows, fewer than there are folds, so some "
            "folds are judged without having seen it, or miss it."
        )
    return lines


def curve_of(name: str, training: Training, draws: int, seed: int, advance: Callable[[int], None]) -> Result:
    """Return the learning curve of a model, or a note saying why there is none."""
    from ..questions.learning_curve import FOLDS, ONE_IN, learning_curve
    from ..stats.rows import content

    found = Result(name)
    classes, groups = training.classes, group_numbers(training)
    keys = content([encode(training)[0]], len(training.labels))

    def judge(learn: Codes, rest: Codes) -> Array:
        log_posterior = fit(learn).log_posterior(rest, classes)
        advance(1)
        return log_posterior

    try:
        fit = fit_peer(name, training) if name in PEER_TITLES else fit_ours(name, training, found.usable(training))
        found.curve = learning_curve(training.codes, classes, None, judge, keys, draws=draws, seed=seed, groups=groups)
    except ValueError as error:  # ours, or scikit-learn's on few rows
        found.note(one_line(error))
        advance(draws * FOLDS * len(ONE_IN))
    return found


def table_of(curves: Sequence[Result]) -> Table:
    """Return all points as a table."""
    import pyarrow as pa

    rows = [{"model": own.name, **point} for own in curves for point in own.points()]
    kinds = {"model": pa.string(), "rows": pa.float64(), "measured": pa.bool_()}
    kinds |= dict.fromkeys(("loss", "error", "low", "high"), pa.float64())
    return pa.Table.from_pylist(rows, pa.schema(kinds))


def render_curves(setup: Facts, curves: Sequence[Result], width: int = WIDTH) -> list[str]:
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
            rows.append([own.name, own.title, *cells])
        lines += ["", *with_titles(rows, width), ""]
        lines += [f"{own.name}: {own.curve}" for own in curves if own.curve is not None]
        dealt = f"{FOLDS} folds, {count(setup['draws'], 'draw')}, seed {setup['seed']}"
        about = (
            f"Mean of -log p(true class) in nats on rows held out ({dealt}) ± its standard error, and what is expected "
            f"of more rows, with {LEVEL:.0%} intervals; the classes' shares lose {known.chance:.3f}."
        )
        lines = [part for line in lines for part in (broken(line, width) if "  " not in line else [line])]
        lines += ["", *textwrap.wrap(about, width)]
    return with_notes(lines, all_notes(curves), width)


def all_notes(models: Sequence[Result]) -> list[str]:
    """Return what is to be said of each model."""
    return _noted((own.name, own.notes) for own in models)


def _to_tell(result: Result) -> list[str]:
    own = [f"left out {quoted(result.left_out)} (text)"] if result.left_out else []
    more = len(result.to_know) - MOST_NOTES
    return own + result.to_know[:MOST_NOTES] + ([f"{count(more, 'more note')}, listed by --json"] if more > 0 else [])


def _noted(told: Iterable[tuple[str, Sequence[str]]]) -> list[str]:
    """Return a line for each thing to say of models, which are named together where they share it."""
    from .._arrays import by_key

    names = by_key((text, name) for name, texts in told for text in texts)
    return [f"Note on {', '.join(own)}: {text.rstrip('.')}." for text, own in names.items()]
