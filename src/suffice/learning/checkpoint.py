"""A long fit that can be resumed: the statistics so far, in one file that is replaced every half minute."""

from __future__ import annotations

import hashlib
import json
import math
import tempfile
import time
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import DataError
from ..files.archive import Archive, open_archive
from ..files.model_file import read_model, write_model
from ..files.settings import PIECES, plain
from ..stats.statistic import Plain
from .kernels import Learned, Summary

if TYPE_CHECKING:
    from ..engines import Fold, Source, Watcher

SECONDS = 30.0  # between two checkpoints
FORMAT = "suffice-checkpoint"


@dataclass(frozen=True)
class Checkpoint:
    """Where a fit of `kernel` to the columns `read` of a source keeps what it has learned."""

    path: Path
    kernel: Summary
    source: Source
    read: Sequence[str]

    def run(self, progress: Watcher | None) -> Learned | None:
        """Return what is learned from all rows, beginning where an earlier run ended; the file is gone then."""
        from ..engines import learn

        if not self.source.identity:
            raise DataError(
                "A checkpoint says how many parts of which files are done, and this source is no file. Next: leave out "
                "checkpoint, or write the table to Parquet files first."
            )
        fold, begun = self._resumed()
        written = time.monotonic()

        def after(fold: Fold, rows: int) -> None:
            nonlocal written
            if time.monotonic() - written > SECONDS:
                self._write(fold)
                written = time.monotonic()

        learned: Learned | None
        try:
            learned = learn(self.source, self.read, self.kernel, progress=progress, fold=fold, begun=begun, after=after)
        except BaseException:
            if fold.parts:
                self._write(fold)
            raise
        self.path.unlink(missing_ok=True)
        return learned

    def _job(self) -> str:
        """Return what must be equal for two runs to be of one job."""
        fitted = self.kernel.fitted
        blocks = [[plain(block.family), list(block.positions)] for block in fitted.blocks]
        settings = [plain(value) for value in (fitted.priors, *fitted.settings.told())]
        facts = [fitted.who, settings, blocks, self.kernel.unlabelled, list(self.read)]
        text = json.dumps([self.source.identity, self.kernel.target, self.kernel.weight, *facts])
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

    def _write(self, fold: Fold) -> None:
        from ..engines import written_whole

        levels = []
        with (
            tempfile.TemporaryDirectory() as folder,
            written_whole(self.path) as file,
            zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive,
        ):
            for number, (count, state) in enumerate(fold.levels):
                own: dict[str, object] = {"count": count, "state": state is not None, "statistics": False}
                if state is not None:
                    own |= {"rows": state.rows, "unlabelled": state.unlabelled}
                    own |= {"unlabelled_weight": state.unlabelled_weight, "holed": list(state.holed)}
                    if state.statistics is not None:
                        own["statistics"] = True
                        saved = Path(folder) / f"{number}.suffice"
                        write_model(saved, {}, self.kernel.schema, state.statistics)
                        archive.write(saved, saved.name)
                levels.append(own)
            document = {"format": FORMAT, "job": self._job(), "parts": fold.parts, "levels": levels}
            archive.writestr("checkpoint.json", json.dumps(document))

    def _resumed(self) -> tuple[Fold, int]:
        """Return the states of the parts that are done, and the number of their rows."""
        from ..engines import Fold

        if not self.path.exists():
            return Fold(), 0
        try:
            with self.path.open("rb") as file, open_archive(file) as archive:
                document = json.loads(archive.read("checkpoint.json"))
                if document["format"] != FORMAT or type(document["parts"]) is not int or document["parts"] < 0:
                    raise ValueError("it is no checkpoint")
                if document["job"] != self._job():
                    raise DataError(
                        f"The checkpoint {str(self.path)!r} is of another fit: other files, columns or settings. "
                        "Next: remove it, or give another name."
                    )
                levels = [self._level(archive, number, own) for number, own in enumerate(document["levels"])]
        except (DataError, OSError):
            raise
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError) as error:
            raise DataError(
                f"The checkpoint {str(self.path)!r} cannot be read: {error!r}. Next: remove it to begin again."
            ) from error
        rows = sum(state.rows for _, state in levels if state is not None)
        return Fold(levels, int(document["parts"])), rows

    def _level(self, archive: Archive, number: int, own: Plain) -> tuple[int, Learned | None]:
        from ..engines.fold import FAN_IN

        if type(own["count"]) is not int or not 0 <= own["count"] <= FAN_IN:
            raise ValueError(f"{own['count']!r} parts of a level")
        if not own["state"]:
            return own["count"], None
        statistics = None
        if own["statistics"]:
            with tempfile.TemporaryDirectory() as folder:
                saved = Path(folder) / f"{number}.suffice"
                saved.write_bytes(archive.read(saved.name))
                statistics = read_model(saved, PIECES)[2]
        counts = int(own["rows"]), int(own["unlabelled"]), float(own["unlabelled_weight"])
        if min(counts) < 0 or not math.isfinite(counts[2]):
            raise ValueError("numbers of rows below 0")
        return own["count"], Learned(statistics, *counts, tuple(map(bool, own["holed"])))
