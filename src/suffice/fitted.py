"""The immutable fitted value that an estimator holds; every verb is a function of it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, Self, TypeVar

from ._arrays import Array, Codes, NDArray, np
from ._arrays_api import fetch, is_device_array
from ._derived import derived, has_made, memoize, share, shared
from ._dialect import Dialect, trimmed
from .attribution.explain import contributions
from .densities import Full, Product, Rows
from .errors import DataError, NegativeError, either, quoted, setting
from .estimate import Block, Settings, WholeRows, class_log_prior
from .estimate.families import GaussianFamily
from .estimate.priors import frozen_priors, ordered_priors
from .joint import JointModel, log_posterior, marginal_log_density, posterior_and_density
from .leave_one_out import Learned, leave_groups_out, leave_one_out, refits_needed
from .leave_one_out.by_columns import MOST_REFITS, ByColumns, by_columns, check_apart
from .leave_one_out.choices import Choices, choose
from .notes import Kind as NoteKind, Note
from .released import Provenance
from .schema import Kind, Schema
from .stats import ByClass, Reservoir, Statistic
from .stats.by_class import Batch, Joined
from .stats.dependent_rows import as_judged
from .stats.rows import group_keys
from .stats.statistic import AuxArrays
from .table import Table, check_filled, read_table, take_in
from .table.labels import check_total, label_array, read_groups, read_labels, read_weights
from .vocabulary import UnseenLevel, Weights, levels_of, table_notes, unseen_in, warn_of_likes

T = TypeVar("T")
NOTHING = ByClass((), np.zeros(0), ())


@dataclass(frozen=True, eq=False)
class Fitted:
    """A schema, its blocks of columns, the statistics of the rows learned, and the settings they are read with.

    `who` is the estimator's name, for messages; `priors` are as users state them; `chosen` what leave-one-out chose,
    None where the rows kept are asked. Edits make another value (`with_statistics`); what is derived from this one is
    made when first asked for, and never saved.
    """

    who: str
    schema: Schema
    blocks: tuple[Block, ...]
    statistics: ByClass
    settings: Settings
    priors: object = None
    chosen: Choices | None = None
    past: Provenance = field(default_factory=Provenance)
    explains_soon: ClassVar[bool] = True  # a row in milliseconds
    bootstrap: ClassVar[Any] = None  # returns what draws the density of all columns by a bootstrap of the rows kept
    chosen_by_rows: ClassVar[AuxArrays | None] = None  # what they took long to choose, for a file to hold beside them

    def __getstate__(self) -> dict[str, object]:
        return {own.name: vars(self)[own.name] for own in fields(self)}

    # --- other values of this kind -----------------------------------------------------------------------------------

    def with_statistics(self, statistics: ByClass, **changed: Any) -> Self:
        """Return the value of other statistics; `changed` fields go with them, and what a fit noted goes."""
        check_total(statistics.weight)
        past = replace(changed.pop("past", self.past), notes=())
        return replace(self, statistics=statistics, past=past, **{"chosen": None, **changed})

    def with_settings(self, settings: Settings, priors: object, **changed: Any) -> Self:
        """Return the value as an edit finds it: with settings and priors as they are now."""
        open_as_before = settings.by_loo == self.settings.by_loo and settings.prior is self.settings.prior
        chosen = self.chosen if open_as_before else None
        return replace(self, settings=settings, priors=copy(priors), chosen=chosen, **changed)

    def with_past(self, **changed: Any) -> Self:
        """Return a copy with changed provenance; caches are kept."""
        return share(self, replace(self, past=replace(self.past, **changed)))

    def with_priors(self, priors: object) -> Self:
        """Return a copy under other class priors, as users state them; caches that do not depend on them are shared."""
        told = frozen_priors(priors)
        if told == self._told:
            return self
        known: tuple[object, Self] | None = vars(self).get("_under")
        if known is None or known[0] != told:
            known = vars(self)["_under"] = told, share(self, replace(self, priors=copy(priors)))
        return known[1]

    def memoize(self, make: Callable[[Self], T], whatever_priors: bool = False) -> T:
        """Return make(self), computed once; `whatever_priors`: once for all class priors."""
        return memoize(self, make, whatever_priors)

    @derived
    def _told(self) -> object:
        return frozen_priors(self.priors)

    # --- estimates ---------------------------------------------------------------------------------------------------

    @shared
    def choices(self) -> Choices:
        """What leave-one-out over the rows kept chose of the settings."""
        return self.chosen or choose(self.settings, self.statistics, self.blocks)

    def saved_choices(self) -> dict[str, object]:
        """Return by name what was found from the statistics instead of given, for the model file."""
        return self.choices.saved()

    def with_choices(self, saved: Mapping[str, object], by_rows: AuxArrays | None = None) -> Self:
        """Return the value with what `saved_choices` returned, and `chosen_by_rows`; ValueError if it cannot be."""
        return replace(self, chosen=Choices.of_saved(saved, self.settings, self.statistics))

    @shared
    def told(self) -> Settings:
        """The settings as estimates are told them, with what was chosen."""
        return self.choices.applied(self.settings)

    def block_settings(self, block: Block) -> Settings:
        """Return what the estimate of one block is told."""
        columns = tuple(self.schema.names[p] for p in block.positions)
        kept = self.whole_rows(block) or self.told.kept
        return replace(self.told, classes=self.statistics.classes, columns=columns, kept=kept)

    @shared
    def estimated(self) -> tuple[Product, tuple[Note, ...]]:
        """The class densities, and the notes of what their estimates repaired."""
        return self._estimate()

    def _estimate(self) -> tuple[Product, tuple[Note, ...]]:
        densities, notes = [], [*self.choices.notes(self.blocks)]
        for block, stats in zip(self.blocks, self.statistics.blocks, strict=True):
            density, repairs = block.family.estimate(stats, self.block_settings(block))
            densities.append(density)
            notes += repairs
        return Product(tuple(densities)), tuple(notes)

    def train(self) -> None:
        """Make and keep what a fit makes at once, which after an edit the first question does: the joint model.

        What cannot be estimated is said here.
        """
        _ = self.joint

    @derived
    def joint(self) -> JointModel:
        """The joint model p(x, y), estimated from the statistics, under the priors."""
        return JointModel(self.statistics.classes, self.log_prior, self.estimated[0])

    @property
    def is_trained(self) -> bool:
        """Whether what answers are read off was made already, by `train` or by a question."""
        return has_made(self, Fitted.estimated.make)

    @derived
    def log_prior(self) -> Array:
        """Log class priors (k,)."""
        return self.log_prior_of(self.priors)

    def log_prior_of(self, priors: object) -> Array:
        """Return log π (k,) for priors as users state them; SettingError for those that cannot be."""
        return class_log_prior(self.statistics.weight, self.class_priors(priors))

    def class_priors(self, priors: object) -> object:
        """Return priors given by label as one number per class in order."""
        return ordered_priors(priors, self.statistics.classes)

    @property
    def notes(self) -> tuple[Note, ...]:
        """What was given up, shrunk, floored or left out, by how much and why."""
        released = () if self.past.released is None else self.past.released.notes
        aside = (*released, *self.past.notes, *self._table_notes)
        names = tuple(self.schema.names[p] for p in self.empty_columns)
        if not names:
            return (*aside, *self.estimated[1])
        verbs = either("partial_fit, merge", "suffice update, merge")
        why = f"no row has a value there so far, and rows that have one may join ({verbs})"
        others = (own for own in self.estimated[1] if not own.columns or not set(names).issuperset(own.columns))
        return (*aside, Note("left out", why, columns=names, kind=NoteKind.LEFT_OUT), *others)

    @derived
    def labels(self) -> NDArray[np.generic]:
        """The class labels in the order of every result's columns (k,)."""
        return label_array(self.statistics.classes, self.past.object_labels)

    # --- levels and columns -------------------------------------------------------------------------------------------

    @shared
    def known_levels(self) -> dict[int, Weights]:
        """The levels that each column is known to have, with what they weigh, by the position of the column."""
        pairs = zip(self.blocks, self.statistics.blocks, strict=False)
        return {block.positions[j]: levels for block, stats in pairs for j, levels in stats.level_weights().items()}

    @shared
    def _table_notes(self) -> tuple[Note, ...]:
        known = replace(self.statistics, sample=self.judges)
        read = self.schema, [own.positions for own in self.blocks], self.known_levels, known
        return tuple(table_notes(*read, copies=self.copies_leave_together, subjects=self.past.released is None))

    @shared
    def empty_columns(self) -> tuple[int, ...]:
        """The positions of the columns in which no row has a value."""
        found = set[int]()
        for block, stats in zip(self.blocks, self.statistics.blocks, strict=False):
            found |= {block.positions[j] for j in np.flatnonzero(~stats.column_weight().any(axis=0)).tolist()}
        return tuple(sorted(found))

    def unseen(self, rows: Rows) -> list[UnseenLevel]:
        """Return the levels of encoded rows that were never seen, by column, the commonest of each column first."""
        held = levels_of(rows, [own.positions for own in self.blocks])
        return unseen_in(held, self.schema, self.known_levels) if held else []

    @property
    def dialect(self) -> Dialect:
        """How files of rows like those learned are written.

        Where nobody knows whether spaces around texts were taken away, they are if what was learned knows none.
        """
        own = self.past.dialect or Dialect()
        if own.trimmed is not None:
            return own
        known = (level for levels in self.known_levels.values() for level in levels)
        texts = (text for text in (*self.schema.names, *self.statistics.classes, *known) if isinstance(text, str))
        return replace(own, trimmed=all(trimmed(text) == text for text in texts))

    # --- from a table to rows of this model --------------------------------------------------------------------------

    def rows(self, X: object, resident: bool = False) -> Rows:
        """Return the rows of a table by block, in the model's own categories; if `resident`, on their own device."""
        rows, unseen = self.rows_and_unseen(X, resident)
        warn_of_likes(unseen)
        return rows

    def rows_and_unseen(self, X: object, resident: bool = False) -> tuple[Rows, list[UnseenLevel]]:
        """Return the same, and the levels among them that were never seen."""
        rows = self.encode(*self.aligned(X, resident))
        return self.recoded(rows), self.unseen(rows)

    def encoded(self, X: object) -> tuple[Rows, int]:
        """Return the rows of each block of a table as its family encodes them, and their number."""
        table, order = self.aligned(X)
        return self.encode(table, order), table.rows

    def aligned(self, X: object, resident: bool = False) -> tuple[Table, Sequence[int]]:
        """Read a table; column p of the model stands at the p-th of the positions returned with it."""
        table = read_table(take_in(X, resident and self.takes_devices))
        check_filled(table, self.who)
        return table, self.align(table)

    def align(self, table: Table) -> Sequence[int]:
        """Return the positions of the model's columns in a table; SchemaError where they are not there."""
        if table.schema is self.schema:
            return range(len(self.schema))
        order = self.schema.align(table.schema, self.who)
        if self.schema.named != table.schema.named:
            known, got = ("with", "does not have valid") if self.schema.named else ("without", "has")
            message = either(
                f"X {got} feature names, but {self.who} was fitted {known} feature names",
                f"The {'columns have no' if self.schema.named else 'model knows no'} names",
            )
            warnings.warn(f"{message}; columns go by position.", UserWarning, stacklevel=2)
        return order

    def encode(self, table: Table, order: Sequence[int]) -> Rows:
        """Return the rows of each block; column p of the model stands at order[p] of the table."""
        try:
            same = isinstance(order, range)  # the columns stand where they did: there may be very many
            places = [own.positions if same else [order[p] for p in own.positions] for own in self.blocks]
            rows = [block.family.encode(table, own) for block, own in zip(self.blocks, places, strict=True)]
        except NegativeError as error:
            raise error.named(self.who) from None
        if self.settings.missing == "error" and not is_device_array(rows[0]):  # arrays that stay elsewhere are complete
            pairs = zip(self.blocks[0].positions, np.isnan(rows[0]).any(axis=0).tolist(), strict=True)
            if names := [self.schema.names[p] for p, misses in pairs if misses]:
                raise DataError(
                    f"{either('Input X contains NaN: cells', 'Cells')} are missing in {quoted(names)}, and "
                    f"{either(setting('missing', 'error') + ' forbids', 'the model was made to refuse')} that. Next: "
                    f"fill them in, or {either('use ' + setting('missing', 'em'), 'fit another model')}."
                )
        return rows

    def recoded(self, rows: Rows) -> Rows:
        """Return encoded rows in the categories of the statistics."""
        triples = zip(self.blocks, self.statistics.blocks, rows, strict=False)
        return tuple(block.family.recode(part, stats) for block, stats, part in triples)

    @property
    def takes_devices(self) -> bool:
        """Whether rows may stay on another device: they are of Gaussians with full covariances."""
        return all(isinstance(own.family, GaussianFamily) and own.family.structure is Full for own in self.blocks)

    # --- from rows to statistics -------------------------------------------------------------------------------------

    def batch(
        self,
        table: Table,
        order: Sequence[int],
        y: object,
        sample_weight: object,
        missing: str = "error",
        groups: object = None,
    ) -> Batch:
        """Return the rows of positive weight as encoded, with their labels.

        `missing` labels: "error", "em", or "any" where none need be there.
        """
        classes, codes = read_labels(y, table.rows, self.who, missing=missing)
        weight = read_weights(sample_weight, table.rows)
        rows = self.encode(table, order)
        self.check_whole(rows)
        if len(codes) and codes.min() < 0:  # EM for labels runs on the CPU
            rows = [fetch(part) if is_device_array(part) else part for part in rows]
        group = group_keys(read_groups(groups, table.rows), self.schema.names)
        batch = Batch(classes, codes, rows, weight, group)
        batch = batch.without_empty_rows(lambda: self.declared(table.schema, order))
        if not batch.classes and missing != "any":
            raise DataError("Every row with a label has weight 0. Next: give some of them a positive weight.")
        return batch

    def summarize(self, batch: Batch, keep_rows: int | None = None) -> ByClass:
        """Return the statistics of labelled rows; `keep_rows`, if given, takes the place of the setting."""
        found = tuple(self.summarize_block(*pair, batch) for pair in zip(self.blocks, batch.rows, strict=True))
        sample = self.sample_of(batch, keep_rows)
        return ByClass(batch.classes, batch.class_weight, found, len(batch.codes), sample, batch.heaviest)

    def declared(self, schema: Schema, order: Sequence[int]) -> list[list[bool]]:
        """Return by block which columns, at these places of a table, have levels whether rows have them or not."""
        stated = [schema.columns[p].kind in (Kind.CATEGORICAL, Kind.BOOLEAN) for p in order]
        return [[stated[p] or getattr(own.family, "counted", False) for p in own.positions] for own in self.blocks]

    def check_whole(self, rows: Rows) -> None:
        """Raise DataError where rows to be learned miss cells, and Ledoit-Wolf shrinkage needs them whole."""
        for block, part in zip(self.blocks, rows, strict=False):
            if _by_whole_rows(block, self.settings) and not is_device_array(part) and np.isnan(part).any():
                raise DataError.not_whole()

    @derived
    def learned(self) -> Learned:
        """What leaving a row out begins with; DataError where rows cannot leave."""
        if self.past.released is not None:
            raise DataError.released("leave rows out", "ask the model it was made from")
        if self.past.joined:
            raise DataError(
                "Rows without a label have joined this model by EM, which leaving out a row would run again, so that "
                "leave-one-out has no closed form. Next: fit without them, or use cross-validation."
            )
        (blocks, stats), priors = self._leaving(), self.class_priors(self.priors)
        told, statistics = [self.block_settings(block) for block in blocks], replace(self.statistics, blocks=stats)
        return Learned(blocks, told, statistics, lambda weight: class_log_prior(weight, priors))

    # --- the rows kept ------------------------------------------------------------------------------------------------

    @property
    def judges(self) -> Reservoir | None:
        """The rows kept by which the model judges itself, None where there are none; of very many, some."""
        return self.statistics.sample

    @derived
    def reservoir(self) -> Reservoir:
        """These rows, copies of a row as one row of their weight; DataError where there are none."""
        if self.judges is None:
            raise DataError.without_rows("This model keeps no rows to judge itself by", self.past.released is not None)
        return as_judged(self.judges)

    @property
    def copies_leave_together(self) -> bool:
        """Whether equal rows are copies of one row, which leave together."""
        return self.judges is not None and self.reservoir is not self.judges

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

    chosen_by_sample = False  # whether the rows kept chose settings, which they judge too mildly then
    leaves_recoded = False  # whether rows to be left out are read as `recoded` returns them, not as they were encoded
    keeps_unlabelled = False  # whether rows without a label are kept as rows, where in other models they join by EM

    def unlabelled_of(self, batch: Batch) -> Reservoir | None:
        """Return the rows of a batch, none of which has a label, that are kept as rows; None for none."""
        return None

    # --- answers, which other kinds of models give in their own way, or have none of ---------------------------------

    def as_joint(self, rows: Rows) -> Rows:
        """Return recoded rows as the joint model reads them."""
        return rows

    def log_posterior(self, rows: Rows, priors: object = None, leading: bool = False) -> Array:
        """Return log p(class | row), (n, k) in nats; under other priors if given; see `joint` for `leading`."""
        log_prior = None if priors is None else self.log_prior_of(priors)
        return log_posterior(self.joint, self.as_joint(rows), log_prior, leading)

    def posterior_and_density(self, rows: Rows, priors: object = None) -> tuple[Array, Array]:
        """Return log posteriors (n, k), under other priors if these are given, and log p(x) (n,) of rows."""
        log_prior = None if priors is None else self.log_prior_of(priors)
        return posterior_and_density(self.joint, self.as_joint(rows), log_prior)

    def log_joint(self, rows: Rows) -> Array:
        """Return log p(x, k), (n, k) in nats."""
        return self.joint.log_joint(self.as_joint(rows))

    def log_density(self, rows: Rows) -> Array:
        """Return log p(x), (n,) in nats."""
        return marginal_log_density(self.joint, self.as_joint(rows))

    def contributions(self, rows: Rows, orders: int | None, errors: bool) -> tuple[Array, Array | None]:
        """Return how much each column speaks for each class (n, d, k) in nats, and standard errors if asked for."""
        positions = [own.positions for own in self.joint_value.blocks]
        return contributions(self.joint, self.as_joint(rows), positions, orders=orders, errors=errors)

    @property
    def joint_value(self) -> Fitted:
        """The value whose blocks are those of `joint`, and whose posteriors are its own: this one."""
        return self

    doubt: ClassVar[Any] = None  # of a pool: how sure its probabilities are
    pool: ClassVar[Any] = None  # the members that give posteriors, a `StackedEnsemble`; None where the joint model does

    # --- rows left out -----------------------------------------------------------------------------------------------

    def check_leaving(self) -> None:
        """Raise DataError where no row can be left out."""
        _ = self.learned

    def _leaving(self) -> tuple[tuple[Block, ...], tuple[Statistic, ...]]:
        """Return the blocks that rows leave, and their statistics: all of them."""
        return self.blocks, self.statistics.blocks

    def left_out(self, rows: Rows, codes: Codes, weight: Array | None) -> Array:
        """Return log posteriors (n, k) of encoded rows that were learned, each under the model of all others."""
        return leave_one_out(self.learned, rows, codes, weight)

    def left_out_groups(
        self, rows: Rows, codes: Codes, weight: Array | None, group: Codes, place: Codes | None = None
    ) -> Array:
        """Return the same, each row under the model without its `group` (n,); `place` (n,) as in `Leaves`."""
        return leave_groups_out(self.learned, rows, codes, weight, group)

    def left_out_unseen(self, rows: Rows, codes: Codes, weight: Array | None) -> Array:
        """Return the same by what has not seen a row in any part, its structure included, where there is one."""
        return self.left_out(rows, codes, weight)

    @derived
    def left_out_rows(self) -> Array:
        """The leave-one-out log posteriors (m, k) of the rows kept."""
        sample, groups = self.reservoir, self.reservoir.units.groups
        kept = sample.rows, sample.codes, sample.leaving_weight()
        return self.left_out(*kept) if groups is None else self.left_out_groups(*kept, groups)

    @property
    def leaves_soon(self) -> bool:
        """Whether `left_out_rows` has a closed form, or takes a few seconds of refits; else models of folds serve."""
        notes, rows = self.estimated[1], len(self.reservoir.codes)
        return not self.by_folds and refits_needed(self.learned, notes, rows) <= MOST_REFITS

    @property
    def tells_columns(self) -> bool:
        """Whether rows that leave are judged by some of their cells without models of folds, where rows are kept."""
        return self.statistics.sample is not None and self.by_columns(np.zeros(1, dtype=np.int64)) is not None

    def by_columns(self, index: Codes, as_new: bool = False) -> ByColumns | None:
        """Return what says of some of the rows kept, each left out, what only some of their cells tell.

        `as_new`: as new rows with these cells are answered, which may not be the best. None: models of folds do that.
        """
        check_apart(self.blocks, self.schema.names, self.reservoir.rows)
        if self.by_folds or self.reservoir.units.groups is not None:
            return None
        sample, learned = self.reservoir.part(index), self.learned
        return by_columns(learned, sample.rows, sample.codes, sample.row_weight(), self.estimated[1])

    @property
    def by_folds(self) -> bool:
        """Whether no formula takes a row out, so that models of folds say what is said without it."""
        return self.past.joined

    most_judged = 1 << 31  # rows kept by which it says how good it is

    def for_fold(self) -> Self:
        """Return the value that learns from some of the rows, whose classes may be fewer, with the same settings."""
        return replace(self, statistics=NOTHING, priors=None, chosen=None)

    # --- learning ----------------------------------------------------------------------------------------------------

    def summarize_block(self, block: Block, rows: Any, batch: Batch) -> Statistic:
        """Return the statistics of a block of columns by class."""
        return block.family.summarize(rows, batch.codes, len(batch.classes), batch.weight)

    def sample_of(self, batch: Batch, keep_rows: int | None = None) -> Reservoir | None:
        """Return the rows of a batch that are kept as they are."""
        bound = self.settings.keep_rows if keep_rows is None else keep_rows
        kept = batch.rows, batch.codes, batch.classes, batch.weight
        return Reservoir.summarize(*kept, bound, batch.group) if bound else None

    def join(self, batch: Batch) -> Joined | None:
        """Return the statistics of all rows of a batch, some without a label, by an EM of its own.

        None where the EM of any joint model does, `learning.fit`.
        """
        return None

    def with_steps(self, joined: Joined) -> Joined:
        """Return what joined by that EM, its steps told in the statistics where these have a place for them."""
        return joined

    def before_merge(self, other: Self) -> tuple[Self, Self]:
        """Return this value and another as their statistics are to be merged; MergeError where they cannot be."""
        return self, other

    # --- a table in parts, `learning.parts` --------------------------------------------------------------------------

    needs_all_rows = False  # whether no statistics that merge do, even where every label and every cell is there
    freezes_columns = False  # whether a first pass has to find the rows that columns are read by

    # --- letting go, `questions.release` -----------------------------------------------------------------------------

    rows_beside = 0  # how many rows are held as they were, beside the sample

    def release_whole(self, limit: Any, like: Self | None) -> tuple[Self, list[tuple[Block, Any]]] | None:
        """Return the released value and what each block gave up (`disclosure.Given`) for a `disclosure.MinCount`.

        None where blocks go one by one.
        """
        return None


def _by_whole_rows(block: Block, settings: Settings) -> bool:
    full = isinstance(block.family, GaussianFamily) and block.family.structure is Full
    return full and settings.shrinkage.rule == "ledoit-wolf"
