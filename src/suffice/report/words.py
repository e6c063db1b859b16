"""The telling words of each class, on the page: of every column of texts those that the class has more often."""

from __future__ import annotations

from typing import Any

from .._arrays import Array, np, xlogy
from ..plots._style import brief
from ..plots._view import View
from ..schema import column_name
from ..stats.texts import TEXTS, TextStats

MOST_WORDS = 12
MOST_CLASSES = 12
TELLING = 10.8  # of G², which a word that tells nothing has beyond once in a thousand


def collect_words(view: View) -> list[dict[str, Any]] | None:
    """Return by column of texts the words that tell most of each class; None where there is no column of texts.

    They are ranked by G² (Dunning 1993, aclanthology.org/J93-1003) of the texts of the class and of the others that
    have them, and shown with the shares of these.
    """
    fitted, found = view.fitted, list[dict[str, Any]]()
    for block, stats in zip(fitted.blocks, fitted.statistics.blocks, strict=True):
        if not isinstance(stats, TextStats):
            continue
        for j, position in enumerate(block.positions):
            words = stats.words[j]
            if words:
                classes = _classes(view, words, stats.counts[j][:, TEXTS], stats.seen[:, j])
                found.append({"name": column_name(view.schema.names[position]), "classes": classes})
    return found or None


def _classes(view: View, words: tuple[str, ...], texts: Array, seen: Array) -> list[dict[str, Any]]:
    found = []
    for c in np.argsort(-seen, kind="stable")[:MOST_CLASSES].tolist():
        own, others, n, rest = texts[c], texts.sum(axis=0) - texts[c], seen[c], seen.sum() - seen[c]
        share, other = own / max(n, 1e-300), others / max(rest, 1e-300)
        score = np.where(share > other, keyness(own, others, n, rest), 0.0)
        best = [i for i in np.argsort(-score, kind="stable")[:MOST_WORDS].tolist() if score[i] >= TELLING]
        told = [{"word": brief(words[i], 30), "share": float(share[i]), "others": float(other[i])} for i in best]
        found.append({"label": str(view.classes[c]), "words": told})
    return found


def keyness(own: Array, others: Array, n: float, rest: float) -> Array:
    """Return G² = 2 Σ O log(O / E) of texts that have words or not, (w,), in a class of n and in the rest."""
    have = (own + others) / max(n + rest, 1e-300)
    total = np.zeros_like(own)
    for count, size in ((own, n), (others, rest)):
        for seen, expected in ((count, size * have), (size - count, size * (1.0 - have))):
            total += 2.0 * (xlogy(seen, seen) - xlogy(seen, np.maximum(expected, 1e-300)))
    return total
