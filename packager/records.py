# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Named tuples that are quick to define: the start of a command defines a hundred.

collections.namedtuple compiles a constructor for each class, which takes three quarters of its
time. Here classes with equally many fields share the compiled code, under other names of arguments.
typing.NamedTuple compiles the annotation of each field as well; no code here reads annotations at
run time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import NamedTuple
else:
    from collections import _tuplegetter
    from functools import cache
    from types import FunctionType

    GLOBALS = {"__builtins__": {}, "_new": tuple.__new__}

    class _Record(tuple):
        """The methods of all named tuples."""

        __slots__ = ()

        @classmethod
        def _make(cls, values):
            """Make a record of as many values as it has fields."""
            found = tuple.__new__(cls, values)
            if len(found) != len(cls._fields):
                raise TypeError(f"Expected {len(cls._fields)} arguments, got {len(found)}")
            return found

        def _replace(self, /, **changed):
            """Return a record with other values in some fields."""
            found = self._make(map(changed.pop, self._fields, self))
            if changed:
                raise ValueError(f"Got unexpected field names: {list(changed)!r}")
            return found

        def _asdict(self):
            """Return the values by field."""
            return dict(zip(self._fields, self, strict=True))

        def __repr__(self):
            fields = ", ".join(f"{name}={value!r}" for name, value in self._asdict().items())
            return f"{type(self).__name__}({fields})"

        def __getnewargs__(self):
            return tuple(self)

    class _Definition(type):
        """Makes a named tuple of the annotations in a class, as typing.NamedTuple does."""

        def __new__(cls, name, bases, namespace):
            if not bases:
                return super().__new__(cls, name, bases, namespace)
            fields = tuple(namespace.get("__annotations__", ()))
            defaults = {field: namespace.pop(field) for field in fields if field in namespace}
            made = FunctionType(_code(fields), GLOBALS, "__new__", tuple(defaults.values()))
            made.__qualname__ = f"{name}.__new__"
            getters = {field: _getter(number) for number, field in enumerate(fields)}
            known = {
                "__slots__": (),
                "__new__": made,
                "__match_args__": fields,
                "_fields": fields,
                "_field_defaults": defaults,
            }
            return type(name, (_Record,), {**known, **getters, **namespace})

    def _code(fields):
        """Return the code of a constructor whose arguments have the names of the fields."""
        return _template(len(fields)).replace(co_varnames=("_cls", *fields))

    @cache
    def _template(count):
        """Return the code of a constructor with `count` arguments."""
        names = "".join(f"_{number}, " for number in range(count))
        return eval(f"lambda _cls, {names}: _new(_cls, ({names}))", GLOBALS).__code__  # noqa: S307 - own text

    @cache
    def _getter(number):
        """Return the descriptor of a field, which all classes share."""
        return _tuplegetter(number, f"Field {number}")

    class NamedTuple(metaclass=_Definition):
        """The base of named tuples."""


__all__ = ["NamedTuple"]
