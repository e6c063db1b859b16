"""What the classes with scikit-learn's names share."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from .._arrays import Array, np
from ..errors import SettingError
from ..estimate import Dirichlet, NormalInverseWishart
from ..fitted import Fitted
from ..schema import Name


@dataclass(frozen=True, eq=False)
class DropInFitted(Fitted):
    """A model with scikit-learn's rules for priors."""

    strict: bool = False  # whether priors that do not sum to one are refused

    def class_priors(self, priors: object) -> object:
        """Return priors as one number per class, divided by their sum with a warning, or refused."""
        found = super().class_priors(priors)
        if found is None or isinstance(found, str | Dirichlet):
            return found
        values, k = np.asarray(found, dtype=np.float64), len(self.statistics.classes)
        if values.shape != (k,):
            raise SettingError(f"Number of priors must match number of classes: {values.size} and {k}.")
        if (values < 0).any():
            raise SettingError(f"{'Priors' if self.strict else 'priors'} must be non-negative, not {values.tolist()}.")
        if abs(values.sum() - 1.0) > 1e-5:
            if self.strict:
                raise SettingError(f"The sum of the priors should be 1, not {values.sum():g}. Next: divide them by it.")
            warnings.warn("The priors do not sum to 1. Renormalizing", UserWarning, stacklevel=2)
        return values / values.sum()


def attribute(doc: str, read: Callable[[Any], Any], exists: Callable[[Any], bool] = lambda model: True) -> property:
    """Return a fitted attribute; AttributeError where the settings do not let it exist."""

    def get(model: Any) -> object:
        if not exists(model):
            raise AttributeError(f"With these settings of {type(model).__name__} there is none of this: {doc}")
        return read(model._still())

    return property(get, doc=doc)


class DropIn:
    """What all share: settings of the parent that have no parameter here, and scikit-learn's rules for priors."""

    covariance, divisor, missing = "full", "mle", "em"
    keep_rows: int | str = 0
    prior: NormalInverseWishart | None = None
    smoothing: float | Dirichlet | Mapping[Name, float | Dirichlet] = 1.0
    _kind: ClassVar[type[Fitted]] = DropInFitted
    _closed_form = True  # whether a row can be taken out of the sums
    if TYPE_CHECKING:  # constructor arguments are stored by their names

        def __getattr__(self, name: str) -> Any: ...

    def _store(self, arguments: dict[str, object]) -> None:
        vars(self).update({name: value for name, value in arguments.items() if name not in ("self", "__class__")})

    def leave_one_out(self, X: object, y: object, sample_weight: object = None, groups: object = None) -> Array:
        """Return exact leave-one-out log posteriors (n, k); SettingError where the settings leave no closed form."""
        if not self._closed_form:
            raise SettingError(
                f"{type(self).__name__} with these settings has no closed form for leave-one-out. Next: use "
                "sklearn.model_selection.cross_val_predict(model, X, y, method='predict_log_proba')."
            )
        return super().leave_one_out(X, y, sample_weight, groups)  # type: ignore[misc, no-any-return]
