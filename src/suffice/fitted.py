"""What was learned, as one value that never changes: an estimator holds it, and every verb is a function of it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, fields, replace
from typing import Any, Self, TypeVar

from ._arrays import Array, Codes, np
from ._arrays_api import fetch, is_device_array, missing_columns
from ._derived import ORIGIN, derived, shared
from ._dialect import Dialect
from .densities import Product
from .errors import DataError, NegativeError, SettingError, quoted
from .estimate import Block, Dirichlet, NormalInverseWishart, Note, Settings, class_log_prior
from .estimate.families import GaussianFamily
from .joint import JointModel
from .leave_one_out import Learned, leave_one_out
from .leave_one_out.choices import Choices, choose
from .released import Release
from .schema import Schema
from .stats import ByClass, Reservoir
from .stats.batch import Batch, Joined
from .table import Table, read_table
from .table.labels import check_filled, check_total, read_labels, read_weights
from .table.residence import take_in
from .tasks import classify
from .tasks.explain import contributions

T = TypeVar("T")
NOTHING = ByClass((), np.zeros(0), ())


@dataclass(frozen=True, slots=True)
class Past:
    """What became of a model, beside what it has learned.

    `object_labels`: labels came as an array of objects. `unlabelled`: how many rows without a label the last fit saw;
    `joined`: whether such rows have joined by EM, `steps` of it. `notes` are those of the last fit's EM. `dialect` is
    how the CSV file of that fit was written; `released` what the model gave up if it holds no row; `origin` the file
    that it was loaded from, with the fingerprint of that.
    """

    object_labels: bool = False
    unlabelled: int = 0
    joined: bool = False
    steps: int | None = None
    notes: tuple[Note, ...] = ()
    dialect: Dialect | None = None
    released: Release | None = None
    origin: tuple[str, str] | None = None


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
    priors: Any = None
    chosen: Choices | None = None
    past: Past = Past()

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    # --- other values of this kind -----------------------------------------------------------------------------------

    def with_statistics(self, statistics: ByClass, **changed: Any) -> Self:
        """Return the value of other statistics; `changed` fields go with them, and what a fit noted goes."""
        check_total(statistics.weight)
        past = replace(changed.pop("past", self.past), notes=())
        return replace(self, statistics=statistics, past=past, **{"chosen": None, **changed})

    def told_anew(self, settings: Settings, priors: Any, **changed: Any) -> Self:
        """Return the value as an edit finds it: with settings and priors as they are now."""
        return replace(self, settings=settings, priors=copy(priors), **changed)

    def with_past(self, **changed: Any) -> Self:
        """Return the value with something else told of it; what is derived stays."""
        other = replace(self, past=replace(self.past, **changed))
        made = vars(self).copy()  # another thread may make more of it
        vars(other).update({name: made[name] for name in made if isinstance(getattr(type(self), name, None), shared)})
        return other

    def under(self, priors: Any) -> Self:
        """Return the value under other class priors, as users state them."""
        told = _as_told(priors)
        if told == self._told:
            return self
        known: tuple[Any, Self] | None = vars(self).get("_under")
        if known is None or known[0] != told:
            other = replace(self, priors=copy(priors))
            vars(other)[ORIGIN] = self.origin
            known = vars(self)["_under"] = told, other
        return known[1]

    @property
    def origin(self) -> Self:
        """The value that what priors do not change is kept with."""
        found: Self = vars(self).get(ORIGIN, self)
        return found

    def made(self, make: Callable[[Self], T]) -> T:
        """Return what a function makes of this value, made when first asked for."""
        known: dict[Any, T] = vars(self).setdefault("_made", {})
        return known[make] if make in known else known.setdefault(make, make(self))

    @derived
    def _told(self) -> Any:
        return _as_told(self.priors)

    # --- estimates ---------------------------------------------------------------------------------------------------

    @shared
    def choices(self) -> Choices:
        """What leave-one-out over the rows kept chose of the settings."""
        return self.chosen or choose(self.settings, self.statistics, self.blocks)

    def saved_choices(self) -> dict[str, Any]:
        """Return by name what was found from the statistics instead of given, for the model file."""
        return self.choices.saved()

    def with_choices(self, saved: Mapping[str, Any]) -> Self:
        """Return the value with what `saved_choices` returned; ValueError if it cannot be that."""
        return replace(self, chosen=Choices.of_saved(saved, self.settings, self.statistics))

    @shared
    def told(self) -> Settings:
        """The settings as estimates are told them, with what was chosen."""
        return self.choices.applied(self.settings)

    def told_of(self, block: Block) -> Settings:
        """Return what the estimate of one block is told."""
        names = self.schema.names
        columns = tuple(names[p] for p in block.positions)
        return replace(self.told, classes=self.statistics.classes, columns=columns)

    @shared
    def estimated(self) -> tuple[Product, tuple[Note, ...]]:
        """The class densities, and the notes of what their estimates repaired."""
        return self._estimate()

    def _estimate(self) -> tuple[Product, tuple[Note, ...]]:
        densities, notes = [], [*self.choices.notes]
        for block, stats in zip(self.blocks, self.statistics.blocks, strict=True):
            density, repairs = block.family.estimate(stats, self.told_of(block))
            densities.append(density)
            notes += repairs
        return Product(tuple(densities)), tuple(notes)

    @derived
    def joint(self) -> JointModel:
        """The joint model p(x, y), estimated from the statistics, under the priors."""
        density, _ = self.estimated
        return self._joint_of(density)

    def _joint_of(self, density: Product) -> JointModel:
        return JointModel(self.statistics.classes, self.log_prior, density)

    @derived
    def log_prior(self) -> Array:
        """Log class priors (k,)."""
        return self.log_prior_of(self.priors)

    def log_prior_of(self, priors: Any) -> Array:
        """Return log π (k,) for priors as users state them; SettingError for those that cannot be."""
        return class_log_prior(self.statistics.weight, self.class_priors(priors))

    def class_priors(self, priors: Any) -> Any:
        """Return priors given by label as one number per class in order."""
        classes = self.statistics.classes
        if not isinstance(priors, Mapping):
            return priors
        if set(priors) != set(classes):
            raise SettingError(
                f"priors names {quoted(list(priors))}; the classes are {quoted(classes)}. Next: name each."
            )
        return np.array([priors[label] for label in classes], dtype=np.float64)

    @property
    def notes(self) -> tuple[Note, ...]:
        """What was given up, shrunk, floored or left out, by how much and why."""
        released = () if self.past.released is None else self.past.released.notes
        return (*released, *self.past.notes, *self.estimated[1])

    @derived
    def labels(self) -> Any:
        """The class labels in the order of every result's columns (k,)."""
        labels = self.statistics.classes
        if self.past.object_labels:
            return np.array(labels, dtype=object)
        found = np.array(labels)
        if found.dtype.kind in "fO" and all(type(label) is int for label in labels):
            # NumPy makes floats, or objects, of integers that no signed type holds
            fits = min(labels) >= 0 and max(labels) < 2**64  # type: ignore[operator]
            return np.array(labels, dtype=np.uint64 if fits else object)
        return found

    # --- from a table to rows of this model --------------------------------------------------------------------------

    def rows(self, X: object, resident: bool = False) -> tuple[Any, ...]:
        """Return the rows of a table by block, in the model's own categories; if `resident`, on their own device."""
        return self.read(*self.aligned(X, resident))

    def read(self, table: Table, order: Sequence[int]) -> tuple[Any, ...]:
        """Return the rows of a table whose columns stand at `order`."""
        return self.recoded(self.encode(table, order))

    def recoded(self, rows: Sequence[Any]) -> tuple[Any, ...]:
        """Return encoded rows in the categories of the statistics."""
        triples = zip(self.blocks, self.statistics.blocks, rows, strict=False)
        return tuple(block.family.recode(part, stats) for block, stats, part in triples)

    def encoded(self, X: object) -> tuple[list[Any], int]:
        """Return the rows of each block of a table as its family encodes them, and their number."""
        table, order = self.aligned(X)
        return self.encode(table, order), table.rows

    def encode(self, table: Table, order: Sequence[int]) -> list[Any]:
        """Return the rows of each block; column p of the model stands at order[p] of the table."""
        try:
            if isinstance(order, range):  # the columns stand where they did: there may be very many
                rows = [block.family.encode(table, block.positions) for block in self.blocks]
            else:
                rows = [block.family.encode(table, [order[p] for p in block.positions]) for block in self.blocks]
        except NegativeError as error:
            raise error.named(self.who) from None
        self._check_missing(rows)
        return rows

    def _check_missing(self, rows: Sequence[Any]) -> None:
        """Raise DataError where the model was told not to accept missing cells."""
        if self.settings.missing != "error":
            return
        empty = np.flatnonzero(missing_columns(rows[0]))
        if len(empty):
            names = [self.schema.names[self.blocks[0].positions[int(j)]] for j in empty]
            raise DataError(
                f'Input X contains NaN: cells are missing in {quoted(names)}, and missing="error" forbids that. '
                'Next: fill them in, or use missing="em".'
            )

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
            message = f"X {got} feature names, but {self.who} was fitted {known} feature names"
            warnings.warn(f"{message}; columns go by position.", UserWarning, stacklevel=2)
        return order

    @property
    def takes_devices(self) -> bool:
        """Whether rows may stay on another device: all columns are Gaussian."""
        return all(isinstance(block.family, GaussianFamily) for block in self.blocks)

    # --- from rows to statistics -------------------------------------------------------------------------------------

    def batch(
        self, table: Table, order: Sequence[int], y: object, sample_weight: object, missing: str = "error"
    ) -> Batch:
        """Return the rows of positive weight as encoded, with their labels.

        `missing` labels: "error", "em", or "any" where none need be there.
        """
        classes, codes = read_labels(y, table.rows, self.who, missing=missing)
        weight = read_weights(sample_weight, table.rows)
        rows = self.encode(table, order)
        if len(codes) and codes.min() < 0:  # EM for labels runs on the CPU
            rows = [fetch(part) if is_device_array(part) else part for part in rows]
        batch = Batch(classes, codes, rows, weight).without_empty_rows()
        if not batch.classes and missing != "any":
            raise DataError("Every row with a label has weight 0. Next: give some of them a positive weight.")
        return batch

    def summarize(self, batch: Batch, keep_rows: int | None = None) -> ByClass:
        """Return the statistics of labelled rows; `keep_rows`, if given, takes the place of the setting."""
        blocks = tuple(
            self.summarize_block(block, part, batch) for block, part in zip(self.blocks, batch.rows, strict=True)
        )
        sample = self.sample_of(batch, keep_rows)
        return ByClass(batch.classes, batch.class_weight, blocks, len(batch.codes), sample, batch.heaviest)

    def summarize_block(self, block: Block, rows: Any, batch: Batch) -> Any:
        """Return the statistics of a block of columns by class."""
        return block.family.summarize(rows, batch.codes, len(batch.classes), batch.weight)

    def sample_of(self, batch: Batch, keep_rows: int | None = None) -> Reservoir | None:
        """Return the rows of a batch that are kept as they are."""
        bound = self.settings.keep_rows if keep_rows is None else keep_rows
        if not bound:
            return None
        return Reservoir.summarize(batch.rows, batch.codes, batch.classes, batch.weight, bound)

    # --- answers that a model of another kind gives in another way ----------------------------------------------------

    @property
    def pool(self) -> Any:
        """The members whose pool gives posteriors (`automatic.pool.Automatic`); None where the joint model does."""
        return None

    @property
    def joint_value(self) -> Fitted:
        """The value whose blocks are those of `joint`, and whose posteriors are its own."""
        return self

    def log_posterior(self, rows: Sequence[Any], priors: Any = None) -> Array:
        """Return log p(class | row), (n, k) in nats, of rows as `rows` reads them."""
        return classify.log_posterior(self.joint, rows, None if priors is None else self.log_prior_of(priors))

    def posterior_and_density(self, rows: Sequence[Any], priors: Any = None) -> tuple[Array, Array]:
        """Return log posteriors (n, k), under other priors if these are given, and log p(x) (n,) of rows."""
        log_prior = None if priors is None else self.log_prior_of(priors)
        return classify.posterior_and_density(self.joint, rows, log_prior)

    def log_joint(self, rows: Sequence[Any]) -> Array:
        """Return log π_k + log p(x | k), (n, k) in nats."""
        return self.joint.log_joint(rows)

    def log_density(self, rows: Sequence[Any]) -> Array:
        """Return log p(x), (n,) in nats."""
        return classify.marginal_log_density(self.joint, rows)

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
        blocks, stats = self._leaving()
        priors = self.class_priors(self.priors)
        return Learned(
            blocks,
            [self.told_of(block) for block in blocks],
            replace(self.statistics, blocks=stats),
            lambda weight: class_log_prior(weight, priors),
        )

    def _leaving(self) -> tuple[tuple[Block, ...], tuple[Any, ...]]:
        """Return the blocks that rows leave, and their statistics."""
        return self.blocks, self.statistics.blocks

    def left_out(self, rows: Sequence[Any], codes: Codes, weight: Array | None) -> Array:
        """Return log posteriors (n, k) of encoded rows that were learned, each under the model of all others."""
        return leave_one_out(self.learned, rows, codes, weight)

    def check_leaving(self) -> None:
        """Raise DataError where no row can be left out."""
        _ = self.learned

    @derived
    def left_out_rows(self) -> Array:
        """The leave-one-out log posteriors (m, k) of the rows kept."""
        sample = self.rows_kept
        return leave_one_out(self.learned, sample.rows, sample.codes, sample.row_weight())

    def join(self, batch: Batch) -> Joined | None:
        """Return the statistics of all rows of a batch, some without a label; None where any joint model can tell."""
        return None

    def merging(self, other: Self) -> tuple[Self, Self]:
        """Return this value and another as they are to be merged; MergeError where they cannot be."""
        return self, other

    def contributions(self, rows: Sequence[Any], orders: int | None, errors: bool) -> tuple[Array, Array | None]:
        """Return how much each column speaks for each class (n, d, k) in nats, and standard errors."""
        positions = [block.positions for block in self.blocks]
        return contributions(self.joint, rows, positions, orders=orders, errors=errors)

    def kept_rows(self) -> list[Any]:
        """Return the rows kept, one part for each block."""
        return list(self.rows_kept.rows)

    def for_fold(self) -> Self:
        """Return the value that learns from some of the rows, whose classes may be fewer, with the same settings."""
        return replace(self, statistics=NOTHING, priors=None, chosen=None)

    rows_beside = 0  # how many rows are held as they were, beside the sample

    def let_go(self, limit: Any, like: Self | None) -> tuple[Self, list[tuple[Block, Any]]] | None:
        """Return the released value and what each block gave up (`disclosure`); None where blocks can go one by one."""
        return None

    def estimate_now(self) -> None:
        """Make what a fit makes at once."""
        _ = self.joint

    # --- how a model of another kind learns from a table in parts ----------------------------------------------------

    is_climbing = False  # whether more passes are needed even where every row has a label and every cell is there
    freezes_columns = False  # whether a first pass has to find the rows that columns are read by

    def counted(self) -> Self:
        """Return the value whose blocks are as the first pass counts them."""
        return self

    def climb(self, learned: Any, passes: Any) -> tuple[ByClass, Joined | None]:
        """Return the statistics of all rows after passes of its own (`learning.passes`), from what one pass `learned`.

        None for what joined where rows without a label, if there are any, are yet to join.
        """
        return self.statistics, None

    def counted_steps(self, joined: Joined) -> Joined:
        """Return what joined by EM with its steps where this model keeps them."""
        return joined

    @property
    def rows_kept(self) -> Reservoir:
        """The rows kept; DataError where there are none."""
        if self.statistics.sample is None:
            released = self.past.released is not None
            raise DataError.without_rows("This model keeps no rows to judge itself by", released)
        return self.statistics.sample


def _as_told(priors: Any) -> Any:
    """Return a setting of priors as a value that does not change with the caller's array or dict."""
    if isinstance(priors, Mapping):
        return tuple(sorted(((repr(label), float(share)) for label, share in priors.items())))
    if priors is None or isinstance(priors, str | Dirichlet):
        return priors
    try:
        return tuple(np.asarray(priors, dtype=np.float64).ravel().tolist())
    except (TypeError, ValueError):  # said when it is used
        return repr(priors)


def prior_of(learned: Fitted | None) -> NormalInverseWishart:
    """Return the prior as used, its strength chosen by leave-one-out if it was left open; AttributeError without."""
    prior = None if learned is None else learned.told.prior
    if prior is None:
        raise AttributeError("prior_ exists once a model is fitted with prior=NormalInverseWishart(...).")
    return prior
