"""Facts and pictures into one self-contained page."""

from __future__ import annotations

import datetime as dt
import os
from base64 import b64encode
from functools import cache
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version as installed
from importlib.resources import files
from typing import Any

from .._files import whole_file
from ..errors import SettingError, pip_install, setting
from ..plots._view import View, percent
from .drawing import class_color, class_colors, draw, draw_answers
from .explorer import collect_explorer, script, write_json
from .facts import Answered, collect_facts, collect_suspects, collect_worth, tell_answers
from .profile import nats, profile_view
from .reasons import collect_effects, collect_swarms, collect_words

STYLES = ("base.css", "tables.css", "form.css", "reasons.css", "table.css", "print.css")


def write_page(
    estimator: object, path: str | os.PathLike[str], X: object = None, y: object = None, **options: Any
) -> None:
    """Write the page of a fitted model to a file, complete or not at all; see `render_page`."""
    text = render_page(estimator, X, y, **options)
    with whole_file(path) as file:
        file.write(text.encode())


def render_page(
    estimator: object, X: object = None, y: object = None, *, name: str = "the table", interval: float | None = None
) -> str:
    """Return the page of a fitted model as HTML: self-contained, its one script named by its hash, loading nothing.

    With a table `X` and, where known, labels `y`, it also has what the model says of these rows, with the level of an
    `interval` how sure its probabilities are, too; `name` is what the table is called. ImportError says what to install
    where Jinja2 or Matplotlib is missing, SettingError that there is no such interval.
    """
    template = _template()  # or what to install, before any work
    if interval is not None and X is None:
        raise SettingError(
            f"{setting('interval', interval)} asks how sure the probabilities of rows are, and "
            "no rows are given. Next: give them, or leave it out."
        )
    view = View(estimator)
    facts, explorer = collect_facts(estimator), collect_explorer(estimator)
    answers = None
    if X is not None:
        answered = Answered.of(estimator, X, y, interval)
        answers = tell_answers(answered) | {"name": name}
        answers["pictures"] = draw_answers(answered, answers)
    suspects, pictures = collect_suspects(view), draw(estimator)
    asks = "why_not" not in explorer
    # What each section has to tell, in their order; sections/<anchor>.html finds it as `told`, beside what is common to
    # all. None leaves the section out.
    sections: tuple[tuple[str, str, object | None], ...] = (
        ("quality", "How good it is", True),
        ("classes", "The classes", True),
        ("importance", "What each column is worth", collect_worth(view)),
        ("words", "The telling words", collect_words(view)),
        ("effects", "What each value says", collect_effects(view)),
        ("swarms", "What the cells of rows say", collect_swarms(view)),
        ("explorer", "Ask it", True),
        ("waterfall", "Step by step to the answer", True if asks and len(view.classes) > 1 else None),
        ("answers", f"What it says of {name}", answers),
        ("table", "The table", profile_view(view, X, y, name)),
        ("columns", "The columns", True),
        ("pictures", "Pictures", pictures or None),
        ("suspects", "Which labels look wrong", None if "why_not" in suspects else suspects),
        ("members", "Members", facts["members"] or None),
        ("notes", "What was repaired", True),
    )
    shown = [class_color(c) for c in range(len(facts["classes"]))]
    code = script(with_form=asks)
    return str(
        template.render(
            facts=facts,
            explorer=explorer,
            answers=answers,
            suspects=suspects,
            pictures=pictures,
            title=_title(facts),
            version=_version(),
            date=_date(),
            sections=[{"anchor": at, "title": title, "told": told} for at, title, told in sections if told is not None],
            style=stylesheet(),
            parameters=write_json(explorer | {"colors": shown} if asks else explorer),
            script=code,
            script_hash=b64encode(sha256(code.encode()).digest()).decode(),
        )
    )


def signed(value: float, form: str) -> str:
    """Return a number as it is formatted, with a true minus; what is rounded to 0 has no sign."""
    text = f"{value:{form}}"
    return (text if float(text) else text.lstrip("+-")).replace("-", "−")


def _title(facts: dict[str, Any]) -> str:
    """Return what the page is about, as far as the model was told: the target, the file, else the kind of model."""
    what = facts["model"] if facts["target"] is None else facts["target"]
    return str(what) if facts["source"] is None else f"{what}, from {facts['source']}"


def _version() -> str:
    try:
        return installed("suffice")
    except PackageNotFoundError:
        return ""


def _date() -> dt.date:
    """Return today, or the day that SOURCE_DATE_EPOCH stands for, by which builds are repeated."""
    told = os.environ.get("SOURCE_DATE_EPOCH", "")
    now = dt.datetime.now(dt.UTC)
    return (dt.datetime.fromtimestamp(int(told), dt.UTC) if told.isdigit() else now).date()


@cache
def stylesheet() -> str:
    """Return how the page looks."""
    folder = files(__package__) / "style"
    return "\n".join([class_colors(), *((folder / name).read_text(encoding="utf-8") for name in STYLES)])


@cache
def _template() -> Any:
    try:
        from jinja2 import Environment, PackageLoader
    except ImportError as error:
        raise ImportError(f"A page needs Jinja2, which is not installed. Next: {pip_install('report')}") from error
    environment = Environment(loader=PackageLoader("suffice.report", "."), autoescape=True, trim_blocks=True)
    environment.filters |= {"percent": percent, "nats": nats, "signed": signed}
    environment.globals["class_color"] = class_color
    return environment.get_template("page.html")
