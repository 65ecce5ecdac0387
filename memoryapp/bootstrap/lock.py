"""Parses requirements.txt, the lock file, into the requirements of each step."""

import re
from dataclasses import dataclass

DEVELOPMENT_MARKER = "# ---- only development and tests ----"
BUILD_MARKER = "# ---- only compiling the engine ----"
ENGINE = "llama-cpp-python"


@dataclass(frozen=True)
class Lock:
    """The four parts of the lock as texts for pip.

    The engine is separate, since it is compiled with our flags.
    """

    runtime: str
    development: str
    engine: str
    build: str

    @property
    def engine_version(self) -> str:
        """The pinned version of llama-cpp-python."""
        return version_of(self.engine)


def split_requirements(text: str) -> list[str]:
    """Return the requirements of a lock, each with its hash lines and without comments."""
    joined = re.sub(r"\\\n\s*", "\\\n    ", text)
    found: list[str] = []
    for line in joined.splitlines():
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if line.startswith(" ") and found:
            found[-1] += "\n" + line
        else:
            found.append(line)
    return found


def package_of(block: str) -> str:
    """Return the normalised name of the package that a requirement pins."""
    name = re.match(r"[A-Za-z0-9._-]+", block)
    if name is None:
        raise ValueError(f"not a requirement: {block.splitlines()[0]!r}")
    return re.sub(r"[-_.]+", "-", name.group()).lower()


def version_of(block: str) -> str:
    """Return the version that a requirement pins."""
    version = re.search(r"==([^\s;\\]+)", block)
    if version is None:
        raise ValueError(f"not pinned: {block.splitlines()[0]!r}")
    return version.group(1)


def split_lock(text: str) -> Lock:
    """Split the lock at its marker lines and separate the engine. Raises ValueError for an invalid lock."""
    runtime, found, rest = text.partition(DEVELOPMENT_MARKER)
    development, found_too, build = rest.partition(BUILD_MARKER)
    if not (found and found_too):
        raise ValueError("requirements.txt has lost its marker lines; run .ci/lock")
    engine = [block for block in split_requirements(runtime) if package_of(block) == ENGINE]
    if len(engine) != 1:
        raise ValueError(f"requirements.txt pins {ENGINE} {len(engine)} times; run .ci/lock")
    others = [block for block in split_requirements(runtime) if package_of(block) != ENGINE]
    return Lock(
        runtime="\n".join(others) + "\n",
        development="\n".join(split_requirements(development)) + "\n",
        engine=engine[0] + "\n",
        build="\n".join(split_requirements(build)) + "\n",
    )
