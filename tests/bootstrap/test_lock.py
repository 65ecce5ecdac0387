"""The lock file: four parts, with the engine separated from the first."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryapp.base.env import ROOT
from memoryapp.bootstrap.environment import (
    BUILD_MARKER,
    DEVELOPMENT_MARKER,
    POSTGRES_MARKER,
    REDIS_MARKER,
    package_of,
    split_lock,
    split_requirements,
    version_of,
)

LOCK = f"""\
# made by a tool
django==5.2.19 \\
    --hash=sha256:aa
llama-cpp-python==0.3.36 \\
    --hash=sha256:bb
tzdata==2026.6 ; sys_platform == 'win32' \\
    --hash=sha256:cc \\
    --hash=sha256:dd

{POSTGRES_MARKER}
psycopg==3.3.9 \\
    --hash=sha256:gg

{REDIS_MARKER}
redis==8.1.0 \\
    --hash=sha256:hh

{DEVELOPMENT_MARKER}
pytest==9.2.0 \\
    --hash=sha256:ee

{BUILD_MARKER}
cmake==4.4.5 \\
    --hash=sha256:ff
"""


def test_each_part_has_its_own_packages() -> None:
    lock = split_lock(LOCK)
    assert [package_of(block) for block in split_requirements(lock.runtime)] == ["django", "tzdata"]
    assert [package_of(block) for block in split_requirements(lock.postgres)] == ["psycopg"]
    assert [package_of(block) for block in split_requirements(lock.redis)] == ["redis"]
    assert [package_of(block) for block in split_requirements(lock.development)] == ["pytest"]
    assert [package_of(block) for block in split_requirements(lock.build)] == ["cmake"]


def test_the_engine_is_separate_and_keeps_its_hash() -> None:
    lock = split_lock(LOCK)
    assert lock.engine == "llama-cpp-python==0.3.36 \\\n    --hash=sha256:bb\n"
    assert lock.engine_version == "0.3.36"


def test_a_package_keeps_its_marker_and_all_hashes() -> None:
    assert "tzdata==2026.6 ; sys_platform == 'win32' \\\n    --hash=sha256:cc \\\n    --hash=sha256:dd" in (
        split_lock(LOCK).runtime
    )


@pytest.mark.parametrize("marker", [POSTGRES_MARKER, REDIS_MARKER, DEVELOPMENT_MARKER, BUILD_MARKER])
def test_a_lock_without_a_marker_line_is_refused(marker: str) -> None:
    with pytest.raises(ValueError, match="marker lines"):
        split_lock(LOCK.replace(marker, ""))


def test_a_lock_without_the_engine_is_refused() -> None:
    with pytest.raises(ValueError, match="0 times"):
        split_lock(LOCK.replace("llama-cpp-python", "llama"))


@given(st.from_regex(r"[A-Za-z][A-Za-z0-9._-]{0,10}[A-Za-z0-9]", fullmatch=True))
def test_package_names_are_compared_in_normalised_form(name: str) -> None:
    normal = package_of(f"{name}==1")
    assert normal == package_of(f"{name.upper()}==1")
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", normal)


def test_the_lock_of_the_project_pins_and_hashes_every_package() -> None:
    lock = split_lock((ROOT / "requirements.txt").read_text())
    for part in (lock.runtime, lock.postgres, lock.redis, lock.development, lock.engine, lock.build):
        for block in split_requirements(part):
            assert version_of(block)
            assert "--hash=sha256:" in block


def test_the_lock_of_the_project_names_no_index_or_url() -> None:
    text = (ROOT / "requirements.txt").read_text()
    assert not re.search(r"https?://|file:|--index|--extra|--find", text)


def test_the_lock_of_the_project_has_the_versions_of_pyproject() -> None:
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    lock = split_lock((ROOT / "requirements.txt").read_text())
    groups = [
        (project["project"]["dependencies"], lock.runtime + lock.engine),
        (project["project"]["optional-dependencies"]["postgres"], lock.postgres),
        (project["project"]["optional-dependencies"]["redis"], lock.redis),
        (project["dependency-groups"]["dev"], lock.runtime + lock.development),
        (project["dependency-groups"]["build"], lock.build),
    ]
    for wanted, text in groups:
        locked = {(package_of(block), version_of(block)) for block in split_requirements(text)}
        for requirement in wanted:
            pinned = re.sub(r"\[.*?\]", "", requirement)
            assert (package_of(pinned), version_of(pinned)) in locked
