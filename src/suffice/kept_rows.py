"""The rows that a model keeps, and what it says of them: what counts as one row where rows are held out."""

from __future__ import annotations

from ._arrays import np
from ._arrays_api import missing_columns
from ._derived import derived
from .densities import Full, Rows
from .errors import DataError
from .estimate import Block, Settings, WholeRows
from .estimate.families import GaussianFamily
from .notes import Kind, Note
from .stats import Reservoir
from .stats.batch import Batch
from .stats.copies import as_judged
from .vocabulary import Vocabulary


def _by_whole_rows(block: Block, settings: Settings) -> bool:
    full = isinstance(block.family, GaussianFamily) and block.family.structure is Full
    return full and settings.shrinkage.rule == "ledoit-wolf"


class KeptRows(Vocabulary):
    """The part of what was learned (`Fitted`) that holds rows."""

    settings: Settings

    @derived
    def reservoir(self) -> Reservoir:
        """The rows kept, copies of a row as one row of their weight; DataError where there are none."""
        if self.statistics.sample is None:
            raise DataError.without_rows("This model keeps no rows to judge itself by", self.past.released is not None)
        return as_judged(self.statistics.sample)

    @property
    def copies_leave_together(self) -> bool:
        """Whether equal rows are copies of one row, which leave together."""
        return self.statistics.sample is not None and self.reservoir is not self.statistics.sample

    def sampled_rows(self) -> Rows:
        """Return the rows kept, one part for each block."""
        return self.reservoir.rows

    def whole_rows(self, block: Block) -> WholeRows | None:
        """Return the rows kept by which Ledoit-Wolf shrinks a block; None where it does not, or none are kept."""
        sample = self.statistics.sample
        if sample is None or not _by_whole_rows(block, self.settings):
            return None
        rows = np.asarray(sample.rows[self.blocks.index(block)], dtype=np.float64)
        return WholeRows(rows, sample.codes, sample.weight)

    def check_whole(self, rows: Rows) -> None:
        """Raise DataError where rows to be learned miss cells, and Ledoit-Wolf shrinkage needs them whole."""
        for block, part in zip(self.blocks, rows, strict=False):
            if _by_whole_rows(block, self.settings) and missing_columns(part).any():
                raise DataError.not_whole()

    @property
    def copy_notes(self) -> tuple[Note, ...]:
        """A note that says how many rows are copies, if any are."""
        sample = self.statistics.sample
        if sample is None or not self.copies_leave_together:
            return ()
        kept, distinct = round(float(sample.copies.sum())), len(sample.codes)
        what = f"held out copies of a row together: {kept - distinct:,} of {kept:,} rows repeat another one"
        why = "they are equal in every cell and in class, far more often than columns of few values explain"
        return (Note(what, why, kind=Kind.COPIED),)

    chosen_by_sample = False  # whether the rows kept chose settings, which they judge too mildly then
    keeps_unlabelled = False  # whether rows without a label are kept as rows, where in other models they join by EM

    def unlabelled_of(self, batch: Batch) -> Reservoir | None:
        """Return the rows of a batch, none of which has a label, that are kept as rows; None for none."""
        return None
