# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Write the page: a self-contained file of HTML.

Its content security policy allows only its own style and script, by their hashes. The script
inserts names as text only.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

from omptool.timeline.encoder import Encoded

FOLDER = Path(__file__).parent
# Scripts in the order of concatenation.
SCRIPTS = (
    "data",
    "colours",
    "names",
    "layout",
    "view",
    "painter",
    "writer",
    "range",
    "constructs",
    "arrows",
    "search",
    "details",
    "totals",
    "tables",
    "keys",
    "pointer",
    "main",
)
POLICY = (
    "default-src 'none'; script-src '{script}'; style-src '{style}'; "
    "base-uri 'none'; form-action 'none'"
)


def page(encoded: Encoded) -> Iterator[bytes]:
    """Yield the page, a piece at a time."""
    script = "".join((FOLDER / f"{name}.js").read_text("utf-8") for name in SCRIPTS)
    style = (FOLDER / "page.css").read_text("utf-8")
    parts = {
        "policy": POLICY.format(script=_hash(script), style=_hash(style)),
        "style": style,
        "script": script,
    }
    rest = (FOLDER / "page.html").read_text("utf-8")
    while rest:
        text, _, rest = rest.partition("{{")
        name, _, rest = rest.partition("}}")
        yield text.encode()
        if name == "data":
            yield from _data(encoded)
        elif name:
            yield parts[name].encode()


def _data(encoded: Encoded) -> Iterator[bytes]:
    """Yield the blocks of data, which browsers do not run."""
    yield b'<script type="application/json" id="tables">'
    yield encoded.tables().encode()
    yield b"</script>\n"
    for name, pieces in encoded.columns():
        yield f'<script type="text/plain" id="column-{name}">'.encode()
        yield from pieces
        yield b"</script>\n"


def _hash(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"
