"""Times are shown by the clock on the user's wall."""

from __future__ import annotations

from memoryapp.env import local_zone


def test_the_variable_names_the_zone_before_any_file(monkeypatch, tmp_path):
    monkeypatch.setenv("TZ", ":Europe/Copenhagen")
    assert local_zone(link=tmp_path / "none", file=tmp_path / "none") == "Europe/Copenhagen"


def test_the_link_of_the_system_names_the_zone(monkeypatch, tmp_path):
    monkeypatch.delenv("TZ", raising=False)
    target = tmp_path / "zoneinfo" / "Asia" / "Tokyo"
    target.parent.mkdir(parents=True)
    target.touch()
    (tmp_path / "localtime").symlink_to(target)
    assert local_zone(link=tmp_path / "localtime", file=tmp_path / "none") == "Asia/Tokyo"


def test_the_file_of_the_system_names_the_zone(monkeypatch, tmp_path):
    monkeypatch.delenv("TZ", raising=False)
    (tmp_path / "timezone").write_text("America/Lima\n")
    assert local_zone(link=tmp_path / "none", file=tmp_path / "timezone") == "America/Lima"


def test_a_machine_that_names_no_zone_has_utc(monkeypatch, tmp_path):
    monkeypatch.setenv("TZ", "../../etc/passwd")
    assert local_zone(link=tmp_path / "none", file=tmp_path / "none") == "UTC"
