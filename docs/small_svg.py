"""Pictures as small SVG that is the same each time it is drawn."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import matplotlib as mpl

NOTHING = dict.fromkeys(("Creator", "Date", "Format", "Type"))
mpl.rcParams["svg.hashsalt"] = "suffice"  # identifiers do not depend on the day


def save(figure: Any, path: Path) -> None:
    """Save a figure; letters are drawn as shapes, so that it looks the same where other fonts are installed."""
    with mpl.rc_context({"svg.fonttype": "path"}):
        figure.savefig(path, format="svg", metadata=NOTHING)
    shrink(path)


def shrink(path: Path) -> None:
    """Write an SVG of Matplotlib anew: numbers with two digits, the style of many points said once, no day."""
    text = path.read_text(encoding="utf-8")
    text = re.sub(r"<metadata>.*?</metadata>\s*", "", text, flags=re.DOTALL)
    text = re.sub(r"<!--.*?-->\s*", "", text, flags=re.DOTALL)
    parts = re.split(r"(data:image/[^\"]*)", text)  # numbers, but not those within an image
    parts[::2] = [re.sub(r"-?\d+\.\d{3,}(?:e-?\d+)?", _two_digits, part) for part in parts[::2]]
    text = "".join(parts)
    clip = r'<g clip-path="(url\(#\w+\))">\s*((?:<use [^>]*/>\s*)+)</g>\s*'
    text = re.sub(rf"(?:{clip}){{2,}}", lambda found: _clip_once(found[0], clip), text)
    text = re.sub(r'(?:<use [^>]*style="[^"]*"[^>]*/>\s*){2,}', _style_once, text)
    text = _short_names(text)
    path.write_text(re.sub(r"\n\s*", "\n", text), encoding="utf-8")


def _two_digits(found: re.Match[str]) -> str:
    value = float(found[0])
    return f"{value:.2f}".rstrip("0").rstrip(".") if abs(value) >= 0.1 or value == 0 else f"{value:.2g}"


def _style_once(found: re.Match[str]) -> str:
    """Return points in a row, those of the same style in one group."""
    out, style = [], None
    for use in re.findall(r"<use [^>]*/>", found[0]):
        own = re.search(r' style="([^"]*)"', use)
        now = own[1] if own else None
        if now != style:
            out += ["</g>\n"] * (style is not None) + ([f'<g style="{now}">\n'] if now else [])
            style = now
        out.append((use.replace(own[0], "") if own else use) + "\n")
    return "".join(out) + ("</g>\n" if style is not None else "")


def _clip_once(text: str, clip: str) -> str:
    """Return groups in a row that are cut off alike as one."""
    out, last = [], None
    for place, points in re.findall(clip, text):
        out += ([] if place == last else ["</g>\n"] * (last is not None) + [f'<g clip-path="{place}">\n']) + [points]
        last = place
    return "".join(out) + "</g>\n"


def _short_names(text: str) -> str:
    """Return an SVG whose identifiers are short, and without those that nothing refers to."""
    used = dict.fromkeys(re.findall(r'(?:href="|url\()#([^")]+)', text))
    names = {name: f"n{i}" for i, name in enumerate(used)}
    text = re.sub(r' id="([^"]+)"', lambda own: f' id="{names[own[1]]}"' if own[1] in names else "", text)
    return re.sub(r'((?:href="|url\()#)([^")]+)', lambda own: own[1] + names[own[2]], text)
