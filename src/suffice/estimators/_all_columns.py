"""What estimators share that read all columns together: their blocks, and how many rows they keep."""

from __future__ import annotations

from typing import ClassVar

from ..automatic.by_rows import LEAST_ROWS
from ..automatic.member_family import MemberFamily
from ..densities import Diagonal
from ..errors import SettingError
from ..estimate import FAMILIES, Block, Settings
from ..estimate.families import GaussianFamily
from ..schema import Kind, Schema
from ._constraints import ROWS_OR_NONE, Constraints
from .base import GenerativeEstimator

FEWEST_KEPT, MOST_KEPT = 2000, 20_000  # rows, where users do not say
KEPT_BYTES = 1 << 25


def _check_kept_rows(estimator: AllColumns) -> None:
    if estimator.keep_rows is not None and estimator.keep_rows < LEAST_ROWS:
        raise SettingError(
            f"keep_rows={estimator.keep_rows}: the model is judged by the rows that are kept, and fewer than "
            f"{LEAST_ROWS} say too little. Next: leave keep_rows=None."
        )


class AllColumns(GenerativeEstimator):
    """An estimator with a block of all columns beside those of numbers and of categories."""

    keep_rows: int | None  # type: ignore[assignment]
    _constraints: ClassVar[Constraints] = {"keep_rows": ROWS_OR_NONE}
    _rules = (_check_kept_rows,)
    _family: ClassVar[type[MemberFamily]] = MemberFamily

    def _settings(self, schema: Schema | None = None) -> Settings:
        """Return what estimates are told: how many rows are kept, where users do not say as many as fit."""
        if self.keep_rows is not None:
            return Settings(keep_rows=int(self.keep_rows), leaves_tiny=True)
        columns = 1 if schema is None else len(schema)
        kept = max(FEWEST_KEPT, min(MOST_KEPT, KEPT_BYTES // (8 * max(columns, 1))))
        return Settings(keep_rows=kept, leaves_tiny=True)

    def _plan(self, schema: Schema) -> tuple[Block, ...]:
        """Return the blocks of the numbers and of the categories, and one of all columns."""
        as_number = [column.kind in (Kind.NUMERIC, Kind.EMPTY) for column in schema.columns]
        numeric = tuple(p for p, own in enumerate(as_number) if own)
        labels = tuple(p for p, own in enumerate(as_number) if not own)
        blocks = [Block(GaussianFamily(structure=Diagonal), numeric)] if numeric else []
        blocks += [Block(FAMILIES["categorical"], labels)] if labels else []
        return (*blocks, Block(self._family(len(numeric)), (*numeric, *labels)))
