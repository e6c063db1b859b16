"""The schema of an estimator's columns, and checks of new tables."""

from __future__ import annotations

from ..questions.columns import ColumnFacts, column_facts
from ..vocabulary import UnseenLevel
from ._state import State


class Columns(State):
    """What a fitted model says of its columns."""

    @property
    def columns_(self) -> list[ColumnFacts]:
        """What is known of each column (d,): kind, whole numbers, steps and bounds, levels and their order."""
        return column_facts(self._fitted)

    def unseen_levels(self, X: object) -> list[UnseenLevel]:
        """Return the categories of a table that the model has never seen, by column, the commonest first.

        Such a category is a level of its own, to which smoothing gives a little of every class. Questions warn
        (`UnseenLevelWarning`) of one that differs from a known one by case or spaces only; the command line names all.

        Parameters
        ----------
        X : table (n, d)
            Rows as for `predict`.

        Returns
        -------
        list of UnseenLevel
            Named tuples (column, level, rows, known, like): how many rows of X have it, the levels that the model knows
            in the column, and those of them that differ from it by case or spaces only.

        Examples
        --------
        >>> from suffice import NaiveBayes
        >>> model = NaiveBayes().fit([["Yes"], ["No"], ["Yes"], ["No"]], ["left", "stayed", "left", "stayed"])
        >>> model.unseen_levels([["yes"], ["No"], ["yes"]])
        [UnseenLevel(column=0, level='yes', rows=2, known=('No', 'Yes'), like=('Yes',))]
        """
        fitted = self._fitted
        return fitted.unseen(fitted.encoded(X)[0])
