"""What the classes with scikit-learn's names share."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from .._arrays import Array, np
from ..errors import SettingError
from ..estimate import Block, Dirichlet, Note
from ..estimators import NaiveBayes
from ..estimators._states import question, snapshot
from ..joint import JointModel
from ..schema import Level, Schema

Estimated = tuple[JointModel, list[Note]]


def attribute(doc: str, read: Callable[[Any], object], exists: Callable[[Any], bool] = lambda model: True) -> property:
    """Return a fitted attribute; AttributeError where the settings do not let it exist."""

    def get(model: object) -> object:
        if not exists(model):
            raise AttributeError(f"With these settings of {type(model).__name__} there is none of this: {doc}")
        return read(snapshot(model))

    return property(get, doc=doc)


class DropIn:
    """What all share: settings of the parent that have no parameter here, and scikit-learn's rules for priors."""

    covariance, divisor, missing, prior, smoothing, keep_rows = "full", "mle", "em", None, 1.0, 0
    _strict = False  # whether priors that do not sum to one are refused
    _closed_form = True  # whether a row can be taken out of the sums
    if TYPE_CHECKING:  # constructor arguments are stored by their names

        def __getattr__(self, name: str) -> Any: ...

    @property
    def _learned(self) -> tuple[Schema, Sequence[Block]] | None:
        """The columns and their blocks, None before any fit."""
        return (self._schema, self._blocks) if "_schema" in vars(self) else None

    def _store(self, arguments: dict[str, object]) -> None:
        vars(self).update({name: value for name, value in arguments.items() if name not in ("self", "__class__")})

    def _class_priors(self, priors: object, classes: Sequence[Level]) -> object:
        found = NaiveBayes._class_priors(priors, classes)
        if found is None or isinstance(found, str | Dirichlet):
            return found
        values = np.asarray(found, dtype=np.float64)
        if values.shape != (len(classes),):
            raise SettingError(f"Number of priors must match number of classes: {values.size} and {len(classes)}.")
        if (values < 0).any():
            raise SettingError(f"{'Priors' if self._strict else 'priors'} must be non-negative, not {values.tolist()}.")
        if abs(values.sum() - 1.0) > 1e-5:
            if self._strict:
                raise SettingError(f"The sum of the priors should be 1, not {values.sum():g}. Next: divide them by it.")
            warnings.warn("The priors do not sum to 1. Renormalizing", UserWarning, stacklevel=2)
        return values / values.sum()

    @question
    def leave_one_out(self, X: object, y: object, sample_weight: object = None) -> Array:
        """Return exact leave-one-out log posteriors (n, k); SettingError where the settings leave no closed form."""
        if not self._closed_form:
            raise SettingError(
                f"{type(self).__name__} with these settings has no closed form for leave-one-out. Next: use "
                "sklearn.model_selection.cross_val_predict(model, X, y, method='predict_log_proba')."
            )
        return super().leave_one_out(X, y, sample_weight)  # type: ignore[misc, no-any-return]
