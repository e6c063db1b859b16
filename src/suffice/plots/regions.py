"""Which class is answered where, by one model or by several side by side; columns that are not drawn are missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from .._arrays import Array, Codes, np
from ..errors import SettingError
from ..schema import Level, Name, column_name
from ..table import label_values, read_table
from . import _style as style
from ._view import Axis, View, label_codes, observed_range

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes


RARE = 0.1  # share of a class below which it is seldom the most probable one
FULL = 10.0  # times as likely as its share, from which on a class has its full colour
LIFTS = (1.5, 3.0, 10.0)  # in the legend
KINDS = {
    "full covariances": {"covariance": "full", "shared": False},
    "shared covariance": {"covariance": "full", "shared": True},
    "diagonal covariances": {"covariance": "diagonal", "shared": False},
}


@dataclass(eq=False, repr=False)
class DecisionRegionsDisplay(style.Display):
    """The answer of a model over two of its columns, all other cells missing.

    The background has the colour of the most probable class, the stronger the surer: white is 1 / k. The other columns
    are integrated out exactly, not held at some value, so this is what the model says of a row of which only these
    cells are known. One column alone is drawn as curves of p(class | cell), categories as bands.

    A rare class may be the most probable hardly anywhere. Then the background has the colour of the class that is
    likelier than its share by the largest factor, p(class | cells) / p(class), from white at 1 to full at 10.

    Build it with `from_estimator`.

    Attributes
    ----------
    posterior : (rows of the grid, columns of the grid, k), or (cells, k) for one column.
    axes : the columns drawn: x, then y.
    ax_, figure_ : Matplotlib axes and figure.
    share : the share p(class) of each class (k,) that it is compared with, None where colours are of probabilities.
    surface_ : the background image (none for one column of categories); boundaries_, points_ : lists of artists.
    """

    axes: tuple[Axis, ...]
    posterior: Array
    classes: list[Level]
    cells: list[Array]
    codes: Codes
    share: Array | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: object,
        X: object = None,
        y: object = None,
        *,
        columns: Sequence[Name] | Name | None = None,
        priors: object = None,
        grid: int = 100,
        by: str = "auto",
        ax: Axes | None = None,
        **options: bool,
    ) -> Self:
        """Ask a fitted model over a grid and draw the answers.

        Parameters
        ----------
        estimator : a fitted model
        X, y : rows (n, d) to draw, and their labels, both optional
            Without X the rows that the model keeps are drawn.
        columns : two names or positions, or one
            The x and the y axis. By default the two columns that tell most about the class under the model. Of a
            column of more than 30 categories the most probable 30 are shown.
        priors : as for `predict_proba`
        grid : int
            Cells of the grid along each numeric axis.
        by : "probability", "lift" or "auto"
            What colours a plane: the most probable class, or the one likelier than its share by the largest factor;
            "auto" takes that where a class has less than half an equal share of the rows, and less than a tenth.
        ax : Matplotlib axes, optional
        **options : passed to `plot`

        Examples
        --------
        >>> from suffice import GaussianDiscriminant
        >>> from suffice.plots import DecisionRegionsDisplay
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True, as_frame=True)
        >>> model = GaussianDiscriminant().fit(X, y)
        >>> display = DecisionRegionsDisplay.from_estimator(model, columns=["petal length (cm)", "petal width (cm)"])
        >>> display.posterior.shape, display.ax_.get_xlabel()
        ((100, 100, 3), 'petal length (cm)')
        """
        view = View(estimator)
        rows, _, axes = view.look(X, y, columns, 2, grid, apart=True)
        axes = [view.readable(axis) for axis in check_axes(axes)]
        posterior = view.posterior(axes[::-1], priors)
        share = _share_of(view, priors, by) if len(axes) == 2 else None
        cells, codes = view.drawn(rows, [axis.position for axis in axes])
        placed = [axis.on(own) for axis, own in zip(axes, cells, strict=False)]
        if cells:  # a row of a category that is not shown is not one that misses it
            shown = np.all([np.isnan(own) | ~np.isnan(at) for own, at in zip(cells, placed, strict=True)], axis=0)
            placed, codes = [at[shown] for at in placed], codes[shown]
        return cls(tuple(axes), posterior, view.classes, placed, codes, share).plot(ax=ax, **options)

    def plot(self, ax: Axes | None = None, *, points: bool = True, legend: bool = True) -> Self:
        """Draw on `ax`, or on a new figure; `points` and `legend` may be left out."""
        self.ax_ = style.new_axes(ax)
        self.boundaries_: list[Artist] = []
        self.points_: list[Artist] = []
        style.name_axis(self.ax_, "x", self.axes[0])
        if len(self.axes) == 1:
            self._plot_line(points)
        else:
            self._plot_plane(points)
        if legend:
            flat = len(self.axes) == 1 and self.axes[0].levels is not None
            style.class_legend(self.ax_, self.classes, "point" if points and self.cells and not flat else "patch")
            if self.share is not None:
                self._lift_legend()
        return self

    def _lift_legend(self) -> None:
        """Say below the picture what the strength of a colour means."""
        from matplotlib.patches import Patch

        patches = [
            Patch(facecolor=(0.4, 0.4, 0.4, float(_lift_strength(own))), edgecolor=style.INK, linewidth=0.5)
            for own in LIFTS
        ]
        texts = [f"×{own:g}" for own in LIFTS[:-1]] + [f"×{LIFTS[-1]:g} or more"]
        first = self.ax_.get_legend()
        self.ax_.legend(
            patches,
            texts,
            title="likelier than its share",
            loc="upper center",
            bbox_to_anchor=(0.5, -0.13),
            ncols=len(LIFTS),
            frameon=False,
        )
        if first is not None:
            self.ax_.add_artist(first)

    def _plot_plane(self, points: bool) -> None:
        x, y = self.axes
        style.name_axis(self.ax_, "y", y)
        colors = shade(self.posterior)
        if self.share is not None:  # the class of the largest lift, nothing of its colour at 1, most from FULL on
            lift = self.posterior / self.share
            colors = _painted(lift, _lift_strength(lift.max(axis=-1)))
        self.surface_ = paint(self.ax_, x, y, colors)
        if self.share is None and x.levels is None and y.levels is None and not x.whole and not y.whole:
            self.boundaries_ = draw_boundaries(self.ax_, x.at, y.at, self.posterior)
        for axis, draw in ((x, self.ax_.axvline), (y, self.ax_.axhline)):
            if axis.levels is not None:
                for at in axis.at[1:]:
                    draw(at - 0.5, color="white", linewidth=2.5, zorder=1)
        if points and self.cells:
            self._scatter(x, y)

    def _scatter(self, x: Axis, y: Axis) -> None:
        """Draw the rows; those that have one of the two cells only are ticks at its axis."""
        across, up = style.spread_out(self.axes, self.cells)
        self.points_ = style.scatter(self.ax_, (across, up), self.codes, len(self.classes))
        for own, other, place in ((across, up, "x"), (up, across, "y")):
            index = np.flatnonzero(np.isfinite(own) & np.isnan(other))[: style.MOST_POINTS]
            axis = x if place == "x" else y
            if not len(index) or axis.levels is not None:
                continue
            colors = [style.color(c) if c >= 0 else style.INK for c in self.codes[index]]
            lines = self.ax_.vlines if place == "x" else self.ax_.hlines
            transform = self.ax_.get_xaxis_transform() if place == "x" else self.ax_.get_yaxis_transform()
            lines(own[index], 0.0, 0.025, colors=colors, linewidth=1.2, transform=transform, zorder=3)

    def _plot_line(self, points: bool) -> None:
        x = self.axes[0]
        if x.levels is None:
            look = {"extent": (x.low, x.high, 0.0, 1.0), "aspect": "auto", "interpolation": "nearest", "alpha": 0.6}
            self.surface_ = self.ax_.imshow(shade(self.posterior)[None], zorder=0, **look)
            for c in range(len(self.classes)):
                self.ax_.plot(x.at, self.posterior[:, c], color=style.color(c), linestyle=style.line(c), linewidth=2)
        else:
            foot = np.zeros(len(x.at))
            for c in range(len(self.classes)):
                look = {"color": style.color(c), "hatch": style.hatch(c), "edgecolor": style.INK, "linewidth": 0.5}
                self.ax_.bar(x.at, self.posterior[:, c], 0.7, bottom=foot, **look)
                foot = foot + self.posterior[:, c]
        low = 0.0
        if points and self.cells and x.levels is None:
            k = len(self.classes)
            low = -0.3
            at = -0.05 - 0.2 * np.maximum(self.codes, 0) / max(k - 1, 1)
            across = style.spread(x, self.cells[0])
            self.points_ = style.scatter(self.ax_, (across, at), self.codes, k, 14.0)
            self.ax_.axhline(0.0, color=style.INK, linewidth=0.6)
        self.ax_.set_ylim(low, 1.0)
        self.ax_.set_yticks([0.0, 0.25, 0.5, 0.75, 1.0])
        style.write_label(self.ax_, "y", f"p(class | {style.brief(x.label, 40)})")


def check_axes(axes: list[Axis]) -> list[Axis]:
    """Return the axes; SettingError unless they are one column, or two different ones."""
    names = [axis.label for axis in axes]
    if not 1 <= len(axes) <= 2 or len({axis.position for axis in axes}) < len(axes):
        raise SettingError(f"columns={names!r}: a plane has two different columns. Next: name two, or one.")
    return axes


def paint(ax: Axes, x: Axis, y: Axis, colors: Array) -> Artist:
    """Paint the plane of two axes with colours (y, x, 4) and return the image."""
    look = {"origin": "lower", "aspect": "auto", "interpolation": "nearest", "zorder": 0}
    return ax.imshow(colors, extent=(x.low, x.high, y.low, y.high), **look)


def shade(posterior: Array) -> Array:
    """Return the colour (…, 4) of the most probable class, red, green, blue and how much of it: more where surer."""
    k = posterior.shape[-1]
    sure = (posterior.max(axis=-1) - 1.0 / k) / (1.0 - 1.0 / k) if k > 1 else np.ones(posterior.shape[:-1])
    return _painted(posterior, 0.12 + 0.43 * np.clip(sure, 0.0, 1.0))


def _lift_strength(lift: Array | float) -> Array:
    """Return how strong the colour of a class is that is so many times as likely as its share."""
    return np.asarray(0.65 * np.clip(np.log(np.maximum(lift, 1.0)) / np.log(FULL), 0.0, 1.0))


def _painted(score: Array, strength: Array) -> Array:
    colors = np.array([style.rgb(style.color(c)) for c in range(score.shape[-1])])
    return np.concatenate([colors[score.argmax(axis=-1)], strength[..., None]], axis=-1)


def _share_of(view: View, priors: object, by: str) -> Array | None:
    """Return the shares p(class) (k,) that classes are compared with, None where their probabilities are drawn."""
    if by not in ("auto", "probability", "lift"):
        raise SettingError(f"by={by!r} is not known. Next: 'auto', 'probability' or 'lift'.")
    if by == "probability":
        return None
    log_prior = view.fitted.log_prior if priors is None else view.fitted.log_prior_of(priors)
    share = np.exp(log_prior)
    rare = (share > 0.0) & (share < min(RARE, 0.5 / len(share)))
    return np.maximum(share, 1e-300) if by == "lift" or rare.any() else None


def draw_boundaries(ax: Axes, x: Array, y: Array, posterior: Array) -> list[Artist]:
    """Draw where the most probable class changes, and hatch the classes from the ninth on; return the artists."""
    found = []
    best = posterior.argmax(axis=-1)
    for c in np.unique(best) if len(np.unique(best)) > 1 else []:
        rest = np.delete(posterior, c, axis=-1).max(axis=-1)
        ahead = posterior[..., c] - rest
        if c:  # the boundaries of the first class are also those of the others
            found.append(ax.contour(x, y, ahead, levels=[0.0], colors=style.INK, linewidths=0.9, zorder=2))
        if style.hatch(c):
            look = {"hatches": [style.hatch(c)], "colors": "none"}
            ax.contourf(x, y, ahead, levels=[0.0, 2.0], zorder=1, **look).set_edgecolor((0, 0, 0, 0.25))
    return found


# --- several models ---


@dataclass(eq=False, repr=False)
class ModelComparisonDisplay(style.Display):
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
    estimators: dict[str, Any]
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
        if not {"covariance", "shared"} <= set(estimator.get_params()):
            raise SettingError(
                f"{type(estimator).__name__} has no covariance= and shared= to compare. "
                "Next: give a GaussianDiscriminant, or compare fitted models by from_estimators."
            )
        from sklearn.base import clone
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        _, cells = _two_columns(X, columns)
        labels = label_values(y)
        models = {title: clone(estimator).set_params(**own).fit(cells, labels) for title, own in KINDS.items()}
        if peer is not None:  # of standardised rows, so that its penalty means the same for both columns
            whole = (label_codes(y, len(cells), ())[1] >= 0) & np.isfinite(cells).all(axis=1)
            models[type(peer).__name__] = make_pipeline(StandardScaler(), clone(peer)).fit(cells[whole], labels[whole])
        return cls.from_estimators(models, X, y, columns=columns, grid=grid, **options)

    @classmethod
    def from_estimators(
        cls,
        estimators: Mapping[str, Any],
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
        axes = [Axis.over(j, name, *observed_range(cells[:, j]), grid) for j, name in enumerate(names)]
        at = np.stack([part.ravel() for part in np.meshgrid(axes[0].at, axes[1].at)], axis=1)
        classes: list[Level] = []
        posteriors = {}
        for title, model in estimators.items():
            own = model.classes_.tolist()
            classes = classes or own
            if own != classes:
                raise SettingError(f"{title!r} knows the classes {own}, others {classes}. Next: fit all to the same.")
            posteriors[title] = np.asarray(model.predict_proba(at)).reshape(grid, grid, -1)
        _, codes = label_codes(y, len(cells), classes)
        codes = np.where(codes < len(classes), codes, -1)
        return cls(tuple(axes), posteriors, dict(estimators), classes, cells, codes).plot(**options)

    def plot(self, *, points: bool = True, legend: bool = True) -> Self:
        """Draw on a new figure, a panel for each model."""
        self.axes_ = style.panels(len(self.posteriors), None, (3.7, 3.1), sharex=True, sharey=True)
        self.ax_ = self.axes_[0]
        x, y = self.axes
        drawn = style.spread_out(self.axes, list(self.cells.T))
        wide = self.ax_.get_gridspec().ncols
        for i, (panel, (title, posterior)) in enumerate(zip(self.axes_, self.posteriors.items(), strict=True)):
            paint(panel, x, y, shade(posterior))
            draw_boundaries(panel, x.at, y.at, posterior)
            if points:
                style.scatter(panel, drawn, self.codes, len(self.classes), 14.0)
            panel.set_title(style.brief(title, 40), fontsize="medium", parse_math=False)
            panel.set_xlim(x.low, x.high)
            panel.set_ylim(y.low, y.high)
            if i + wide >= len(self.axes_):
                style.write_label(panel, "x", x.label)
                panel.tick_params(labelbottom=True)
            if i % wide == 0:
                style.write_label(panel, "y", y.label)
        if legend:
            style.class_legend(self.figure_, self.classes)
        return self


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
