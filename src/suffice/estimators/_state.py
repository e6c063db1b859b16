"""The state of an estimator: its settings, each with what it may be, and one immutable fitted value."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from .._arrays import Array, NDArray, is_whole, np
from ..densities import STRUCTURES
from ..errors import SettingError, quoted, setting
from ..estimate import Block, Note, Settings, Shrinkage
from ..estimate.mixture_starts import BIC
from ..estimate.priors import check_prior, check_smoothing, weighted_priors
from ..fitted import NOTHING, Fitted
from ..joint import JointModel
from ..learning.edits import settled, treated_otherwise
from ..released import Provenance
from ..schema import Name, Schema
from ..stats import ByClass
from ..stats.statistic import AuxArrays
from ..table import Table, add_missing, as_rows, check_filled, date_columns, read_table, take_in, text_columns

Constraint = Callable[[str, object], None]  # of the name and the value of a setting; SettingError where it cannot work
Constraints = Mapping[str, Constraint]  # by the name of the setting, in the order in which they are looked at


@dataclass(frozen=True)
class OneOf:
    """One of some values."""

    allowed: tuple[object, ...]

    def __call__(self, name: str, value: object) -> None:
        """Raise SettingError for any other."""
        if value not in self.allowed:
            raise SettingError.choice(name, value, self.allowed)


@dataclass(frozen=True)
class Must:
    """What a test holds of; `be` says in words what that is, and what to do next."""

    holds: Callable[[object], bool]
    be: str

    def __call__(self, name: str, value: object) -> None:
        """Raise SettingError for any other."""
        if not self.holds(value):
            raise SettingError(f"{setting(name, value)} must be {self.be}")


@dataclass(frozen=True)
class Checked:
    """What a function can be called with that raises SettingError for all else; and the word `but`."""

    by: Callable[[object], object]
    but: str | None = None

    def __call__(self, name: str, value: object) -> None:
        """Raise SettingError for what the function refuses."""
        if self.but is None or not isinstance(value, str) or value != self.but:
            self.by(value)


def _is_tolerance(value: object) -> bool:
    return isinstance(value, int | float | np.number) and 0.0 <= float(value) < np.inf


def _are_components(value: object) -> bool:
    each = value.values() if isinstance(value, Mapping) else [value]
    return all(is_whole(number, 1) or number == BIC for number in each)


def rows_wanted(value: object, schema: Schema | None = None) -> int | None:
    """Return how many rows, of 8 bytes a cell, a setting of `keep_rows` is; None for what is none."""
    if is_whole(value, 0):
        return min(int(value), ALL_ROWS)
    size = re.fullmatch(r"(\d+(?:\.\d+)?) ?([KMG])iB|all", value) if isinstance(value, str) else None
    if size is None or value == "all":
        return None if size is None else ALL_ROWS
    cells = float(size[1]) * 1024 ** " KMG".index(size[2]) // 8
    return min(int(cells) // (1 if schema is None else len(schema)), ALL_ROWS)


def _are_rows(value: object) -> bool:
    return rows_wanted(value) is not None


ALL_ROWS = 2**31 - 1
COUNT = Must(lambda value: is_whole(value, 1), "a whole number of at least 1. Next: correct it.")
SIZES = "a whole number of rows, a size such as 256MiB or 1GiB, or all"
ROWS = Must(_are_rows, f"{SIZES}. Next: 2000 is usual, 0 is none.")
ROWS_OR_NONE = Must(
    lambda value: value is None or _are_rows(value),
    f"{SIZES}; as many as fit where it is left out. Next: leave it out.",
)
TOLERANCE = Must(_is_tolerance, "a number of at least 0. Next: 1e-5 is the default.")
COMPONENTS = Must(
    _are_components,
    "a whole number of at least 1, 'bic', or one of these for every class by its label. Next: 'bic' chooses class by "
    "class.",
)
COVARIANCE = OneOf(tuple(STRUCTURES))
DIVISOR = OneOf(("mle", "unbiased"))
MEMBERS = OneOf(("all", "generative"))
MISSING = OneOf(("em", "error"))
SECONDS = Must(
    lambda value: value is None or (_is_tolerance(value) and not isinstance(value, bool) and float(value) > 0.0),  # type: ignore[arg-type]
    "a number of seconds above 0. Next: leave it out for no limit.",
)
TEXTS = Must(
    lambda value: value == "auto" if isinstance(value, str) else isinstance(value, Sequence | np.ndarray),
    "'auto' or a list of columns. Next: put the name of a single one into a list, too.",
)
MISSING_COLUMNS = OneOf(("error", "missing"))
SHRINKAGE = Checked(Shrinkage)  # type: ignore[arg-type]
SHRINKAGE_OR_LOO = Checked(Shrinkage, but="loo")  # type: ignore[arg-type]
PRIOR = Checked(check_prior)
SMOOTHING = Checked(check_smoothing)


class EditLock:
    """A lock for the edits of one estimator, which one thread may take again; a copy or a pickle has its own."""

    def __init__(self) -> None:
        self.lock = threading.RLock()  # entered as it is: an interrupt within a method of ours could leave it held

    def __reduce__(self) -> tuple[type[EditLock], tuple[()]]:
        return EditLock, ()


class _Columns:
    """The number of columns learned from; tools may set the attribute, as that of scikit-learn's own models."""

    def __get__(self, estimator: State | None, owner: type) -> Any:
        return self if estimator is None else len(estimator._known("n_features_in_").schema)


class State(ClassifierMixin, BaseEstimator):
    """Holds a `Fitted`. A question reads it once; an edit makes another and puts it in its place by one assignment.

    So an error or an interrupt changes nothing, and a question sees one state from end to end. Edits of one estimator
    wait for each other. A subclass gives `_plan(schema)` (its blocks) and `_settings()` (what its estimates are told).
    """

    priors: object
    class_weight: object = None
    keep_rows: int | str
    _kind: ClassVar[type[Fitted]] = Fitted
    _constraints: ClassVar[Constraints] = {"keep_rows": ROWS}  # what each setting may be
    _rules: ClassVar[Sequence[Callable[[Any], None]]] = ()  # and all of them together
    _learned: Fitted | None = None

    # --- what a subclass says ----------------------------------------------------------------------------------------

    def _plan(self, schema: Schema) -> tuple[Block, ...]:
        """Return the blocks of a table's columns."""
        raise NotImplementedError

    def _settings(self, schema: Schema | None = None) -> Settings:
        """Return what estimates are told; `schema` where columns are known."""
        return Settings(keep_rows=rows_wanted(self.keep_rows, schema) or 0)

    def _particulars(self) -> dict[str, object]:
        """Return the fields that the value of this kind of estimator (`_kind`) has beside those of any other."""
        return {}

    def _validate_settings(self) -> None:
        """Raise SettingError for constructor arguments that cannot work, each by itself and then together."""
        for name, constraint in self._constraints.items():
            constraint(name, getattr(self, name))
        for rule in self._rules:
            rule(self)

    # --- the value ---------------------------------------------------------------------------------------------------

    @property
    def _fitted(self) -> Fitted:
        """What was learned, under `priors` as they are set now; NotFittedError where nothing was."""
        learned = self._learned
        if learned is None:
            check_is_fitted(self)
        assert learned is not None
        return learned.with_priors(self._stated_priors(learned))

    def _stated_priors(self, learned: Fitted) -> object:
        """Return the class priors that are stated, by `priors` or by `class_weight`."""
        if self.class_weight is None:
            return self.priors
        if self.priors is not None:
            raise SettingError(
                f"{setting('priors')} and {setting('class_weight')} both say how likely classes are. Next: give one of "
                "them."
            )
        return weighted_priors(self.class_weight, learned.statistics.classes, learned.statistics.weight)

    def _begin(self, schema: Schema) -> Fitted:
        """Return the value that has learned nothing of a table's columns yet."""
        text = self._text
        schema = schema if isinstance(text, str) or text is None else schema.with_texts(text)
        return self._value(schema, self._plan(schema))

    @property
    def _text(self) -> str | Sequence[Name] | None:
        """The columns of texts: their names, "auto" for those that look like it, None where there is no such kind."""
        return None

    def _begin_of(self, table: Table) -> Fitted:
        """Return the same of a table in memory, whose cells say which columns are texts where that is left open."""
        schema = table.schema.with_dates([name for name in date_columns(table) if not self._is_label(name)])
        return self._begin(schema.with_texts(text_columns(table)) if self._text == "auto" else schema)

    def _is_label(self, name: Name) -> bool:
        """Return whether a column of text is to be read as text, though it may hold dates."""
        return not isinstance(self._text, str) and name in (self._text or ())

    def _value(self, schema: Schema, blocks: tuple[Block, ...]) -> Fitted:
        settings, who = self._settings(schema), type(self).__name__
        return self._kind(who, schema, blocks, NOTHING, settings).with_settings(
            settings, self.priors, **self._particulars()
        )

    def _restored(
        self,
        schema: Schema,
        blocks: tuple[Block, ...],
        statistics: ByClass,
        past: Provenance,
        chosen: Mapping[str, object],
        by_rows: AuxArrays | None,
    ) -> Self:
        """Return the estimator with what it had learned when it was saved; ValueError where that cannot be."""
        self._validate_settings()
        value = self._value(schema, blocks).with_statistics(statistics, past=past)
        self._learned = value.with_choices(chosen, by_rows)
        return self

    def _learn(self, edit: Callable[[Fitted | None], Fitted]) -> Self:
        """Put what an edit makes of the value in its place."""
        turn: EditLock = self.__dict__.setdefault("_turn", EditLock())
        with turn.lock:
            learned = edit(self._learned)
            self._stated_priors(learned)  # whether these classes have them
            self._learned = learned
        return self

    def _edit(self, edit: Callable[[Fitted], Fitted]) -> Self:
        """Edit what was learned, with settings as they are now; NotFittedError where nothing was."""
        check_is_fitted(self)
        return self._learn(lambda old: edit(self._refreshed(old)))

    def _refreshed(self, old: Fitted | None) -> Fitted:
        assert old is not None
        self._validate_settings()
        if columns := treated_otherwise(old, self._plan(old.schema)):
            raise SettingError(
                f"The settings as they are now treat {quoted(columns)} otherwise than those of the fit, "
                "of which the statistics are. Next: set them back, or fit anew."
            )
        return old.with_settings(self._settings(old.schema), self.priors, **self._particulars())

    def _current(self) -> Fitted:
        """Return what was learned under all settings as they are now: what a file or a released model holds."""
        self._validate_settings()
        fitted = self._fitted
        settings, own = self._settings(fitted.schema), self._particulars()
        pairs = [*zip(settings.told(), fitted.settings.told(), strict=True)]
        pairs += [(value, vars(fitted)[name]) for name, value in own.items()]
        return fitted if all(_same(a, b) for a, b in pairs) else fitted.with_settings(settings, fitted.priors, **own)

    def _settled(self, known: Fitted, other: Schema) -> Fitted:
        """Return what was learned, columns without a value so far being of the kinds that other rows tell."""
        schema = known.schema.completed(other)
        return known if schema is known.schema else settled(known, self._begin(schema))

    def _still(self) -> Self:
        """Return a copy that later edits do not reach."""
        copied = object.__new__(type(self))
        copied.__dict__ = vars(self).copy()
        copied.__dict__.pop("_turn", None)
        return copied

    def __getstate__(self) -> dict[str, object]:
        state = dict(super().__getstate__())
        state.pop("_turn", None)
        return state

    # --- tables ------------------------------------------------------------------------------------------------------

    def _table(self, X: object) -> Table:
        """Return a table to learn from."""
        table = read_table(take_in(X, bool(self.__sklearn_tags__().array_api_support)))
        check_filled(table, type(self).__name__)
        return table

    def _asked(self, X: object, missing_columns: str) -> tuple[Fitted, object]:
        """Return what was learned, and a table to answer for, with the columns that it lacks where they may miss."""
        MISSING_COLUMNS("missing_columns", missing_columns)
        fitted = self._fitted
        X = as_rows(X, fitted.schema)
        return fitted, X if missing_columns == "error" else add_missing(X, fitted.schema)

    # --- what was learned --------------------------------------------------------------------------------------------

    def _known(self, name: str) -> Fitted:
        """Return what was learned; AttributeError, in the name of an attribute, where nothing was."""
        if self._learned is None:
            raise AttributeError(name)
        return self._learned

    @property
    def statistics_(self) -> ByClass:
        """The sufficient statistics, from which everything else is estimated."""
        return self._known("statistics_").statistics

    @property
    def model_(self) -> JointModel:
        """The joint model p(x, y), made from `statistics_` when first asked for, under `priors` as they are set now."""
        return self._fitted.joint

    @property
    def notes_(self) -> list[Note]:
        """What was shrunk, floored or left out, by how much and why; each prints as one sentence."""
        return list(self._fitted.notes)

    @property
    def classes_(self) -> NDArray[np.generic]:
        """The class labels in the order of every result's columns (k,)."""
        return self._known("classes_").labels.copy()

    @property
    def priors_(self) -> Array:
        """The class priors π (k,)."""
        return np.exp(self._fitted.joint.log_prior)

    n_features_in_ = _Columns()

    @property
    def feature_names_in_(self) -> NDArray[np.object_]:
        """The names of the columns, an array of objects (d,); AttributeError where they have none."""
        schema = self._known("feature_names_in_").schema
        if not schema.named:
            raise AttributeError("feature_names_in_")
        return np.asarray(schema.names, dtype=object)

    @property
    def n_iter_(self) -> int:
        """The number of EM steps by which rows without a label joined; AttributeError where there were none."""
        steps = self._known("n_iter_").past.steps
        if steps is None:
            raise AttributeError("n_iter_")
        return steps

    def __sklearn_is_fitted__(self) -> bool:
        return self._learned is not None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags


def _same(a: object, b: object) -> bool:
    """Return whether two settings are the same; arrays that are not one object count as different."""
    try:
        return a is b or bool(a == b)
    except ValueError:
        return False
