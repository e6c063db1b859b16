"""`suffice completion`: a script with which a shell completes commands, options and files."""

from __future__ import annotations

from typing import Annotated, Literal

from cyclopts import Parameter

from .app import build
from .output import COMMON, Common, print_json


def completion(
    shell: Annotated[Literal["bash", "zsh", "fish"], Parameter(metavar="SHELL", show_choices=False)],
    /,
    *,
    common: Common = COMMON,
) -> None:
    """Print a script that teaches a shell to complete commands, options, their values and file names.

    For this session only: `source <(suffice completion bash)`, in zsh the same with zsh, and in fish
    `suffice completion fish | source`. For every session, write the script where the shell looks for it, as in the
    examples; in zsh the folder must be on `fpath` before `compinit` runs. The script changes with new versions of
    suffice, so write it again then.

    Parameters
    ----------
    shell
        `bash`, `zsh` or `fish`.

    Examples
    --------
    $ suffice completion bash > ~/.local/share/bash-completion/completions/suffice
    $ suffice completion zsh > ~/.zfunc/_suffice
    $ suffice completion fish > ~/.config/fish/completions/suffice.fish
    """
    script = build().generate_completion(shell=shell)
    if common.json:
        print_json({"shell": shell, "script": script})
    else:
        print(script)
