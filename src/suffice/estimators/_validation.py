"""Leave-one-out for every estimator: what the model says of each row it has learned, had it not seen that row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from sklearn.utils.validation import check_is_fitted

from .._arrays import Array, Codes, np
from ..errors import DataError, SettingError, quoted
from ..estimate import Block, class_log_prior
from ..estimate.mixture import MixtureFamily
from ..leave_one_out import Learned, leave_one_out
from ..stats.rows import take_rows
from ..tasks import classify
from ._labels import read_labels, read_weights
from ._states import question
from ._unlabelled import recoded


class LeaveOneOut:
    """The verb `leave_one_out`, for the bases of an estimator."""

    @question
    def leave_one_out(self: Any, X: Any, y: Any, sample_weight: Any = None) -> Array:
        """Return the exact leave-one-out log posteriors log p(class | x), (n, k) in nats, without refits.

        Row i is judged by the model that all rows but row i would give: statistics lose a row as they gained it.

        Parameters
        ----------
        X : array (n, d), pandas, polars or pyarrow table
            Rows this model has learned, all of them or some, by `fit`, `partial_fit` or `merge`.
        y : array-like (n,)
            Their labels.
        sample_weight : array-like (n,), optional
            Their weights as given to `fit`; all of a row's weight is left out, so k copies of a row leave together. A
            row of weight 0 was not learned: it is judged by the model as it is, whatever its label.

        Returns
        -------
        array (n, k)
            The columns are `classes_`. A class whose only row is left out has −∞ in that row: the model of the other
            rows would not know it. Class priors that were given stay, those from the data lose the row.

        Raises
        ------
        DataError
            A label is missing or not known, or a row cannot have been learned: it weighs more than its class, or its
            category, count or value does not occur there. (Not every such row can be told.) Nor can rows be left out of
            a model that rows without a label have joined: EM would have to be run again.
        SettingError
            A mixture of several components, whose EM would have to be run again: use scikit-learn's
            `cross_val_predict`.

        Notes
        -----
        Closed forms: categorical, Bernoulli, multinomial, Poisson (counts less the row's own), Laplace (medians
        without a value from running sums), Gaussian (rank-one downdates of the scatter; Fukunaga & Hummels 1989,
        doi:10.1109/34.31448). Student t columns are estimated again for each row.

        Examples
        --------
        >>> from suffice import GaussianDiscriminant
        >>> X, y = [[0.0], [1.0], [2.5], [4.0], [5.0]], ["low", "low", "low", "high", "high"]
        >>> model = GaussianDiscriminant(shared=True).fit(X, y)
        >>> model.classes_[model.leave_one_out(X, y).argmax(axis=1)].tolist()
        ['low', 'low', 'high', 'high', 'high']
        >>> model.predict(X).tolist()
        ['low', 'low', 'low', 'high', 'high']
        """
        check_is_fitted(self, "statistics_")
        learned = what_was_learned(self)
        rows, n = self._encode(X)
        weight = read_weights(sample_weight, n)
        codes = self._known_codes(y, n, weight)

        def judge(part: list[Any], own: Codes, w: Array | None) -> Array:
            return leave_one_out(learned, part, own, w)

        def as_new(part: list[Any]) -> Array:
            pairs = zip(self._blocks, self.statistics_.blocks, strict=True)
            return classify.log_posterior(self.model_, recoded(pairs, part))

        return judged_by_weight(rows, codes, weight, judge, as_new)

    def _known_codes(self: Any, y: Any, rows: int, weight: Array | None = None) -> Codes:
        """Return the class number of each label, DataError for one the model does not know in a row of any weight."""
        labels, codes = read_labels(y, rows, type(self).__name__)
        known = {label: c for c, label in enumerate(self.statistics_.classes)}
        there = set(codes.tolist() if weight is None else codes[weight > 0].tolist())
        unknown = [label for c, label in enumerate(labels) if label not in known and c in there]
        if unknown:
            raise DataError(
                f"y holds {quoted(unknown)}, which this model does not know; its classes are {quoted(list(known))}. "
                "Next: pass rows the model has learned, with their labels."
            )
        return np.array([known.get(label, -1) for label in labels], dtype=np.int64)[codes]


def judged_by_weight(
    rows: list[Any],
    codes: Codes,
    weight: Array | None,
    judge: Callable[[list[Any], Codes, Array | None], Array],
    as_new: Callable[[list[Any]], Array],
) -> Array:
    """Return what `judge` says of encoded rows that were learned, and `as_new` of those of weight 0, (n, k)."""
    if weight is None or weight.all():
        return judge(rows, codes, weight)
    learned, absent = np.flatnonzero(weight), np.flatnonzero(weight == 0)
    some = judge([take_rows(part, learned) for part in rows], codes[learned], weight[learned])
    found = np.empty((len(codes), some.shape[1]))
    found[learned], found[absent] = some, as_new([take_rows(part, absent) for part in rows])
    return found


def what_was_learned(estimator: Any) -> Learned:
    """Return what an estimator has learned, a mixture of single components as the Gaussians they are."""
    if getattr(estimator, "_released", None) is not None:
        raise DataError.released("leave rows out", "ask the model it was made from")
    if getattr(estimator, "_holds_unlabelled", False):
        raise DataError(
            "Rows without a label have joined this model by EM, which leaving out a row would run again, so that "
            "leave-one-out has no closed form. Next: fit without them, or use cross-validation."
        )
    statistics, names = estimator.statistics_, estimator._schema.names
    blocks, stats = [], []
    for block, own in zip(estimator._blocks, statistics.blocks, strict=True):
        if isinstance(block.family, MixtureFamily):
            if not estimator._mergeable:
                raise SettingError(
                    "A mixture of several components has no closed form for leave-one-out: EM would run again for "
                    "every row. Next: use sklearn.model_selection.cross_val_predict(model, X, y, "
                    "method='predict_log_proba'), or n_components=1."
                )
            block, own = Block(block.family.inner, block.positions), own.inner
        blocks.append(block)
        stats.append(own)
    told = [
        replace(
            estimator._settings_for(statistics),
            classes=statistics.classes,
            columns=tuple(names[p] for p in block.positions),
        )
        for block in blocks
    ]
    priors = estimator._class_priors(estimator.priors, statistics.classes)
    return Learned(
        blocks, told, replace(statistics, blocks=tuple(stats)), lambda weight: class_log_prior(weight, priors)
    )
