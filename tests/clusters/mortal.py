"""A model whose worker is killed once in mid-fit; workers import it by name."""

import os
import signal
from dataclasses import dataclass
from pathlib import Path

from suffice import GaussianDiscriminant
from suffice.fitted import Fitted


def die_once(marker, rows):
    """Kill this process, as the kernel kills one that takes too much memory, the first time a late row group comes."""
    if rows and not Path(marker).exists():
        Path(marker).write_text(str(os.getpid()))
        os.kill(os.getpid(), signal.SIGKILL)


@dataclass(frozen=True, eq=False)
class MortalGaussians(Fitted):
    """Kills the process that reads a batch, once."""

    marker: str = ""

    def batch(self, table, *rest, **told):
        die_once(self.marker, table.rows)
        return super().batch(table, *rest, **told)


class MortalGaussian(GaussianDiscriminant):
    _kind = MortalGaussians

    def __init__(self, marker="", keep_rows=2000):
        super().__init__(keep_rows=keep_rows)
        self.marker = marker

    def _particulars(self):
        return {"marker": self.marker}
