"""Why this answer: the way from the priors to the log-odds of a row, a step for each cell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Self

from .._arrays import Array, np
from ..errors import DataError, SettingError
from ..schema import Level, column_name
from . import _style as style
from ._cells import cells_as_text, percent, take
from ._reasons import Sides, class_number
from ._view import View

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

MOST = 10  # columns with a step of their own
ENDS = "#8a8a93"


class Step(NamedTuple):
    """What a column adds to the log-odds, in nats, and its cell as text; `column` None: all that are not named."""

    column: str | None
    cell: str
    nats: float


@dataclass(eq=False, repr=False)
class WaterfallDisplay:
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
        sides = _sides(view, log_p, label, against)
        c, b = sides.label, sides.against or 0
        with np.errstate(divide="ignore"):
            prior = sides.of(np.log(np.asarray(view.estimator.priors_)))
        told = sides.of(np.asarray(view.estimator.explain(one))[0])
        cells = [text for _, text in cells_as_text(view, one, range(len(view.schema)))[0]]
        names = [column_name(name) for name in view.schema.names]
        return cls(
            float(prior),
            float(sides.of(log_p)),
            in_steps(names, cells, told, most),
            view.classes[c],
            view.classes[b],
            (float(np.exp(log_p[c])), float(np.exp(log_p[b]))),
            (style.color(c), style.color(b)),
        ).plot(ax=ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw on `ax`, or on a new figure."""
        count = len(self.steps) + 2
        self.ax_ = ax = style.new_axes(ax, (7.0, 1.3 + 0.34 * count))
        self.figure_ = ax.figure
        nats = np.array([step.nats for step in self.steps])
        ends = self.start + np.concatenate([[0.0], np.cumsum(np.where(np.isfinite(nats), nats, 0.0))])
        seen = np.concatenate([[0.0, self.start, self.end], ends])
        seen = seen[np.isfinite(seen)]
        low, high = float(seen.min()), float(seen.max())
        margin = 0.16 * (high - low or 1.0)  # where the numbers at the ends of bars stand
        edges = low - margin, high + margin
        self.bars_: list[Artist] = []
        self._bar(0, 0.0, self.start, self.start, ENDS, edges)
        for i, step in enumerate(self.steps):
            self._bar(i + 1, ends[i], ends[i] + step.nats, step.nats, self.colors[step.nats < 0], edges)
        self._bar(count - 1, 0.0, self.end, self.end, ENDS, edges)
        for i, x in enumerate(ends):
            ax.plot([x, x], [-i - 0.36, -i - 0.64], color=style.ink(), linewidth=0.8, zorder=1)
        ax.axvline(0.0, color=style.ink(), linewidth=0.8, zorder=1)
        ax.set_xlim(*edges)
        ax.set_ylim(0.5 - count, 0.6)
        ax.set_yticks(-np.arange(count), [*self._names()], parse_math=False)
        ax.tick_params(axis="y", length=0)
        sides = f"{style.brief(self.label, 18)} against {style.brief(self.against, 18)}"
        style.write_label(ax, "x", f"log-odds of {sides}, in nats")
        shown = zip((self.label, self.against), self.probabilities, strict=True)
        title = "answer: " + ", ".join(f"{style.brief(label, 20)} {percent(p)}" for label, p in shown)
        style.say(ax, title)
        style.tidy(ax)
        return self

    def _names(self) -> list[str]:
        steps = [
            style.brief(step.cell, 40)
            if step.column is None
            else f"{style.brief(step.column)} = {style.brief(step.cell, 16)}"
            for step in self.steps
        ]
        return ["before looking", *steps, "all together"]

    def _bar(self, i: int, begin: float, end: float, nats: float, color: str, edges: tuple[float, float]) -> None:
        """Draw a bar of the i-th line from one sum to another, with its number at its end."""
        low, high = (float(np.clip(x, *edges)) for x in sorted((begin, end)))
        bars = self.ax_.barh(
            -i, high - low, 0.72, left=low, color=color, edgecolor=style.ink(), linewidth=0.4, zorder=2
        )
        self.bars_ += list(bars)
        if np.isinf(nats):
            text, place, side = (
                f"rules {style.brief(self.against if nats > 0 else self.label, 16)} out",
                begin,
                nats < 0,
            )
        else:
            text, place, side = style.signed(nats), end, end >= begin
        look = {"va": "center", "ha": "left" if side else "right", "fontsize": "small", "zorder": 4}
        gap = 0.008 * (edges[1] - edges[0]) * (1 if side else -1)
        place = float(np.clip(place, *edges))
        self.ax_.text(place + gap, -i, text, parse_math=False, **look)


def _sides(view: View, log_p: Array, label: Level | None, against: Level | None) -> Sides:
    """Return who is held against whom: by default the most probable class against the next."""
    if len(view.classes) < 2:
        raise DataError("The model has one class, so nothing speaks for it against another. Next: fit two or more.")
    order = np.argsort(-log_p, kind="stable").tolist()
    b = None if against is None else class_number(view, against, "against")
    c = next(i for i in order if i != b) if label is None else class_number(view, label, "label")
    b = next(i for i in order if i != c) if b is None else b
    if b == c:
        raise SettingError(f"{against!r} cannot be held against itself. Next: give two different classes.")
    return Sides(c, b)


def in_steps(names: list[str], cells: list[str], nats: Array, most: int) -> list[Step]:
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
