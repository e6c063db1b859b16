"""Let a model go: without rows, and without a number from which one could be read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import replace
from typing import Any, Self

from sklearn.utils.validation import check_is_fitted

from .._arrays import Array, np
from .._dialect import Dialect
from ..disclosure import Given, Least, release_block
from ..disclosure.blocks import Kept
from ..disclosure.gaussian import UNREMEMBERED
from ..errors import DataError, SettingError, quoted
from ..estimate import Block
from ..notes import Kind, Note
from ..schema import Schema
from ..stats import ByClass, FourthMomentStats, GaussianStats, Reservoir
from ..stats.rows import take_rows
from ..stats.scatter import ThinScatter
from ._released import FEWEST, Cost, Release, RowsHeld
from ._states import question
from ._unlabelled import Batch

FOLDS = 5
LEAST_LOSS = 1e-15  # the least probability that a loss is taken of
WHY = "no number may sum over fewer than {least} rows"


class Releasing:
    """The verb `release`, for the bases of an estimator."""

    statistics_: ByClass
    model_: Any  # a property of `GenerativeEstimator`
    _schema: Schema
    _blocks: tuple[Block, ...]
    _released: Release | None
    _holds_unlabelled: bool
    _dialect: Dialect | None
    _posterior_of: Callable[[Sequence[Any]], Array]
    _summarize: Callable[..., ByClass]
    _remember: Callable[[Schema, Sequence[Block], ByClass, Any], None]
    get_params: Callable[..., dict[str, Any]]

    @property
    @question
    def rows_held_(self) -> RowsHeld:
        """How many rows the model, and a file of it, holds as they were, and whether it was released."""
        check_is_fitted(self, "statistics_")
        kept = 0 if self.statistics_.sample is None else int(self.statistics_.sample.copies.sum())
        thin = [_thin_rows(stats) for stats in self.statistics_.blocks]
        own = self._released
        least = None if own is None or own.joined else own.least
        return RowsHeld(max([kept, *thin, self._rows_of_members()]), least)

    @property
    @question
    def released_(self) -> Release:
        """What was given up when the model was released, and what that costs; AttributeError for any other model."""
        if self._released is None or self._released.joined:
            raise AttributeError("released_ exists in models that `release` returned.")
        return self._released

    @question
    def release(self, *, least: int = 5, like: Self | None = None) -> Self:
        """Return a model for others, without rows and without a number that sums over fewer than `least` rows.

        It answers as any model does, merges with other released models, and can be saved and updated; leave-one-out,
        forgetting and what else needs rows it refuses. This model stays as it is. What the other one gave up is in its
        `notes_`; `released_` also says what that costs: the log-loss of rows that are kept, each judged by a model of
        other folds, as it is and released. Where no rows are kept, nobody can know.

        - Missing cells of joint Gaussians are filled by EM, once for all; no pattern of missing cells is left.
        - A covariance of no more rows than columns and `least` is taken from other classes; a shared one no longer
          knows what each class adds to it.
        - Small counts of levels are rounded to 0 or `least`; levels of few rows become missing cells.
        - Values of Laplace and Student t columns are means of groups of at least `least` neighbours.
        - Components of mixtures that are of few rows join others.
        - A column in which fewer than `least` rows of a class differ from all its others is taken from other classes.
          Where no rows are kept this can be told of columns of 0 and 1 alone.
        - `GenerativeClassifier` keeps its Gaussians of numbers, hat functions (by histograms on a round grid) and
          categories, weighted anew; pairs of columns and parts of classes go.

        This is a promise about single rows in one file. It is no differential privacy, and no promise about the
        difference of two files, about what all rows of a class have in common, or about what rows of whole numbers fit
        sums of few rows: see docs/editing.md.

        Parameters
        ----------
        least : int, at least 2
            How many rows a sum must have. They are counted as rows: no weight makes one row several.
        like : a released model of the same kind, optional
            For `GenerativeClassifier`: read columns (knots, vocabularies) and weigh members as that model does, so that
            the two merge exactly. Other models need no such thing, and take no notice of it.

        Raises
        ------
        DataError
            A class has fewer rows than that; the weights of the rows are not known (models of older versions, or
            weights that a database summed); or a kind of statistics cannot be released.

        Examples
        --------
        >>> from suffice import NaiveBayes
        >>> X, y = [[i / 4.0, "ab"[i % 2]] for i in range(40)], ["low"] * 20 + ["high"] * 20
        >>> model = NaiveBayes().fit(X, y).release()
        >>> print(model.rows_held_)
        holds no rows, and no sums of fewer than 5 rows (released)
        """
        check_is_fitted(self, "statistics_")
        self._check_release(least, like)
        heaviest = self.statistics_.heaviest_row
        if heaviest is None:
            raise DataError(
                "How much the heaviest row of this model weighs is not known, so that its weights do not tell how many "
                "rows they are of. Next: fit it again with this version, without weights that a database sums."
            )
        limit = Least(int(least), heaviest)
        small = [
            f"{label!r} (at least {int(weight / heaviest + 1e-9)})"
            for label, weight in zip(self.statistics_.classes, self.statistics_.weight, strict=True)
            if weight < limit.size * (1.0 - 1e-9)
        ]
        if small:
            raise DataError(
                f"These classes may have fewer than {least} rows, which a released model must not tell of: "
                f"{', '.join(small)}. Next: join each to another class with rename_classes (on the command line "
                "rename-class), or leave it out with drop_class (drop-class)."
            )
        found, notes = self._let_go(limit, like)
        cost, unknown = self._cost(limit, like)
        now = Release(int(least), tuple(notes), cost, unknown)
        if self._released is not None:  # rows have joined: what was given up before stays so
            now = replace(now, notes=self._released.merge(now).notes)
        found._released = now
        return found

    def _check_release(self, least: Any, like: Any) -> None:
        if isinstance(least, bool) or not isinstance(least, int | np.integer) or least < FEWEST:
            raise SettingError(
                f"least={least!r} must be a whole number of at least {FEWEST}: a sum of one row is that row. Next: 5."
            )
        other = getattr(like, "_released", None)
        if like is not None and (type(like) is not type(self) or other is None or other.joined):
            raise SettingError(
                f"like must be a {type(self).__name__} that was released. Next: release the other model first."
            )
        own = self._released
        if own is not None and not own.joined and own.least >= least:
            raise DataError(f"This model was released with least={own.least} already. Next: pass it on as it is.")
        if own is not None and not own.joined:
            raise DataError.released("be released again", "release the model it was made from")

    def _let_go(self, limit: Least, like: Any) -> tuple[Self, list[Note]]:
        """Return the released model and what was given up."""
        statistics, notes, blocks, found = self.statistics_, list[Note](), list[Block](), list[Any]()
        for number, (block, stats) in enumerate(zip(self._blocks, statistics.blocks, strict=True)):
            given = Given()
            kept = None if statistics.sample is None else _kept(statistics.sample, number)
            shrunk = self._shrunk_scatters(number) if isinstance(stats, FourthMomentStats) else None
            done = release_block(block, stats, statistics.weight, limit, given, kept, shrunk)
            blocks.append(done.block)
            found.append(done.stats)
            notes += self._given_up(given, block, limit)
        return self._copy_with(
            blocks, replace(statistics, blocks=tuple(found), sample=None, heaviest=limit.told)
        ), notes

    def _copy_with(self, blocks: Sequence[Block], statistics: ByClass) -> Self:
        """Return an estimator with these settings that has learned these statistics."""
        twin = copy(self)
        vars(twin).clear()
        settings = self.get_params(deep=False) | self._settings_to_pass_on()
        type(self).__init__(twin, **settings)
        if hasattr(self, "_object_labels"):
            twin._object_labels = self._object_labels  # type: ignore[attr-defined]
        twin._remember(self._schema, blocks, statistics, None)
        twin._holds_unlabelled = self._holds_unlabelled
        own = self._dialect
        twin._dialect = None if own is None else Dialect(own.decimal, dict(own.decimals))  # no text of a cell
        return twin

    def _settings_to_pass_on(self) -> dict[str, Any]:
        """Return the settings of a released model that are not those of this one."""
        own: dict[str, Any] = {"keep_rows": 0} if "keep_rows" in self.get_params(deep=False) else {}
        if any(isinstance(stats, FourthMomentStats) for stats in self.statistics_.blocks):
            own["shrinkage"] = None
        elif getattr(self, "_by_loo", False):
            own["shrinkage"] = self.shrinkage_  # type: ignore[attr-defined]
        if getattr(self, "_by_strength", False):
            own["prior"] = self.prior_  # type: ignore[attr-defined]
        return own

    def _shrunk_scatters(self, number: int) -> Array:
        """Return scatters (g, d, d) whose own estimate is the covariance that shrinkage by fourth moments gave."""
        density: Any = self.model_.density.blocks[number]
        family: Any = self._blocks[number].family
        weight, divisor = self.statistics_.weight, getattr(self, "divisor", None)
        if divisor is None:
            raise DataError(
                f'{type(self).__name__} with shrinkage="auto" cannot be released. Next: give the amount of shrinkage.'
            )
        d = density.means.shape[1]
        dense = density.covariance.dense()
        less = 0.0 if divisor == "mle" else 1.0
        factors = np.array([weight.sum() - less * len(weight)]) if family.shared else weight - less
        out = np.zeros((len(factors), d, d))
        out[np.ix_(range(len(out)), density.used, density.used)] = factors[:, None, None] * dense[: len(factors)]
        return out

    def _given_up(self, given: Given, block: Block, limit: Least) -> list[Note]:
        names, classes = self._schema.names, self.statistics_.classes
        why, notes = WHY.format(least=limit.rows), []
        for what, columns in given.columns.items():
            own = tuple(names[block.positions[j]] for j in sorted(columns))
            met = sorted(given.classes[what])
            text = what + (f" (classes {quoted([classes[c] for c in met])})" if met else "")
            columns_told = own if len(own) < len(block.positions) else ()
            kind = Kind.POOLED if what == UNREMEMBERED else Kind.GIVEN_UP
            notes.append(Note(text, why, columns=columns_told, kind=kind))
        return notes

    def _rows_of_members(self) -> int:
        """Return how many rows are held beside the sample."""
        return 0

    # --- what it costs -----------------------------------------------------------------------------------------------

    def _cost(self, limit: Least, like: Any) -> tuple[Cost | None, str]:
        """Return what a release costs in held-out loss; or why nobody can know."""
        if self.statistics_.sample is None:
            return None, "no rows are kept to judge by"
        if self._holds_unlabelled:
            return None, "rows without a label have joined"
        batch = self._kept_batch()
        fold = np.zeros(len(batch.codes), dtype=np.int64)
        for c in range(len(batch.classes)):
            own = np.flatnonzero(batch.codes == c)
            fold[own] = np.arange(len(own)) % FOLDS
        losses, weights = list[Array](), list[Array]()
        for number in range(FOLDS):
            there, out = np.flatnonzero(fold != number), np.flatnonzero(fold == number)
            known, codes = np.unique(batch.codes[there], return_inverse=True)
            out = out[np.isin(batch.codes[out], known)]
            if not len(out) or not len(there):
                continue
            train = batch.take(there)._replace(classes=tuple(batch.classes[int(c)] for c in known), codes=codes)
            before = copy(self)
            vars(before).clear()
            type(self).__init__(before, **self.get_params(deep=False))
            statistics = self._summarize(train, self._blocks)
            before._remember(self._schema, self._blocks, statistics, None)
            after, _ = before._let_go(limit, like)
            place = np.arange(len(out)), np.searchsorted(known, batch.codes[out])
            rows = [take_rows(part, out) for part in batch.rows]
            pair = [_loss(model._posterior_of(rows)[place]) for model in (before, after)]
            losses.append(np.stack(pair))
            weights.append(np.ones(len(out)) if batch.weight is None else batch.weight[out])
        if not losses:
            return None, "too few rows are kept to judge by"
        both, w = np.concatenate(losses, axis=1), np.concatenate(weights)
        share = w / w.sum()
        mean, apart = both @ share, both[1] - both[0]
        error = float(np.sqrt((share**2) @ (apart - share @ apart) ** 2))
        return Cost(float(mean[0]), float(mean[1]), error, len(w), FOLDS), ""

    def _kept_batch(self) -> Batch:
        """Return the rows that are kept, as they were read."""
        sample = self.statistics_.sample
        assert sample is not None
        return Batch(self.statistics_.classes, sample.codes, list(sample.rows), sample.weight)


def _loss(log_posterior: Array) -> Array:
    return -np.maximum(log_posterior, np.log(LEAST_LOSS))


def _kept(sample: Reservoir, number: int) -> Kept:
    return Kept(sample.rows[number], sample.codes, sample.copies)


def _thin_rows(stats: Any) -> int:
    """Return how many rows a table wider than long keeps beside the sample."""
    inner = getattr(stats, "inner", stats)
    parts = [getattr(inner, "complete", getattr(inner, "gaussian", inner))]
    parts += [part for _, part in getattr(inner, "incomplete", {}).values()]
    found = [part.scatter for part in parts if isinstance(part, GaussianStats)]
    return sum(len(own.owner) for own in found if isinstance(own, ThinScatter))
