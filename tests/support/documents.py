# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""JSON documents of commands. Each must match its schema, which must have all its keys."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from toolchain import omptool


def document(command: str, printed: str) -> dict[str, Any]:
    """Return what `command` printed with --json."""
    read: dict[str, Any] = json.loads(printed)
    _schema(command).validate(read)
    for image in read["images"] if command == "extract" else ():
        as_dumped = {key: value for key, value in image.items() if key != "path"}
        _dumped_image().validate(as_dumped)
    return read


@cache
def _schema(command: str) -> Draft202012Validator:
    text = files("omptool").joinpath(f"schemas/{command}.json").read_text()
    return Draft202012Validator(json.loads(text, object_hook=_closed))


@cache
def _dumped_image() -> Draft202012Validator:
    """Compare an image in the documents of `extract` and `dump`, and return the written path."""
    schema = _schema("dump").schema
    assert isinstance(schema, dict)
    return Draft202012Validator(schema["$defs"]["image"])


def summarised(*arguments: object) -> list[dict[str, Any]]:
    """Return the files of `dump --summary`."""
    result = omptool("dump", "--summary", "--json", *arguments)
    assert result.exit_code == 0, result.output
    return list(document("dump-summary", result.stdout)["files"])


def _closed(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema that allows no other keys; the published one lets readers ignore new keys."""
    return {"additionalProperties": False, **schema} if "properties" in schema else schema


def dumped_files(*arguments: object) -> list[dict[str, Any]]:
    """Return the files and members of `dump`, which must read all of them."""
    result = omptool("dump", "--json", *arguments)
    assert result.exit_code == 0, result.output
    return list(document("dump", result.stdout)["files"])


def dumped(path: Path) -> dict[str, Any]:
    """Return `dump`'s document of one file."""
    (file,) = dumped_files(path)
    return file


def dumped_images(path: Path) -> list[dict[str, Any]]:
    """Return the images of a file and its members."""
    return [image for file in dumped_files(path) for image in file["images"]]
