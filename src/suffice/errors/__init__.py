"""The error tree: every refusal says what, what was got, why, and what to do next.

All errors are `ValueError`s, so code written for scikit-learn catches them. Text that needs care is built
by a named constructor here, never at the place that raises.
"""

from .models import (
    ExportError as ExportError,
)
from .models import (
    MergeError as MergeError,
)
from .models import (
    ModelChangedError as ModelChangedError,
)
from .models import (
    ModelFileError as ModelFileError,
)
from .models import (
    SingularCovarianceError as SingularCovarianceError,
)
from .tables import (
    DataError as DataError,
)
from .tables import (
    NegativeError as NegativeError,
)
from .tables import (
    NotLearnedError as NotLearnedError,
)
from .tables import (
    SchemaError as SchemaError,
)
from .tables import (
    SettingError as SettingError,
)
from .tables import (
    SourceError as SourceError,
)
from .tables import (
    SufficeError as SufficeError,
)
from .wording import LONGEST as LONGEST
from .wording import LONGEST_VALUE as LONGEST_VALUE
from .wording import UNSEEN as UNSEEN
from .wording import brief as brief
from .wording import one_line as one_line
from .wording import quoted as quoted
from .wording import sentence as sentence
from .wording import shown as shown
from .wording import visible as visible

for _kind in (kind for kind in list(vars().values()) if isinstance(kind, type) and issubclass(kind, SufficeError)):
    _kind.__module__ = __name__  # where users import it from, in tracebacks too
del _kind
