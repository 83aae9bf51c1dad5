from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.components import plugin
from tests.components import project as projects


@pytest.fixture
def provider() -> Iterator[plugin.Provider]:
    with plugin.served() as running:
        yield running


@pytest.fixture
def project(tmp_path: Path) -> Iterator[projects.Project]:
    with projects.project(tmp_path) as one:
        yield one
