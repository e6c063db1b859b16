"""Write the golden model files that are not there yet, with the answers that they must give for ever.

    python tests/store/golden/write.py

The answers lie beside each file as JSON. Where "from" is "formula" they are SciPy's, scikit-learn's or plain counts of
the rows the model was fitted to, and nothing of the model went into them; where it is "as written" they are the model's
own on the day the file was written, and what they pin is that they stay. A file says the first format version that can
read it, and lies in its folder; it is written once, before its format is released, and never again.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
from scipy import stats
from scipy.special import logsumexp
from sklearn import discriminant_analysis, naive_bayes
from sklearn.feature_extraction.text import CountVectorizer

from suffice import (
    RDA,
    Dirichlet,
    GaussianDiscriminant,
    GenerativeClassifier,
    MixtureDiscriminant,
    NaiveBayes,
    NormalInverseWishart,
    drop_in,
)
from suffice._dialect import Dialect
from suffice.stats import patterns

LIMIT = 64_000  # bytes of a file
CLASSES = ["ash", "birch", "größe 🦉"]
COLOURS = ["red", "blue", "", "=1+1"]


# --- tables -----------------------------------------------------------------------------------------------------------


def numbers(n: int = 45, d: int = 3) -> Any:
    rng = np.random.default_rng(1)
    return np.round(rng.normal(size=(n, d)) + np.arange(n)[:, None] % 3, 3)


def many() -> Any:
    return np.round(numbers(8600, 2), 2)  # so many distinct rows that their arrays are packed


def holes() -> Any:
    X = numbers()
    X[::7, 1], X[3::11, 2], X[5::13, 0] = np.nan, np.nan, np.nan
    return X


def wide() -> Any:
    return numbers(9, 30)


def counts() -> Any:
    return np.random.default_rng(2).poisson(1.0 + np.arange(45)[:, None] % 3, size=(45, 4))


def mixed() -> Any:
    table = pd.DataFrame(numbers(60, 2), columns=["length", 'say "x, y"'])
    table["colour"] = [None if i % 13 == 4 else COLOURS[(i * 7 + i % 3) % 4] for i in range(60)]
    table["on"] = pd.array([None if i % 11 == 2 else i % 5 < 1 + i % 3 for i in range(60)], dtype="boolean")
    table.loc[::9, "length"] = np.nan
    return table


def texts() -> Any:
    words = ["größe", "it's", "🦉", "!!", "red", "1", "oak"]
    lines = [" ".join(words[(i * j + i) % 7] for j in range(1 + i % 4)) for i in range(45)]
    return pd.DataFrame({"text": lines})


def halves(n: int) -> Any:
    """Return what moves half the rows of each class away (n, 1)."""
    return 9.0 * (np.arange(n) // 3 % 2)[:, None]


def labels(n: int) -> Any:
    return np.array(CLASSES)[np.arange(n) % 3]


# --- formulas: log p(x, y) of rows, from the rows that the model learns -----------------------------------------------


def of_classes(density: Callable[[Any, Any], Any]) -> Callable[[Any, Any, Any], Any]:
    """Return the formula of a density that is fitted to each class alone, with the classes' shares as priors."""

    def joint(X: Any, y: Any, rows: Any) -> Any:
        parts = [X[y == label] for label in CLASSES]
        return np.column_stack([np.log(len(part) / len(X)) + density(part, rows) for part in parts])

    return joint


def full(part: Any, rows: Any) -> Any:
    return stats.multivariate_normal(part.mean(axis=0), np.cov(part.T, bias=True)).logpdf(rows)


def diagonal(part: Any, rows: Any) -> Any:
    return stats.norm(part.mean(axis=0), part.std(axis=0)).logpdf(rows).sum(axis=1)


def shared(X: Any, y: Any, rows: Any) -> Any:
    within = sum(np.cov(X[y == label].T, bias=True) * (y == label).mean() for label in CLASSES)
    means = [X[y == label].mean(axis=0) for label in CLASSES]
    return np.column_stack([stats.multivariate_normal(m, within).logpdf(rows) for m in means]) - np.log(3.0)


def wishart(part: Any, rows: Any) -> Any:
    """Gelman et al., Bayesian Data Analysis (3rd ed.), section 3.6: a = 4 rows of the covariance 2 I, κ = 1, m = 0."""
    n, mean = len(part), part.mean(axis=0)
    scale = 4.0 * 2.0 * np.eye(3) + n * np.cov(part.T, bias=True) + n / (n + 1.0) * np.outer(mean, mean)
    return stats.multivariate_t(n * mean / (n + 1.0), scale * (1.0 + 1.0 / (n + 1.0)) / (n + 6.0), n + 6.0).logpdf(rows)


def poisson(X: Any, y: Any, rows: Any) -> Any:
    found = []
    for label in CLASSES:
        part = X[y == label]
        rate = (part.sum(axis=0) + (X.sum(axis=0) + 0.5) / len(X)) / (len(part) + 1.0)
        found.append(stats.poisson(rate).logpmf(rows).sum(axis=1) - np.log(3.0))
    return np.column_stack(found)


def mixed_product(X: Any, y: Any, rows: Any) -> Any:
    """Gaussians of the observed numbers; (count + ½) / (n + ½ L) for text and truth values."""
    found = []
    for label in CLASSES:
        part, joint = X[y == label], np.full(len(rows), -np.log(3.0))
        for name in X.columns[:2]:
            seen = part[name].dropna()
            joint += np.nan_to_num(stats.norm(seen.mean(), seen.std(ddof=0)).logpdf(rows[name]))
        for name, levels in (("colour", COLOURS), ("on", [False, True])):
            seen = part[name].dropna()
            share = {level: ((seen == level).sum() + 0.5) / (len(seen) + 0.5 * len(levels)) for level in levels}
            joint += [0.0 if pd.isna(cell) else np.log(share[cell]) for cell in rows[name]]
        found.append(joint)
    return np.column_stack(found)


def of_sklearn(estimator: Any) -> Callable[[Any, Any, Any], Any]:
    return lambda X, y, rows: np.asarray(estimator.fit(X, y).predict_joint_log_proba(rows))


def of_words(X: Any, y: Any, rows: Any) -> Any:
    """Words are what spaces part here: log p(text, y) of scikit-learn's multinomial naive Bayes."""
    counter = CountVectorizer(analyzer=str.split)
    peer = naive_bayes.MultinomialNB(alpha=0.5).fit(counter.fit_transform(X["text"]), y)
    return peer.predict_joint_log_proba(counter.transform(rows["text"]))


def of_sklearn_discriminant(X: Any, y: Any, rows: Any) -> Any:
    """Its decision function is log p(x, y) without −d/2 log 2π."""
    fitted = discriminant_analysis.QuadraticDiscriminantAnalysis().fit(X, y)
    return fitted.decision_function(rows) - rows.shape[1] / 2 * np.log(2 * np.pi)


# --- files ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Golden:
    """A model, the table it learns, and the formula of its answers (None: as written)."""

    model: Any
    table: Callable[[], Any] = numbers
    formula: Callable[[Any, Any, Any], Any] | None = None
    swept: bool = False  # as if its patterns of missing cells were too many to keep
    after: Callable[[Any], Any] = lambda model: model  # what is done with the fitted model


def of_a_file(model: Any) -> Any:
    """Return the model as the command line leaves it, which remembers how the cells of its CSV were written."""
    model._edit_past(dialect=Dialect(",", {"x0": ",", "x1": "."}, {"x2": "-"}, ("?", "größe")))
    return model


def released(model: Any) -> Any:
    return model.release(least=5)


GOLDEN = {
    "gaussian_full": Golden(GaussianDiscriminant(keep_rows=5), formula=of_classes(full)),
    "gaussian_shared": Golden(GaussianDiscriminant(shared=True), formula=shared),
    "gaussian_diagonal": Golden(GaussianDiscriminant("diagonal"), formula=of_classes(diagonal)),
    "gaussian_of_many": Golden(GaussianDiscriminant(keep_rows="all"), many, of_classes(full)),
    "gaussian_missing": Golden(GaussianDiscriminant(), holes),
    "gaussian_swept": Golden(GaussianDiscriminant(), holes, swept=True),
    "gaussian_wide": Golden(GaussianDiscriminant(shared=True), wide),
    "gaussian_ledoit_wolf": Golden(GaussianDiscriminant(shrinkage="ledoit-wolf", priors=[0.2, 0.3, 0.5])),
    "gaussian_rda": Golden(GaussianDiscriminant(shrinkage=RDA(0.2, 0.1), divisor="unbiased")),
    "gaussian_prior": Golden(
        GaussianDiscriminant(
            prior=NormalInverseWishart(strength=4.0, mean_strength=1.0, mean=[0.0] * 3, scale=[2.0] * 3)
        ),
        formula=of_classes(wishart),
    ),
    "gaussian_of_a_file": Golden(GaussianDiscriminant(), formula=of_classes(full), after=of_a_file),
    "gaussian_released": Golden(GaussianDiscriminant(), holes, after=released),
    "bayes_released": Golden(NaiveBayes(), mixed, after=released),
    "automatic_released": Golden(GenerativeClassifier(), mixed, after=released),
    "bayes_mixed": Golden(NaiveBayes(smoothing=0.5), mixed, mixed_product),
    "bayes_text": Golden(NaiveBayes({"text": "text"}, smoothing=0.5, keep_rows=9), texts, of_words),
    "bayes_joint": Golden(
        NaiveBayes({(0, 1): "gaussian", 2: "laplace"}, priors=Dirichlet(1.0)), lambda: holes()[:, [0, 1, 2]]
    ),
    "bayes_laplace": Golden(NaiveBayes("laplace"), holes),
    "bayes_poisson": Golden(NaiveBayes("poisson"), counts, poisson),
    "mixture": Golden(MixtureDiscriminant(n_components=2, random_state=0)),
    "mixture_missing": Golden(MixtureDiscriminant(n_components=2, shared=True, random_state=0), holes),
    "mixture_bic": Golden(MixtureDiscriminant(keep_rows=5, random_state=0), lambda: numbers(180) + halves(180)),
    "automatic": Golden(GenerativeClassifier(keep_rows=50), mixed),
    "drop_in_gaussian": Golden(drop_in.GaussianNB(), formula=of_sklearn(naive_bayes.GaussianNB())),
    "drop_in_multinomial": Golden(drop_in.MultinomialNB(), counts, of_sklearn(naive_bayes.MultinomialNB())),
    "drop_in_qda": Golden(drop_in.QuadraticDiscriminantAnalysis(), formula=of_sklearn_discriminant),
}


def answers_of(model: Any, rows: Any) -> dict[str, Any]:
    return {"log_density": model.score_samples(rows).tolist(), "posterior": model.predict_proba(rows).tolist()}


def write(name: str) -> None:
    golden = GOLDEN[name]
    X = golden.table()
    y = labels(len(X))
    with mock.patch.object(patterns, "MAX_CELLS", 8 if golden.swept else patterns.MAX_CELLS):
        model = golden.after(golden.model.fit(X, y))
    new = Path(__file__).with_name(f"{name}.suffice")
    model.save(new)
    with zipfile.ZipFile(new) as archive:
        path = new.parent / f"v{json.loads(archive.read('model.json'))['version']}" / new.name
    if path.exists():  # never over an old one
        new.unlink()
        return
    path.parent.mkdir(exist_ok=True)
    new.rename(path)
    assert path.stat().st_size < LIMIT, (name, path.stat().st_size)
    rows = X.iloc[:8] if isinstance(X, pd.DataFrame) else X[:8]
    found = answers_of(model, rows)
    if golden.formula is not None:
        joint = golden.formula(X, y, rows)
        density = logsumexp(joint, axis=1)
        formula = {"log_density": density.tolist(), "posterior": np.exp(joint - density[:, None]).tolist()}
        for key, values in formula.items():
            np.testing.assert_allclose(found[key], values, rtol=1e-9, atol=1e-9, err_msg=f"{name} {key}")
        found = formula
    cells = rows.astype(object).where(rows.notna(), None) if isinstance(rows, pd.DataFrame) else None
    document = {
        "from": "as written" if golden.formula is None else "formula",
        "columns": None if cells is None else list(cells.columns),
        "rows": (rows if cells is None else cells.to_numpy()).tolist(),
        "classes": CLASSES,
        **found,
    }
    text = json.dumps(document, ensure_ascii=False, indent=1).replace("NaN", "null")
    path.with_suffix(".json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    for name in GOLDEN:
        write(name)
