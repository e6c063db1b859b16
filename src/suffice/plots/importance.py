"""What each column is worth: bars in nats, the dearest on top."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from .._arrays import np
from ..schema import column_name
from . import _style as style
from ._model import check_model

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST = 30  # columns drawn
HALF = 1.959964  # standard errors on each side: 95 %


class ImportanceDisplay:
    """What leaving each column unknown costs in nats of leave-one-out log-loss, the dearest column on top.

    Lines are 95 % intervals of the mean. A bar to the left of zero is of a column without which the model does better.

    Build it with `from_estimator`.

    Attributes
    ----------
    importance : what `importance()` of the model returned.
    shown : the numbers of the columns drawn, from the top.
    ax_, figure_ : Matplotlib axes and figure; bars_ the bars.
    """

    def __init__(self, importance: Any, most: int = MOST) -> None:
        self.importance = importance
        self.shown = importance.order[:most]

    @classmethod
    def from_estimator(cls, estimator: object, *, most: int = MOST, ax: Axes | None = None) -> Self:
        """Ask a fitted model what its columns are worth and draw it.

        Parameters
        ----------
        estimator : a fitted model that keeps rows
        most : int
            So many columns are drawn at most, those that are worth most.
        ax : Matplotlib axes, optional

        Examples
        --------
        >>> from suffice import GaussianDiscriminant
        >>> from suffice.plots import ImportanceDisplay
        >>> from sklearn.datasets import load_iris
        >>> model = GaussianDiscriminant(shared=True).fit(*load_iris(return_X_y=True))
        >>> ImportanceDisplay.from_estimator(model).shown.tolist()
        [2, 3, 1, 0]
        """
        return cls(check_model(estimator).importance(), most).plot(ax=ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw on `ax`, or on a new figure."""
        found, shown = self.importance, self.shown
        self.ax_ = style.new_axes(ax, (6.4, 1.2 + 0.32 * len(shown)))
        self.figure_ = self.ax_.figure
        place = np.arange(len(shown))[::-1]
        mean, half = found.mean[shown], HALF * np.nan_to_num(found.standard_error[shown])
        self.bars_ = self.ax_.barh(place, mean, 0.7, color=style.color(0), zorder=2)
        self.ax_.hlines(place, mean - half, mean + half, color=style.ink(), linewidth=1.2, zorder=3)
        self.ax_.axvline(0.0, color=style.ink(), linewidth=0.8, zorder=1)
        names = [found.columns[j] for j in shown.tolist()]
        words = [style.brief(column_name(name)) for name in names]
        self.ax_.set_yticks(place, words, parse_math=False)
        self.ax_.set_ylim(-0.6, len(shown) - 0.4)
        style.write_label(self.ax_, "x", "nats that leaving the column unknown costs")
        left_out = len(found.columns) - len(shown)
        title = f"log-loss {found.loss:.3f} with all columns" + (f"; {left_out} worth less" if left_out else "")
        style.say(self.ax_, title)
        style.tidy(self.ax_)
        return self
