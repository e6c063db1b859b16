"""Errors about what a model is estimated from, merged with, and saved to."""

from __future__ import annotations

from collections.abc import Sequence

from .tables import SufficeError
from .wording import either, quoted, setting, shown


def _covariance(label: object | None) -> str:
    return "The covariance of all classes" if label is None else f"Class {shown(label)}: the covariance"


class SingularCovarianceError(SufficeError):
    """A covariance has no inverse and the caller asked for no shrinkage."""

    @classmethod
    def for_class(
        cls, label: object | None, columns: Sequence[object], rank: int, need: int
    ) -> SingularCovarianceError:
        """Name the class (None: the shared covariance), the columns involved and the rank found."""
        return cls(
            f"{_covariance(label)} has rank {rank} of {need} and {setting('shrinkage', 0.0)} forbids repair; the "
            f"columns involved are {quoted(columns)}. Next: drop one of them, give a small shrinkage such as "
            f"{either('shrinkage=1e-3, or leave shrinkage=None', '--shrinkage 0.001, or leave out --shrinkage')} "
            "for the smallest that works."
        )

    @classmethod
    def while_filling(cls, label: object | None) -> SingularCovarianceError:
        """Name the class (None: all) whose covariance becomes singular while missing cells are filled in."""
        return cls(
            f"{_covariance(label)} becomes singular while missing cells are filled in, or EM does not settle, and "
            f"{setting('shrinkage', 0.0)} forbids repair. Next: "
            f"{either('leave shrinkage=None', 'leave out --shrinkage')}, which gives it a prior worth one row, drop "
            "columns that others determine or that are mostly missing, or use "
            f"{setting('covariance', 'diagonal')}."
        )

    @classmethod
    def vague_prior(
        cls, label: object | None, columns: Sequence[object], rank: int, need: int
    ) -> SingularCovarianceError:
        """Name the class (None: all) whose rows leave a covariance singular that a vague prior adds nothing to."""
        return cls(
            f"{_covariance(label)} has rank {rank} of {need} and the prior adds nothing to it; the columns involved "
            f"are {quoted(columns)}. Next: drop one of them, or give the prior a strength above 0, "
            f"{either('such as NormalInverseWishart(strength=1.0)', 'by a fit in Python')}."
        )

    @classmethod
    def too_few_rows(cls, label: object | None, rows: float, columns: int) -> SingularCovarianceError:
        """Name the class (None: all) that has too few rows for Jeffreys' prior to leave a density."""
        who = "All classes together have" if label is None else f"Class {shown(label)} has"
        return cls(
            f"{who} {rows:g} rows, too few for a covariance of {columns} columns under Jeffreys' prior. "
            "Next: give the prior a strength, "
            f"{either('such as NormalInverseWishart(strength=1.0)', 'by a fit in Python')}, or fit with "
            f"{either('shared=True', '--model shared')}."
        )


class MergeError(SufficeError):
    """Two sets of statistics or two models do not describe the same columns."""

    @classmethod
    def mixture(cls, what: str = "take in more rows") -> MergeError:
        return cls(
            f"A mixture of several components cannot {what} exactly: which row belongs to which component "
            f"depends on all of them. Next: {either('call fit', 'run `suffice fit`')} on all rows together, or use "
            f"{either('n_components=1 (or GaussianDiscriminant)', '--components 1 (or --model full)')}, whose models "
            "merge and forget."
        )

    @classmethod
    def not_editable(cls, kind: str, verb: str) -> MergeError:
        return cls(
            f"The statistics {kind} have no {verb!r}, so this model cannot be edited in this way. Next: fit again on "
            f"the rows in question{either(', or give the statistics that method (see `suffice.stats`)', '')}."
        )

    @classmethod
    def pooled(cls, k: int) -> MergeError:
        return cls(
            f"The shared covariance was summed over {k} classes whose own parts were not kept (they would not fit in "
            "memory, or the model was released), so that no class can leave it exactly. "
            "Next: fit again without the class, or drop it before the release."
        )

    @classmethod
    def completed(cls) -> MergeError:
        return cls(
            "The rows miss cells in too many different patterns to keep statistics of each, so that their cells were "
            "filled in by passes over all of them, and more rows cannot be added exactly. Next: "
            f"{either('call fit', 'run `suffice fit`')} on all rows together, or use "
            f"{setting('covariance', 'diagonal')} or {either('NaiveBayes', '--model nb')}, whose models merge whatever "
            "is missing."
        )


class ExportError(SufficeError):
    """A fitted model cannot be written in another language, or what was written does not answer as the model does."""

    @classmethod
    def density(cls, kind: str, columns: Sequence[object]) -> ExportError:
        where = f" of the columns {quoted(columns)}" if columns else ""
        if kind == "TextDensity":
            what = "holds texts" if len(columns) == 1 else "hold texts"
            return cls(
                f"{quoted(columns)} {what}, whose words neither SQL nor ONNX takes apart as the model does. Next: "
                f"score with `{either('predict_proba', 'suffice predict')}`, or export a model without texts."
            )
        return cls(
            f"The density {kind}{where} is not one that can be exported. Next: give those columns one of the families "
            f"that come with suffice, or score with `{either('predict_proba', 'suffice predict')}`."
        )

    @classmethod
    def dates(cls, columns: Sequence[object]) -> ExportError:
        return cls(
            f"{quoted(columns)} {'holds' if len(columns) == 1 else 'hold'} dates, which neither SQL nor ONNX reads as "
            f"the model does. Next: score with `{either('predict_proba', 'suffice predict')}`, or export a model of "
            "numbers, such as days since an event."
        )


class ModelFileError(SufficeError):
    """A model file is damaged, foreign, too new, or not safe to read."""

    @classmethod
    def unreadable(cls, path: object, why: str) -> ModelFileError:
        return cls(f"{path} is not a usable suffice model file: {why}. Next: save the model again, or restore a copy.")

    @classmethod
    def gone(cls, path: object, what: str, instead: str) -> ModelFileError:
        """Say that a file holds what this version has no more."""
        return cls(
            f"{path} is a model with {what}, which this version of suffice no longer has. "
            f"Next: load it with suffice 0.2, or {instead}."
        )

    @classmethod
    def unsaved(cls, path: object, why: str) -> ModelFileError:
        return cls(
            f"{path} was not written, and an old file is as it was: read back, it would not be this model ({why}). "
            "Next: check what it learned "
            f"last{either('; tell of a class of your own by suffice.estimators.register', '')}."
        )


class ModelChangedError(ModelFileError):
    """A model file is not the one any more from which the model to be saved was loaded."""
