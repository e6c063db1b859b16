"""What only a joint density can answer: what to measure, which columns suffice, which labels are wrong, what moved."""

from __future__ import annotations

from ..questions import importance
from ..questions.importance import Importance
from ..schema import Name
from ._answers import Answers


class Diagnoses(Answers):
    """Judgements of columns, of labels and of new rows."""

    # --- what to measure next -----------------------------------------------------------------------------------------

    # --- which columns suffice ----------------------------------------------------------------------------------------

    def importance(self) -> Importance:
        """Return what leaving each column unknown costs, in nats of leave-one-out log-loss, as a table."""
        return importance.importance(self._fitted)

    def smallest_columns(self, within: float = 0.01) -> list[Name]:
        """Return the names of few columns that lose at most `within` nats more than all, in the order chosen."""
        return importance.smallest_columns(self._fitted, within)

    # --- which labels are wrong ---------------------------------------------------------------------------------------

    # --- what has moved -----------------------------------------------------------------------------------------------
