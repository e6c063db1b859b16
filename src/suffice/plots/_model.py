"""What plots and the page ask of a fitted estimator: its verbs, and what it has learned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeGuard

from .._arrays import Array, NDArray, np
from ..errors import SettingError
from ..fitted import Fitted

Labels = NDArray[np.generic]  # of any kind of label


class Model(Protocol):
    """The verbs and attributes that every fitted estimator has."""

    @property
    def classes_(self) -> Labels:
        """Labels (k,)."""

    @property
    def priors_(self) -> Array:
        """Class priors (k,)."""

    @property
    def notes_(self) -> Sequence[object]:
        """What was repaired."""

    def get_params(self, deep: bool = True) -> dict[str, object]:
        """Return the settings by name."""

    def predict_proba(self, X: object, *, priors: object = None) -> Array:
        """Return posteriors (n, k)."""

    def predict_log_proba(self, X: object) -> Array:
        """Return log posteriors (n, k) in nats."""

    def predict_joint_log_proba(self, X: object) -> Array:
        """Return log p(row, class), (n, k) in nats."""

    def leave_one_out(self, X: object, y: object, sample_weight: object = None) -> Array:
        """Return log posteriors (n, k) of learned rows, each under the model of all others."""

    def explain(self, X: object) -> Array:
        """Return how much each column speaks for each class, (n, d, k) in nats."""

    def suspect_labels(self, X: object, y: object, sample_weight: object = None) -> Array:
        """Return how probable it is that the labels of learned rows are wrong (n,)."""

    def importance(self) -> Any:
        """Return what each column is worth: `columns`, `mean`, `standard_error`, `loss` and `order`."""

    def outlier_pvalues(self, X: object, y: object = None) -> Array:
        """Return outlier p-values (n,)."""

    def drift(self, X: object, y: object = None) -> Any:
        """Return what has moved between the rows learned and these, a value with `to_dict`."""

    def sample(self, n: int, *, random_state: object = None, as_recorded: bool = True) -> tuple[Any, Any]:
        """Return new rows, a table of the model's kind, and their labels (n,)."""


def check_model(estimator: object) -> Model:
    """Return a fitted model of ours; SettingError for anything else."""
    if not _is_model(estimator):
        raise SettingError(
            f"{type(estimator).__name__} is not a fitted model of suffice. Next: fit it, or give one that is."
        )
    return estimator


def _is_model(estimator: object) -> TypeGuard[Model]:
    return isinstance(getattr(estimator, "_learned", None), Fitted)


def learned(model: Any) -> Fitted:
    """Return what a fitted model has learned."""
    fitted: Fitted = model._fitted
    return fitted


def members(model: Any) -> Sequence[Mapping[str, Any]]:
    """Return name, setting, loss and weight of each member of a pool; none of other models."""
    return () if learned(model).pool is None else model.members_
