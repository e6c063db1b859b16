"""Estimator methods that change what was learned; all return the estimator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

from sklearn.utils.validation import check_is_fitted

from ..errors import MergeError, SettingError
from ..fitted import Fitted
from ..learning import edits, memory
from ..questions import release
from ..questions.learning_curve import DRAWS, LearningCurve, curve_of
from ..released import Release, RowsHeld
from ._diagnoses import Diagnoses


class Edits(Diagnoses):
    """Learning, and unlearning."""

    def fit(self, X: object, y: object, sample_weight: object = None, groups: object = None) -> Self:
        """Fit the model to rows `X` and labels `y`, forgetting any earlier fit.

        Parameters
        ----------
        X : array (n, d), pandas, polars or pyarrow table
            Null and NaN cells are missing. Infinity is a DataError that names the column. PyTorch and CuPy arrays are
            worked on where they live under `sklearn.set_config(array_api_dispatch=True)`, see docs/embeddings.md.
        y : array-like (n,)
            Class labels: text, integers or truth values. Rows whose label is missing (None, NaN, pandas.NA) join by EM:
            each counts in every class by its posterior, until the likelihood of all rows no longer rises.
        sample_weight : array-like (n,), optional
            k means k copies of the row; rows of weight 0 are as if absent. Others weigh at least 1e-50, and all rows
            that a model learns at most 1e50; DataError names the one that does not.
        groups : array-like (n,), optional
            Which rows belong together: the number or name of a patient, a household, a session. Rows of one group leave
            together wherever rows are held out, so that what the model says of itself holds for new groups. A missing
            group is a row by itself. A salted hash of the group is kept beside each row.

        Returns
        -------
        self
        """
        self._validate_settings()
        table = self._table(X)
        return self._learn(lambda _: memory.fit(self._begin(table.schema), table, y, sample_weight, groups))

    def partial_fit(
        self,
        X: object,
        y: object,
        classes: Sequence[object] | None = None,
        sample_weight: object = None,
        *,
        decay: float | None = None,
        groups: object = None,
    ) -> Self:
        """Add rows to those already learned; after any batches the model equals one fit on all rows.

        The first batch fixes the columns. A class or category may appear in any batch. `classes`, optional, lists
        labels that may come. `decay` λ, above 0 and at most 1, first multiplies the weight of every row learned so far
        by λ, for streams that drift; see `decay`. `groups` are as for `fit`. If anything is wrong with the batch, an
        error is raised and nothing has changed.
        """
        self._validate_settings()
        table = self._table(X)

        def add(old: Fitted | None) -> Fitted:
            known = self._begin(table.schema) if old is None else self._settled(self._refreshed(old), table.schema)
            return edits.add(known, table, y, classes, sample_weight, decay, groups)

        return self._learn(add)

    def merge(self, other: Self) -> Self:
        """Add everything another fitted model has learned; the result equals one fit on the rows of both.

        MergeError, leaving both models as they were, if the columns, kinds or families of the two differ. A column of
        which one of them has seen no value is of any kind.
        """
        check_is_fitted(self)
        check_is_fitted(other)
        if not isinstance(other, Diagnoses):
            raise MergeError(f"A {type(self).__name__} cannot take in a {type(other).__name__}. Next: fit both alike.")
        theirs = other._fitted

        def merge(own: Fitted) -> Fitted:
            return edits.merge(self._settled(own, theirs.schema), other._settled(theirs, own.schema))

        return self._edit(merge)

    def forget(self, X: object, y: object, sample_weight: object = None, groups: object = None) -> Self:
        """Remove rows that were learned; the model equals a fit on the others.

        Give the rows as they were learned, with their labels, weights and groups (after a decay: with what is left of
        their weights). A class without a row left leaves the model, and so does a category that no row shows any more.
        A column whose sum of squares falls by a factor f keeps 16 − log10 f digits.

        NotLearnedError, a DataError that names the class, if the rows cannot have been among those learned: a weight
        or count would fall below 0, a value, category or pattern of missing cells was never there, what is left of a
        scatter would not be positive semi-definite (to 1e-10 on the correlation scale), or a row is not among those
        kept of a class that is kept whole (see `keep_rows`). Of larger classes only sums are known: rows that were
        never learned but leave possible sums cannot be told from others. Rows without a label are refused: EM has
        spread them over the classes in a way that depends on all rows; where such rows have joined a model, they go on
        counting in each class as they did. `GenerativeClassifier` keeps them as rows, and forgets them by a missing
        label.
        After any error nothing has changed.

        Examples
        --------
        >>> from suffice import GaussianDiscriminant
        >>> X, y = [[0.0], [1.0], [90.0], [4.0], [6.0]], ["low", "low", "low", "high", "high"]
        >>> GaussianDiscriminant().fit(X, y).forget([[90.0]], ["low"]).means_.tolist()
        [[5.0], [0.5]]
        """
        return self._edit(lambda own: edits.forget(own, X, y, sample_weight, groups))

    def drop_class(self, label: object) -> Self:
        """Remove a class with all its rows; the model equals a fit without them.

        DataError, and nothing has changed, if there is no such class or no other. MergeError where a shared covariance
        was summed over too many classes to keep what each adds: more than 2²⁰ / d² of them.
        """
        return self._edit(lambda own: edits.drop_class(own, label))

    def rename_classes(self, names: Mapping[Any, Any]) -> Self:
        """Give classes other labels, {old: new}, all at once; classes given one label become one class.

        Their rows are then those of one class: the model equals a fit with the labels replaced (a mixture instead keeps
        the components of both). A label may be that of a class that is there already. Classes stay in sorted order.

        DataError, and nothing has changed, for an unknown class, a missing label, or text beside numbers; SchemaError
        for text that is not Unicode.

        Examples
        --------
        >>> from suffice import NaiveBayes
        >>> model = NaiveBayes().fit([[1.0], [2.0], [7.0]], ["a", "b", "c"])
        >>> model.rename_classes({"a": "low", "b": "low", "c": "high"}).classes_.tolist()
        ['high', 'low']
        """
        return self._edit(lambda own: edits.rename_classes(own, names))

    def decay(self, factor: float) -> Self:
        """Multiply the weight of every row learned so far by `factor` λ, above 0 and at most 1.

        Weights become λ w, scatters λ S and counts λ n; means and covariances by maximum likelihood stay, and rows to
        come count for more. With a decay before each batch a row learned t batches ago weighs λᵗ: half after
        ln 2 / −ln λ batches (λ = 0.99: 69), and all rows together at most as much as 1 / (1 − λ) batches. The number
        of rows read, `statistics_.rows`, stays what it was.

        Smoothing, unbiased divisors and priors see the decayed weights. A class that is left with a weight below
        1e-100 (for λ = 0.5 after some 330 batches without a row of it) stays as a class without rows, and a row or
        category of another class fades below 1e-200. SettingError for any other factor, DataError where all rows
        together would weigh less than 1e-100.
        """
        return self._edit(lambda own: edits.decay(own, factor))

    def release(self, *, least: int = 5, like: Self | None = None) -> Self:
        """Return a model for others, without rows and without a number that sums over fewer than `least` rows.

        It answers as any model does, merges with other released models, and can be saved and updated; leave-one-out,
        forgetting and what else needs rows it refuses. This model stays as it is. What the other one gave up is in its
        `notes_`; what that costs, `score` of both says on rows that neither has seen.

        - Missing cells of joint Gaussians are filled by EM, once for all; no pattern of missing cells is left.
        - A covariance of no more rows than columns and `least` is taken from other classes; a shared one no longer
          knows what each class adds to it.
        - Small counts of levels are rounded to 0 or `least`; levels of few rows become missing cells.
        - Values of Laplace columns are means of groups of at least `least` neighbours.
        - Components of mixtures that are of few rows join others.
        - A column in which fewer than `least` rows of a class differ from all its others is taken from other classes.
          Where no rows are kept this can be told of columns of 0 and 1 alone.
        - `GenerativeClassifier` keeps its Gaussians of numbers, its piecewise linear densities (by histograms on a
          round grid) and its categories, weighted anew; pairs of columns and parts of classes go.

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
        own = self._current()
        told: object = like
        if told is not None and not (isinstance(told, Diagnoses) and told.__sklearn_is_fitted__()):
            raise SettingError(
                f"like must be a {type(self).__name__} that was released. Next: release the other model first."
            )
        found = release.release(own, least, None if like is None else like._fitted)
        passed = {
            name: value for name, value in release.settings_to_pass_on(own, found).items() if name in self.get_params()
        }
        other = type(self)(**{**self.get_params(deep=False), **passed})
        other._learned = found
        return other

    @property
    def released_(self) -> Release:
        """What was given up when the model was released; AttributeError for any other model."""
        released = self._fitted.past.released
        if released is None or released.joined:
            raise AttributeError("released_ exists in models that `release` returned.")
        return released

    @property
    def rows_held_(self) -> RowsHeld:
        """How many rows the model, and a file of it, holds as they were, and whether it was released."""
        return release.rows_held(self._fitted)

    # --- would more rows help ----------------------------------------------------------------------------------------

    def learning_curve(
        self,
        X: object,
        y: object,
        sample_weight: object = None,
        groups: object = None,
        *,
        draws: int = DRAWS,
        random_state: int = 0,
    ) -> LearningCurve:
        """Return how log-loss on unseen rows falls with the rows learned from, and what more rows would bring.

        Models with the settings of this one, which stays as it is and need not be fitted, learn from an eighth, a
        quarter, half and all of four fifths of the rows, each part within the next and by class; all are judged on the
        fifth that is left, and each fifth is left in turn, `draws` times. Through the mean losses goes
        loss(m) = a + b m^−c, with a, b ≥ 0 and c from 0.25 to 1.5. `str` of what is returned says in words whether more
        rows would help; `rows`, `loss` and `error` are the curve, in nats with standard errors; `project(rows)` and
        `gain(times=2)` go beyond it, with intervals of 90 % of curves drawn under Nadeau & Bengio's (2003) covariance.

        Parameters
        ----------
        X, y : rows (n, d) and their labels (n,); rows without one are left out
        sample_weight : array-like (n,), optional
        groups : array-like (n,), optional
            Which rows belong together: whole groups are in one fifth.
        draws : int
            How often the rows are dealt into fifths; 20 models are fitted in each.
        random_state : int
            Fixes which row goes where.

        Returns
        -------
        LearningCurve

        Raises
        ------
        DataError
            Fewer than 80 rows, or a class of fewer than 5.

        Examples
        --------
        >>> from suffice import GaussianDiscriminant
        >>> from sklearn.datasets import load_wine
        >>> curve = GaussianDiscriminant(shared=True).learning_curve(*load_wine(return_X_y=True))
        >>> bool(curve.loss[0] > curve.loss[-1])
        True
        >>> round(float(curve.rows[-1]))
        142
        """
        self._validate_settings()
        table = self._table(X)
        return curve_of(self._begin(table.schema), table, y, sample_weight, draws, random_state, groups)
