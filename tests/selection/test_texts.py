"""Columns of texts in the automatic classifier: edits, the ridge rule by scikit-learn's solver, what is refused."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.stats import power_divergence
from scipy.stats.contingency import expected_freq
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from suffice import GenerativeClassifier, NaiveBayes
from suffice.automatic.member import title
from suffice.automatic.members.texts import TextBayes, TextRule, scales
from suffice.errors import DataError, ExportError, SchemaError, SettingError
from suffice.plots._view import View
from suffice.questions.held_out import ByFolds, hold_out
from suffice.report.facts import collect_facts
from suffice.report.reasons import collect_words, keyness
from suffice.schema import Kind
from suffice.stats.texts import words_of

HAM = "are you home yet ? call me when u get there ok lar see you at the gym tonite it's fine 🙂"
SPAM = "WINNER !! you have won a £1000 prize call now txt WIN to 80086 free entry ok claim"
SAID = {"ham": HAM.split(" "), "spam": SPAM.split(" ")}


def messages(rng, n=240):
    """Texts of two classes beside a number and a category that say less."""
    y = np.where(rng.random(n) < 0.3, "spam", "ham")
    lines = [" ".join(rng.choice(SAID[c], rng.integers(4, 10))) + f" x{i % 40}" for i, c in enumerate(y)]
    hour = rng.normal(9.0, 2.0, n) + (y == "spam")
    return pd.DataFrame({"hour": hour, "text": lines, "day": rng.choice(["mon", "tue"], n)}), y


@pytest.fixture(scope="module")
def case():
    X, y = messages(np.random.default_rng(0))
    X.loc[7, "text"] = None
    return X, y, GenerativeClassifier().fit(X, y)


def test_texts_are_known_by_their_words(case):
    X, y, model = case
    kinds = {column.name: column.kind for column in model._fitted.schema.columns}
    assert kinds == {"hour": Kind.NUMERIC, "text": Kind.TEXT, "day": Kind.STRING}
    names = X.assign(text=[f"Dr. Ann Smith {i}" if i % 9 else "Bo" for i in range(len(X))])  # three words or so
    assert GenerativeClassifier().fit(names[:60], y[:60])._fitted.schema.columns[1].kind is Kind.STRING
    assert GenerativeClassifier(text=[]).fit(X[:60], y[:60])._fitted.schema.columns[1].kind is Kind.STRING
    assert NaiveBayes().fit(X, y)._fitted.schema.columns[1].kind is Kind.TEXT
    with pytest.raises(SchemaError, match="'hour'"):
        GenerativeClassifier(text=["hour"]).fit(X, y)
    with pytest.raises(SettingError, match="text"):
        GenerativeClassifier(text="text").fit(X, y)


def test_members_of_texts_carry_the_pool(case):
    _, _, model = case
    weights = {own["name"]: own["weight"] for own in model.members_}
    assert sum(weights[title(name)] for name in (*TextBayes.kinds, *TextRule.kinds)) > 0.2
    assert model.loss_ < 0.5 * GenerativeClassifier(text=[]).fit(*case[:2]).loss_
    densities = GenerativeClassifier(members="generative").fit(*case[:2]).members_
    assert {own["name"] for own in densities} == set(weights) - {"weighted words", "boosted trees"}


@pytest.mark.slow
def test_edits_equal_fits_while_rows_are_kept(case, read_back):
    X, y, model = case
    expected = model.predict_proba(X)
    halves = [GenerativeClassifier().partial_fit(X[i::2], y[i::2]) for i in (0, 1)]
    np.testing.assert_allclose(halves[0].merge(halves[1]).predict_proba(X), expected, atol=1e-10)
    order = np.random.default_rng(1).permutation(len(y))
    turned = GenerativeClassifier().fit(X.iloc[order].reset_index(drop=True), y[order])
    np.testing.assert_allclose(turned.predict_proba(X), expected, atol=1e-10)
    more, labels = messages(np.random.default_rng(2), 60)
    grown = GenerativeClassifier().partial_fit(X, y).partial_fit(more, labels).forget(more, labels)
    np.testing.assert_allclose(grown.predict_proba(X), expected, atol=1e-10)
    back = read_back(model)
    np.testing.assert_array_equal(back.predict_proba(X), expected)
    assert back.members_ == model.members_


def test_counts_of_frozen_columns_merge(read_back):
    X, y = messages(np.random.default_rng(3), 300)
    model = GenerativeClassifier(keep_rows=60, text=["text"]).fit(X[:200], y[:200])
    copy = read_back(model).partial_fit(X[200:], y[200:])
    whole = clone(model).partial_fit(X[:200], y[:200]).partial_fit(X[200:], y[200:])
    np.testing.assert_allclose(copy.predict_proba(X), whole.predict_proba(X), atol=1e-10)
    counts = whole.statistics_.blocks[-1].learned["texts"].entries
    plain = NaiveBayes({"text": "text"}).fit(X, y)
    (words,) = [block for block in plain.statistics_.blocks if hasattr(block, "words")]
    assert counts[0].words == words.words
    np.testing.assert_array_equal(counts[0].counts[0], words.counts[0])


def test_the_rule_is_where_scikit_learn_finds_it(case):
    """Ratios of two classes are opposite: two slopes of penalty λ/2 each are one, twice as large, with C = 2/λ."""
    pool = case[2]._fitted.pool
    member = next(own.member for own in pool.members if isinstance(own.member, TextRule))
    rule, rows = member.rule(), pool.sample.rows
    read = rows.terms(0)
    scale = scales(read)[:, None]
    table = (read.terms.units @ (read.terms.spelled @ read.terms.among(rule.words[0]))).toarray() * scale
    there = read.number >= 0
    table, codes = table[read.number[there]], pool.sample.codes[there]
    counts = np.stack([(table / scale[read.number[there]])[codes == c].sum(axis=0) for c in (0, 1)])
    share = (counts + 1.0) / (counts + 1.0).sum(axis=1, keepdims=True)
    ratio = np.log(share[1] / share[0])
    peer = LogisticRegression(C=2.0 / member.ridge, tol=1e-8, max_iter=5000).fit(sparse.csr_array(table * ratio), codes)
    expected = table @ (ratio * peer.coef_[0])
    found = table @ (rule.slopes[0][:, 1] - rule.slopes[0][:, 0])
    np.testing.assert_allclose(found - found.mean(), expected - expected.mean(), atol=5e-3 * np.ptp(expected))


def test_reasons_add_up_and_a_missing_text_says_nothing(case):
    X, _, model = case
    odds = model.explain(X[:9]).sum(axis=1) + np.log(model.priors_)
    posterior = model.predict_log_proba(X[:9])
    np.testing.assert_allclose(odds - odds[:, :1], posterior - posterior[:, :1], atol=1e-8)
    assert (model.explain(X[7:8])[0, 1] == 0.0).all()


@pytest.mark.parametrize("family", ["text", "text_bernoulli"])
def test_words_of_naive_bayes_add_what_formulas_say(case, family):
    X, y, _ = case
    model = NaiveBayes({"text": family}).fit(X, y)
    line = "prize call prize unheard"
    (found,) = model.explain(X[:1].assign(text=line), words=True)
    for word, times in (("prize", 2 if family == "text" else 1), ("call", 1)):
        p = model.probabilities_["text"][word]
        log_odds = np.log(p) if family == "text" else np.log(p / (1.0 - p))
        np.testing.assert_allclose(found["text"][word], times * (log_odds - log_odds.mean()), atol=1e-12)
    assert set(found["text"]) == {"prize", "call"}


@pytest.mark.parametrize("family", ["text", "text_bernoulli"])
def test_groups_of_texts_are_judged_with_columns_unknown(case, family):
    """By the models of other folds: of their rows' other columns alone, as a fit to these has it."""
    X, y, _ = case
    model = NaiveBayes({"text": family}).fit(X, y, groups=np.arange(len(X)) // 4)
    kept = model._fitted.reservoir.locate(model._fitted.encoded(X)[0], (y == "spam").astype(int), ["ham", "spam"])
    judged = ByFolds(model._fitted, np.arange(len(X))).log_posterior([0, 2])[kept]
    for fold in hold_out(model._fitted).folds:
        own, rest = np.isin(kept, fold.index), ["hour", "day"]
        others = NaiveBayes().fit(X.loc[~own, rest], y[~own])
        np.testing.assert_allclose(judged[own], others.predict_log_proba(X.loc[own, rest]), atol=1e-9)
    assert model.importance().mean[1] > 0.1


def test_suspect_cells_of_texts_do_not_depend_on_the_order_of_rows(case):
    X, y, turn = case[0].round(), case[1], np.random.default_rng(2).permutation(len(case[1]))
    model = NaiveBayes({"text": "text"}).fit(X, y)
    found, again = model.suspect_cells(X, y), model.suspect_cells(X.iloc[turn], y[turn])
    np.testing.assert_allclose(again.p_value, found.p_value[turn], atol=1e-9)


def test_words_of_the_pool_lead_where_they_should(case):
    X, y, model = case
    told = model.explain(X[:40], words=True)
    spam = model.classes_.tolist().index("spam")
    sums = np.array([sum(own["text"].values(), np.zeros(2))[spam] for own in told])
    assert np.corrcoef(sums, model.explain(X[:40])[:, 1, spam])[0, 1] > 0.9
    assert told[7]["text"] == {}
    assert {"home", "prize"} <= {word for own in told for word in own["text"]}
    with pytest.raises(DataError, match="texts"):
        NaiveBayes().fit(X[["hour"]], y).explain(X[["hour"]], words=True)
    for other in ({"as_frame": True}, {"return_error": True}, {"orders": 4}):
        with pytest.raises(SettingError, match="words=True"):
            model.explain(X[:2], words=True, **other)


@pytest.mark.slow
def test_the_page_shows_the_telling_words(case, tmp_path):
    X, y, model = case
    (column,) = collect_words(View(model))
    (spam,) = [own["words"] for own in column["classes"] if own["label"] == "spam"]
    has = pd.Series([set(words_of(line)) for line in X["text"].fillna("")])
    there = X["text"].notna().to_numpy()
    for told in spam:
        own, others = (np.mean([told["word"] in words for words in has[there & (y == c)]]) for c in ("spam", "ham"))
        np.testing.assert_allclose([told["share"], told["others"]], [own, others], atol=1e-12)
        assert own > others
    table = np.array([[30, 10], [5, 55]])
    expected = power_divergence(table, expected_freq(table), lambda_="log-likelihood", axis=None).statistic
    np.testing.assert_allclose(keyness(np.array([30.0]), np.array([5.0]), 40.0, 60.0), expected, rtol=1e-12)
    facts = collect_facts(model)
    (text,) = [own for own in facts["columns"] if own["name"] == "text"]
    assert (text["cells"], text["missing"]) == (["see the telling words"] * 2, 1 / len(y))
    assert text not in [facts["columns"][place] for place in facts["telling"]]
    model.to_html(tmp_path / "page.html")
    assert "The telling words" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_a_column_named_as_text_may_be_empty(tmp_path):
    X, y = messages(np.random.default_rng(1), 60)
    model = GenerativeClassifier(text=["text"]).fit(X.assign(text=np.full(60, None, dtype=object)), y)
    model.to_html(tmp_path / "page.html", X, y)
    assert "The telling words" not in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_what_is_refused_is_refused_by_name(case):
    X, _, model = case
    for refused, error in (
        (lambda: model.to_sql("t"), ExportError),
        (lambda: model.release(), DataError),
        (lambda: model.sample(2), DataError),
        (lambda: model.sample(2, given={"text": "free"}), DataError),
        (lambda: model.impute(X[5:9]), DataError),
    ):
        with pytest.raises(error, match="'text'"):
            refused()
    assert model.suspect_labels(X, case[1]).shape == (len(X),)
    assert model.predict_set(X[:3], 0.1).shape == (3, 2)
    assert model.outlier_pvalues(X[:3]).shape == (3,)
