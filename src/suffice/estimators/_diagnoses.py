"""What only a joint density can answer: what to measure, which columns suffice, which labels are wrong, what moved."""

from __future__ import annotations

from ._answers import Answers


class Diagnoses(Answers):
    """Judgements of columns, of labels and of new rows."""

    # --- what to measure next -----------------------------------------------------------------------------------------

    # --- which columns suffice ----------------------------------------------------------------------------------------

    # --- which labels are wrong ---------------------------------------------------------------------------------------

    # --- what has moved -----------------------------------------------------------------------------------------------
