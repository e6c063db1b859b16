"""The joint density of class and row: class prior × class densities. Every answer is read off it."""

from __future__ import annotations

from dataclasses import dataclass

from ._arrays import Array, Codes, np
from ._arrays_api import like
from .densities import Product, Rows
from .errors import quoted
from .schema import Level


@dataclass(frozen=True, slots=True)
class JointModel:
    """p(x, y = k) = π_k p(x | k): `classes` (k labels), `log_prior` (k,) in nats, and one density per class."""

    classes: tuple[Level, ...]
    log_prior: Array
    density: Product

    def __repr__(self) -> str:
        """Return one line: classes and kinds of densities; the numbers are in its attributes."""
        kinds = ", ".join(type(block).__name__ for block in self.density.blocks)
        return f"JointModel({len(self.classes)} classes: {quoted(self.classes)}; densities: {kinds})"

    def log_joint(self, rows: Rows, log_prior: Array | None = None, leading: bool = False) -> Array:
        """Return log π_k + log p(x | k), (n, k) in nats; if `leading`, more for classes that cannot matter.

        `rows` has one entry per block of columns, as the encoder made it. `log_prior` (k,) replaces the model's own.
        Rows on another device get their answer there. Classes that cannot matter to a row's posteriors share less than
        1e-17 of its probability, whether by these numbers or by their own.
        """
        prior = self.log_prior if log_prior is None else log_prior
        scores = self.density.leading_log_density(rows, prior) if leading else self.density.log_density(rows)
        scores += like(prior, scores)
        return scores

    def limit_log_joint(self, rows: Rows, chosen: Codes, log_prior: Array) -> tuple[Array, Array]:
        """Return (order, log coefficient) of π_k p(x | k) for the chosen rows as the smoothing vanishes."""
        order, score = self.density.limit(rows, chosen)
        return order, score + log_prior

    def condition(self, rows: Rows, posterior: Array) -> tuple[object, ...]:
        """Return the rows with each missing cell at its mean, or most probable category, given the observed ones.

        `posterior` (n, k) says how much each class counts in a row: p(k | row), or 1 for a class that is known.
        """
        return self.density.condition(rows, posterior)

    def sample(self, rows: Rows, codes: Codes, rng: np.random.RandomState) -> tuple[object, ...]:
        """Return the rows with each missing cell drawn from p(missing | observed, class), for class numbers (n,)."""
        return self.density.sample(rows, codes, rng)
