# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The SARIF that `verify` prints; every log must fit the schema of SARIF 2.1.0.

The schema is the one that the log names, https://json.schemastore.org/sarif-2.1.0.json: OASIS's, as
the package `schemastore` carries it, in a database of pickled HTTP responses. What is read is the
body, as bytes; nothing is unpickled or fetched.
"""

from __future__ import annotations

import json
import pickletools
import sqlite3
from contextlib import closing
from functools import cache
from importlib.metadata import distribution
from typing import Any

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


@cache
def validator() -> Draft7Validator:
    """Return a validator of OASIS's schema."""
    schema = json.loads(_body())
    assert schema["$id"] == f"{ORIGIN}sarif-schema-2.1.0.json"
    Draft7Validator.check_schema(schema)
    return Draft7Validator(schema)


def _body() -> bytes:
    path = distribution("schemastore").locate_file("schemastore/cache.sqlite")
    query = "SELECT value FROM responses WHERE instr(value, ?)"
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
        for (response,) in database.execute(query, (SCHEMA.encode(),)):
            parts = list(pickletools.genops(response))
            bodies = [part for _, part, _ in parts if isinstance(part, bytes)]
            if any(part == SCHEMA for _, part, _ in parts) and bodies:
                return max(bodies, key=len)
    raise AssertionError(f"the package schemastore has no {SCHEMA}")
