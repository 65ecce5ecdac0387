"""A cluster for all tests of a file: its database is migrated by two processes at once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.search.postgresql import PostgresqlUnavailable, skip_without_server

from .cluster import Cluster, Machine, run_cluster


@pytest.fixture(scope="module")
def _cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    try:
        with run_cluster(tmp_path_factory.mktemp("cluster")) as cluster:
            yield cluster
    except PostgresqlUnavailable as reason:
        skip_without_server(reason)


@pytest.fixture(scope="module")
def machines(_cluster: Cluster) -> tuple[Machine, Machine]:
    """Two machines; servers of the first leave background work to others."""
    made = _cluster.add_machine("first", JOBS="off"), _cluster.add_machine("second")
    migrating = [machine.processes.start("migrate", "-v1") for machine in made]
    assert [process.wait() for process in migrating] == [0, 0], made[0].read_log() + made[1].read_log()
    _cluster.create_user(made[0])
    _cluster.choose_model(made[0], "m")
    return made


@pytest.fixture
def first(machines: tuple[Machine, Machine]) -> Machine:
    """A machine whose servers leave background work to others."""
    return machines[0]


@pytest.fixture
def second(machines: tuple[Machine, Machine]) -> Machine:
    """Another machine."""
    return machines[1]


@pytest.fixture
def cluster(_cluster: Cluster, machines: tuple[Machine, Machine]) -> Iterator[Cluster]:
    """The cluster without running processes; those that a test starts are killed at its end."""
    yield _cluster
    _cluster.kill_all()
