"""What plots and the page ask of a fitted estimator: its verbs, and what it has learned."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeGuard

from .._arrays import Array, NDArray, np
from ..errors import SettingError
from ..joint import JointModel
from ..schema import Schema
from ..stats import ByClass

Labels = NDArray[np.generic]  # of any kind of label


class Family(Protocol):
    """How the columns of a block are encoded."""

    def recode(self, rows: Any, stats: Any) -> object:
        """Return rows in the categories of statistics."""
        ...


class Block(Protocol):
    """Columns that share a density."""

    @property
    def family(self) -> Family:
        """How they are encoded."""
        ...

    @property
    def positions(self) -> tuple[int, ...]:
        """Where they stand in the table."""
        ...


class Model(Protocol):
    """The verbs and attributes that every fitted estimator has."""

    @property
    def classes_(self) -> Labels:
        """Labels (k,)."""
        ...

    @property
    def priors_(self) -> Array:
        """Class priors (k,)."""
        ...

    @property
    def notes_(self) -> Sequence[object]:
        """What was repaired."""
        ...

    def get_params(self, deep: bool = True) -> dict[str, object]:
        """Return the settings by name."""
        ...

    def predict_proba(self, X: object, *, priors: object = None) -> Array:
        """Return posteriors (n, k)."""
        ...

    def predict_log_proba(self, X: object) -> Array:
        """Return log posteriors (n, k) in nats."""
        ...

    def predict_joint_log_proba(self, X: object) -> Array:
        """Return log p(row, class), (n, k) in nats."""
        ...

    def leave_one_out(self, X: object, y: object, sample_weight: object = None) -> Array:
        """Return log posteriors (n, k) of learned rows, each under the model of all others."""
        ...

    def outlier_pvalues(self, X: object, y: object = None) -> Array:
        """Return outlier p-values (n,)."""
        ...

    def sample(self, n: int, *, random_state: object = None) -> tuple[Any, Any]:
        """Return new rows, a table of the model's kind, and their labels (n,)."""
        ...


class Fitted(NamedTuple):
    """What a model has learned: its columns, blocks of them, statistics of these, and the joint density read off them.

    `blocks` may have one more at the end than the joint density, which the members of a pool are made of. `encode`
    returns a table as one part per block.
    """

    schema: Schema
    blocks: Sequence[Block]
    statistics: ByClass
    joint: JointModel
    encode: Callable[[object], Sequence[Any]]


def check_model(estimator: object) -> Model:
    """Return a fitted model of ours; SettingError for anything else."""
    if not _is_model(estimator):
        raise SettingError(
            f"{type(estimator).__name__} is not a fitted model of suffice. Next: fit it, or give one that is."
        )
    return estimator


def _is_model(estimator: object) -> TypeGuard[Model]:
    return hasattr(estimator, "statistics_") and hasattr(estimator, "_schema")


def learned(model: Any) -> Fitted:
    """Return what a fitted model has learned."""
    return Fitted(model._schema, model._blocks, model.statistics_, model.model_, model._rows)


def members(model: Any) -> Sequence[Mapping[str, Any]]:
    """Return name, setting, loss and weight of each member of a pool; none of other models."""
    return getattr(model, "members_", ())
