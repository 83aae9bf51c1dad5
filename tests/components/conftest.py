from collections.abc import Iterator

import pytest

from tests.components import plugin


@pytest.fixture
def provider() -> Iterator[plugin.Provider]:
    with plugin.served() as running:
        yield running
