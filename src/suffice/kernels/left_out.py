"""Compiled leave-one-out: Gaussians with diagonal matrices at several strengths, the log-loss of held-out scores."""

from __future__ import annotations

from typing import NamedTuple

from .._arrays import Array, Codes, np
from .library import ARRAYS, below, library


class Leaving(NamedTuple):
    """What leaves with each row, (6, n): by how much it stretches its distance from the mean, by what the shared matrix
    and that of its own class (0 in others) are lighter, how much of an average row of the class leaves with it, the
    same as a share of the class, and the weight behind the class's mean.
    """

    rows: Array

    @classmethod
    def of(cls, stretch: Array, lighter: Array, h: Array, leaving: Array, share: Array, weight: Array) -> Leaving:
        """Return that of columns (n,)."""
        return cls(np.stack([stretch, lighter, h, leaving, share, weight]))

    @property
    def weight(self) -> Array:
        """The weight behind the class's mean (n,)."""
        return np.asarray(self.rows[5])

    def take_out(
        self, squares: Array, cross: Array, length: Array, pulled: Array | None, strengths: Array, floor: float
    ) -> None:
        """Make of `squares` (n, a) what is within log(1 + ·), and of `length` what is within the log determinant.

        Both were made with the row: squared lengths of the row about the mean, of the row about the mean of its own
        class (`length`), and the products of the two (`cross`). `strengths` (3, a) are the strengths, and what an
        average row of the class takes of `pulled` (n, a), none if that is None, and of every square.
        """
        _check(self.rows, strengths, 3, squares, cross, length, *([] if pulled is None else [pulled]))
        library().suffice_take_out(squares, cross, length, pulled, *squares.shape, self.rows, strengths, floor)

    def log_densities(self, squares: Array, kept: Array, place: Codes, terms: Array, dets: Array) -> None:
        """Make of `squares` (n, a), log(1 + ·) by now, constant − ½ log |A| − slope log(1 + ·).

        `kept` (n, a) are the logs by which determinants shrink. Of the kind of each row, `place` (n,), `terms` are the
        constants and the slopes (2, kinds, a); `dets` (2, a) are log |A| of all rows and what an average row takes.
        """
        _check(self.rows, dets, 2, squares, kept)
        kinds = terms.shape[1]
        fits = terms.shape == (2, kinds, squares.shape[1]) and place.shape == (len(kept),)
        if not fits or (len(place) and not 0 <= int(place.min()) <= int(place.max()) < kinds):
            raise ValueError(f"rows of kinds other than {kinds}, or terms {terms.shape} of these")
        library().suffice_student(squares, kept, *squares.shape, self.rows, place, *terms, dets)


def _check(rows: Array, strengths: Array, lines: int, *made: Array) -> None:
    """Raise ValueError unless arrays are as the kernels read them."""
    shape = rows.shape[1], strengths.shape[1]
    if strengths.shape[0] != lines or any(own.shape != shape for own in made):
        raise ValueError(f"terms {[own.shape for own in made]} of {rows.shape[1]} rows and strengths {strengths.shape}")


class Tempered:
    """The mean log-loss of softmax(offset + t · scores) of rows, of offsets and scores (n, k)."""

    def __init__(self, offset: Array, codes: Codes, weight: Array) -> None:
        n, k = offset.shape
        if not len(codes) == len(weight) == n:
            raise ValueError(f"offsets {offset.shape} of {len(codes)} rows, and {len(weight)} weights")
        self._sums, self._shape = np.empty(3), (n, k)
        given = zip("ddlDD", (offset, weight / weight.sum(), below(codes, k), np.empty(k), self._sums), strict=True)
        self._given = [ARRAYS[kind](own) for kind, own in given]  # once, for many calls

    def __call__(self, scores: Array, t: float = 1.0) -> tuple[float, float, float]:
        """Return the loss at t, in nats, and its first two derivatives."""
        if scores.shape != self._shape:
            raise ValueError(f"scores {scores.shape} beside offsets {self._shape}")
        library().suffice_tempered(scores, *self._given, *self._shape, t)
        loss, slope, curvature = self._sums.tolist()
        return loss, slope, curvature
