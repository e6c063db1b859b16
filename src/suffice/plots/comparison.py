"""Models side by side over the same two columns: full, shared and diagonal covariances, and a discriminative peer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self

from .._arrays import Array, Codes, np
from ..errors import SettingError
from ..schema import Level, Name, column_name
from ..table import factorize, label_values, read_table
from . import _style as style
from ._model import Labels
from ._view import Axis, _range
from .regions import draw_boundaries, shade

KINDS = {
    "full covariances": {"covariance": "full", "shared": False},
    "shared covariance": {"covariance": "full", "shared": True},
    "diagonal covariances": {"covariance": "diagonal", "shared": False},
}


class Classifier(Protocol):
    """What is asked of a model that is compared."""

    @property
    def classes_(self) -> Labels:
        """Labels (k,)."""

    def predict_proba(self, X: Array, /) -> Array:
        """Return posteriors (n, k)."""


@dataclass(eq=False, repr=False)
class ModelComparisonDisplay:
    """The decision regions of several models that learned from the same two columns, a panel each.

    Separate full covariances bend the boundaries, a shared one makes them straight, diagonal ones (naive Bayes) bend
    them along the axes; logistic regression draws straight lines without a model of the rows.

    Build it with `from_estimator`, which fits the three generative models, or with `from_estimators`, which takes
    fitted ones of any kind.

    Attributes
    ----------
    posteriors : {title: (100, 100, k)}
    axes_ : list of Matplotlib axes, one per model; ax_ the first of them; figure_ the figure.
    estimators : {title: fitted model}
    """

    axes: tuple[Axis, ...]
    posteriors: dict[str, Array]
    estimators: dict[str, Classifier]
    classes: list[Level]
    cells: Array
    codes: Codes

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: object,
        y: object,
        *,
        columns: Sequence[Name] | None = None,
        peer: object = None,
        grid: int = 100,
        **options: bool,
    ) -> Self:
        """Fit full, shared and diagonal covariances to two columns, and draw them beside a peer.

        Parameters
        ----------
        estimator : GaussianDiscriminant, fitted or not
            Its other settings are those of all three models; it stays as it is.
        X, y : rows (n, d) and their labels
        columns : two numeric columns; by default the first two
        peer : scikit-learn classifier, optional
            It is cloned by its settings and fitted to the rows with both cells, on standardised columns;
            `LogisticRegression()`, say.
        grid : int
        **options : passed to `plot`

        Examples
        --------
        >>> from suffice import GaussianDiscriminant
        >>> from suffice.plots import ModelComparisonDisplay
        >>> from sklearn.datasets import load_iris
        >>> from sklearn.linear_model import LogisticRegression
        >>> X, y = load_iris(return_X_y=True)
        >>> display = ModelComparisonDisplay.from_estimator(GaussianDiscriminant(), X, y, peer=LogisticRegression())
        >>> list(display.estimators)
        ['full covariances', 'shared covariance', 'diagonal covariances', 'LogisticRegression']
        """
        settings = estimator.get_params()
        if not {"covariance", "shared"} <= set(settings):
            raise SettingError(
                f"{type(estimator).__name__} has no covariance= and shared= to compare. "
                "Next: give a GaussianDiscriminant, or compare fitted models by from_estimators."
            )
        _, cells = _two_columns(X, columns)
        labels = label_values(y)
        models = {title: type(estimator)(**{**settings, **own}).fit(cells, labels) for title, own in KINDS.items()}
        if peer is not None:
            known = factorize(labels, "y")[1] >= 0
            models[type(peer).__name__] = _Standardised.fit(peer, cells[known], labels[known])
        return cls.from_estimators(models, X, y, columns=columns, grid=grid, **options)

    @classmethod
    def from_estimators(
        cls,
        estimators: Mapping[str, Classifier],
        X: object,
        y: object,
        *,
        columns: Sequence[Name] | None = None,
        grid: int = 100,
        **options: bool,
    ) -> Self:
        """Draw fitted models of two columns, `estimators` {title: model}, each with `predict_proba` and `classes_`.

        X, y are the rows to draw, of which the two `columns` are taken (by default the first two). SettingError where
        the models know different classes.
        """
        names, cells = _two_columns(X, columns)
        axes = []
        for j, name in enumerate(names):
            low, high = _range(cells[:, j])
            at = low + (np.arange(grid) + 0.5) * (high - low) / grid
            axes.append(Axis(j, name, at, at, low, high))
        at = np.stack([part.ravel() for part in np.meshgrid(axes[0].at, axes[1].at)], axis=1)
        classes: list[Level] = []
        posteriors = {}
        for title, model in estimators.items():
            own = model.classes_.tolist()
            classes = classes or own
            if own != classes:
                raise SettingError(f"{title!r} knows the classes {own}, others {classes}. Next: fit all to the same.")
            posteriors[title] = np.asarray(model.predict_proba(at)).reshape(grid, grid, -1)
        levels, codes = factorize(label_values(y), "y")
        number = np.array([*(classes.index(level) if level in classes else -1 for level in levels), -1])
        return cls(tuple(axes), posteriors, dict(estimators), classes, cells, number[codes]).plot(**options)

    def plot(self, *, points: bool = True, legend: bool = True) -> Self:
        """Draw on a new figure, two panels in a row."""
        count = len(self.posteriors)
        wide = min(count, 2)
        high = -(-count // wide)
        look = {"figsize": (3.7 * wide + 1.4, 3.1 * high + 0.3), "layout": "constrained", "squeeze": False}
        figure, grid = style.pyplot().subplots(high, wide, sharex=True, sharey=True, **look)
        panels = list(grid.ravel())
        for panel in panels[count:]:
            panel.set_axis_off()
        self.figure_, self.axes_ = figure, panels[:count]
        self.ax_ = self.axes_[0]
        x, y = self.axes
        drawn = style.spread_out(self.axes, list(self.cells.T))
        for i, (panel, (title, posterior)) in enumerate(zip(self.axes_, self.posteriors.items(), strict=True)):
            extent = (x.low, x.high, y.low, y.high)
            panel.imshow(
                shade(posterior), extent=extent, origin="lower", aspect="auto", interpolation="nearest", zorder=0
            )
            draw_boundaries(panel, x.at, y.at, posterior)
            if points:
                style.scatter(panel, drawn, self.codes, len(self.classes), 14.0)
            panel.set_title(style.brief(title, 40), fontsize="medium", parse_math=False)
            panel.set_xlim(x.low, x.high)
            panel.set_ylim(y.low, y.high)
            if i + wide >= count:
                style.write_label(panel, "x", x.label)
                panel.tick_params(labelbottom=True)
            if i % wide == 0:
                style.write_label(panel, "y", y.label)
        if legend:
            style.class_legend(figure, self.classes)
        return self


class _Standardised:
    """A peer fitted to standardised complete rows, so that its penalty means the same for both columns."""

    def __init__(self, model: Classifier, center: Array, scale: Array) -> None:
        self.model, self.center, self.scale = model, center, scale
        self.classes_ = model.classes_

    @classmethod
    def fit(cls, peer: Any, cells: Array, labels: Labels) -> Self:
        whole = np.isfinite(cells).all(axis=1)
        center, scale = cells[whole].mean(axis=0), cells[whole].std(axis=0)
        scale = np.where(scale > 0, scale, 1.0)
        model = type(peer)(**peer.get_params(deep=False)).fit((cells[whole] - center) / scale, labels[whole])
        return cls(model, center, scale)

    def predict_proba(self, cells: Array) -> Array:
        return np.asarray(self.model.predict_proba((cells - self.center) / self.scale))


def _two_columns(X: object, columns: Sequence[Name] | None) -> tuple[list[str], Array]:
    """Return the names and cells (n, 2) of two numeric columns of a table; SettingError for anything else."""
    table = read_table(X)
    schema = table.schema
    numbers = [p for p, column in enumerate(schema.columns) if column.kind.is_number]
    positions = numbers[:2] if columns is None else list(schema.positions(list(columns)))
    if len(positions) != 2 or positions[0] == positions[1] or not set(positions) <= set(numbers):
        raise SettingError(
            f"columns={columns!r}: models are compared over two different numeric columns. Next: name two of "
            f"{', '.join(repr(schema.names[p]) for p in numbers)}."
        )
    names = [schema.names[p] for p in positions]
    return [column_name(name) for name in names], table.numeric(positions)
