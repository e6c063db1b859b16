"""Compile the kernels of `src/suffice/kernels/*.c` into a shared library beside them.

hatchling calls `CustomBuildHook` for wheels and editable installs; `python hatch_build.py` compiles alone. The library
is called through ctypes and knows nothing of Python, so that one wheel serves all versions of it.

CC is the compiler and its options: `cc`, `gcc` or `clang` if not given, and where there is none of these Zig's, which
comes from the package index as a requirement of the build. SUFFICE_PLATFORM is the platform tag of the wheel.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import zlib
from importlib.util import find_spec
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent / "src" / "suffice" / "kernels"
FLAGS = ["-std=c11", "-O3", "-fPIC", "-shared", "-fvisibility=hidden", "-ffp-contract=off", "-fno-math-errno"]
ZIG = "ziglang>=0.15"


def library() -> Path:
    """Return where the library belongs."""
    return FOLDER / ("_kernels.dll" if platform_tag().startswith("win") else "_kernels.so")


def compiler() -> list[str] | None:
    """Return the command of the machine's C compiler, None if it has none."""
    if os.environ.get("CC"):
        return shlex.split(os.environ["CC"])
    return next(([found] for name in ("cc", "gcc", "clang") if (found := shutil.which(name))), None)


def compiled() -> Path:
    """Compile the library and return where it is; SystemExit where that fails."""
    for old in FOLDER.glob("_kernels.*"):
        old.unlink()
    command = compiler()
    if command is None and find_spec("ziglang"):
        command = [sys.executable, "-m", "ziglang", "cc"]
    if command is None:
        raise SystemExit(
            "suffice: no C compiler was found (cc, gcc, clang, or CC in the environment), and its kernels need one. "
            f'Next: install one, or Zig\'s: pip install "{ZIG}"'
        )
    problem = _compile(command, library())
    if problem is not None:
        raise SystemExit(f"suffice: {shlex.join(command)} could not compile its kernels: {problem}")
    return library()


def _compile(command: list[str], target: Path) -> str | None:
    """Compile the library, and return what went wrong, if anything did."""
    sources = sorted(FOLDER.glob("*.[ch]"))
    digest = f"-DDIGEST={zlib.crc32(b''.join(own.read_bytes() for own in sources))}u"
    with tempfile.TemporaryDirectory() as folder:  # some compilers write more than they are asked for
        made = Path(folder) / target.name
        files = [str(own) for own in sources if own.suffix == ".c"]
        whole = [*command, *FLAGS, digest, *files, "-lm", "-o", str(made)]
        try:
            done = subprocess.run(whole, capture_output=True, text=True, check=False)
        except OSError as error:
            return str(error)
        if done.returncode:
            return done.stderr.strip()
        shutil.move(made, target)
    return None


def platform_tag() -> str:
    """Return the tag of the platform that the library was compiled for."""
    return os.environ.get("SUFFICE_PLATFORM") or sysconfig.get_platform().replace("-", "_").replace(".", "_")


try:
    from hatchling.builders.hooks.plugin.interface import BuildHookInterface
except ImportError:  # compiled alone
    pass
else:

    class CustomBuildHook(BuildHookInterface):  # type: ignore[type-arg,misc]
        """Compiles the library before a wheel or an editable install is made."""

        def dependencies(self) -> list[str]:
            """Return what the build requires: Zig's compiler where the machine has none."""
            return [ZIG] if compiler() is None else []

        def initialize(self, version: str, build_data: dict[str, Any]) -> None:
            """Enter the library among the files of the wheel, whose tag names the platform."""
            build_data["pure_python"] = False
            build_data["tag"] = f"py3-none-{platform_tag()}"
            build_data["artifacts"].append(f"src/suffice/kernels/{compiled().name}")


if __name__ == "__main__":
    print(f"{compiled().relative_to(Path.cwd())} compiled")
