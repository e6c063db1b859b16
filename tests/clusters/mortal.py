"""A model whose worker is killed once in mid-fit; workers import it by name."""

import os
import signal
from dataclasses import dataclass
from pathlib import Path

from suffice import GaussianDiscriminant, MixtureDiscriminant
from suffice.fitted import Fitted
from suffice.learning.mixture import MixtureFitted


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


@dataclass(frozen=True, eq=False)
class MortalMixtures(MixtureFitted):
    """Kills the process that reads a batch, once, in a later pass."""

    marker: str = ""

    def batch(self, table, *rest, **told):
        begun = Path(self.marker + ".passes")
        with begun.open("a") as file:
            file.write(".")
        die_once(self.marker, table.rows if len(begun.read_text()) > 30 else 0)
        return super().batch(table, *rest, **told)


class MortalMixture(MixtureDiscriminant):
    _kind = MortalMixtures

    def __init__(self, n_components=2, *, marker="", random_state=0):
        super().__init__(n_components, shared=True, max_iter=4, random_state=random_state)
        self.marker = marker

    def _particulars(self):
        return super()._particulars() | {"marker": self.marker}
