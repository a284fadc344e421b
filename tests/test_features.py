# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""docs/features.md lists what omptool shows; a wrong or outdated row is a failure."""

from __future__ import annotations

import pytest
from features import FEATURES, PAGE, Bench, Feature, page

pytestmark = [pytest.mark.slow, pytest.mark.offloads]


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return Bench(tmp_path_factory.mktemp("features"))


@pytest.mark.parametrize("feature", FEATURES, ids=lambda feature: feature.name)
def test_it_is_shown(bench: Bench, feature: Feature) -> None:
    assert feature.shows(bench)


def test_the_page_is_up_to_date() -> None:
    """The page says yes for each feature that the tests find."""
    assert PAGE.read_text() == page([feature.name for feature in FEATURES])
