"""The scripts that complete commands, and what the shell makes of them."""

from __future__ import annotations

import json
import shutil
import subprocess

import pytest

from suffice.cli.app import COMMANDS

COMPLETE = """
source "$1"
COMP_WORDS=(suffice {words}); COMP_CWORD={place}
_suffice 2>/dev/null
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_command_is_in_the_script(cli, shell) -> None:
    done = cli("completion", shell).ok()
    assert done.err == ""
    for command in COMMANDS:
        assert command in done.out
    if shutil.which(shell):
        checked = subprocess.run([shell, "-n"], input=done.out, text=True, capture_output=True, timeout=60, check=False)
        assert (checked.returncode, checked.stderr) == (0, "")


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (["comp"], {"compare", "completion"}),
        (["fit", "--tar"], {"--target"}),
        (["fit", "--model", "sh"], {"shared"}),
        (["completion", "f"], {"fish"}),
    ],
)
def test_bash_completes(cli, tmp_path, words, wanted) -> None:
    script = tmp_path / "suffice.bash"
    script.write_text(cli("completion", "bash").out)
    code = COMPLETE.format(words=" ".join(words), place=len(words))
    done = subprocess.run(["bash", "-c", code, "-", script], text=True, capture_output=True, timeout=60, check=True)
    assert {word.strip() for word in done.stdout.split()} == wanted


def test_json(cli) -> None:
    document = json.loads(cli("completion", "fish", "--json").out)
    assert document["shell"] == "fish"
    assert document["script"] == cli("completion", "fish").out.removesuffix("\n")


@pytest.mark.parametrize("words", [["completion"], ["completion", "tcsh"]])
def test_what_is_no_shell(refused, words) -> None:
    refused(*words, saying="suffice completion --help", status=2)
