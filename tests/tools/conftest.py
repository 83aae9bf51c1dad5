from __future__ import annotations

from pathlib import Path

import pytest

from tests.tools import installer


@pytest.fixture
def engine(tmp_path: Path) -> installer.Installer:
    return installer.copied_installer(tmp_path)
