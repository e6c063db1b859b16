"""scikit-learn's generative classifiers under their own names: change one import, and the rest of a program stays.

Constructor parameters, fitted attributes and numbers are those of scikit-learn 1.9.1. What is gained: missing cells,
row weights everywhere, exact `partial_fit`, `merge` and `forget` (LDA and QDA too), classes and categories that come
later, and every other question that `GaussianDiscriminant` and `NaiveBayes` answer, whose subclasses these are. What
differs is listed with reasons in the documentation. No rows are kept beside their sums: `keep_rows` is 0, an attribute
to set before `fit` for `predict_set` and plots.
"""

from ..estimators import load, register
from ._discriminant import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from ._naive_bayes import BernoulliNB, CategoricalNB, ComplementNB, GaussianNB, MultinomialNB

register(BernoulliNB, CategoricalNB, ComplementNB, GaussianNB, MultinomialNB)
register(LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis)

__all__ = [
    "BernoulliNB",
    "CategoricalNB",
    "ComplementNB",
    "GaussianNB",
    "LinearDiscriminantAnalysis",
    "MultinomialNB",
    "QuadraticDiscriminantAnalysis",
    "load",
]
