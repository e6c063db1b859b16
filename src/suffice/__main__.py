"""The `suffice` command: `suffice …` or `python -m suffice …`."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from .errors import pip_install


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status: 0, 1 for bad data, 2 for a usage error."""
    try:
        from .cli.app import run
    except ModuleNotFoundError as error:
        if (error.name or "suffice").split(".")[0] == "suffice":
            raise
        print(
            f"suffice: the command line needs the package {error.name!r}, which is not installed. "
            f"Next: {pip_install('cli')}",
            file=sys.stderr,
        )
        return 1
    return run(sys.argv[1:] if argv is None else argv)


if __name__ == "__main__":
    sys.exit(main())
