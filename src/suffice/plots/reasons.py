"""What cells say for one class against others: the steps of a row, and the effects of a column's values.

Both are differences of contributions as `explain` gives them, so that they add up, with the priors, to log-odds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from .._arrays import Array, Codes, log_of, np
from .._derived import once
from ..errors import DataError, SettingError, quoted
from ..schema import Level, Name, column_name
from . import _style as style
from ._view import MOST_PANELS, Axis, Rows, View, cells_as_text, percent, take

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes


MOST_ROWS = 200  # explained for a picture of many rows
LEAST_ROWS = 40
MOST_NUMBERS = 12_000  # rows × columns × classes: the automatic classifier takes a second or so for as many
MOST_LEVELS = 10
MOST_CURVES = 8
FOOT = 0.13  # of a panel's height, where the rows are
MOST = 10  # columns with a step of their own in a waterfall


@dataclass(frozen=True, slots=True)
class Sides:
    """The number of the class that is spoken for, and that of the one it is held against; None: all, on average."""

    label: int
    against: int | None

    def of(self, scores: Array) -> Array:
        """Return how much scores (…, k), each less its mean over classes, speak for one side; 0 where none speaks."""
        own = scores[..., self.label]
        if self.against is None:
            return own
        other = scores[..., self.against]
        with np.errstate(invalid="ignore"):
            return np.where(own == other, 0.0, own - other)  # also where both are ruled out

    def words(self, classes: list[Level]) -> str:
        """Return who is held against whom."""
        return f"{style.brief(classes[self.label])} against {self.other(classes)}"

    def other(self, classes: list[Level]) -> str:
        """Return against whom."""
        return "all on average" if self.against is None else style.brief(classes[self.against])


def choose_sides(view: View, label: Level | None, against: Level | None, log_p: Array | None = None) -> Sides:
    """Return both sides: by default the second of two classes against the first, or the commonest against all.

    Of a row with log posteriors `log_p` (k,), by default the most probable class against the next. SettingError where a
    class is not known, or is held against itself; DataError where there is only one.
    """
    k = len(view.classes)
    if k < 2:
        raise DataError("The model has one class, so nothing speaks for it against another. Next: fit two or more.")
    other = None if against is None else _class_number(view, against, "against")
    own = None if label is None else _class_number(view, label, "label")
    if log_p is not None:
        order = np.argsort(-log_p, kind="stable").tolist()
        own = next(c for c in order if c != other) if own is None else own
        other = next(c for c in order if c != own) if other is None else other
    elif own is None:
        own = int(np.argmax(view.estimator.priors_)) if k > 2 else 1 if other is None else 1 - other
    if other is None and k == 2:
        other = 1 - own
    if own == other:
        raise SettingError(f"{against!r} cannot be held against itself. Next: give two different classes.")
    return Sides(own, other)


def _class_number(view: View, label: Level, setting: str) -> int:
    """Return the number of a class; SettingError if there is none of that name."""
    for c, own in enumerate(view.classes):
        if own == label and isinstance(own, bool) == isinstance(label, bool):
            return c
    raise SettingError(f"{setting}={label!r} is not a class. Next: use one of {quoted(view.classes)}.")


# --- rows -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Explained:
    """Rows, and how much each of their cells speaks for each class: `contributions` (n, d, k) in nats."""

    rows: Rows
    contributions: Array


def explained(view: View, X: object = None) -> Explained:
    """Return some rows of a table, or of those that the model keeps, and what their cells say.

    Up to 200 rows at even steps, fewer of many columns or classes, the same ones every time. DataError where there is
    no row.
    """
    if X is not None:
        return _explained(view, X, np.arange(view.aligned(X)[0].rows))
    return once(view.fitted, "explained", lambda: _explained_kept(view))


def _explained_kept(view: View) -> Explained:
    """Return what is said of the rows that the model keeps, copies of a row as so many."""
    table, _, sample = view.kept()
    copies = np.maximum(np.rint(sample.copies), 1).astype(np.intp)
    return _explained(view, table, np.repeat(np.arange(len(copies)), copies))


def _explained(view: View, X: Any, index: Codes) -> Explained:
    """Return what is said of the rows of a table that have these numbers, rows that occur again explained once."""
    if not len(index):
        raise DataError("There is no row to draw. Next: give at least one.")
    most = int(np.clip(MOST_NUMBERS // (len(view.schema) * len(view.classes)), LEAST_ROWS, MOST_ROWS))
    if len(index) > most:
        index = index[np.unique(np.linspace(0, len(index) - 1, most).astype(np.intp))]
    distinct, place = np.unique(index, return_inverse=True)
    rows = view.rows(take(X, index))
    assert rows is not None
    return Explained(rows, np.asarray(view.estimator.explain(take(X, distinct)))[place])


# --- values ---


@dataclass(eq=False, repr=False)
class EffectDisplay(style.Display):
    """What each value of a column says for the classes, by itself: log-odds over its values, a panel per column.

    The curve is what the cell adds to the log-odds of a row of which nothing else is known: its weight of evidence,

        e_j(v) = log p(x_j = v | a) − log p(x_j = v | b),   or log p(x_j = v | a) less its mean over all classes,

    with the other columns integrated out. So e_j(v) + log π_a / π_b are the log-odds over all rows of the model that
    have this value, whatever goes along with it. Under naive Bayes it is the very term that the cell adds to any row.
    Where columns depend on each other it also says what the value tells of the others, and what the cell adds to a row
    whose other cells are known differs from it: `rows=True` draws that as dots. Of a `GenerativeClassifier` the curves
    are those of its joint model, as in the other pictures of densities, and the dots are of the pool.

    It is not causal: it does not say what would happen if a cell were changed. It is no partial dependence either,
    which joins values to rows that do not have them.

    Grey bars at the foot are the shares of the rows. A missing cell has a place of its own, where it says nothing: 0.

    Build it with `from_estimator`.

    Attributes
    ----------
    effects : list with one array (m, k) per column: e_jc less its mean over classes, in nats.
    curves : list with one array (m, s) per column: what is drawn, of each of the sides.
    axes : the columns drawn; sides : who is held against whom, as text.
    axes_ : list of Matplotlib axes; ax_ the first of them; figure_ the figure; lines_ : per column its curves.
    """

    axes: tuple[Axis, ...]
    effects: list[Array]
    classes: list[Level]
    chosen: tuple[Sides, ...]
    cells: list[Array]
    missing: list[float]
    contributions: list[Array]
    explained: list[Array]

    def __post_init__(self) -> None:
        self.sides = [side.words(self.classes) for side in self.chosen]
        self.curves = [np.stack([side.of(own) for side in self.chosen], axis=1) for own in self.effects]

    @classmethod
    def from_estimator(
        cls,
        estimator: object,
        X: object = None,
        *,
        columns: Sequence[Name] | Name | None = None,
        label: Level | None = None,
        against: Level | None = None,
        rows: bool = False,
        grid: int = 80,
        ax: Axes | None = None,
        **options: bool,
    ) -> Self:
        """Ask a fitted model for each column alone, and draw what it says.

        Parameters
        ----------
        estimator : a fitted model
        X : rows (n, d), from which the range of each axis, the bars at the foot and the dots are taken; by default
            those that the model keeps
        columns : names or positions; by default all, or the 12 that tell most about the class
        label : a class, optional
            Draw the curve of this class alone. By default the second of two classes, or each of up to eight, the
            commonest ones.
        against : a class, optional
            Against which class; by default the other one of two, or all on average.
        rows : bool
            Draw the contributions to up to 200 rows as dots, of the first of the curves. This takes an `explain` of
            them, seconds for a `GenerativeForest`.
        grid : int
            Points of a curve.
        ax : Matplotlib axes, optional
            For one column only.
        **options : passed to `plot`

        Raises
        ------
        SettingError
            There is no such class, or it is held against itself.
        DataError
            The model has one class only.

        Notes
        -----
        Good (1950), Probability and the weighing of evidence, for log p(v | a) / p(v | b).

        Examples
        --------
        >>> from suffice import NaiveBayes
        >>> from suffice.plots import EffectDisplay
        >>> X = [["red", 1.0], ["red", 2.0], ["blue", 7.0], ["blue", 8.0]]
        >>> display = EffectDisplay.from_estimator(NaiveBayes().fit(X, ["a", "a", "b", "b"]), columns=[0])
        >>> display.sides, display.curves[0].round(3).tolist()  # log (3/4 : 1/4) for blue
        (['b against a'], [[1.099], [-1.099]])
        """
        view = View(estimator)
        seen = view.rows(X)
        positions = view.informative(MOST_PANELS, seen) if columns is None else view.positions(columns)
        found = cls.of(view, positions, X, label=label, against=against, rows=rows, grid=grid)
        return found.plot(ax=ax, **options)

    @classmethod
    def of(
        cls,
        view: View,
        positions: Sequence[int],
        X: object = None,
        *,
        label: Level | None = None,
        against: Level | None = None,
        rows: bool = False,
        grid: int = 80,
    ) -> Self:
        """Return what there is to draw of some columns, not drawn yet; see `from_estimator`."""
        seen = view.rows(X)
        axes = [view.readable(view.axis(p, seen, grid), MOST_LEVELS) for p in positions]
        drawn, _ = view.drawn(seen, positions)
        cells = [axis.on(own) for axis, own in zip(axes, drawn, strict=False)]
        missing = [float(np.isnan(own).mean()) if len(own) else 0.0 for own in drawn]
        at, found = [], []
        if rows:
            some = explained(view, X)
            at = [axis.on(view.cells(some.rows, p)) for axis, p in zip(axes, positions, strict=True)]
            found = [some.contributions[:, p] for p in positions]
        effects = []
        for axis in axes:  # a class that a cell rules out has −∞
            log_p = view.log_density([axis])
            possible = np.isfinite(log_p)
            count = np.maximum(possible.sum(-1, keepdims=True), 1)
            effects.append(log_p - (np.where(possible, log_p, 0.0) / count).sum(axis=-1, keepdims=True))
        chosen = _chosen(view, label, against)
        return cls(tuple(axes), effects, view.classes, chosen, cells, missing, found, at)

    def plot(self, ax: Axes | None = None, *, legend: bool = True) -> Self:
        """Draw on a new figure, or one column on `ax`."""
        self.axes_ = style.panels(len(self.axes), ax, sharey=True)
        self.ax_ = self.axes_[0]
        self.lines_: list[list[Artist]] = []
        limits = self.limits()
        for i, panel in enumerate(self.axes_):
            self._plot_column(panel, i, limits)
        words = f"of {self.sides[0]}" if len(self.chosen) == 1 else f"against {self.chosen[0].other(self.classes)}"
        if len(self.chosen) > 1 and legend:
            owner = self.figure_ if ax is None else ax
            style.class_legend(owner, self.classes, "line", [side.label for side in self.chosen])
        if ax is not None:
            style.write_label(ax, "y", f"log-odds {words}, in nats")
        else:
            self.figure_.supylabel(f"log-odds {words}, in nats", fontsize="medium", parse_math=False)
        return self

    def limits(self) -> tuple[float, float]:
        """Return the range of log-odds drawn: the curves, most of the dots, zero, and room for the foot."""
        seen = np.concatenate([own.ravel() for own in self.curves])
        ends = [0.0, *seen[np.isfinite(seen)].tolist()]
        for own in self.contributions:
            dots = self.chosen[0].of(own)
            if np.isfinite(dots).any():
                ends += np.quantile(dots[np.isfinite(dots)], [0.01, 0.99]).tolist()
        low, high = min(ends), max(ends)
        margin = 0.06 * (high - low or 1.0)
        return low - margin - FOOT / (1 - FOOT) * (high - low + 2 * margin), high + margin

    def _plot_column(self, panel: Axes, i: int, limits: tuple[float, float]) -> None:
        axis, curves = self.axes[i], self.curves[i]
        style.tidy(panel)
        panel.axhline(0.0, color=style.ink(), linewidth=0.7, zorder=1)
        drawn = np.where(np.isfinite(curves), curves, np.nan)  # a class ruled out has no place
        self._dots(panel, axis, i)
        for s, side in enumerate(self.chosen):
            self._plot_curve(panel, axis, drawn[:, s], side.label, s)
        style.name_axis(panel, "x", axis, self.cells[i] if self.cells else None)
        panel.set_ylim(*limits)
        if self.cells:
            self._plot_foot(panel, axis, self.cells[i])
            self._plot_missing(panel, axis, self.missing[i])
        if not axis.levels and not axis.whole and not axis.dated:
            panel.locator_params(axis="x", nbins=4 if max(abs(axis.low), abs(axis.high)) >= 1e4 else 6)

    def _plot_curve(self, panel: Axes, axis: Axis, values: Array, c: int, s: int) -> None:
        look: dict[str, object] = {"color": style.color(c), "zorder": 3}
        if axis.levels is not None:
            count = len(self.chosen)
            at = axis.at + (s - (count - 1) / 2) * min(0.14, 0.6 / count)
            panel.vlines(at, 0.0, values, linewidth=1.6, **look)
            self.lines_[-1] += panel.plot(at, values, linestyle="", marker=style.marker(c), markersize=5, **look)
            return
        look |= {"linestyle": style.line(c), "linewidth": 2.0} | ({"drawstyle": "steps-mid"} if axis.whole else {})
        self.lines_[-1] += panel.plot(axis.at, values, **look)

    def _dots(self, panel: Axes, axis: Axis, i: int) -> None:
        """Draw the contributions to rows."""
        self.lines_.append([])
        if not self.explained:
            return
        dots = self.chosen[0].of(self.contributions[i])
        at = style.spread(axis, self.explained[i], 0.18)
        look = {"s": 7.0, "color": style.color(self.chosen[0].label), "alpha": 0.35, "linewidths": 0.0, "zorder": 2}
        panel.scatter(at, np.where(np.isfinite(dots), dots, np.nan), **look)

    def _plot_foot(self, panel: Axes, axis: Axis, cells: Array) -> None:
        """Draw the shares of the rows at the foot."""
        if axis.levels is None and not axis.whole:
            edges = np.linspace(axis.low, axis.high, 31)
        else:
            edges = np.concatenate([axis.at - axis.step / 2, [axis.at[-1] + axis.step / 2]])
        counts, _ = np.histogram(cells[np.isfinite(cells)], edges)
        heights = 0.8 * FOOT * counts / max(counts.max(), 1)
        look = {"color": style.GREY, "alpha": 0.55, "linewidth": 0, "zorder": 0}
        panel.bar(
            (edges[1:] + edges[:-1]) / 2, heights, np.diff(edges) * 0.92, transform=panel.get_xaxis_transform(), **look
        )

    def _plot_missing(self, panel: Axes, axis: Axis, missing: float) -> None:
        """Give missing cells a place of their own, where they say nothing."""
        if not missing:
            return
        place = axis.high + 0.09 * (axis.high - axis.low)
        panel.set_xlim(axis.low, axis.high + 0.15 * (axis.high - axis.low))
        panel.axvline(axis.high + 0.03 * (axis.high - axis.low), color=style.GREY, linewidth=0.6, linestyle=":")
        panel.plot([place], [0.0], "o", color=style.ink(), markerfacecolor="none", markersize=5, zorder=4)
        low, high = panel.get_ylim()
        up = -low < 0.5 * (high - low)
        words = {"rotation": 90, "ha": "center", "va": "top" if up else "bottom", "fontsize": "x-small"}
        text = f"missing, {max(100 * missing, 1):.0f} %"
        panel.text(place, 0.98 if up else 0.03, text, transform=panel.get_xaxis_transform(), **words)


def _chosen(view: View, label: Level | None, against: Level | None) -> tuple[Sides, ...]:
    """Return who is held against whom: one class, or of more than two each of the commonest."""
    first = choose_sides(view, label, against)
    if label is not None or len(view.classes) == 2:
        return (first,)
    order = np.argsort(-np.asarray(view.estimator.priors_), kind="stable").tolist()
    shown: Codes = np.sort([c for c in order if c != first.against][:MOST_CURVES])
    return tuple(Sides(int(c), first.against) for c in shown)


# --- the steps of a row ---


class Step(NamedTuple):
    """What a column adds to the log-odds, in nats, and its cell as text; `column` None: all that are not named."""

    column: str | None
    cell: str
    nats: float


@dataclass(eq=False, repr=False)
class WaterfallDisplay(style.Display):
    """How the cells of one row lead from the priors to its answer: log-odds of a class against another, step by step.

    The first bar is the log-odds of the class priors, the last one those of the posterior. Between them every known
    cell moves the sum by what it contributes, as `explain` has it, the largest first and the smallest together:

        log π_a / π_b + Σ_j (c_ja − c_jb) = log p(a | x) / p(b | x),

    exactly. Steps have the colour of the class they speak for. A cell that one of the classes cannot have rules it out:
    its bar goes to the edge. Unknown cells contribute nothing.

    Build it with `from_estimator`.

    Attributes
    ----------
    start, end : log-odds in nats, of the priors and of the posterior.
    steps : list of (column, cell, nats), in the order drawn; that of all other columns together has the column None.
    label, against : the classes.
    probabilities : p(label | x) and p(against | x).
    ax_, figure_ : Matplotlib axes and figure; bars_ the bars, from the top.
    """

    start: float
    end: float
    steps: list[Step]
    label: Level
    against: Level
    probabilities: tuple[float, float]
    colors: tuple[str, str]

    @classmethod
    def from_estimator(
        cls,
        estimator: object,
        X: object,
        *,
        row: int = 0,
        label: Level | None = None,
        against: Level | None = None,
        most: int = MOST,
        ax: Axes | None = None,
    ) -> Self:
        """Explain a row and draw it.

        Parameters
        ----------
        estimator : a fitted model
        X : table (n, d)
        row : int
            Which of its rows, from 0; negative from the end.
        label : a class, optional
            By default the most probable one.
        against : a class, optional
            By default the most probable of the others.
        most : int
            So many columns have a step of their own at most.
        ax : Matplotlib axes, optional

        Raises
        ------
        SettingError
            There is no such class, or it is held against itself.
        DataError
            There is no such row, or the model has one class only.

        Examples
        --------
        >>> from suffice import GaussianDiscriminant
        >>> from suffice.plots import WaterfallDisplay
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True, as_frame=True)
        >>> model = GaussianDiscriminant(shared=True).fit(X, y)
        >>> display = WaterfallDisplay.from_estimator(model, X, row=70)
        >>> display.label, display.against, display.steps[0].column
        (2, 1, 'petal width (cm)')
        >>> round(display.start + sum(step.nats for step in display.steps) - display.end, 9)
        0.0
        """
        view = View(estimator)
        n = view.aligned(X)[0].rows
        if not -n <= row < n:
            raise DataError(f"row={row!r}: the table has {n:,} rows, counted from 0. Next: give one of them.")
        one = take(X, np.array([row % n]))
        log_p = np.asarray(view.estimator.predict_log_proba(one))[0]
        sides = choose_sides(view, label, against, log_p)
        c, b = sides.label, sides.against or 0
        prior = sides.of(log_of(view.estimator.priors_))
        told = sides.of(np.asarray(view.estimator.explain(one))[0])
        cells = [text for _, text in cells_as_text(view, one, range(len(view.schema)))[0]]
        names = [column_name(name) for name in view.schema.names]
        return cls(
            float(prior),
            float(sides.of(log_p)),
            _steps(names, cells, told, most),
            view.classes[c],
            view.classes[b],
            (float(np.exp(log_p[c])), float(np.exp(log_p[b]))),
            (style.color(c), style.color(b)),
        ).plot(ax=ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw on `ax`, or on a new figure."""
        count = len(self.steps) + 2
        self.ax_ = ax = style.new_axes(ax, (7.0, 1.3 + 0.34 * count))
        nats = np.array([step.nats for step in self.steps])
        ends = self.start + np.concatenate([[0.0], np.cumsum(np.where(np.isfinite(nats), nats, 0.0))])
        seen = np.concatenate([[0.0, self.start, self.end], ends])
        seen = seen[np.isfinite(seen)]
        low, high = float(seen.min()), float(seen.max())
        margin = 0.16 * (high - low or 1.0)  # where the numbers at the ends of bars stand
        edges = low - margin, high + margin
        self.bars_: list[Artist] = []
        self._bar(0, 0.0, self.start, self.start, style.GREY, edges)
        for i, step in enumerate(self.steps):
            self._bar(i + 1, ends[i], ends[i] + step.nats, step.nats, self.colors[step.nats < 0], edges)
        self._bar(count - 1, 0.0, self.end, self.end, style.GREY, edges)
        for i, x in enumerate(ends):
            ax.plot([x, x], [-i - 0.36, -i - 0.64], color=style.ink(), linewidth=0.8, zorder=1)
        ax.axvline(0.0, color=style.ink(), linewidth=0.8, zorder=1)
        ax.set_xlim(*edges)
        ax.set_ylim(0.5 - count, 0.6)
        names = [
            style.brief(step.cell, 40)
            if step.column is None
            else f"{style.brief(step.column)} = {style.brief(step.cell, 16)}"
            for step in self.steps
        ]
        ax.set_yticks(-np.arange(count), ["before looking", *names, "all together"], parse_math=False)
        ax.tick_params(axis="y", length=0)
        sides = f"{style.brief(self.label, 18)} against {style.brief(self.against, 18)}"
        style.write_label(ax, "x", f"log-odds of {sides}, in nats")
        shown = zip((self.label, self.against), self.probabilities, strict=True)
        title = "answer: " + ", ".join(f"{style.brief(label, 20)} {percent(p)}" for label, p in shown)
        style.say(ax, title)
        style.tidy(ax)
        return self

    def _bar(self, i: int, begin: float, end: float, nats: float, color: str, edges: tuple[float, float]) -> None:
        """Draw a bar of the i-th line from one sum to another, with its number at its end."""
        low, high = (float(np.clip(x, *edges)) for x in sorted((begin, end)))
        bars = self.ax_.barh(
            -i, high - low, 0.72, left=low, color=color, edgecolor=style.ink(), linewidth=0.4, zorder=2
        )
        self.bars_ += list(bars)
        text, place, side = style.signed(nats), end, end >= begin
        if np.isinf(nats):
            text, place = f"rules {style.brief(self.against if nats > 0 else self.label, 16)} out", begin
            side = nats < 0
        look = {"va": "center", "ha": "left" if side else "right", "fontsize": "small", "zorder": 4}
        gap = 0.008 * (edges[1] - edges[0]) * (1 if side else -1)
        place = float(np.clip(place, *edges))
        self.ax_.text(place + gap, -i, text, parse_math=False, **look)


def _steps(names: list[str], cells: list[str], nats: Array, most: int) -> list[Step]:
    """Return the steps of a row, largest first, columns beyond `most` and unknown cells in one step at the end."""
    order = np.lexsort((np.argsort(np.argsort(names)), -np.abs(nats))).tolist()
    known = [j for j in order if nats[j] != 0.0]
    shown = known if len(known) <= most + 1 else known[: max(most, 0)]
    steps = [Step(names[j], cells[j], float(nats[j])) for j in shown]
    rest = [j for j in order if j not in set(shown)]
    if rest:
        unknown = sum(cells[j] == "unknown" for j in rest)
        columns = "1 other column" if len(rest) == 1 else f"{len(rest)} other columns"
        text = columns + (f", {unknown} unknown" if 0 < unknown < len(rest) else ", unknown" if unknown else "")
        steps.append(Step(None, text, float(nats[rest].sum())))
    return steps
