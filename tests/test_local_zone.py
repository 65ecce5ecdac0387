"""The local time zone is read from TZ, the localtime link or the timezone file of the system."""

from __future__ import annotations

from memoryapp.base.env import local_zone


def test_the_tz_variable_takes_precedence(monkeypatch, tmp_path):
    monkeypatch.setenv("TZ", ":Europe/Copenhagen")
    assert local_zone(link=tmp_path / "none", file=tmp_path / "none") == "Europe/Copenhagen"


def test_the_localtime_link_names_the_zone(monkeypatch, tmp_path):
    monkeypatch.delenv("TZ", raising=False)
    target = tmp_path / "zoneinfo" / "Asia" / "Tokyo"
    target.parent.mkdir(parents=True)
    target.touch()
    (tmp_path / "localtime").symlink_to(target)
    assert local_zone(link=tmp_path / "localtime", file=tmp_path / "none") == "Asia/Tokyo"


def test_the_timezone_file_names_the_zone(monkeypatch, tmp_path):
    monkeypatch.delenv("TZ", raising=False)
    (tmp_path / "timezone").write_text("America/Lima\n")
    assert local_zone(link=tmp_path / "none", file=tmp_path / "timezone") == "America/Lima"


def test_without_a_valid_zone_utc_is_used(monkeypatch, tmp_path):
    monkeypatch.setenv("TZ", "../../etc/passwd")
    assert local_zone(link=tmp_path / "none", file=tmp_path / "none") == "UTC"
