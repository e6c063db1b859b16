"""The rows that a model keeps, and which of them leave together."""

from __future__ import annotations

from ._arrays import np
from ._arrays_api import is_device_array
from ._derived import derived, shared
from .densities import Full, Rows
from .errors import DataError, either
from .estimate import Block, Settings, WholeRows
from .estimate.families import GaussianFamily
from .notes import Kind, Note
from .schema import Kind as ColumnKind
from .stats import Reservoir
from .stats.by_class import Batch
from .stats.counts import CodedColumns
from .stats.dependent_rows import Cells, as_judged, name_subjects
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
            if _by_whole_rows(block, self.settings) and not is_device_array(part) and np.isnan(part).any():
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

    @shared
    def subject_notes(self) -> tuple[Note, ...]:
        """A note of the columns that seem to name what rows belong to, where no groups were given."""
        sample = self.statistics.sample
        if sample is None or sample.group is not None or self.past.released is not None:
            return ()
        cells = dict[int, Cells]()
        for block, part in zip(self.blocks, sample.rows, strict=False):
            if isinstance(part, CodedColumns):
                own = [Cells.of_levels(*told) for told in zip(part.codes, part.levels, strict=True)]
            elif isinstance(part, np.ndarray):
                own = [Cells(column, False) for column in part.T]
            else:
                continue  # counts of words
            cells |= zip(block.positions, own, strict=True)
        positions = sorted(cells)
        may = [i for i, p in enumerate(positions) if self.schema.columns[p].kind is not ColumnKind.BOOLEAN]
        found = name_subjects([cells[p] for p in positions], may)
        if not found:
            return ()
        names = tuple(self.schema.names[positions[i]] for i in found)
        why = "rows of one value are as alike as those of one subject; if a column names what rows belong to, fit with "
        why += either("groups=", "--groups COLUMN")
        why += ", so that they leave together, and nothing is learned from its values"
        return (Note("held out rows one by one", why, columns=names, kind=Kind.SUBJECTS),)

    @property
    def kept_notes(self) -> tuple[Note, ...]:
        """What the rows kept say of the table."""
        return (*self.copy_notes, *self.subject_notes)

    chosen_by_sample = False  # whether the rows kept chose settings, which they judge too mildly then
    keeps_unlabelled = False  # whether rows without a label are kept as rows, where in other models they join by EM

    def unlabelled_of(self, batch: Batch) -> Reservoir | None:
        """Return the rows of a batch, none of which has a label, that are kept as rows; None for none."""
        return None
