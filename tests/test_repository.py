"""The files around the source: requirements, what may be committed, and the tests themselves."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

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
        command = [git, "-c", f"safe.directory={ROOT}", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
        return [ROOT / name for name in listed if name and (ROOT / name).is_file()]
    return [path for path in ROOT.rglob("*") if path.is_file() and not built(path.relative_to(ROOT).parts)]


def built(parts: tuple[str, ...]) -> bool:
    """Whether a path lies in an environment, or in something that is made."""
    return bool(NOT_OURS & set(parts)) or parts[0].startswith(".venv-")


def pins(path: Path) -> dict[str, str]:
    """Requirement (name with its marker, without extras) → version."""
    found = re.findall(
        r"^([\w.\-]+)(?:\[[\w,]+\])?==(\S+)((?: ;[^\\\n]*)?)", path.read_text(encoding="utf-8"), re.MULTILINE
    )
    return {name + marker.strip(): version for name, version, marker in found}


@pytest.mark.parametrize("path", REQUIREMENTS, ids=lambda path: path.name)
def test_requirements_are_pinned_hashed_and_name_no_host(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert "://" not in text
    for line in re.sub(r"\\\n\s*", " ", text).splitlines():
        assert re.match(r"[\w.\-]+(\[[\w,]+\])?==\S+ ", line), f"not a pinned requirement: {line[:80]}"
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
        "docs.txt": [*declared, *extras["plot"], "jinja2", *groups["docs"]],
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


def test_every_test_file_tests_something() -> None:
    files = {path: path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py")}
    assert [path for path, text in files.items() if not re.search(r"^ *def test_", text, re.M)] == []


def test_pages_that_draw_pictures_import_what_the_documents_require() -> None:
    """The build runs their examples, in an environment of requirements/docs.txt alone."""
    required = {re.split(r"[^\w.\-]", key)[0] for key in pins(ROOT / "requirements" / "docs.txt")}
    drawing = [path for path in (ROOT / "docs").rglob("*.md") if "plots/" in path.read_text(encoding="utf-8")]
    assert drawing
    for path in drawing:
        text = path.read_text(encoding="utf-8")
        imported = set(re.findall(r"^(?:>>>|\.\.\.) +(?:from|import) (\w+)", text, re.MULTILINE))
        foreign = {"scikit-learn" if name == "sklearn" else name for name in imported - sys.stdlib_module_names}
        assert foreign - {"suffice"} <= required, path.name


# --- a release -------------------------------------------------------------------------------------------------------


def read(*names: str) -> str:
    return ROOT.joinpath(*names).read_text(encoding="utf-8")


def project() -> dict[str, Any]:
    return tomllib.loads(read("pyproject.toml"))["project"]


def released() -> list[tuple[str, str]]:
    """(version, date) of every entry of the changelog, the newest first."""
    return re.findall(r"^## \[(\d+\.\d+\.\d+)\] - (\d{4}-\d\d-\d\d)$", read("CHANGELOG.md"), re.MULTILINE)


def test_the_changelog_has_an_entry_for_every_version() -> None:
    headings = re.findall(r"^## (.+)$", read("CHANGELOG.md"), re.MULTILINE)
    versions = [tuple(map(int, version.split("."))) for version, _ in released()]
    assert [head for head in headings if head != "[Unreleased]"] == [f"[{v}] - {date}" for v, date in released()]
    assert versions == sorted(versions, reverse=True)
    assert [date for _, date in released()] == sorted((date for _, date in released()), reverse=True)
    assert released()[0][0] == project()["version"]


def test_one_version_everywhere() -> None:
    cited = dict(re.findall(r"^(version|license|date-released): (\S+)$", read("CITATION.cff"), re.M))
    version, date = released()[0]
    assert cited == {"version": version, "date-released": date, "license": project()["license"]}
    assert re.findall(r"^__version__ = \"(.+)\"$", read("src", "suffice", "__init__.py"), re.M) == [version]


def test_the_citation_has_what_its_format_demands() -> None:
    """Of the Citation File Format 1.2.0."""
    text = read("CITATION.cff")
    keys = re.findall(r"^([\w-]+):", text, re.M)
    assert len(keys) == len(set(keys))
    assert {"cff-version", "message", "title", "authors"} <= set(keys)
    assert "cff-version: 1.2.0" in text
    assert re.search(r"^authors:\n  - name: ", text, re.M)


def recipe(section: str) -> set[str]:
    """Return the lines of a section of the conda recipe, without blanks."""
    listed = re.search(rf"^  {section}:\n((?:    - .*\n)+)", read("recipe", "meta.yaml"), re.M)
    assert listed is not None
    return {line.replace("    - ", "").replace(" ", "") for line in listed[1].splitlines()}


def test_the_conda_recipe_agrees_with_the_project() -> None:
    text, extras = read("recipe", "meta.yaml"), project()["optional-dependencies"]
    assert f'set version = "{project()["version"]}"' in text
    assert project()["description"] in text
    assert f"license: {project()['license']}" in text
    python = f"python{project()['requires-python']}"
    assert recipe("run") == {python, *project()["dependencies"]}
    assert recipe("host") == {python, "pip", *tomllib.loads(read("pyproject.toml"))["build-system"]["requires"]}
    optional = {item for name in ("parquet", "excel", "cli", "plot", "report") for item in extras[name]}
    conda = {item.replace("matplotlib-base", "matplotlib") for item in recipe("run_constrained")}
    assert conda == {item for item in optional if not item.startswith("suffice[")}
    assert recipe("entry_points") == {f"suffice={project()['scripts']['suffice']}"}


WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_pin_actions_hold_no_secret_and_call_targets_there_are(path: Path) -> None:
    text, makefile = path.read_text(encoding="utf-8"), read("Makefile")
    used = re.findall(r"uses: (\S+)", text)
    assert used
    assert [name for name in used if not re.search(r"@(v\d+|release/v\d+|[0-9a-f]{40})$", name)] == []
    assert "secrets." not in text
    assert re.search(r"^permissions:\n  contents: read$", text, re.M)
    lists = "".join(re.findall(r"target: \[(.*)\]", text))
    called = re.findall(r"run: make (\w+)", text) + [item.strip(' "').split()[0] for item in lists.split(",") if item]
    assert [name for name in called if not re.search(rf"^{name}:", makefile, re.M)] == []


def test_workflows_try_every_python_and_system() -> None:
    text = read(".github", "workflows", "test.yml")
    systems, pythons = (re.search(rf"^        {name}: \[(.*)\]", text, re.M) for name in ("system", "python"))
    assert systems is not None
    assert pythons is not None
    tried = set(re.findall(r'"(3\.\d+)"', pythons[1]))
    promised = {found for line in project()["classifiers"] for found in re.findall(r":: (3\.\d+)$", line)}
    assert promised <= tried
    assert project()["requires-python"] == ">=" + min(tried, key=lambda name: int(name.split(".")[1]))
    assert {name.partition("-")[0] for name in systems[1].split(", ")} == {"ubuntu", "macos", "windows"}


def test_the_readme_is_short() -> None:
    assert len(read("README.md").splitlines()) <= 150
