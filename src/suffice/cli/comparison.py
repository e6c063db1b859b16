"""What `suffice compare` found: the scores of each model, and the table that shows them."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

from ..errors import quoted
from .models import TITLES
from .output import Facts, align
from .peers import PEER_TITLES
from .training import Training

if TYPE_CHECKING:
    from .._arrays import Array, NDArray, np

LEAST_PROBABILITY = 1e-15  # log-loss of a class called impossible: 34.5 nats instead of infinity
BINS = 15
MOST_NOTES = 2  # shown per model
NOTE_WIDTH = 96


@dataclass(slots=True)
class Result:
    """How one model did on rows it had not seen: its columns, those it could not use, scores, or why there are none.

    Scores are by leave-one-out or by cross-validation, as `judged_by` says; `loo_log_loss` is by leave-one-out whenever
    there is one, beside a `log_loss` by folds as well.
    """

    name: str
    accuracy: float | None = None
    log_loss: float | None = None
    loo_log_loss: float | None = None
    calibration_error: float | None = None
    fit_seconds: float | None = None
    judged_by: str | None = None  # "loo" or "folds"
    columns: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def title(self) -> str:
        """What the model is called in the table."""
        return {**TITLES, **PEER_TITLES}[self.name]

    def document(self) -> Facts:
        """Return plain values for JSON."""
        facts = asdict(self)
        return {"model": facts.pop("name"), "title": self.title, **facts}


def score(result: Result, posterior: Array, training: Training) -> None:
    """Fill in the scores of a model from the posterior of every row (n, k)."""
    from .._arrays import np

    classes = {label: i for i, label in enumerate(training.classes)}
    truth = np.array([classes[label] for label in training.labels.to_pylist()])
    own = posterior[np.arange(len(truth)), truth]
    result.log_loss = float(-np.log(np.clip(own, LEAST_PROBABILITY, 1.0)).mean())
    if result.judged_by == "loo":
        result.loo_log_loss = result.log_loss
    right = posterior.argmax(axis=1) == truth
    result.accuracy = float(right.mean())
    result.calibration_error = calibration_error(posterior.max(axis=1), right)


def calibration_error(confidence: Array, right: NDArray[np.bool_]) -> float:
    """Return Σ over bins of (share of rows) · |mean confidence − share right|, with equally wide bins from 0 to 1."""
    from .._arrays import np

    bins = np.minimum((confidence * BINS).astype(int), BINS - 1)
    gap = np.bincount(bins, weights=confidence - right, minlength=BINS)
    return float(np.abs(gap).sum() / len(confidence))


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


def render(setup: Facts, results: Sequence[Result]) -> list[str]:
    """Return the comparison as lines of text."""
    rows = [["model", "", "accuracy", "loo loss", "cv loss", "calib.", "fit time"]]
    for r in results:
        crossed = r.log_loss if r.judged_by == "folds" else None
        scores = map(_number, (r.accuracy, r.loo_log_loss, crossed, r.calibration_error))
        rows.append([r.name, r.title, *scores, _time(r.fit_seconds)])
    commonest = f"always naming the commonest would score {setup['always_commonest_accuracy']:.3f}"
    lines = [
        _headline(setup),
        "",
        *align(rows, left=(0, 1)),
        "",
        f"accuracy  share of rows given their true class; {commonest}",
        f"loo loss  mean of -log p(true class) in nats, p at least {LEAST_PROBABILITY:g}, every row left out in turn",
        "cv loss   the same by cross-validation; lower is better in both",
        f"calib.    mean gap between confidence and share right, in {BINS} bins; lower is better",
        f"fit time  {FIT_TIMES[setup['by']]}",
        "",
        "Accuracy and calib. are by cross-validation where there is a cv loss, else by leave-one-out.",
    ]
    notes = _notes(setup, results)
    wrapped = [part for note in notes for part in textwrap.wrap(note, NOTE_WIDTH, subsequent_indent="  ")]
    return [*lines, "", *wrapped] if notes else lines


FIT_TIMES = {"folds": "median of the folds", "loo": "one fit to all rows; with folds, their median"}


def _headline(setup: Facts) -> str:
    task = f"{setup['rows']:,} rows, {len(setup['classes'])} classes of {setup['target']!r}"
    folds = f"{setup['folds']}-fold cross-validation"
    if setup["by"] == "folds":
        return f"{folds} on {task}, seed {setup['seed']}."
    return f"Exact leave-one-out (loo) or {folds} (seed {setup['seed']}): {task}."


def _notes(setup: Facts, results: Sequence[Result]) -> list[str]:
    """Return one line per thing to know, models that share it together."""
    notes: dict[str, list[str]] = {}
    for result in results:
        own = [f"left out {quoted(result.left_out)} (text)"] if result.left_out else []
        more = len(result.notes) - MOST_NOTES
        own += [*result.notes[:MOST_NOTES], *([f"{more} more notes, listed by --json"] if more > 0 else [])]
        for text in own:
            notes.setdefault(text, []).append(result.name)
    lines = [f"Note on {', '.join(names)}: {text.rstrip('.')}." for text, names in notes.items()]
    if setup["smallest_class_rows"] < setup["folds"] and any(r.judged_by == "folds" for r in results):
        lines.append(
            f"Note: the smallest class has {setup['smallest_class_rows']} rows, fewer than there are folds, so some "
            "folds are judged without having seen it, or miss it."
        )
    return lines


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _time(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    return f"{seconds * 1e3:.1f} ms" if seconds < 1 else f"{seconds:.1f} s"
