# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fixtures of the whole session, and each test's way to the device."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import over_workers
import pytest
import queues
from linking import needs_gold
from outcomes import Programs
from products import Products, of_this_run

# COLUMNS sets a width for pytest's processes, and would change tables for pipes.
os.environ.pop("COLUMNS", None)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run tests that offload over the queue as well, and some over workers."""
    if metafunc.definition.get_closest_marker("offloads"):
        place = metafunc.definition.originalname, metafunc.definition.path
        ways = [*queues.ways(*place), *over_workers.ways(*place)]
        metafunc.parametrize("way", ways, indirect=True)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Choose the runs over workers, and alternate the two ways between cases of sweeps.

    This runs before pytest selects by marks.
    """
    items[:] = over_workers.kept(items)
    queues.take_turns(items)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test with "gold" in its name if the machine lacks gold."""
    if "gold" in item.name:
        needs_gold()


@pytest.fixture(autouse=True)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Mapping[str, str]:
    """Set the environment that speaks of the device while a test runs."""
    chosen: Mapping[str, str] = getattr(request, "param", queues.NO_DEVICE)
    for name, value in chosen.items():
        monkeypatch.setenv(name, value)
    return chosen


@pytest.fixture(scope="session", autouse=True)
def products(tmp_path_factory: pytest.TempPathFactory) -> Products:
    """Make a product once, for all workers of the run."""
    own = tmp_path_factory.getbasetemp()
    # pytest-xdist gives each worker a folder of its own, below the folder of the run.
    run = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own
    # Nothing depends on what earlier runs, or the user, have in the cache.
    os.environ["OMPTOOL_CACHE_DIR"] = str(run / "cache")
    shared = Products(run / "products")
    of_this_run[:] = [shared]
    return shared


@pytest.fixture(scope="session")
def programs_each_way(products: Products) -> Iterator[Callable[[Mapping[str, str]], Programs]]:
    """Provide the programs of every clang and their outcomes, for a given way to the device."""
    with ExitStack() as stack:
        known: dict[str, Programs] = {}

        def on(way: Mapping[str, str]) -> Programs:
            name = "-".join(way.values())
            if name not in known:
                known[name] = stack.enter_context(Programs(products, way))
            return known[name]

        yield on


@pytest.fixture
def programs(
    way: Mapping[str, str], programs_each_way: Callable[[Mapping[str, str]], Programs]
) -> Programs:
    """Provide the programs of every clang, on the test's way to the device."""
    return programs_each_way(way)


@pytest.fixture(scope="session")
def diagnosed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the programs that doctor is tested with, by the clang that made them."""
    return tmp_path_factory.mktemp("diagnosed")
