"""Load a saved estimator; save one, read back before it replaces the old file, and never over another's change."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from .._arrays import np
from .._dialect import Dialect
from .._files import is_stream
from ..automatic.forest_fitted import ForestFamily, ForestRows, ForestStats
from ..automatic.held import MemberFamily
from ..automatic.limits import MOST_JUDGED
from ..automatic.statistics import MemberRows, MemberStats
from ..densities import STRUCTURES
from ..errors import ModelChangedError, ModelFileError, SettingError, SufficeError
from ..estimate import FAMILIES, RDA, Block, Dirichlet, Family, NormalInverseWishart
from ..estimate.families import GaussianFamily
from ..estimate.mixture import MixtureFamily
from ..fitted import Fitted
from ..released import Provenance, Release
from ..stats import ByClass, CompletedStats, GaussianStats, PatternStats, Statistic
from ..stats.counts import CodedColumns
from ..stats.statistic import Plain
from .model_file import check_whole, describe_model, fingerprint, holds_model, read_model, write_model

Origin = tuple[str, str]  # the name of the file that a model was loaded from, and its fingerprint
ESTIMATORS: dict[str, type[Any]] = {}


def register(*kinds: type[Any]) -> None:
    """Let `load` bring back models of these classes, which are made of the statistics and families of this library."""
    ESTIMATORS.update({kind.__name__: kind for kind in kinds})


def load(path: str | os.PathLike[str]) -> Any:
    """Return the estimator saved in a model file, ready to predict, update and merge.

    ModelFileError if the file is damaged, foreign or too new; nothing in the file is ever executed. OSError if there
    is no such file.

    Examples
    --------
    >>> import tempfile, os
    >>> from suffice import NaiveBayes, load
    >>> path = os.path.join(tempfile.mkdtemp(), "colours.suffice")
    >>> NaiveBayes().fit([["red"], ["blue"]], ["warm", "cold"]).save(path)
    >>> load(path).predict([["blue"]]).tolist()
    ['cold']
    """
    found = fingerprint(path)  # before it is read: a file that changes in between is refused when it is saved again
    document, schema, statistics, choice = read_model(path, PIECES)
    origin = None if found is None else (os.path.realpath(path), found)
    try:
        kind = ESTIMATORS[document["estimator"]]
        settings = {name: unplain(value) for name, value in document["settings"].items()}
        blocks = tuple(
            Block(unplain(block["family"]), tuple(int(p) for p in block["positions"])) for block in document["blocks"]
        )
        _check_blocks(blocks, statistics.blocks, len(schema))
        _check_sample(blocks, statistics)
        chosen = {name: unplain(value) for name, value in document.get("chosen", {}).items()}
        past, by_rows = _past(document, origin), None
        with contextlib.suppress(Exception):  # whatever is wrong with what rows chose, the rows know better
            by_rows = None if choice is None else (choice[0], unplain(choice[1]))
        estimator = kind(**settings)._restored(schema, blocks, statistics, past, chosen, by_rows)
        fitted = estimator._fitted
        check_whole(document, state_of(fitted, estimator.get_params(deep=False)), schema, fitted.statistics)
        with np.errstate(over="raise", invalid="raise"):  # what statistics of rows never do
            if fitted.rows_beside <= MOST_JUDGED:  # of more rows it is estimated when first asked for
                _ = fitted.joint
    except Exception as error:
        why = str(error) if isinstance(error, SufficeError) else repr(error)
        raise ModelFileError.unreadable(path, f"its contents do not fit together ({why})") from error
    return estimator


def _past(document: Plain, origin: tuple[str, str] | None) -> Provenance:
    """Return what a file tells beside what was learned, of which older files do not say all."""
    dialect, released = document.get("dialect"), document.get("released")
    return Provenance(
        object_labels=bool(document["object_labels"]),
        joined=bool(document.get("holds_unlabelled", False)),
        dialect=None if dialect is None else Dialect.of(dialect),
        released=None if released is None else Release.of_plain(released),
        origin=origin,
        target=_name(document, "target"),
        source=_name(document, "source"),
    )


def _name(document: Plain, key: str) -> str | None:
    name = document.get(key)
    if not isinstance(name, str | None):
        raise ValueError(f"{key!r} is no name")
    return name


def _check_blocks(blocks: tuple[Block, ...], statistics: tuple[Statistic, ...], columns: int) -> None:
    positions = sorted(p for b in blocks if not isinstance(b.family, MemberFamily) for p in b.positions)
    if positions != list(range(columns)) or len(blocks) != len(statistics):
        raise ValueError("blocks do not cover the columns")
    for block, stats in zip(blocks, statistics, strict=True):
        empty = block.family.zero(1, 1)
        kept = type(empty)
        known = type(stats) is kept or (kept is PatternStats and isinstance(stats, CompletedStats))
        known |= issubclass(kept, MemberRows) and type(stats) is kept.statistics()
        if isinstance(stats, PatternStats | CompletedStats | GaussianStats):
            known &= isinstance(empty, PatternStats | GaussianStats) and stats.complete.form is empty.complete.form
        if not known or stats.column_weight().shape[1] != len(block.positions):
            raise ValueError("a block and its statistics differ")
        if isinstance(stats, MemberRows | MemberStats) and isinstance(block.family, MemberFamily):
            numbers = stats.columns.numbers if isinstance(stats, MemberStats) else stats.rows.numbers.shape[1]
            if sorted(block.positions) != list(range(columns)) or block.family.numbers != numbers:
                raise ValueError("the members do not cover the columns")


def _check_sample(blocks: tuple[Block, ...], statistics: ByClass) -> None:
    for kept in (statistics.sample, statistics.unlabelled):
        if kept is None:
            continue
        if any(isinstance(stats, MemberStats) and stats.lacks_pairs for stats in statistics.blocks):
            raise ValueError("members that only a model without rows has")
        wanted = [len(block.positions) for block in blocks if not isinstance(block.family, MemberFamily)]
        if [len(part.codes) if isinstance(part, CodedColumns) else part.shape[1] for part in kept.rows] != wanted:
            raise ValueError("the sample of rows has other columns")


def save_checked(
    path: str | os.PathLike[str], fitted: Fitted, params: Mapping[str, object], over_anything: bool = False
) -> Origin:
    """Write a model with its estimator's parameters; return the name and the fingerprint of the file.

    What was written is loaded and compared before it takes the place of a file, while nobody else writes that file. A
    file that holds no model is replaced only if `over_anything`.
    """
    target, found = Path(os.path.realpath(path)), ""

    def check(complete: Path) -> None:
        nonlocal found
        if not is_stream(path):
            _check_place(target, fitted.past.origin, over_anything)
        _check_reads_back(complete, describe(fitted, params), path)
        found = fingerprint(complete) or ""

    chosen = fitted.chosen_by_rows
    choice = None if chosen is None else (chosen[0], plain(chosen[1]))
    write_model(path, state_of(fitted, params), fitted.schema, fitted.statistics, check, choice)
    return str(target), found


def _check_place(target: Path, origin: Origin | None, over_anything: bool) -> None:
    """Raise ModelFileError for a file that has changed since the model was loaded from it, or that holds none."""
    if not target.exists():
        return
    if origin is not None and origin[0] == str(target) and fingerprint(target) != origin[1]:
        raise ModelChangedError(
            f"{target} has changed since this model was loaded from it: saving would undo what another process or "
            "thread has written, so nothing was written. Next: load it again and repeat the edit, or save this model "
            "under another name."
        )
    if not over_anything and target.stat().st_size and not holds_model(target):
        raise ModelFileError(
            f"{target} holds something other than a model, and a model in its place would destroy it. Next: choose "
            "another name, or remove that file first."
        )


def _check_reads_back(complete: Path, own: str, path: object) -> None:
    """Raise ModelFileError where a file just written does not give the same model again."""
    try:
        estimator = load(complete)
        again = describe(estimator._fitted, estimator.get_params(deep=False))
    except SufficeError as error:
        raise ModelFileError.unsaved(path, str(error).replace(str(complete), "it")) from error
    if again != own:
        raise ModelFileError.unsaved(path, "it reads back as another model")


# ── Settings and blocks as JSON, and back ─────────────────────────────────────────────────────────────────────────────


PIECES: dict[str, type[Statistic]] = {
    kind.__name__: kind for kind in (MemberRows, MemberStats, ForestRows, ForestStats)
}
MEMBER_FAMILIES: dict[str, type[MemberFamily]] = {kind.name: kind for kind in (MemberFamily, ForestFamily)}
LATER = {
    "members": "all",
    "text": "auto",
    "class_weight": None,
    "time_limit": None,
}  # settings that files of format 2 may lack: what they then are, which is not written
SETTINGS: dict[str, Any] = {"rda": RDA, "dirichlet": Dirichlet, "normal-inverse-wishart": NormalInverseWishart}


def state_of(fitted: Fitted, params: Mapping[str, object]) -> dict[str, object]:
    """Return what a model file says of a model beside its schema and statistics; `params` are its estimator's."""
    past = fitted.past
    return {
        "estimator": fitted.who,
        "settings": {name: own for name, value in params.items() if (own := plain(value)) != LATER.get(name, ...)},
        "blocks": [{"family": plain(block.family), "positions": list(block.positions)} for block in fitted.blocks],
        "object_labels": past.object_labels,
        "holds_unlabelled": past.joined,
        "released": None if past.released is None else past.released.plain(),
        "chosen": {name: plain(value) for name, value in fitted.saved_choices().items()},
        "dialect": None if past.dialect is None else past.dialect.plain(),
        **{name: own for name, own in (("target", past.target), ("source", past.source)) if own is not None},
    }


def describe(fitted: Fitted, params: Mapping[str, object]) -> str:
    """Return the text of a model's `model.json`: equal for equal models, whose arrays it has digests of."""
    document = describe_model(state_of(fitted, params), fitted.schema, fitted.statistics)[0]
    return json.dumps(document, sort_keys=True)


def plain(value: object) -> object:
    """Return a setting as JSON values; dicts, tuples, arrays and families carry a tag."""
    if isinstance(value, GaussianFamily | MemberFamily | MixtureFamily):
        return _plain_family(value)
    if isinstance(value, np.random.RandomState):
        return None  # a generator has no value to write down; the fitted model does not need it
    for tag, kind in SETTINGS.items():
        if type(value) is kind:
            return {tag: [plain(own) for own in _fields(value).values()]}
    if isinstance(value, np.ndarray | list):
        return {"list": [plain(item) for item in np.asarray(value).tolist()]}
    if isinstance(value, tuple):
        return {"tuple": [plain(item) for item in value]}
    if isinstance(value, dict):
        return {"dict": [[plain(key), plain(item)] for key, item in value.items()]}
    if isinstance(value, np.generic):
        return value.item()
    if value is None or isinstance(value, str | int | float | bool):
        return {"number": "inf"} if value == np.inf else value  # JSON has no word for it
    known = FAMILIES.get(value.name) if isinstance(value, Family) else None
    if known is not None and type(known) is type(value):
        usual = _fields(known)
        changed = {name: own for name, own in _fields(value).items() if own != usual[name]}
        return {"family": known.name} | ({"with": plain(changed)} if changed else {})
    raise SettingError(f"{value!r} cannot be written to a model file. Next: use a family that suffice ships.")


def _fields(value: Any) -> dict[str, object]:
    """Return the fields of a dataclass by name."""
    return {own.name: getattr(value, own.name) for own in fields(value)}


def _plain_family(family: GaussianFamily | MemberFamily | MixtureFamily) -> dict[str, object]:
    if isinstance(family, MemberFamily):
        return {family.name: [family.numbers, family.texts] if family.texts else family.numbers}
    if isinstance(family, MixtureFamily):
        return {"mixture": [plain(family.inner), family.within, family.prior]}
    structure = next(name for name, kind in STRUCTURES.items() if kind is family.structure)
    return {"gaussian": [structure, family.shared, False]}  # no fourth moments, which files of 0.2 may hold


def unplain(plain: Any) -> Any:
    """Return the setting that `plain` wrote."""
    if not isinstance(plain, dict):
        return plain
    if "family" in plain:
        return _family(plain["family"], plain.get("with"))
    ((tag, content),) = plain.items()
    if tag == "gaussian":
        return GaussianFamily(structure=STRUCTURES[content[0]], shared=bool(content[1]))
    if tag in MEMBER_FAMILIES:
        return MEMBER_FAMILIES[tag](*map(int, content if isinstance(content, list) else [content]))
    if tag == "mixture":
        prior = float(content[2]) if len(content) > 2 else 0.0  # which the first files did not hold
        return MixtureFamily(inner=unplain(content[0]), within=bool(content[1]), prior=prior)
    if tag in SETTINGS:
        return SETTINGS[tag](*(unplain(item) for item in content))
    if tag == "number":
        return float(content)
    if tag == "list":
        return [unplain(item) for item in content]
    if tag == "tuple":
        return tuple(unplain(item) for item in content)
    if tag == "dict":
        return {unplain(key): unplain(item) for key, item in content}
    raise ValueError(f"unknown tag {tag!r}")


def _family(name: str, changed: object) -> Family:
    """Return a family that suffice ships, with the fields that differ from its defaults."""
    known: Any = FAMILIES[name]
    if changed is None:
        return known  # type: ignore[no-any-return]
    own = unplain(changed)
    plain_fields = {f.name for f in fields(known)} - {"name", "structure"}
    if not isinstance(own, dict) or not set(own) <= plain_fields:
        raise ValueError(f"fields of the family {name!r}")
    return replace(known, **own)  # type: ignore[no-any-return]
