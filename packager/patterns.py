# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Regular expressions that are compiled at their first use.

Modules define more of them than a command uses, and compiling one takes as long as importing a
small module.
"""

from __future__ import annotations

import re
from typing import Any, AnyStr, cast


class _Later:
    """Stands for a pattern, which its first use compiles."""

    def __init__(self, text: Any, flags: int) -> None:
        self._text, self._flags = text, flags

    def __getattr__(self, name: str) -> Any:
        found = getattr(re.compile(self._text, self._flags), name)
        setattr(self, name, found)
        return found


def pattern(text: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Return a regular expression."""
    return cast("re.Pattern[AnyStr]", _Later(text, flags))
