"""How probable it is that the label of a learned row is wrong."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from .._arrays import Array, Codes, NDArray, np
from ..densities import Rows
from ..errors import SettingError
from ..fitted import Fitted
from ..table.labels import read_weights
from .label_noise import Channel, find_channel, flag, true_posterior
from .leave_one_out import Leaves, known_codes, leaves_with, taken

ROUNDING = 1e-9  # share of a class's weight below which nothing of it is left


class Judged(NamedTuple):
    """Given labels as class numbers (n,), −1 where missing, and p(true class | row, given label), (n, k)."""

    codes: Codes
    posterior: Array

    @property
    def wrong(self) -> Array:
        """p(the given label is wrong) of each row (n,); 0 where none is given."""
        own = self.posterior[np.arange(len(self.codes)), self.codes]
        return np.where(self.codes < 0, 0.0, np.clip(1.0 - own, 0.0, 1.0))

    def likeliest_other(self) -> Codes:
        """Return the likeliest class (n,) beside the given one; −1 where no label is given or there is no other."""
        others = self.posterior.copy()
        others[np.arange(len(self.codes)), self.codes] = -1.0
        known = (self.codes >= 0) & (others.shape[1] > 1)
        return np.where(known, others.argmax(axis=1), -1)


def suspect_labels(
    fitted: Fitted, X: object, y: object, sample_weight: object, fdr: object = None, groups: object = None
) -> Array:
    """Return p(wrong) of the labels of learned rows (n,); 0 for those not flagged at a rate `fdr`, if one is given."""
    wrong = judge_labels(fitted, X, y, sample_weight, groups).wrong
    return wrong if fdr is None else np.where(flag_labels(wrong, fdr), wrong, 0.0)


def flag_labels(wrong: Array, fdr: object) -> NDArray[np.bool_]:
    """Return which rows (n,) to flag so that a share `fdr` of them is expected to be right after all."""
    if isinstance(fdr, bool) or not isinstance(fdr, int | float | np.number) or not 0.0 < float(fdr) < 1.0:
        raise SettingError(f"fdr={fdr!r} must lie between 0 and 1. Next: of rows flagged at 0.1, a tenth is right.")
    return flag(wrong, float(fdr))


def judge_labels(fitted: Fitted, X: object, y: object, sample_weight: object, groups: object = None) -> Judged:
    """Return the given labels and the posteriors of the true ones."""
    fitted = fitted.with_priors(None)  # labels come as often as they do among the rows learned
    fitted.check_leaving()
    rows, n = fitted.encoded(X)
    weight = read_weights(sample_weight, n)
    codes = known_codes(fitted, y, n, missing="any")
    given = np.flatnonzero(codes >= 0)
    leaves = leaves_with(fitted, rows, codes, weight, groups)[given]
    posterior = np.zeros((n, len(fitted.statistics.classes)))
    posterior[given, codes[given]] = 1.0
    if posterior.shape[1] > 1 and len(given):
        amount = np.ones(len(given)) if weight is None else weight[given]
        posterior[given] = _posterior(fitted, taken(rows, given), codes[given], amount, leaves)
    return Judged(codes, posterior)


def _posterior(fitted: Fitted, rows: Rows, codes: Codes, weight: Array, leaves: Leaves) -> Array:
    """Return p(true class | row, given label), (n, k); the label itself where no other row is of its class."""
    posterior = np.eye(len(fitted.statistics.classes))[codes]
    leaving = weight if leaves.weight is None else leaves.weight
    told = np.flatnonzero(_others(fitted, codes, leaving))
    own, amount = codes[told], weight[told]
    left_out = _left_out(fitted, taken(rows, told), own, replace(leaves, weight=leaving)[told])
    learned = np.flatnonzero(amount)
    channel = _channel(fitted, left_out[learned], own[learned], amount[learned])
    posterior[told] = true_posterior(channel, left_out, own)
    return posterior


def _others(fitted: Fitted, codes: Codes, weight: Array) -> NDArray[np.bool_]:
    """Return whether other rows are of the class of each row (n,)."""
    of_class = fitted.statistics.weight[codes]
    return of_class - weight > ROUNDING * of_class


def _left_out(fitted: Fitted, rows: Rows, codes: Codes, leaves: Leaves) -> Array:
    """Return log posteriors (n, k) of rows by models that have not seen them; rows of weight 0 were not learned."""
    assert leaves.weight is not None
    learned, absent = np.flatnonzero(leaves.weight), np.flatnonzero(leaves.weight == 0)
    found = np.empty((len(codes), len(fitted.statistics.classes)))
    if len(learned):
        some = taken(rows, learned)
        found[learned] = leaves[learned].left_out(fitted, some, codes[learned], fitted.left_out_unseen)
    if len(absent):
        found[absent] = fitted.log_posterior(fitted.recoded(taken(rows, absent)))
    return found


def _channel(fitted: Fitted, log_posterior: Array, codes: Codes, weight: Array) -> Channel:
    """Return the channel of labels, by these rows or by those kept, whichever are more."""
    if fitted.statistics.sample is not None and float(fitted.reservoir.copies.sum()) > len(codes):
        return fitted.memoize(_channel_of_kept)
    total = float(weight.sum())  # weights are copies of rows, unless they add up to less than the rows
    return find_channel(log_posterior, codes, weight * max(1.0, len(codes) / total) if total else weight)


def _channel_of_kept(fitted: Fitted) -> Channel:
    """Return the channel of labels by the rows that are kept."""
    sample, of_class = fitted.reservoir, fitted.statistics.weight
    weight = sample.represented(of_class)
    weight *= float(sample.copies.sum()) / float(weight.sum())
    told = np.flatnonzero(_others(fitted, sample.codes, sample.row_weight()))
    return find_channel(fitted.left_out_rows[told], sample.codes[told], weight[told])
