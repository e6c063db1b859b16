"""The error tree: every refusal says what, what was got, why, and what to do next.

All errors are `ValueError`s, so code written for scikit-learn catches them. What several places say is built by a
named constructor here.
"""

from .models import (
    ExportError as ExportError,
    MergeError as MergeError,
    ModelChangedError as ModelChangedError,
    ModelFileError as ModelFileError,
    SingularCovarianceError as SingularCovarianceError,
)
from .tables import (
    DataError as DataError,
    NegativeError as NegativeError,
    NotLearnedError as NotLearnedError,
    RepeatedRowsWarning as RepeatedRowsWarning,
    SchemaError as SchemaError,
    SettingError as SettingError,
    SourceError as SourceError,
    SufficeError as SufficeError,
    UnseenLevelWarning as UnseenLevelWarning,
)
from .wording import (
    LONGEST as LONGEST,
    LONGEST_VALUE as LONGEST_VALUE,
    UNSEEN as UNSEEN,
    FrontEnd as FrontEnd,
    a_model as a_model,
    align as align,
    brief as brief,
    count as count,
    either as either,
    one_line as one_line,
    pip_install as pip_install,
    quoted as quoted,
    sentence as sentence,
    setting as setting,
    shown as shown,
    spaced as spaced,
    visible as visible,
    worded_for as worded_for,
)

_OWN = (SufficeError, UnseenLevelWarning)
for _kind in (kind for kind in list(vars().values()) if isinstance(kind, type) and issubclass(kind, _OWN)):
    _kind.__module__ = __name__  # where users import it from, in tracebacks too
del _kind
