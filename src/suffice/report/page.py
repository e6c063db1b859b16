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
from ..plots._cells import percent
from ..plots._view import View
from .drawing import class_color, class_colors, draw, draw_answers
from .explorer import collect_explorer, script, write_json
from .facts import collect_facts
from .judged import Answered, tell_answers
from .profile import nats
from .sections import Subject, collect_sections
from .suspects import collect_suspects

STYLES = ("base.css", "tables.css", "form.css", "reasons.css", "table.css", "print.css")


def write_page(
    estimator: object, path: str | os.PathLike[str], X: object = None, y: object = None, *, name: str = "the table"
) -> None:
    """Write the page of a fitted model to a file, complete or not at all; see `render_page`."""
    text = render_page(estimator, X, y, name=name)
    with whole_file(path) as file:
        file.write(text.encode())


def render_page(estimator: object, X: object = None, y: object = None, *, name: str = "the table") -> str:
    """Return the page of a fitted model as HTML: self-contained, its one script named by its hash, loading nothing.

    With a table `X` and, where known, labels `y`, it also has what the model says of these rows; `name` is what the
    table is called. ImportError says what to install where Jinja2 or Matplotlib is missing.
    """
    template = _template()  # or what to install, before any work
    view = View(estimator)
    facts, explorer = collect_facts(estimator), collect_explorer(estimator)
    answers = None
    if X is not None:
        answered = Answered.of(estimator, X, y)
        answers = tell_answers(answered) | {"name": name}
        answers["pictures"] = draw_answers(answered, answers)
    told: dict[str, Any] = {
        "facts": facts,
        "explorer": explorer,
        "answers": answers,
        "suspects": collect_suspects(view),
        "pictures": draw(estimator),
    }
    colors = [class_color(c) for c in range(len(facts["classes"]))]
    parameters = explorer if "why_not" in explorer else explorer | {"colors": colors}
    code = script(with_form="why_not" not in explorer)
    return str(
        template.render(
            told,
            title=_title(facts),
            version=_version(),
            date=_date(),
            sections=collect_sections(Subject(view, X, y, name, told)),
            style=stylesheet(),
            parameters=write_json(parameters),
            script=code,
            script_hash=b64encode(sha256(code.encode()).digest()).decode(),
        )
    )


def signed_nats(value: float) -> str:
    """Return nats with three decimals and a true minus; 0.000 has no sign."""
    text = f"{value:.3f}"
    return (text if float(text) else "0.000").replace("-", "−")


def signed_sd(value: float) -> str:
    """Return standard deviations with two decimals and their sign, a true minus; 0.00 has none."""
    text = f"{value:+.2f}"
    return (text if float(text) else "0.00").replace("-", "−")


def _title(facts: dict[str, Any]) -> str:
    """Return what the page is about, as far as the model was told: the target, the file, else the kind of model."""
    target, source = facts["target"], facts["source"]
    if target is None:
        return str(facts["model"]) if source is None else f"{facts['model']}, from {source}"
    return str(target) if source is None else f"{target}, from {source}"


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
        raise ImportError("A page needs Jinja2, which is not installed. Next: pip install 'suffice[report]'") from error
    environment = Environment(loader=PackageLoader("suffice.report", "."), autoescape=True, trim_blocks=True)
    environment.filters |= {"percent": percent, "nats": nats, "signed_nats": signed_nats, "signed_sd": signed_sd}
    environment.globals["class_color"] = class_color
    return environment.get_template("page.html")
