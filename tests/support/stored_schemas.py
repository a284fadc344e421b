# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""JSON schemas by their address at schemastore.org, from the package `schemastore`.

The package has them in a database of pickled HTTP responses. What is read is the body, as bytes;
nothing is unpickled or fetched.
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


@cache
def validator(address: str) -> Draft7Validator:
    """Return a validator of the schema at an address."""
    schema: dict[str, Any] = json.loads(_body(address))
    Draft7Validator.check_schema(schema)
    return Draft7Validator(schema)


def _body(address: str) -> bytes:
    path = distribution("schemastore").locate_file("schemastore/cache.sqlite")
    query = "SELECT value FROM responses WHERE instr(value, ?)"
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
        for (response,) in database.execute(query, (address.encode(),)):
            parts = list(pickletools.genops(response))
            bodies = [part for _, part, _ in parts if isinstance(part, bytes)]
            if any(part == address for _, part, _ in parts) and bodies:
                return max(bodies, key=len)
    raise AssertionError(f"the package schemastore has no {address}")
