"""All commands, and the program they are commands of."""

from __future__ import annotations

from collections.abc import Sequence

from cyclopts import App

from . import running
from .compare import compare
from .completion import completion_of
from .demo import demo
from .drift import drift
from .edit import drop_class, forget, merge, rename_class, update
from .explain import explain
from .export import export
from .fit import fit
from .impute import impute
from .outliers import outliers
from .predict import predict
from .release import release
from .report import report
from .sample import sample
from .show import show


def build() -> App:
    """Return the tree of all commands."""
    return running.build(COMMANDS)


def run(argv: Sequence[str]) -> int:
    """Run one command line and return its exit status."""
    return running.run(argv, COMMANDS)


COMMANDS = (
    fit,
    predict,
    explain,
    outliers,
    drift,
    impute,
    sample,
    show,
    report,
    export,
    compare,
    update,
    forget,
    merge,
    drop_class,
    rename_class,
    release,
    demo,
    completion_of(build),
)
