# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The elements of a large JSON array, one after the other: no more than a piece is in memory."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterator
from json import JSONDecodeError, JSONDecoder
from typing import Any, NoReturn

from packager.errors import FormatError
from packager.files.reader import Reader

LARGEST = 1 << 24  # characters of an element
LITERAL = 6  # characters that no decoder can tell from a fault before it has one more
SEPARATOR = re.compile(r"[ \t\r\n]*(,?)[ \t\r\n]*")


def _refused(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")


class JsonText:
    """The text of a file, of which the read part is forgotten; `is_cut` if it ends too early."""

    def __init__(self, data: Reader, seen: Callable[[int], None]) -> None:
        self.is_cut = False
        self._pieces = data.pieces()
        self._seen = seen
        # Keeps bytes that are not UTF-8, so that offsets can be counted.
        self._decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
        self._decode = JSONDecoder(parse_constant=_refused).raw_decode
        self._text = ""
        self._at = 0  # offset in the text
        self._began = 0  # the element that was read last
        self._gone = 0  # bytes of the file before the text

    def place(self) -> int:
        """Return the offset in the file of the element that was read last."""
        return self._offset(self._began)

    def elements(self, key: str) -> Iterator[Any]:
        """Yield the elements of the array, or of the array `key` of the object."""
        self._more()
        self._at = self._text.startswith("\ufeff")
        self._skip()
        if self._sign() == "{" and not self._find(key):
            return
        self._at += 1
        while self._skip():
            if self._sign() == "]":
                return
            element = self._value()
            if self.is_cut:
                return
            yield element
        self.is_cut = True

    def _find(self, key: str) -> bool:
        """Go to the array that is the value of `key` in this object."""
        self._at += 1
        while self._skip() and self._sign() != "}":
            name = self._value()
            if not self.is_cut and self._skip() and self._sign() != ":":
                self._fail("a colon is missing")
            self._at += 1
            if self.is_cut or not self._skip():
                break
            if name == key and self._sign() == "[":
                return True
            self._value()
        raise FormatError(f"has no array {key!r}: it is no trace")

    def _sign(self) -> str:
        return self._text[self._at]

    def _skip(self) -> bool:
        """Go behind white space and a comma; return whether anything follows."""
        while True:
            found = SEPARATOR.match(self._text, self._at)
            end = found.end() if found else self._at
            if end < len(self._text):
                self._at = end
                return True
            if not self._more():
                self._at = end
                return False

    def _value(self) -> Any:
        """Read the value that begins here; None if the file ends in it."""
        while True:
            self._began = self._at
            try:
                value, self._at = self._decode(self._text, self._at)
                return value
            except RecursionError:
                self._fail("it is nested too deeply")
            except JSONDecodeError as error:
                if not _is_early(error, len(self._text)):
                    self._fail(f"{error.msg} at {self._offset(error.pos):#x}")
                if len(self._text) - self._at > LARGEST:
                    self._fail(f"it is longer than {LARGEST} characters")
            except ValueError as error:
                self._fail(str(error))
            if not self._more():
                self.is_cut = True
                return None

    def _more(self) -> bool:
        """Read on; return whether there was more."""
        piece = next(self._pieces, None)
        if piece is None:
            return False
        self._gone = self._offset(self._at)
        self._seen(self._gone)
        self._text = self._text[self._at :] + self._decoder.decode(piece)
        self._at = 0
        return True

    def _offset(self, at: int) -> int:
        return self._gone + len(self._text[:at].encode("utf-8", "surrogateescape"))

    def _fail(self, what: str) -> NoReturn:
        raise FormatError(f"element at {self.place():#x}: {what}")


def _is_early(error: JSONDecodeError, end: int) -> bool:
    """Return whether the text may just end too early."""
    return error.pos >= end - LITERAL or error.msg.startswith("Unterminated string")
