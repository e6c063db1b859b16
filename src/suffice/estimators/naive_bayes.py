"""Naive Bayes over mixed columns: each column, or block of columns, independent of the others given the class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from .._arrays import Array, by_key, np
from ..densities import Bernoulli, Categorical
from ..densities.counts import TextDensity
from ..errors import SchemaError, SettingError, quoted, setting
from ..estimate import FAMILIES, Block, Dirichlet, Family, NormalInverseWishart, Settings, Shrinkage
from ..estimate.families import GaussianFamily, as_family, lacking
from ..estimate.predictive import matrices
from ..questions.linear import gaussian_of, prior_of
from ..schema import Kind, Level, Name, Schema
from ._state import DIVISOR, PRIOR, SMOOTHING, Constraints
from .base import GenerativeEstimator

AUTOMATIC = {
    Kind.NUMERIC: "gaussian",
    Kind.EMPTY: "gaussian",  # until rows with values tell: `learning.edits.settled`
    Kind.BOOLEAN: "bernoulli",
    Kind.CATEGORICAL: "categorical",
    Kind.STRING: "categorical",
    Kind.TEXT: "text",
    Kind.DATE: "gaussian",
}


class NaiveBayes(GenerativeEstimator):
    """Classify by columns that are independent given the class: p(x, y = k) = π_k Π_j p(x_j | k).

    Missing cells are used column by column at fit, and contribute nothing at prediction; both are exact for this model.
    Multinomial columns alone refuse them.

    Parameters
    ----------
    families : "auto", one family name, or a dict {column or tuple of columns: family}
        "auto" takes Gaussian for numbers, Bernoulli for truth values, categorical for text and categories, and "text"
        for columns of text whose values are many and of several words. A dict
        names columns (or positions) and leaves the rest to "auto". Names: "gaussian", "laplace", "poisson",
        "bernoulli", "categorical", "multinomial", and for columns of texts "text" (their words as a multinomial) and
        "text_bernoulli" (which words occur); or a family object of `suffice.estimate.families`, such as
        `LaplaceFamily(distinct=100)`. A tuple of columns is one block: a joint Gaussian with a full covariance per
        class, or a multinomial of its own. Columns of SciPy sparse matrices that are "multinomial", "bernoulli" or
        "poisson" are never made dense; others are, if memory allows it.
    smoothing : float of at least 0, Dirichlet, or a dict of these by column
        Added to the count of every level: p(level | k) = (count + α) / (n_k + α L). 1 is Laplace's rule, 0 maximum
        likelihood. A category never seen gets α / (n_k + α (L + 1)). Multinomial columns share the total T_k of their
        counts: (count + α) / (T_k + α d). Poisson rates are (Σ x + α m) / (n_k + α): α rows at m = (Σ x + ½) / n.
        `suffice.Dirichlet(t, base="pooled")` spreads a total t as the levels occur in all classes together. Columns
        that a dict leaves out have α = 1.
    prior : None or NormalInverseWishart
        A conjugate prior on the parameters of Gaussian columns, which are then scored by posterior predictives: a
        Student t for each column by itself, a multivariate one for a tuple of columns. `divisor` plays no part there.
    divisor : {"mle", "unbiased"}
        Divide the sums of squares of Gaussian columns by n_k or by n_k − 1, counting the class's observed cells.
    priors : None, "uniform", array (k,) in the order of `classes_`, dict by label, or Dirichlet
        Class priors; None takes the classes' shares of the weight, `suffice.Dirichlet(α)` adds α to the weight of each.
    class_weight : None, "balanced" or dict by label
        Class priors in scikit-learn's words, in place of `priors`: each class's share times its weight, 1 where a label
        has none; "balanced" makes them equal. Nothing else is weighted: what is learned of each class stays as it is.
    keep_rows : int, a size such as "256MiB", of 8 bytes a cell, or "all"
        How many rows the statistics hold as they came, chosen by a hash of their contents, beside the sums of all rows:
        what is left out and scored one at a time needs rows. 0 keeps none, so that a model file shows no single row.

    Attributes
    ----------
    classes_ : array (k,)
        Class labels, in the order of every result's columns.
    priors_ : array (k,)
        Class priors π.
    means_ : array (k, d)
        Means of the Gaussian columns; NaN for the others.
    covariances_ : array (k, d, d)
        Covariances of the Gaussian columns; NaN for the others.
    probabilities_ : dict {column: {level: array (k,)}}
        Of the categorical and Bernoulli columns; of columns of texts, by word.
    parameters_ : dict {column: {name: array (k,)}}
        Of the Laplace, Poisson, Bernoulli and multinomial columns.
    n_features_in_ : int
        The number of columns; `feature_names_in_`, an array (d,), has their names where they have any.
    n_iter_ : int
        EM steps by which rows without a label joined, where there were such rows.
    statistics_ : ByClass
        The sufficient statistics, from which everything else is estimated.
    model_ : JointModel
        The joint model p(x, y).
    notes_ : list of Note
        What was repaired, by how much and why.

    See Also
    --------
    GaussianDiscriminant : One Gaussian per class over all columns together.
    GenerativeClassifier : No settings.
    Dirichlet : A prior for `smoothing` and `priors`.

    References
    ----------
    Murphy, Machine Learning: A Probabilistic Perspective (2012), section 3.5.

    Examples
    --------
    >>> from suffice import NaiveBayes
    >>> X = [["red", 1.0], ["red", 2.0], ["blue", 7.0], [None, 8.0]]
    >>> model = NaiveBayes().fit(X, ["a", "a", "b", "b"])
    >>> model.predict([["red", None], ["green", 7.5]]).tolist()
    ['a', 'b']

    Counts of words, as a sparse matrix:

    >>> from scipy.sparse import csr_array
    >>> words = csr_array([[2, 0, 1], [1, 0, 0], [0, 3, 1]])
    >>> NaiveBayes("multinomial").fit(words, ["sport", "sport", "law"]).predict([[0, 1, 0]]).tolist()
    ['law']
    """

    _constraints: ClassVar[Constraints] = {
        **GenerativeEstimator._constraints,
        "divisor": DIVISOR,
        "smoothing": SMOOTHING,
        "prior": PRIOR,
    }

    def __init__(
        self,
        families: object = "auto",
        *,
        smoothing: float | Dirichlet | Mapping[Name, float | Dirichlet] = 1.0,
        divisor: str = "mle",
        priors: object = None,
        class_weight: object = None,
        prior: NormalInverseWishart | None = None,
        keep_rows: int | str = 2000,
    ) -> None:
        self.families = families
        self.smoothing = smoothing
        self.divisor = divisor
        self.priors = priors
        self.class_weight = class_weight
        self.prior = prior
        self.keep_rows = keep_rows

    def _settings(self, schema: Schema | None = None) -> Settings:
        own, smoothing = super()._settings(schema), self.smoothing
        return replace(own, divisor=self.divisor, shrinkage=Shrinkage(None), smoothing=smoothing, prior=self.prior)

    @property
    def _text(self) -> str | None:
        return "auto" if self.families == "auto" or isinstance(self.families, Mapping) else None

    def _is_label(self, name: Name) -> bool:
        given = self.families
        if isinstance(given, Mapping):
            named = {
                own: family for key, family in given.items() for own in (key if isinstance(key, tuple) else (key,))
            }
            given = named.get(name, "auto")
        return given != "auto" and _family(given).support != "reals"

    def _plan(self, schema: Schema) -> tuple[Block, ...]:
        """Return one block per family for the single columns, and one per tuple of columns."""
        for key in self.smoothing if isinstance(self.smoothing, Mapping) else ():
            if key not in schema.names:
                raise SettingError(f"smoothing names the column {key!r}. Next: name columns of the table.")
        if not isinstance(self.families, Mapping) and self.families != "auto":
            blocks = [Block(_family(self.families), tuple(range(len(schema))))]
            _check_numbers(blocks, schema)
            return tuple(blocks)
        joint, single = _assign(self.families, schema)
        blocks = [Block(family, positions) for family, positions in joint]
        chosen = by_key((family, position) for position, family in sorted(single.items()))
        blocks += [Block(family, tuple(positions)) for family, positions in chosen.items()]
        _check_numbers(blocks, schema)
        return tuple(sorted(blocks, key=lambda block: block.positions))

    # --- parameters --------------------------------------------------------------------------------------------------

    @property
    def prior_(self) -> NormalInverseWishart:
        """The prior as used, its strength chosen by leave-one-out if it was left open; AttributeError without one."""
        return prior_of(self._learned)

    @property
    def means_(self) -> Array:
        """Class means (k, d), posterior means under a prior; NaN for columns that are not Gaussian."""
        fitted = self._fitted
        means = np.full((len(fitted.statistics.classes), len(fitted.schema)), np.nan)
        for number, block in enumerate(fitted.blocks):
            if isinstance(block.family, GaussianFamily):
                means[:, list(block.positions)] = gaussian_of(fitted, number).means
        return means

    @property
    def covariances_(self) -> Array:
        """Class covariances (k, d, d): zero between blocks, NaN for columns that are not Gaussian.

        Under a prior these are posterior means, see `GaussianDiscriminant.covariances_`.

        AttributeError where no column is: tables of counts may have very many columns.
        """
        fitted = self._fitted
        k, d = len(fitted.statistics.classes), len(fitted.schema)
        gaussian = [p for b in fitted.blocks if isinstance(b.family, GaussianFamily) for p in b.positions]
        if not gaussian:
            raise AttributeError("covariances_: no column of this model is Gaussian. Next: see parameters_.")
        covariances = np.full((k, d, d), np.nan)
        covariances[np.ix_(range(k), gaussian, gaussian)] = 0.0
        for number, block in enumerate(fitted.blocks):
            if isinstance(block.family, GaussianFamily):
                own = np.ix_(range(k), block.positions, block.positions)
                covariances[own] = matrices(gaussian_of(fitted, number))
        return covariances

    @property
    def probabilities_(self) -> dict[Name, dict[Level, Array]]:
        """p(level | class) of each categorical column, p(word | class) of texts: {column: {level or word: (k,)}}."""
        fitted = self._fitted
        tables: dict[Name, dict[Level, Array]] = {}
        names = fitted.schema.names
        for block, density in zip(fitted.blocks, fitted.joint.density.blocks, strict=True):
            if isinstance(density, Categorical):
                for position, levels, log_p in zip(block.positions, density.levels, density.log_p, strict=True):
                    tables[names[position]] = dict(zip(levels, np.exp(log_p).T[:-1], strict=True))
            elif isinstance(density, Bernoulli):
                for position, q, p in zip(block.positions, density.q.T, density.p.T, strict=True):
                    tables[names[position]] = {False: q, True: p}
            elif isinstance(density, TextDensity):
                for j, position in enumerate(block.positions):
                    tables[names[position]] = density.word_probabilities(j)
        return tables

    @property
    def parameters_(self) -> dict[Name, dict[str, Array]]:
        """Parameters by class of the columns that are neither Gaussian nor categorical: {column: {name: (k,)}}."""
        fitted = self._fitted
        tables: dict[Name, dict[str, Array]] = {}
        names = fitted.schema.names
        for block, density in zip(fitted.blocks, fitted.joint.density.blocks, strict=True):
            own = {names[p]: density.parameters(j) for j, p in enumerate(block.positions)}
            tables |= {name: table for name, table in own.items() if table}
        return tables

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        told = FAMILIES.get(self.families) if isinstance(self.families, str) else self.families
        family = None if told is None or isinstance(told, Mapping) else as_family(told)
        support = None if family is None else family.support
        numbers = support in ("reals", "counts", "shares")
        tags.input_tags.categorical = tags.input_tags.string = not numbers
        tags.input_tags.positive_only = support in ("counts", "shares")
        tags.classifier_tags.poor_score = tags.input_tags.positive_only  # on tables that hold no counts
        tags.input_tags.allow_nan = family is None or family.takes_missing
        return tags


def _assign(families: object, schema: Schema) -> tuple[list[tuple[Family, tuple[int, ...]]], dict[int, Family]]:
    """Return the joint blocks and the family of every other column, by position."""
    given = families if isinstance(families, Mapping) else {}
    joint: list[tuple[Family, tuple[int, ...]]] = []
    single: dict[int, Family] = {}
    taken: set[int] = set()
    for key, wanted in given.items():
        positions = schema.positions(key if isinstance(key, tuple) else (key,))
        twice = [schema.names[p] for p in positions if p in taken or positions.count(p) > 1]
        if twice:
            raise SettingError(f"families mentions column {twice[0]!r} twice. Next: give each column one family.")
        taken.update(positions)
        family = _family(wanted)
        if not isinstance(key, tuple):
            single[positions[0]] = family
        elif (joined := as_family(family).joint()) is not None:
            joint.append((joined, positions))
        else:
            raise SettingError(
                f"{setting('families', {key: wanted})}: columns can be joined as 'gaussian' or 'multinomial' only. "
                "Next: name these columns one by one."
            )
    for position, column in enumerate(schema.columns):
        if position not in taken:
            single[position] = FAMILIES[AUTOMATIC[column.kind]]
    return joint, single


def _check_numbers(blocks: Sequence[Block], schema: Schema) -> None:
    """Raise SchemaError where a family of numbers is given columns of text."""
    for block in blocks if schema.text else ():
        if block.family.support in ("reals", "counts", "shares"):
            labels = [schema.names[p] for p in block.positions if p in schema.text]
            if labels:
                raise SchemaError(
                    f"The family {block.family.name!r} is one of numbers, and {quoted(labels)} holds categories. Next: "
                    "leave the family of such columns open, or give one of categories, such as 'categorical'."
                )


def _family(wanted: object) -> Family:
    if isinstance(wanted, str):
        if wanted not in FAMILIES:
            raise SettingError.choice("families", wanted, ["auto", *FAMILIES])
        return FAMILIES[wanted]
    if lacking(wanted):
        raise SettingError.choice("families", wanted, ["auto", *FAMILIES, "a family object"])
    return as_family(wanted)
