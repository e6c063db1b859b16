"""The files around the source: requirements, what may be committed, and the tests themselves."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import tomllib
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
REQUIREMENTS = sorted((ROOT / "requirements").glob("*.txt"))
NOT_OURS = {".git", ".venv", "__pycache__", "_build", "build", "dist", ".hypothesis"}

# Written as patterns, so that this file does not match itself.
REGISTRY_HOST = re.compile(r"pypi\.org|pythonhosted\.org|anaconda\.org|npmjs\.org", re.IGNORECASE)
MACHINE_PATH = re.compile(r"(?<![\w.~])/(?:home|root|work|Users|mnt)/\w")


@cache
def committed_files() -> list[Path]:
    """Files that git tracks or would add; without git, every file that is not built."""
    git = shutil.which("git")
    if git and (ROOT / ".git").exists():
        command = [
            git,
            "-c",
            f"safe.directory={ROOT}",
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
        ]
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
        return [ROOT / name for name in listed if name and (ROOT / name).is_file()]
    return [path for path in ROOT.rglob("*") if path.is_file() and not built(path.relative_to(ROOT).parts)]


def built(parts: tuple[str, ...]) -> bool:
    """Whether a path lies in an environment, or in something that is made."""
    return bool(NOT_OURS & set(parts)) or parts[0].startswith(".venv-")


def pins(path: Path) -> dict[str, str]:
    """Requirement (name with its marker) → version."""
    found = re.findall(r"^([\w.\-]+)==(\S+)((?: ;[^\\\n]*)?)", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {name + marker.strip(): version for name, version, marker in found}


@pytest.mark.parametrize("path", REQUIREMENTS, ids=lambda path: path.name)
def test_requirements_are_pinned_hashed_and_name_no_host(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert "://" not in text
    for line in re.sub(r"\\\n\s*", " ", text).splitlines():
        assert re.match(r"[\w.\-]+==\S+ ", line), f"not a pinned requirement: {line[:80]}"
        assert "--hash=sha256:" in line, f"without a hash: {line[:80]}"
        assert not re.search(r"--(?!hash)", line), f"an option: {line[:80]}"


@pytest.mark.parametrize("name", ["demo.txt", "docs.txt"])
def test_requirement_files_agree_on_versions(name: str) -> None:
    test, other = pins(ROOT / "requirements" / "test.txt"), pins(ROOT / "requirements" / name)
    shared = test.keys() & other.keys()
    assert len(shared) > 10
    assert {key: test[key] for key in shared} == {key: other[key] for key in shared}
    if name == "demo.txt":
        assert other.keys() <= test.keys()


def test_requirements_hold_every_declared_dependency() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    extras, groups = project["project"]["optional-dependencies"], project["dependency-groups"]
    declared = [*project["project"]["dependencies"], *extras["parquet"], *extras["cli"], *groups["build"]]
    for name, wanted in {
        "demo.txt": declared,
        "test.txt": [*declared, *requirements(groups, "test"), *groups["lint"]],
    }.items():
        names = {re.split(r"[^\w.\-]", key)[0] for key in pins(ROOT / "requirements" / name)}
        assert {re.split(r"[^\w.\-]", item)[0] for item in wanted} - {"suffice"} <= names, name


def test_the_oldest_requirements_are_the_declared_lower_bounds() -> None:
    """What `make oldest` tests is then what pyproject.toml promises."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    extras, groups = project["project"]["optional-dependencies"], project["dependency-groups"]
    tested = [name for name in extras if name not in {"dask", "spark", "array", "all"}]
    optional = [item for name in tested for item in extras[name]]
    declared = [*project["project"]["dependencies"], *groups["core"], *optional]
    pinned = pins(ROOT / "requirements" / "oldest.txt")
    bounds = dict(re.findall(r"^([\w.\-]+)>=([\d.]+)", "\n".join(declared), re.MULTILINE))
    assert len(bounds) > 20
    wrong = {name: (least, pinned[name]) for name, least in bounds.items() if not same_version(least, pinned[name])}
    assert wrong == {}


def requirements(groups: dict[str, list[str | dict[str, str]]], name: str) -> list[str]:
    """Return what a group asks for, with the groups in it."""
    found = []
    for item in groups[name]:
        found += [item] if isinstance(item, str) else requirements(groups, item["include-group"])
    return found


def same_version(one: str, other: str) -> bool:
    """Whether two releases are the same, 2.0 and 2.0.0 among them."""
    numbers = [[int(part) for part in version.split(".")] for version in (one, other)]
    longest = max(map(len, numbers))
    return len({(*parts, *[0] * (longest - len(parts))) for parts in numbers}) == 1


def test_no_committed_file_names_a_registry_or_a_machine() -> None:
    found = []
    for path in committed_files():
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        for number, line in enumerate(text.splitlines(), start=1):
            if REGISTRY_HOST.search(line) or MACHINE_PATH.search(line):
                found.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()[:100]}")
    assert found == []


def test_host_recording_lock_files_are_not_committed() -> None:
    assert [path.name for path in committed_files() if path.name in {"uv.lock", "pylock.toml"}] == []


@pytest.mark.parametrize(
    ("line", "caught"),
    [
        ("path = '/" + "home/ada/data.csv'", True),
        ("see https://files.pythonhosted" + ".org/x", True),
        ("see https://example.org/" + "work/x", False),
        ("../" + "root/x", False),
    ],
)
def test_the_patterns_see_what_they_should(line: str, caught: bool) -> None:
    assert bool(REGISTRY_HOST.search(line) or MACHINE_PATH.search(line)) is caught


@pytest.mark.parametrize("path", sorted((ROOT / "tests").rglob("test_*.py")), ids=lambda path: path.stem)
def test_every_test_file_tests_something(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    functions = [node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    assert any(name.startswith("test_") for name in functions), f"{path.name} holds no test function"


def test_changelog_and_version_agree() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(rf"^## \[(Unreleased|{re.escape(project['project']['version'])})\]", changelog, re.MULTILINE)


def test_citation_and_version_agree() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    cited = dict(re.findall(r"^(version|license): (\S+)$", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.M))
    assert cited == {"version": project["version"], "license": project["license"]}
