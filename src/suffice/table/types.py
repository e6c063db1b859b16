"""Names for what tables are made of, whose cells may be of any type."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals.stable.v2 as nw

from .._arrays import Codes, NDArray
from ..schema import Level

Cells = NDArray[Any]  # numbers, text, truth values or objects
Frame = nw.DataFrame[Any]
Series = nw.Series[Any]
Coded = tuple[Sequence[Level], Codes]  # the levels of a column, and the code of each cell
