"""A query as a chain of stages, each selecting from the one before: what is used twice is computed once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from sqlglot import exp

from .language import Language, raw


class Stages:
    """Stages under construction: `columns` are those that the last one has, under short names of our own."""

    def __init__(self, language: Language, table: Sequence[str]) -> None:
        self.language = language
        self.columns: dict[str, None] = {}
        self._stages: list[exp.Select] = []
        names = [language.identifier(part) for part in table]
        self._last: exp.Expression = exp.Table(
            this=names[-1], db=names[-2] if len(names) > 1 else None, catalog=names[-3] if len(names) > 2 else None
        )
        self._fresh = 0

    def name(self) -> str:
        """Return a column name that is not in use."""
        self._fresh += 1
        return f"t{self._fresh}"

    def add(self, new: Mapping[str, str | exp.Expression], drop: Iterable[str] = ()) -> None:
        """Add a stage with new columns (or new values of old ones), that does not pass on some of the old ones."""
        gone = set(drop)
        kept = [name for name in self.columns if name not in new and name not in gone]
        select = [raw(name) for name in kept]
        select += [
            exp.Alias(this=raw(value) if isinstance(value, str) else value, alias=exp.to_identifier(name))
            for name, value in new.items()
        ]
        self._stages.append(exp.Select(expressions=select).from_(self._last))
        self._last = exp.Table(this=exp.to_identifier(f"s{len(self._stages)}"))
        self.columns = dict.fromkeys([*kept, *new])

    def finish(self, answers: Sequence[tuple[str, str]]) -> str:
        """Return the query that selects expressions under names of users, pairs (expression, name)."""
        expressions = [exp.Alias(this=raw(text), alias=self.language.identifier(name)) for text, name in answers]
        query = exp.Select(expressions=expressions).from_(self._last)
        for i, stage in enumerate(self._stages, start=1):
            query = query.with_(f"s{i}", as_=stage, materialized=self.language.fenced or None, copy=False)
        return self.language.write(query)
