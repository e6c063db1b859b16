"""Build the source archive and the wheels of a release into dist/.

`make wheels` runs it. There is one for each system, whose kernels Zig's C compiler compiles for other systems than its
own; elsewhere pip builds from the source archive. Each is built from an unpacked copy of the archive, two at a time.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "dist"
# The tag of the wheel, and what Zig calls that system.
SYSTEMS = {
    "manylinux_2_17_x86_64": "x86_64-linux-gnu.2.17",
    "manylinux_2_17_aarch64": "aarch64-linux-gnu.2.17",
    "macosx_11_0_x86_64": "x86_64-macos.11.0",
    "macosx_11_0_arm64": "aarch64-macos.11.0",
    "win_amd64": "x86_64-windows-gnu",
}
# How a library begins: ELF, Mach-O of 64 bits, and the programs of Windows.
MAGIC = {"manylinux": b"\x7fELF", "macosx": b"\xcf\xfa\xed\xfe", "win": b"MZ"}


def build(target: str, root: Path = ROOT, **environment: str) -> None:
    """Build `sdist` or `wheel` of the files in a folder into dist/."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(DIST)]
    subprocess.run(command, cwd=root, env=os.environ | environment, check=True)


def build_wheel(tag: str) -> None:
    """Build the wheel of a system from the source archive."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.unpack_archive(next(DIST.glob("*.tar.gz")), folder)
        compiler = f"{sys.executable} -m ziglang cc -target {SYSTEMS[tag]}"
        build("wheel", next(Path(folder).iterdir()), SUFFICE_PLATFORM=tag, CC=compiler)


def problem(tag: str) -> str | None:
    """Return what is wrong with the wheel of a system, if anything is."""
    found = sorted(DIST.glob(f"*-py3-none-{tag}.whl"))
    if len(found) != 1:
        return f"{tag}: {len(found)} wheels"
    with zipfile.ZipFile(found[0]) as wheel:
        libraries = [name for name in wheel.namelist() if Path(name).match("kernels/_kernels.*")]
        if libraries != ["suffice/kernels/_kernels.dll" if tag.startswith("win") else "suffice/kernels/_kernels.so"]:
            return f"{tag}: {libraries}"
        wrong = [name for name in libraries if not wheel.read(name).startswith(MAGIC[tag.partition("_")[0]])]
    return f"{tag}: a library of another system" if wrong else None


def main() -> int:
    """Build all, and say what is wrong with them."""
    build("sdist")
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(build_wheel, SYSTEMS))
    problems = [found for tag in SYSTEMS if (found := problem(tag))]
    print("\n".join(problems) or f"{len(SYSTEMS)} wheels and the source archive are in dist/")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
