"""How good a model is at rows it is given with their classes: a value that prints as a report, and has tables."""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import wrap
from typing import Any, Literal

from .._arrays import Array, Codes, np
from ..errors import SettingError, align, count, one_line, quoted
from ..schema import Level
from .frames import apart, frame_of, plain, records
from .quality import in_nats, in_percent
from .tally import Ranking

Parts = Literal["classes", "calibration", "thresholds", "confusion"]
MOST_CLASSES = 12  # whose confusion is printed as a table; of more, the commonest mistakes
MOST_LINES = 30
WIDE = 80
LEAST_REST = 1e-6  # by which a threshold stays below 1


@dataclass(frozen=True)
class Assessment:
    """How good a model is at rows of known class, and what no model would have to beat; see `assess`.

    Arrays are by class, (k,), in the order of `classes`; what cannot be told is NaN. `rows` were judged, of the total
    `weight`; `unlabelled` had no label, and `unknown` counts those whose label is no class of the model.
    `groups` is of how many groups the rows are, None where each is drawn by itself.
    """

    classes: tuple[Level, ...]
    rows: int
    weight: float
    unlabelled: int
    unknown: dict[Level, int]
    accuracy: float
    accuracy_interval: tuple[float, float]
    balanced_accuracy: float
    log_loss: float
    log_loss_error: float
    impossible: int
    brier_score: float
    calibration_error: float
    calibration: dict[str, Array]
    confusion: Array
    support: Array
    answered: Array
    recall: Array
    precision: Array
    f1: Array
    roc_auc: Array
    roc_auc_error: float
    pr_auc: Array
    lift: Array
    commonest: Level
    commonest_accuracy: float
    shares_log_loss: float
    expected_accuracy: float | None
    costs: Array | None
    realised_cost: float | None
    expected_cost: float | None
    constant: Level | None
    constant_cost: float | None
    learned: float | None
    rankings: tuple[Ranking, ...]
    container: str
    groups: int | None = None

    @property
    def mean_roc_auc(self) -> float:
        """The mean of `roc_auc` over the classes of which there are rows, and rows of others."""
        return _mean(self.roc_auc)

    @property
    def mean_pr_auc(self) -> float:
        """The mean of `pr_auc` over the same classes."""
        return _mean(self.pr_auc)

    @property
    def mean_f1(self) -> float:
        """The mean of `f1` over the classes of which there are rows."""
        return _mean(self.f1)

    def positive(self, label: object = None) -> Level | None:
        """Return the class that thresholds are for: the one named, or of two the rarer; None where there are more.

        SettingError for a label that is no class.
        """
        if label is not None:
            return self.classes[self._place(label)]
        return self.classes[int(np.argmin(self.support))] if len(self.classes) == 2 else None

    def _place(self, label: object) -> int:
        for place, own in enumerate(self.classes):
            if own == label and isinstance(own, bool) == isinstance(label, bool):
                return place
        raise SettingError(f"{label!r} is no class of the model; these are {quoted(self.classes)}. Next: name one.")

    def thresholds(self, positive: object = None) -> dict[str, Array]:
        """Return what flagging the rows whose probability of a class is at least a threshold finds, by threshold.

        `threshold`, `recall` (the share of the class that is flagged), `precision` (the share of the flagged that is of
        the class), `flagged` (the share of all rows), `lift` (precision over the share of the class) and, for two
        classes and where there are costs, `cost` for each row. Thresholds find at least a tenth of the class, two
        tenths and so on to nine, 95 % and all of it, beside one half; they fall, and are rounded such that they do
        what is said as they are printed.
        """
        label = self.positive(positive)
        if label is None:
            raise SettingError("Thresholds are for one class against all others. Next: name it, as positive.")
        place = self._place(label)
        ranking = self.rankings[place]
        own, others = (np.append(np.cumsum(part[::-1])[::-1], 0.0) for part in (ranking.own, ranking.others))
        if not own[0] > 0:
            raise SettingError(f"There is no row of class {label!r}. Next: name a class that these rows have.")
        goals = np.array([*np.arange(1, 10) / 10, 0.95, 1.0]) * own[0]
        found_at = np.searchsorted(-own, -goals * (1 - 1e-12), side="right") - 1
        threshold, at = _asked_for(ranking, found_at)
        threshold, at = threshold[own[at] + others[at] > 0], at[own[at] + others[at] > 0]
        hit, flagged = own[at], own[at] + others[at]
        total = own[0] + others[0]
        found = {
            "threshold": threshold,
            "recall": hit / own[0],
            "precision": hit / flagged,
            "flagged": flagged / total,
            "lift": hit / flagged / (own[0] / total),
        }
        if self.costs is not None and len(self.classes) == 2:
            yes, no = self.costs[place], self.costs[1 - place]
            missed = (own[0] - hit) * yes[1 - place] + (others[0] - others[at]) * no[1 - place]
            found["cost"] = (missed + hit * yes[place] + others[at] * no[place]) / total
        return found

    def mistakes(self) -> list[tuple[Level, Level, float]]:
        """Return (true class, answer, weight of the rows) of all mistakes, the commonest first."""
        wrong = np.where(np.eye(len(self.classes), dtype=bool), 0.0, self.confusion)
        order = np.argsort(-wrong.ravel(), kind="stable")[: int((wrong > 0).sum())]
        pairs = zip(*np.unravel_index(order, wrong.shape), strict=True)
        return [(self.classes[int(i)], self.classes[int(j)], float(wrong[i, j])) for i, j in pairs]

    def to_dict(self, positive: object = None) -> dict[str, Any]:
        """Return the answer as plain values, for JSON: numbers that are none are None."""
        label = self.positive(positive)
        unknown = [{"label": own, "rows": rows} for own, rows in self.unknown.items()]
        threshold = None if label is None or not self.support[self._place(label)] else self.thresholds(label)
        return plain(
            {
                "rows": self.rows,
                "weight": self.weight,
                **({} if self.groups is None else {"groups": self.groups}),
                "rows_without_label": self.unlabelled,
                "rows_of_unknown_classes": sum(self.unknown.values()),
                "unknown_classes": unknown,
                "accuracy": self.accuracy,
                "accuracy_interval": self.accuracy_interval,
                "expected_accuracy": self.expected_accuracy,
                "always_commonest": self.commonest,
                "always_commonest_accuracy": self.commonest_accuracy,
                "balanced_accuracy": self.balanced_accuracy,
                "log_loss": self.log_loss,
                "log_loss_error": self.log_loss_error,
                "class_shares_log_loss": self.shares_log_loss,
                "rows_called_impossible": self.impossible,
                "brier_score": self.brier_score,
                "calibration_error": self.calibration_error,
                "roc_auc": self.mean_roc_auc,
                "roc_auc_error": self.roc_auc_error,
                "pr_auc": self.mean_pr_auc,
                "f1": self.mean_f1,
                "costs": self.costs,
                "realised_cost": self.realised_cost,
                "expected_cost": self.expected_cost,
                "always_cheapest": self.constant,
                "always_cheapest_cost": self.constant_cost,
                "share_learned": self.learned,
                "classes": records({"label": self.classes, **self._by_class()}),
                "confusion": self.confusion,
                "calibration": records(self.calibration),
                "positive": label,
                "thresholds": None if threshold is None else records(threshold),
            }
        )

    def to_frame(self, what: Parts = "classes", positive: object = None) -> Any:
        """Return one of the tables as a data frame, of the library that the model was fitted with where it was one.

        `what` is "classes", "calibration", "thresholds" (of the class `positive`) or "confusion", whose rows are the
        true classes. Without such a library it is an array of objects.
        """
        names = [str(own) for own in self.classes]
        label = {"label": np.array(names, dtype=object)}
        if what == "calibration":
            found = self.calibration
        elif what == "thresholds":
            found = self.thresholds(positive)
        elif what == "classes":
            found = label | self._by_class()
        elif what == "confusion":
            found = label | {apart(name, label): own for name, own in zip(names, self.confusion.T, strict=True)}
        else:
            raise SettingError.choice("what", what, ("classes", "calibration", "thresholds", "confusion"))
        return frame_of(found, self.container)

    def _by_class(self) -> dict[str, Array]:
        names = ("answered", "recall", "precision", "f1", "roc_auc", "pr_auc", "lift")
        return {"rows": self.support} | {name: getattr(self, name) for name in names}

    def __str__(self) -> str:
        return self.report()

    __repr__ = __str__

    def report(self, positive: object = None, width: int = WIDE) -> str:
        """Return the answer as text of lines up to `width` characters; thresholds are for the class `positive`."""
        label = self.positive(positive)
        blocks = [self._figures(width), self._classes_table(width), self._confusion(width), self._calibration(width)]
        if label is not None and self.support[self._place(label)] > 0:
            blocks.append(self._thresholds(label, width))
        return "\n\n".join("\n".join(block) for block in blocks)

    def _figures(self, width: int) -> list[str]:
        low, high = (in_percent(end) for end in self.accuracy_interval)
        blind = 1.0 / max(1, int((self.support > 0).sum()))
        rows = [
            ("accuracy", in_percent(self.accuracy), f"95 % interval {low} to {high}"),
            (f"  always naming {one_line(self.commonest)}", in_percent(self.commonest_accuracy), ""),
            ("balanced accuracy", in_percent(self.balanced_accuracy), ""),
            ("  always naming one class", in_percent(blind), ""),
            ("log-loss", in_nats(self.log_loss), f"nats, standard error {in_nats(self.log_loss_error)}"),
            ("  naming the class shares", in_nats(self.shares_log_loss), ""),
            ("Brier score", in_nats(self.brier_score), ""),
            ("calibration error", in_nats(self.calibration_error), ""),
            ("ROC AUC", _figure(self.mean_roc_auc, 3), "" if len(self.classes) == 2 else "mean of the classes"),
            ("PR AUC", _figure(self.mean_pr_auc, 3), "mean of the classes"),
        ]
        if self.expected_accuracy is not None:
            rows.insert(1, ("  as its probabilities expect", in_percent(self.expected_accuracy), ""))
        if self.costs is not None:
            rows.append(("cost for each row", _amount(self.realised_cost), ""))
            rows.append(("  as its probabilities expect", _amount(self.expected_cost), ""))
            rows.append((f"  always naming {one_line(self.constant)}", _amount(self.constant_cost), ""))
        if self.impossible:
            rows.append(("rows whose class it calls impossible", f"{self.impossible:,}", ""))
        lines = align(rows, left=(0, 2))
        if max(map(len, lines)) > width:
            lines = align([own[:2] for own in rows], width=width)
        return [*(part for line in self._about() for part in wrap(line, width)), "", *lines]

    def _about(self) -> list[str]:
        """Return how many rows were judged, and which were not."""
        weighted = "" if self.weight == self.rows else f", of weight {self.weight:,.6g}"
        groups = "" if self.groups is None else f", in {self.groups:,} groups"
        lines = [f"{count(self.rows, 'row')} judged{weighted}{groups}, {len(self.classes)} classes"]
        if self.unlabelled:
            lines.append(f"{count(self.unlabelled, 'row')} without a label: not judged")
        for own, rows in list(self.unknown.items())[:MOST_LINES]:
            lines.append(f"{count(rows, 'row')} of {one_line(own)!r}, no class of the model: not judged")
        if self.unknown:
            whole = self.rows + sum(self.unknown.values())
            if self.weight == self.rows:
                lines.append(
                    f"With those counted as mistakes, the accuracy is {in_percent(self.accuracy * self.rows / whole)}"
                )
        return lines

    def _classes_table(self, width: int) -> list[str]:
        head = ("class", "rows", "answered", "recall", "precision", "F1", "ROC AUC", "PR AUC", "lift")
        order = np.argsort(-self.support, kind="stable")
        rows: list[tuple[str, ...]] = [head]
        for c in order[:MOST_LINES]:
            figures = (self.recall, self.precision, self.f1, self.roc_auc, self.pr_auc)
            cells = [_figure(own[c], 3) for own in figures]
            lift = _figure(self.lift[c], 2)
            rows.append((one_line(self.classes[c]), _count(self.support[c]), _count(self.answered[c]), *cells, lift))
        left = len(order) - len(rows) + 1
        return [*align(rows, width=width), *([f"and {left} more classes"] if left else [])]

    def _confusion(self, width: int) -> list[str]:
        if len(self.classes) <= MOST_CLASSES:
            names = [one_line(own) for own in self.classes]
            numbers = [str(c + 1) for c in range(len(names))]
            wide = [["true class", *names]]
            wide += [[name, *map(_count, own)] for name, own in zip(names, self.confusion, strict=True)]
            lines = align(wide)
            if max(map(len, lines)) > width:
                pairs = zip(numbers, names, self.confusion, strict=True)
                cells = [["true class", *numbers], *([f"{i} {name}", *map(_count, own)] for i, name, own in pairs)]
                lines = align(cells, width=width, fold=False)
            if max(map(len, lines)) <= width:
                return [*wrap("Answers, in columns, to rows of each class:", width), *lines]
        found = self.mistakes()
        rows = [("true class", "answer", "rows")]
        rows += [(one_line(own), one_line(answer), _count(n)) for own, answer, n in found[:MOST_LINES]]
        left = len(found) - len(rows) + 1
        more = [f"and {left} more kinds"] if left > 0 else []
        return ["The commonest mistakes:", *align(rows, left=(0, 1), width=width), *more]

    def _calibration(self, width: int) -> list[str]:
        bins = self.calibration
        rows = [("its probability", "rows", "mean", "right", "95 % interval", "")]
        for i in range(len(bins["rows"])):
            span = f"{bins['from'][i]:.3f} to {bins['to'][i]:.3f}"
            ends = f"{bins['low'][i]:.3f} to {bins['high'][i]:.3f}"
            mean, low, high = bins["probability"][i], bins["low"][i], bins["high"][i]
            verdict = "too sure" if mean > high else "not sure enough" if mean < low else ""
            rows.append((span, _count(bins["rows"][i]), f"{mean:.3f}", f"{bins['right'][i]:.3f}", ends, verdict))
        return ["Is it as often right as it says?", *align(rows, left=(0, 5), width=width)]

    def _thresholds(self, label: Level, width: int) -> list[str]:
        found = self.thresholds(label)
        cost = "cost" in found
        rows = [("threshold", "recall", "precision", "flagged", "lift", *(["cost"] if cost else []))]
        for i in range(len(found["threshold"])):
            shares = (f"{found[name][i]:.3f}" for name in ("recall", "precision", "flagged"))
            ending = [_amount(float(found["cost"][i]))] if cost else []
            rows.append((_probability(found["threshold"][i]), *shares, f"{found['lift'][i]:.2f}", *ending))
        title = f"Flagging rows as {one_line(label)} from a probability on:"
        return [*wrap(title, width), *align(rows, left=(), width=width)]


def _mean(values: Array) -> float:
    there = values[~np.isnan(values)]
    return float(there.mean()) if len(there) else float("nan")


def _figure(value: float, digits: int) -> str:
    return "–" if value != value else f"{value:.{digits}f}"


def _amount(value: float | None) -> str:
    return "–" if value is None else f"{value:.4g}"


def _count(weight: float) -> str:
    return f"{weight:,.0f}" if weight == round(weight) else f"{weight:,.6g}"


def _asked_for(ranking: Ranking, at: Codes) -> tuple[Array, Codes]:
    """Return thresholds (t,), falling, and from where on in the ranking rows are flagged by each."""
    half = int(np.searchsorted(ranking.odds, 0.0))
    if not ranking.exact:
        at = np.unique(np.append(at, half))[::-1]
        return np.where(at == half, 0.5, np.append(ranking.probability, 1.0)[at]), at
    threshold = np.unique([0.5, *map(_plain, ranking.probability[at])])[::-1]
    with np.errstate(divide="ignore"):
        at = np.searchsorted(ranking.odds, np.log(threshold) - np.log1p(-threshold))
    first = np.append(True, np.diff(at) != 0)  # of those that flag the same rows one half stays, or the highest
    same = (at == half) & (threshold != 0.5)
    first[threshold == 0.5] = True
    return threshold[first & ~same], at[first & ~same]


def _plain(probability: float) -> float:
    """Return a probability rounded down such that few digits write it."""
    if probability <= 0.0:
        return 0.0
    rest = max(1.0 - probability, LEAST_REST)
    if rest < 0.5:
        unit = 10.0 ** np.floor(np.log10(rest) - (1 if rest > 0.001 else 0))
        return float(f"{1.0 - np.ceil(rest / unit * (1 - 1e-12)) * unit:.10f}")
    unit = 10.0 ** np.floor(np.log10(probability) - 1)
    return float(f"{np.floor(probability / unit * (1 + 1e-12)) * unit:.10e}")


def _probability(value: float) -> str:
    return f"{value:.6g}" if value < 0.5 else f"{value:.10f}".rstrip("0").rstrip(".")
