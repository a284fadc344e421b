"""What the tests share that lives as long as the session."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from outcomes import Programs
from products import Products


@pytest.fixture(scope="session")
def products(tmp_path_factory: pytest.TempPathFactory) -> Products:
    """What is made once, for all workers of the run."""
    own = tmp_path_factory.getbasetemp()
    # pytest-xdist gives each worker a folder of its own, in one of the run's.
    run = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own
    return Products(run / "products")


@pytest.fixture(scope="session")
def programs(products: Products) -> Iterator[Programs]:
    """The programs of every clang."""
    with Programs(products) as started:
        yield started


@pytest.fixture(scope="session")
def diagnosed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the programs are that doctor is tested with, by the clang that made them."""
    return tmp_path_factory.mktemp("diagnosed")
