# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Generate a C++ program as large solvers are: namespaces, templates, about 100 regions."""

from __future__ import annotations

from pathlib import Path

from clangs import CLANG
from toolchain import X86_64, run

ABOUT = 100
PROGRAM = r"""
#include <cstddef>

namespace hydrodynamics {
namespace detail {
template <typename Value, std::size_t Depth> struct Field {
  Value* data;
  std::size_t size;
  static constexpr std::size_t depth = Depth;
};
}  // namespace detail
"""
# Two types of two sizes make four regions.
TEMPLATE = r"""
template <typename Value, std::size_t Depth>
void {name}(detail::Field<Value, Depth>& field, const detail::Field<Value, Depth>& other) {{
  Value *const to = field.data, *const from = other.data;
  const std::size_t size = field.size;
#pragma omp target teams distribute parallel for map(tofrom : to[0:size]) map(to : from[0:size])
  for (std::size_t at = 0; at < size; ++at)
    to[at] += from[at] * static_cast<Value>(Depth + {number});
}}
"""
FUNCTION = r"""
void {name}(double* values, const double* others, std::size_t size) {{
#pragma omp target teams distribute parallel for \
    map(tofrom : values[0:size]) map(to : others[0:size])
  for (std::size_t at = 0; at < size; ++at)
    values[at] += others[at] * {number};
#pragma omp target map(tofrom : values[0:size])
  values[0] = values[size - 1];
}}
"""
STEPS = ("advection", "flux_calculation", "ideal_gas", "update_halo", "viscosity")
PARTS = ("cell_volume", "momentum", "energy_density", "boundary_left_of_tile")


def source(about: int = ABOUT) -> str:
    """Return the source of a program with some regions: two of three are in templates."""
    text, calls, number = [PROGRAM], [], 0
    while number < about:
        name = f"{STEPS[number % len(STEPS)]}_{PARTS[number % len(PARTS)]}_kernel_{number}"
        text.append(TEMPLATE.format(name=name, number=number))
        calls += [f"hydrodynamics::{name}(f{one}, f{one});" for one in ("44", "48", "84", "88")]
        text.append(FUNCTION.format(name=f"host_{name}", number=number))
        calls.append(f"hydrodynamics::host_{name}(doubles, doubles, 8);")
        number += 6
    text.append("}  // namespace hydrodynamics\n\nint main() {\n  double doubles[8] = {1};")
    text.append("  float floats[8] = {1};")
    for kind, name in (("float", "4"), ("double", "8")):
        for depth in (4, 8):
            field = f"hydrodynamics::detail::Field<{kind}, {depth}>"
            text.append(f"  {field} f{name}{depth}{{{kind}s, 8}};")
    return "\n".join([*text, *(f"  {call}" for call in calls), "}", ""])


def many_regions(folder: Path, *flags: str) -> Path:
    """Compile the program with debug information; the image is for x86-64."""
    path, out = folder / "solver.cpp", folder / "solver"
    path.write_text(source())
    run(CLANG[".cpp"], "-fopenmp", f"-fopenmp-targets={X86_64}", "-g", *flags, path, "-o", out)
    return out
