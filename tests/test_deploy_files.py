"""The files of `.deploy` name settings, commands and addresses that exist."""

from __future__ import annotations

import re
import subprocess
from fnmatch import fnmatch
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]

from tests.page_client import ROOT

DEPLOY = ROOT / ".deploy"
SETTINGS = (ROOT / ".github" / "docs" / "settings.md").read_text()
# Variables that the images of PostgreSQL and Python read.
FOREIGN = {
    *("POSTGRES_PASSWORD", "POSTGRES_USER", "POSTGRES_DB", "REDIS_PASSWORD"),
    *("PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED"),
}


def read(name: str) -> str:
    return (DEPLOY / name).read_text()


@pytest.fixture(scope="module")
def services() -> dict[str, Any]:
    return dict(yaml.safe_load(read("compose.yml"))["services"])


def names_of(name: str) -> set[str]:
    """Return the environment variables that a file of `.deploy` sets."""
    text = read(name)
    if name == "Dockerfile":
        block = re.search(r"^ENV (?:.*\\\n)*.*", text, re.MULTILINE)
        return set(re.findall(r"([A-Z_]+)=", block[0])) if block else set()
    if name.endswith(".service"):
        return set(re.findall(r"([A-Z_]+)=", "\n".join(re.findall(r"^Environment=.*", text, re.MULTILINE))))
    return set(re.findall(r"^\s*([A-Z_]{4,})[=:]", text, re.MULTILINE))


@pytest.mark.parametrize(
    "name",
    ["Dockerfile", "compose.yml", "memoryapp.env.example", "memoryapp.service", "memoryapp-jobs.service"],
)
def test_each_variable_is_in_the_list_of_settings(name):
    found = names_of(name)
    listed = set(re.findall(r"`([A-Z][A-Z_]+)`", SETTINGS))
    assert found
    assert found - listed - FOREIGN == set()


def test_servers_and_workers_are_read_only_and_keep_no_rights(services):
    ours = {name: one for name, one in services.items() if one["image"] == "memoryapp"}
    assert set(ours) == {"migrate", "web1", "web2", "jobs"}
    for one in ours.values():
        assert one["read_only"] is True
        assert one["cap_drop"] == ["ALL"]
        assert "ports" not in one


def test_only_the_proxy_can_be_reached_from_outside(services):
    assert [name for name, one in services.items() if "ports" in one] == ["proxy"]


def test_each_server_has_a_data_folder_of_its_own(services):
    folders = [one["volumes"][0] for name, one in services.items() if name.startswith("web")]
    assert len(set(folders)) == len(folders) == 2


def test_the_proxy_names_the_servers_of_the_compose_file(services):
    named = set(re.findall(r"server (\w+):8000", read("nginx.conf")))
    assert named == {name for name in services if name.startswith("web")}
    assert all(f"{name}:8000" in read("Caddyfile") for name in named)


def test_the_example_has_no_secret():
    text = read("memoryapp.env.example") + read("passwords.env.example")
    assert re.findall(r"^\w+_(?:KEY|PASSWORD)=(.*)", text, re.MULTILINE) == [""] * 4


def test_the_containers_of_others_get_no_secret_but_their_own(services):
    others = {name: one for name, one in services.items() if one["image"] != "memoryapp"}
    assert not [name for name, one in others.items() if "env_file" in one]
    secrets = {
        name: re.findall(r"\$\{(\w+)", str(one.get("environment", ""))) for name, one in others.items()
    }
    assert {name: found for name, found in secrets.items() if found} == {
        "db": ["POSTGRES_PASSWORD"],
        "redis": ["REDIS_PASSWORD"],
    }


def test_a_failed_collection_of_static_files_fails_the_image():
    step = re.search(r"^RUN DATA_DIR(?:.*\\\n)*.*", read("Dockerfile"), re.MULTILINE)
    assert step
    steps = step[0].removeprefix("RUN ").replace(".venv/bin/python", "false").replace("-m compileall", "-V")
    assert subprocess.run(["sh", "-c", steps], check=False, capture_output=True).returncode != 0


@pytest.mark.parametrize("asked", ["/ready", "/live", "/chat/ready", "/chat/live"])
def test_the_proxies_hide_the_health_checks_also_below_a_base_path(asked):
    hidden = re.search(r"location ~ (\S+) \{\n\s*return 404;", read("nginx.conf"))
    assert hidden
    assert re.search(hidden[1], asked)
    inside = re.search(r"@inside path (.+)", read("Caddyfile"))
    assert inside
    assert any(fnmatch(asked, pattern) for pattern in inside[1].split())


def test_clients_cannot_choose_the_host_or_its_port_behind_the_proxies():
    guide = (ROOT / ".github" / "docs" / "server-mode.md").read_text()
    for text in (read("nginx.conf"), guide):
        named = dict(re.findall(r"proxy_set_header (\S+) (\S+);", text))
        assert named["X-Forwarded-Host"] == named["Host"] == "$host"


def test_the_image_needs_only_what_the_lock_has_for_running():
    from memoryapp.bootstrap.environment import split_lock

    parts = vars(split_lock((ROOT / "requirements.txt").read_text()))
    assert {"development", "engine", "build", "runtime", "postgres"} <= parts.keys()
    assert "llama-cpp-python" not in parts["runtime"]
