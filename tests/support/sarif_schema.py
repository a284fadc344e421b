# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The SARIF that `verify` prints; every log must fit the schema of SARIF 2.1.0.

The schema is the one that the log names, https://json.schemastore.org/sarif-2.1.0.json, OASIS's.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import stored_schemas
from jsonschema import Draft7Validator

from omptool.render.exchange.sarif import SCHEMA

ORIGIN = "https://raw.githubusercontent.com/oasis-tcs/sarif-spec/master/Schemata/"


def run_of(printed: str) -> dict[str, Any]:
    """Return the one run in a printed log."""
    log = json.loads(printed)
    assert (log["$schema"], log["version"]) == (SCHEMA, "2.1.0")
    validator().validate(log)
    (run,) = log["runs"]
    return dict(run)


def validator() -> Draft7Validator:
    """Return a validator of OASIS's schema."""
    found = stored_schemas.validator(SCHEMA)
    assert isinstance(found.schema, Mapping)
    assert found.schema["$id"] == f"{ORIGIN}sarif-schema-2.1.0.json"
    return found
