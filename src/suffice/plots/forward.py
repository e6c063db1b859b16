"""How good models are at each next period: what they lose, beside what they said, and how often their sets hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from .._arrays import np
from . import _style as style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..questions.forward_answer import ForwardValidation

MOST_TICKS = 8


class ForwardValidationDisplay:
    """The log-loss of each period by the model of those before it, and below it shares of rows.

    Bars are a standard error. Beside the loss stand what each model said of itself, and the loss of the first model,
    never updated; below are the rows given their true class, the mean probability of the answers, and the rows whose
    class is in their set, with a dotted line where these are to be.

    Build it with `from_estimator`, which learns every period, or with `from_validation`.

    Attributes
    ----------
    validation : what `validate_forward` returned.
    ax_, figure_ : Matplotlib axes and figure; lines_ the lines by name; shares_ax_ the axes below, None on axes given.
    """

    def __init__(self, validation: ForwardValidation) -> None:
        self.validation = validation

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: object, y: object, *, time: object, ax: Axes | None = None, **options: Any
    ) -> Self:
        """Validate models with the settings of an estimator, fitted or not, and draw it.

        Parameters
        ----------
        estimator : an estimator of suffice; it stays as it is
        X, y, time : rows (n, d), their labels, and when they were seen
        ax : Matplotlib axes, optional
            Given axes show the losses alone.
        **options : passed to `validate_forward`

        Examples
        --------
        >>> import numpy as np
        >>> from suffice import GaussianDiscriminant
        >>> from suffice.plots import ForwardValidationDisplay
        >>> rng = np.random.default_rng(0)
        >>> X, year = rng.normal(size=(300, 2)), np.arange(300) // 60
        >>> y = X[:, 0] + rng.normal(size=300) > 0
        >>> display = ForwardValidationDisplay.from_estimator(GaussianDiscriminant(), X, y, time=year)
        >>> list(display.lines_)
        ['log_loss', 'said', 'unchanged', 'accuracy', 'confidence', 'coverage']
        """
        return cls(estimator.validate_forward(X, y, time=time, **options)).plot(ax=ax)

    @classmethod
    def from_validation(cls, validation: ForwardValidation, *, ax: Axes | None = None) -> Self:
        """Draw what `validate_forward` returned."""
        return cls(validation).plot(ax=ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw on `ax`, or on a new figure."""
        self.shares_ax_: Axes | None = None
        if ax is None:
            look = {"figsize": (6.4, 5.6), "layout": "constrained", "sharex": True, "height_ratios": [3, 2]}
            _, (ax, self.shares_ax_) = style.pyplot().subplots(2, 1, **look)
        self.ax_, self.figure_, self.lines_ = ax, ax.figure, dict[str, Any]()
        found, place = self.validation, np.arange(len(self.validation.since))
        ax.errorbar(place, found.log_loss, found.log_loss_error, fmt="none", color=style.color(0), linewidth=1.4)
        self._draw(ax, {"log_loss": "next period", "said": "said of itself", "unchanged": "first model, never updated"})
        style.write_label(ax, "y", "log-loss, in nats")
        ax.set_ylim(bottom=0.0)
        if self.shares_ax_ is not None:
            names = {"accuracy": "right", "confidence": "said to be right", "coverage": "class in its set"}
            self._draw(self.shares_ax_, names)
            self.shares_ax_.axhline(found.level, color=style.ink(), linestyle=":", linewidth=1)
            style.write_label(self.shares_ax_, "y", "share of rows")
            self.figure_.align_ylabels()
        below = ax if self.shares_ax_ is None else self.shares_ax_
        shown = place[:: -(-len(place) // MOST_TICKS)]
        below.set_xticks(shown, [style.brief(found.until[t]) for t in shown.tolist()], parse_math=False)
        style.write_label(below, "x", "period judged, by its last time")
        return self

    def _draw(self, ax: Axes, names: dict[str, str]) -> None:
        for i, (name, title) in enumerate(names.items()):
            look = {"color": style.color(i), "marker": style.MARKERS[i], "markersize": 5, "linewidth": 1.6}
            place = np.arange(len(self.validation.since))
            (self.lines_[name],) = ax.plot(place, getattr(self.validation, name), label=title, **look)
        ax.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=3, borderaxespad=0.2, frameon=False)
        style.tidy(ax)
