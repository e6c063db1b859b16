"""Texts as textbooks model them: scikit-learn's numbers, leave-one-out by refits, words and counts by hand."""

from collections import Counter

import numpy as np
import pandas as pd
import pytest
from refits import refits
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.naive_bayes import BernoulliNB, MultinomialNB

from suffice import Dirichlet, NaiveBayes
from suffice.errors import DataError, ExportError, NotLearnedError, SchemaError, SettingError
from suffice.stats import TextStats, texts
from suffice.stats.counts import TextColumns
from suffice.stats.texts import BUCKETS, KINDS, LETTERS, Terms, bucket, spell, words_of

HOME = "the plumber comes at nine . please ring 🙂 dinner is ready see you soon it's late"
WORK = "please send the report ! meeting at nine moved to room see agenda report is late"
PARTS = {"home": HOME.split(" "), "work": WORK.split(" ")}
BOTH = pytest.mark.parametrize("family", ["text", "text_bernoulli"])


def messages(rng, n=60):
    """Texts of two classes, their words drawn one by one; every word that some text alone has is there as well."""
    labels = np.where(rng.random(n) < 0.4, "home", "work")
    lines = [" ".join(rng.choice(PARTS[c], rng.integers(1, 9))) + f" only{i}" for i, c in enumerate(labels)]
    return pd.DataFrame({"text": lines}), labels


@BOTH
@pytest.mark.parametrize("alpha", [0.3, 1.0])
def test_posteriors_are_those_of_scikit_learn(rng, family, alpha):
    X, y = messages(rng)
    ask = pd.DataFrame({"text": ["please ring soon", "REPORT", "", "words never met"]})
    model = NaiveBayes({"text": family}, smoothing=alpha).fit(X, y)
    counter = CountVectorizer(analyzer=words_of)
    peer = (MultinomialNB if family == "text" else BernoulliNB)(alpha=alpha).fit(counter.fit_transform(X.text), y)
    expected = peer.predict_log_proba(counter.transform(ask.text))
    np.testing.assert_allclose(model.predict_log_proba(ask), expected, atol=1e-10)
    place = counter.vocabulary_["nine"]
    found = model.probabilities_["text"]["nine"]
    np.testing.assert_allclose(np.log(found), peer.feature_log_prob_[:, place], atol=1e-12)


@BOTH
@pytest.mark.parametrize("alpha", [0.0, 0.5])
def test_leave_one_out_equals_refits(rng, family, alpha):
    X, y = messages(rng, 30)
    X.loc[4, "text"] = None
    weight = rng.integers(1, 4, len(y)).astype(float)
    fresh = NaiveBayes({"text": family}, smoothing=alpha)
    left_out = fresh.fit(X, y, sample_weight=weight).leave_one_out(X, y, sample_weight=weight)
    np.testing.assert_allclose(np.exp(left_out), np.exp(refits(lambda: fresh, X, y, weight)), atol=1e-10)


@BOTH
def test_halves_merge_and_rows_are_forgotten(rng, family):
    X, y = messages(rng)
    X.insert(0, "hour", rng.normal(9.0, 2.0, len(y)))
    whole, first, second = (
        NaiveBayes({"text": family}).fit(X.iloc[part], y[part]) for part in (slice(None), slice(30), slice(30, None))
    )
    merged = NaiveBayes({"text": family}).fit(X[:30], y[:30]).merge(second)
    (words, *_), (own, *_) = (
        [block for block in model.statistics_.blocks if isinstance(block, TextStats)] for model in (merged, whole)
    )
    assert words.words == own.words
    assert all((a == b).all() for a, b in zip(words.counts, own.counts, strict=True))
    left = merged.forget(X[30:], y[30:]).predict_proba(X)
    np.testing.assert_allclose(left, first.predict_proba(X), atol=1e-12)
    with pytest.raises(NotLearnedError, match="text"):
        merged.forget(X[40:45], y[40:45])


def test_words_are_counted_as_by_hand():
    found = words_of("It's FREE!!! 😀😀 Straße, naïve...")
    assert found == ["it's", "free", "!!!", "😀😀", "straße", ",", "naïve", "..."]
    assert spell("ab", ["letters"]) == [LETTERS + part for part in (" a", "ab", "b ", " ab", "ab ", " ab ")]
    lines = ["a b a b", "", "b c"]
    found = Terms.of(lines, ("words", "pairs"))
    table = (found.units @ found.spelled).toarray()
    expected = Counter(["a", "b", "a", "b", "a b", "b a", "a b"])
    assert {name: n for name, n in zip(found.names, table[0], strict=True) if n} == expected
    assert not table[1].any()


def test_beyond_a_number_of_terms_a_hash_counts_them_in_any_order(rng, monkeypatch):
    X, y = messages(rng)
    rows = TextColumns((tuple(X.text),), (np.arange(len(y)),))
    codes = (y == "work").astype(np.int64)
    exact = TextStats.summarize(rows, codes, 2, None, KINDS)
    monkeypatch.setattr(texts, "BUDGET", 200)
    order = rng.permutation(len(y))
    index = [order[i::4] for i in range(4)]
    parts = [
        TextStats.summarize(TextColumns(rows.levels, (rows.codes[0][i],)), codes[i], 2, None, KINDS) for i in index
    ]
    one = parts[0].merge(parts[1]).merge(parts[2].merge(parts[3]))
    other = parts[3].merge(parts[0].merge(parts[2])).merge(parts[1])
    every = TextStats.summarize(rows, codes, 2, None, KINDS)
    assert one.words == other.words == every.words == (None,)
    np.testing.assert_array_equal(one.counts[0], every.counts[0])
    np.testing.assert_array_equal(other.counts[0], every.counts[0])
    folded = np.zeros((2, 2, BUCKETS))
    np.add.at(folded, (slice(None), slice(None), [bucket(word) for word in exact.words[0]]), exact.counts[0])
    np.testing.assert_array_equal(folded, every.counts[0])


@BOTH
def test_a_released_model_tells_no_word_of_few_texts(rng, family):
    X, y = messages(rng, 200)
    model = NaiveBayes({"text": family}).fit(X, y)
    released = model.release(least=5)
    (stats,) = released.statistics_.blocks
    for word, counts in zip(stats.words[0], stats.counts[0][:, 1].T, strict=True):
        for label, count in zip(released.classes_, counts, strict=True):
            has = int(sum(word in words_of(line) for line in X.text[y == label]))
            assert count == 0 or has >= 5
            assert family == "text" or (y == label).sum() - count in (0, *range(5, 200))
    assert not any(word.startswith("only") for word in stats.words[0])
    assert any("words" in str(note) for note in released.notes_)


def test_rows_without_a_label_join(rng):
    X, y = messages(rng, 80)
    some = y.astype(object)
    some[20:] = None
    joined = NaiveBayes({"text": "text"}).fit(X, some)
    assert "plumber" in joined.probabilities_["text"]
    assert (joined.predict(X) == y).mean() > 0.8


def test_what_texts_cannot_do_is_said_by_name(rng):
    X, y = messages(rng)
    model = NaiveBayes({"text": "text"}).fit(X, y)
    with pytest.raises(DataError, match="'text'"):
        model.sample(3)
    with pytest.raises(DataError, match="'text'"):
        model.impute(pd.DataFrame({"text": [None, "please ring"]}))
    with pytest.raises(ExportError, match="'text' holds texts"):
        model.to_sql("messages")
    with pytest.raises(SchemaError, match="numeric"):
        NaiveBayes({"text": "text"}).fit(pd.DataFrame({"text": [1.0, 2.0]}), ["a", "b"])
    with pytest.raises(SettingError, match="uniform"):
        NaiveBayes({"text": "text"}, smoothing=Dirichlet(1.0, base="pooled")).fit(X, y)
