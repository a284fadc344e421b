# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The functions of <math.h> for GPUs: by LLVM's own operations, or by a target's library.

A CPU has them in libm. `sin` is the function of doubles, `sinf` that of floats.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

# Functions that every GPU has as one or two instructions: LLVM's intrinsic and the number of
# operands.
_NATIVE = {
    "ceil": ("ceil", 1),
    "copysign": ("copysign", 2),
    "fabs": ("fabs", 1),
    "floor": ("floor", 1),
    "fma": ("fma", 3),
    "fmax": ("maxnum", 2),
    "fmin": ("minnum", 2),
    "nearbyint": ("nearbyint", 1),
    "rint": ("rint", 1),
    "round": ("round", 1),
    "sqrt": ("sqrt", 1),
    "trunc": ("trunc", 1),
}
_TO_INTEGER = {"lrint": "rint", "llrint": "rint", "lround": "round", "llround": "round"}
# Other functions by signature: result, then parameters; x is the type itself, i an i32, p a
# pointer.
_LIBRARY = {
    **dict.fromkeys(
        (
            *("acos", "acosh", "asin", "asinh", "atan", "atanh", "cbrt", "cos", "cosh", "erf"),
            *("erfc", "exp", "exp10", "exp2", "expm1", "lgamma", "log", "log10", "log1p", "log2"),
            *("logb", "sin", "sinh", "tan", "tanh", "tgamma"),
        ),
        "x:x",
    ),
    **dict.fromkeys(("atan2", "fdim", "fmod", "hypot", "nextafter", "pow", "remainder"), "x:xx"),
    "ldexp": "x:xi",
    "scalbn": "x:xi",
    "ilogb": "i:x",
    "frexp": "x:xp",
    "modf": "x:xp",
}
# LLVM's intrinsics without an instruction on GPUs, replaced by the function of that name.
_INTRINSICS = (
    *("acos", "asin", "atan", "atan2", "cos", "cosh", "exp", "exp10", "exp2", "log", "log10"),
    *("log2", "pow", "sin", "sinh", "tan", "tanh"),
)
INTRINSICS = {
    f"llvm.{name}.{suffix}": name + ending
    for name in _INTRINSICS
    for suffix, ending in (("f64", ""), ("f32", "f"))
}
_TYPES = (("double", "f64", ""), ("float", "f32", "f"))

Callee = Callable[[str, str, str], str]  # takes name, signature and type

_DEFINITION = """
define {result} @{name}({parameters}) alwaysinline nounwind {{
  %result = call {convention}{result} @{callee}({arguments})
  ret {result} %result
}}
declare {convention}{result} @{callee}({types})
"""
_INTEGER = """
define i64 @{name}({type} %a) alwaysinline nounwind {{
  %whole = call {type} @{function}({type} %a)
  %result = fptosi {type} %whole to i64
  ret i64 %result
}}
"""
_BOTH = """
define void @sincos{ending}({type} %a, ptr %sine, ptr %cosine) alwaysinline nounwind {{
  %s = call {type} @sin{ending}({type} %a)
  %c = call {type} @cos{ending}({type} %a)
  store {type} %s, ptr %sine
  store {type} %c, ptr %cosine
  ret void
}}
"""


def native() -> str:
    """Return the functions that every GPU implements natively."""
    return "".join(_native())


def by_library(callee: Callee, convention: str = "") -> str:
    """Return the other functions, each a call of the target's function that `callee` names."""
    return "".join(_by_library(callee, convention))


def needing_library() -> frozenset[str]:
    """Return the names of the functions that need a target's library."""
    names = {name + ending for name in (*_LIBRARY, "sincos") for _, _, ending in _TYPES}
    return frozenset(names)


def _native() -> Iterator[str]:
    for type_, suffix, ending in _TYPES:
        for name, (intrinsic, count) in _NATIVE.items():
            callee = f"llvm.{intrinsic}.{suffix}"
            yield _forwarding(name + ending, callee, "x:" + "x" * count, type_, "")
        for name, function in _TO_INTEGER.items():
            yield _INTEGER.format(name=name + ending, type=type_, function=function + ending)


def _by_library(callee: Callee, convention: str) -> Iterator[str]:
    for type_, _, ending in _TYPES:
        for name, takes in _LIBRARY.items():
            target = callee(name, takes, type_)
            yield _forwarding(name + ending, target, takes, type_, convention)
        yield _BOTH.format(type=type_, ending=ending)


def _forwarding(name: str, callee: str, takes: str, type_: str, convention: str) -> str:
    result, _, operands = takes.partition(":")
    words = {"x": type_, "i": "i32", "p": "ptr"}
    arguments = [f"{words[kind]} %{letter}" for kind, letter in zip(operands, "abc", strict=False)]
    return _DEFINITION.format(
        result=words[result],
        name=name,
        parameters=", ".join(arguments),
        arguments=", ".join(arguments),
        callee=callee,
        convention=convention,
        types=", ".join(words[kind] for kind in operands),
    )


def of_libdevice(name: str, takes: str, type_: str) -> str:
    """Return NVIDIA's name: __nv_sin, __nv_sinf."""
    return f"__nv_{name}{'f' if type_ == 'float' else ''}"


def of_opencl(name: str, takes: str, type_: str) -> str:
    """Return the mangled name of OpenCL C's function: _Z3sind, _Z5ldexpfi."""
    own = "f" if type_ == "float" else "d"
    target = "ldexp" if name == "scalbn" else name
    pointee = {"frexp": "i", "modf": own}.get(name, "")
    letters = {"x": own, "i": "i", "p": f"PU3AS4{pointee}"}
    return f"_Z{len(target)}{target}{''.join(letters[kind] for kind in takes.partition(':')[2])}"
