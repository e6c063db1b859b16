"""Weight, mean and centred scatter of each class: the sufficient statistics of a Gaussian.

Batches are centred before they are multiplied (raw second moments cancel: a float64 column at mean 1e8 would come
out with a negative variance) and joined by the merge of Chan, Golub & LeVeque, as in Schubert & Gertz (2018),
doi:10.1145/3221269.3223036.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from .._arrays import Array, Codes, np
from .._arrays_api import fetch, is_device_array
from ._downdate import downdate, faded, level_constants, subtract_rows, subtract_weights
from .centred_sums import summarize_on_device, summarize_segments
from .scatter import (
    FORMS,
    DiagonalScatter,
    FullScatter,
    LowRankScatter,
    PooledScatter,
    Scatter,
    check_scatter,
    gather,
    keeps_own,
    spread,
)
from .statistic import Fields, Plain, Statistic, alike, amounts, codes as codes_below, floats, in_range, scatters

WIDE = 128  # from this many columns on, a batch with fewer rows than columns is kept as rows


@dataclass(frozen=True, slots=True)
class GaussianStats(Statistic):
    """Sufficient statistics of one Gaussian per class, over rows with every cell present (diagonal: any cells).

    `weight` is (k,), or (k, d) for a diagonal scatter, whose columns may miss different cells. `mean` is (k, d), zero
    where the weight is zero. `form` is what the scatter is to become: a thin scatter knows which matrix it stands for.
    """

    weight: Array
    mean: Array
    scatter: Scatter
    form: type[Scatter] = FullScatter

    @classmethod
    def zero(cls, k: int, d: int, form: type[Scatter] = FullScatter) -> Self:
        diagonal = form is DiagonalScatter
        weight = np.zeros((k, d)) if diagonal else np.zeros(k)
        empty = form.zero(k, d) if diagonal or d < WIDE else LowRankScatter.zero(k, d)
        return cls(weight, np.zeros((k, d)), empty, form)

    @classmethod
    def summarize(
        cls,
        rows: Array,
        codes: Codes | None = None,
        k: int = 1,
        weight: Array | None = None,
        form: type[Scatter] = FullScatter,
    ) -> Self:
        """Return the statistics of a batch.

        `rows` (n, d) of float32 or float64, accumulated in float64; `codes` (n,) class numbers below `k` (None: one
        class); `weight` (n,) row weights, k meaning k copies of the row (None: ones). Only a diagonal `form` accepts
        missing cells (NaN): each column then counts its own. Others: see `PatternStats`. Rows on another device stay
        there, but for a diagonal form, and batches with no more rows than columns, which are no larger than a matrix.
        """
        n, d = rows.shape
        if codes is None:
            codes = np.zeros(n, dtype=np.int8)
        if n == 0:
            return cls.zero(k, d, form)
        if form is DiagonalScatter:
            rows = fetch(rows)
        elif d >= WIDE and n <= d:
            return cls._thin(fetch(rows), codes, k, weight, form)
        check_scatter(form, k, d)
        own = form is PooledScatter and keeps_own(k, d)
        total, mean, values = (
            summarize_on_device(rows, codes, k, weight, form is PooledScatter and not own)
            if is_device_array(rows)
            else summarize_segments(rows, codes, k, weight, "full" if own else form.name)
        )
        return cls(total, mean, PooledScatter.of(values) if own else form(values), form)

    @classmethod
    def _thin(cls, rows: Array, codes: Codes, k: int, weight: Array | None, form: type[Scatter]) -> Self:
        w = np.ones(len(rows)) if weight is None else weight
        total = np.bincount(codes, weights=w, minlength=k).astype(np.float64)
        start = rows[0].astype(np.float64)  # sums are taken about a row, so that an offset costs no digits
        sums = gather(w[:, None] * (rows - start), codes, k)
        mean = np.where(total[:, None] > 0, start + sums / np.where(total > 0, total, 1.0)[:, None], 0.0)
        root = np.sqrt(w)
        values = root[:, None] * (rows - mean[codes])
        return cls(total, mean, LowRankScatter(values, codes.astype(np.int64), root), form)

    def merge(self, other: Self) -> Self:
        if not other.weight.any():
            return self
        if not self.weight.any():
            return other
        merged = self.joined(other)
        return merged if merged.scatter.kept_rows <= merged.mean.shape[1] else merged.dense()

    def joined(self, other: Self) -> Self:
        """Return the statistics of the rows of both, neither empty; rows that are kept stay rows, however many."""
        a, b = self._comparable(other), other._comparable(self)
        weight = a.weight + b.weight
        share = b.weight / np.where(weight > 0, weight, 1.0)
        shift = b.mean - a.mean
        step = share if share.ndim == 2 else share[:, None]
        scatter = a.scatter.add(b.scatter, a.weight, share, shift)
        return type(self)(weight, a.mean + step * shift, scatter, a.form)

    def in_units(self, columns: Codes, center: Array, scale: Array) -> GaussianStats:
        """Return those of some columns (p,), whose matrices are held, about a `center` and in units of a `scale`."""
        scatter = FullScatter(self.scatter.values[:, columns][:, :, columns] / scale[:, None] / scale)
        return GaussianStats(self.weight, (self.mean[:, columns] - center) / scale, scatter)

    def subtract(self, other: Self) -> Self:
        """Return the statistics of the rows left without those of `other`; nothing left is exactly zero.

        Rounding is of the size of what is subtracted: where a column's sum of squares falls by a factor f, log10 f of
        its 16 digits are lost. NotLearnedError if the rows cannot have been among these: less than no weight is left,
        or a scatter that is not positive semi-definite, by more than 1e-10 on the whole's correlation scale. Rows kept
        as they are (a thin scatter) must be there, value by value.
        """
        if not other.weight.any():
            return self
        if isinstance(self.scatter, LowRankScatter):
            weight, mean, rows = subtract_rows(self.scatter, other.scatter, self.weight, self.mean, other.mean)
            return type(self)(weight, mean, rows, self.form)
        part = other.dense()
        weight = subtract_weights(self.weight, part.weight, "weight")
        weights, means = (self.weight, part.weight, weight), (self.mean, part.mean)
        mean, scatter = downdate(self.scatter, part.scatter, weights, means)
        kept = weight > 0 if weight.ndim == 2 else (weight > 0)[:, None]
        mean = level_constants(mean, scatter.diagonal(len(weight)), kept, means)
        return type(self)(weight, mean, scatter, self.form)

    def scale(self, factor: float) -> Self:
        weight, scatter = faded(self.weight, factor), self.scatter.scale(factor)
        kept = weight > 0 if weight.ndim == 2 else (weight > 0)[:, None]
        gone = (weight == 0) & (self.weight > 0)
        return type(self)(
            weight, np.where(kept, self.mean, 0.0), scatter.without(gone) if gone.any() else scatter, self.form
        )

    def regroup(self, index: Codes, k: int) -> Self:
        if k == 0:
            return type(self).zero(0, self.mean.shape[1], self.form)
        weight = gather(self.weight, index, k)
        column_weight = self.column_weight()
        largest = np.zeros(k, dtype=np.int64)  # the heaviest part of each class; means are added up about its mean
        for i in np.argsort(self.weight if self.weight.ndim == 1 else self.weight.sum(axis=1), kind="stable").tolist():
            largest[index[i]] = i if index[i] >= 0 else largest[index[i]]
        base = self.mean[largest]
        total = weight if weight.ndim == 2 else weight[:, None]
        away = np.where(column_weight > 0, self.mean - base[index], 0.0)
        step = gather(column_weight * away, index, k) / np.where(total > 0, total, 1.0)
        mean = np.where(total > 0, base + step, 0.0)
        shift = np.where((column_weight > 0) & (index >= 0)[:, None], self.mean - mean[index], 0.0)
        return type(self)(weight, mean, self.scatter.regroup(index, k, self.weight, shift), self.form)

    def _comparable(self, other: Self) -> Self:
        """Return self with a dense scatter if `other` has one."""
        return self if isinstance(other.scatter, LowRankScatter) else self.dense()

    def dense(self) -> Self:
        if not isinstance(self.scatter, LowRankScatter):
            return self
        matrices = self.scatter.dense(self.form, len(self.weight))  # type: ignore[arg-type]
        return type(self)(self.weight, self.mean, matrices, self.form)

    @property
    def complete(self) -> Self:
        """The statistics of the rows without missing cells: all of them."""
        return self

    @property
    def incomplete(self) -> Mapping[tuple[int, ...], tuple[Codes, GaussianStats]]:
        """Those of patterns of missing cells, see `PatternStats`: none."""
        return {}

    def place(self, index: Sequence[int], k: int) -> Self:
        return type(self)(
            spread(self.weight, index, k), spread(self.mean, index, k), self.scatter.place(index, k), self.form
        )

    def column_weight(self) -> Array:
        return self.weight if self.weight.ndim == 2 else np.broadcast_to(self.weight[:, None], self.mean.shape)

    def arrays(self) -> tuple[Fields, Plain]:
        fields: Fields = {"weight": self.weight, "mean": self.mean, "scatter": self.scatter.values}
        if isinstance(self.scatter, LowRankScatter):
            fields["owner"], fields["root_weight"] = self.scatter.owner, self.scatter.root_weight
        if isinstance(self.scatter, PooledScatter) and self.scatter.by_class is not None:
            fields["own"] = self.scatter.by_class
        return fields, {"scatter": self.scatter.name, "form": self.form.name}

    @classmethod
    def from_arrays(cls, fields: Fields, plain: Plain) -> Self:
        form, kind = FORMS[plain["form"]], FORMS[plain["scatter"]]
        mean = floats(fields["mean"], None, None)
        k, d = mean.shape
        weight = amounts(fields["weight"], *((k, d) if form is DiagonalScatter else (k,)))
        if (form is DiagonalScatter) != (kind is DiagonalScatter) or kind not in (form, LowRankScatter):
            raise ValueError("forms of a scatter")
        if kind is LowRankScatter:
            return cls(weight, mean, _thin_from(fields, weight, mean), form)
        if kind is DiagonalScatter:
            in_range(mean, weight)
            return cls(weight, mean, DiagonalScatter(amounts(fields["scatter"], k, d)), form)
        if kind is FullScatter:
            return cls(weight, mean, FullScatter(scatters(fields["scatter"], mean, weight, k, d, d)), form)
        total = scatters(fields["scatter"], mean, weight, d, d)
        if "own" not in fields:
            return cls(weight, mean, PooledScatter(total), form)
        own, size = scatters(fields["own"], mean, weight, k, d, d), np.sqrt(np.diagonal(total))
        if not alike(own.sum(axis=0), total, np.outer(size, size)):
            raise ValueError("class parts of a pooled scatter")
        return cls(weight, mean, PooledScatter(total, own), form)


def _thin_from(fields: Fields, weight: Array, mean: Array) -> LowRankScatter:
    """Return the rows that a thin scatter keeps, checked against the weights (k,) and means (k, d) of the classes."""
    owner, root = codes_below(fields["owner"], len(weight), None), floats(fields["root_weight"], len(fields["owner"]))
    values = floats(fields["scatter"], len(owner), mean.shape[1])
    held = np.bincount(owner, weights=root**2, minlength=len(weight))
    in_range(mean, weight)
    in_range(values, np.ones(len(values)))
    if (root <= 0).any() or not alike(held, weight, weight):
        raise ValueError("weights of rows")
    rest = gather(root[:, None] * values, owner, len(mean))
    size = gather(root[:, None] * np.abs(values) + root[:, None] ** 2 * np.abs(mean[owner]), owner, len(mean))
    if not alike(rest, np.zeros_like(rest), size):
        raise ValueError("rows that are not centred")
    return LowRankScatter(values, owner, root)
