"""What a model has learned, in a few lines: as text, and as HTML below scikit-learn's diagram in a notebook."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from html import escape

from ..errors import SufficeError, align, count, visible
from ..fitted import Fitted
from ..leave_one_out import refits_needed
from ..notes import count_details, details, to_know
from ..plots._style import brief
from ..questions.importance import importance, is_known as importance_known
from ..questions.quality import Quality, in_nats, in_whole_percent, is_known as quality_known, quality

MOST_CLASSES, MOST_COLUMNS, MOST_MEMBERS, MOST_NOTES = 12, 6, 8, 6
LONGEST = 40  # characters of a name
FEW_CELLS = 20_000  # rows × columns by which columns are judged without being asked
WIDTH = 80
STYLE = (
    "margin:.5em 0;padding:.6em .8em;border:1px solid color-mix(in srgb,currentColor 30%,transparent);"
    "border-radius:4px;max-width:46em;overflow-x:auto;font-size:.9em;line-height:1.45"
)
CELL = "text-align:left;padding:.1em 1em .1em 0;background:none;border:0;vertical-align:baseline"
NUMBER = CELL.replace("left", "right", 1) + ";white-space:nowrap"
BAR = "display:inline-block;height:.6em;background:currentColor;opacity:.55;border-radius:1px"


@dataclass(frozen=True)
class Summary:
    """What a model has learned: `str` of it is text, and notebooks show it as a table.

    Attributes
    ----------
    title : str
        The kind of model, and how much it has learned from.
    classes : tuple of (label, share)
        Each class with its share of the weight learned, from 0 to 1.
    quality : Quality or None
        What `quality()` returns; None where it was not asked for or cannot be had.
    why_not : str
        Why there is no quality, or how to get it; empty where there is one.
    importance : tuple of (column, nats, standard error)
        What columns are worth, the dearest first; empty where that was not asked for or cannot be had.
    members : tuple of (name, share, loss)
        The models that are pooled, their shares of the answer, and what each loses by itself in nats.
    notes : tuple of str
        What there is to know.
    details : int
        How many more notes there are, which ask for nothing; `notes_` has all.
    ask : str
        What else could be asked, where it was left out because it takes longer.
    """

    title: str
    classes: tuple[tuple[str, float], ...]
    quality: Quality | None
    why_not: str
    importance: tuple[tuple[str, float, float], ...]
    members: tuple[tuple[str, float, float], ...]
    notes: tuple[str, ...]
    details: int
    ask: str = ""

    def __str__(self) -> str:
        lines = [self.title, "", *textwrap.wrap(visible(self._how_good()), WIDTH)]
        for head, rows, _ in self._tables():
            lines += ["", *align([head, *rows], width=WIDTH)]
        for note in self._told():
            lines += ["", *textwrap.wrap(visible(note), WIDTH, subsequent_indent="  ")]
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """Return HTML for a notebook, light or dark: colours are those of the text around it."""
        parts = [f"<strong>{_safe(self.title)}</strong>", f"<p>{_safe(self._how_good())}</p>"]
        parts += [_html(head, rows, bars) for head, rows, bars in self._tables()]
        parts += [f'<p style="margin:.3em 0">{_safe(note)}</p>' for note in self._told()]
        return f'<div class="suffice-summary" style="{STYLE}">{"".join(parts)}</div>'

    def _how_good(self) -> str:
        return str(self.quality) if self.quality is not None else self.why_not

    def _tables(self) -> Iterator[tuple[list[str], list[list[str]], list[float]]]:
        """Yield the head and the rows of each table as text, and what the bars of its rows show, from 0 to 1."""
        rows = [[brief(label, LONGEST), in_whole_percent(share)] for label, share in self.classes]
        yield _table_of(["class", "share"], rows, [share for _, share in self.classes], MOST_CLASSES)
        if self.importance:
            rows = [[brief(name, LONGEST), f"{mean:+z.4f}", f"{error:.4f}"] for name, mean, error in self.importance]
            most = max(1e-12, *(mean for _, mean, _ in self.importance))
            bars = [max(mean, 0.0) / most for _, mean, _ in self.importance]
            yield _table_of(["column is worth", "nats", "± error"], rows, bars, MOST_COLUMNS)
        if self.members:
            rows = [[name, in_whole_percent(share), in_nats(loss)] for name, share, loss in self.members]
            bars = [share for _, share, _ in self.members]
            yield _table_of(["member", "share of answers", "log-loss alone"], rows, bars, MOST_MEMBERS)

    def _told(self) -> list[str]:
        notes = [f"Note: {note}." for note in self.notes[:MOST_NOTES]]
        more = len(self.notes) - MOST_NOTES
        rest = ([f"{more} more notes"] if more > 0 else []) + ([count_details(self.details)] if self.details else [])
        notes += [f"{' and '.join(rest)}: notes_ has all."] if rest else []
        return [*notes, self.ask] if self.ask else notes


def summarize(fitted: Fitted, kind: str) -> Summary:
    """Return what a model has learned, with all that can be said; it may take as long as `importance` does."""
    found, why = _quality(fitted)
    return _summary(fitted, kind, found, why, _worth(fitted) if fitted.tells_columns else ())


def summarize_at_hand(fitted: Fitted, kind: str) -> Summary:
    """Return what is known of a model without long computations, for a notebook that only shows it."""
    if not fitted.is_trained:
        return _plain(fitted, kind, "Edited since it was last asked: predict, or summary(), estimates it anew.")
    found, why = None, "quality() says how good it is on rows it had not seen."
    if quality_known(fitted) or _judged_at_once(fitted):
        found, why = _quality(fitted)
    small = len(fitted.schema) * fitted.statistics.rows <= FEW_CELLS
    quick = importance_known(fitted) or (small and fitted.pool is None and _judged_at_once(fitted))
    if quick and fitted.tells_columns:
        return _summary(fitted, kind, found, why, _worth(fitted))
    return replace(_summary(fitted, kind, found, why, ()), ask="importance() says what each column is worth.")


def _judged_at_once(fitted: Fitted) -> bool:
    """Return whether rows kept are left out within a second or so."""
    if fitted.pool is not None or fitted.statistics.sample is None or fitted.past.released is not None:
        return True  # without rows it says why it cannot
    if fitted.most_judged < fitted.statistics.rows or not fitted.leaves_soon:
        return False
    return not refits_needed(fitted.learned, fitted.estimated[1], rows=1)


def _quality(fitted: Fitted) -> tuple[Quality | None, str]:
    try:
        return quality(fitted), ""
    except SufficeError as error:
        return None, f"How good it is, it cannot say: {error}"


def _worth(fitted: Fitted) -> tuple[tuple[str, float, float], ...]:
    try:
        found = importance(fitted)
    except SufficeError:
        return ()
    return tuple(
        (str(found.columns[j]), float(found.mean[j]), float(found.standard_error[j])) for j in found.order.tolist()
    )


def _plain(fitted: Fitted, kind: str, why: str) -> Summary:
    """Return what statistics tell without an estimate."""
    statistics = fitted.statistics
    rows, columns, k = round(statistics.rows), len(fitted.schema), len(statistics.classes)
    size = f"{count(rows, 'row')}, {count(columns, 'column')}, {count(k, 'class')}"
    share = statistics.weight / statistics.total
    classes = tuple((str(label), float(own)) for label, own in zip(statistics.classes, share, strict=True))
    return Summary(f"{kind}: learned from {size}", classes, None, why, (), (), (), 0)


def _summary(
    fitted: Fitted, kind: str, found: Quality | None, why: str, worth: tuple[tuple[str, float, float], ...]
) -> Summary:
    told, left = tuple(to_know(fitted.notes)), len(details(fitted.notes))
    plain = _plain(fitted, kind, why)
    return replace(plain, quality=found, importance=worth, members=_members(fitted), notes=told, details=left)


def _members(fitted: Fitted) -> tuple[tuple[str, float, float], ...]:
    if fitted.pool is None:
        return ()
    pairs = zip(fitted.pool.members, fitted.pool.shares, strict=True)
    found = [(own.title, float(share), float(own.loss)) for own, share in pairs]
    return tuple(sorted(found, key=lambda own: -own[1]))


def _table_of(
    head: list[str], rows: list[list[str]], bars: list[float], most: int
) -> tuple[list[str], list[list[str]], list[float]]:
    """Return a table cut to so many rows; how many more there are stands below them."""
    rest = [[f"… {len(rows) - most:,} more", *([""] * (len(head) - 1))]] if len(rows) > most else []
    return head, rows[:most] + rest, bars[:most]


def _safe(text: str) -> str:
    return escape(visible(text))


def _html(head: Sequence[str], rows: Sequence[Sequence[str]], shares: Sequence[float]) -> str:
    """Return a table with a bar behind each row; what is "… more" has none."""
    top = "".join(f'<th scope="col" style="{NUMBER if j else CELL}">{_safe(cell)}</th>' for j, cell in enumerate(head))
    body = []
    for i, row in enumerate(rows):
        cells = "".join(f'<td style="{NUMBER if j else CELL}">{_safe(cell)}</td>' for j, cell in enumerate(row))
        width = 8.0 * min(shares[i], 1.0) if i < len(shares) else 0.0
        cells += f'<td style="{CELL};width:9em" aria-hidden="true"><span style="{BAR};width:{width:.2f}em"></span></td>'
        body.append(f'<tr style="background:none">{cells}</tr>')
    return (
        '<table style="border-collapse:collapse;margin:.4em 0;font-variant-numeric:tabular-nums;color:inherit">'
        f'<thead><tr style="background:none">{top}<td style="{CELL}"></td></tr></thead>'
        f"<tbody>{''.join(body)}</tbody></table>"
    )
