# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The codes of `run --check`, with cause and cure of each. A code never changes its meaning.

Their twin is `Code` in runtime/observe/check/findings.h.
"""

from __future__ import annotations

from typing import Literal

from packager.records import NamedTuple

# An error violates OpenMP; a hint is legal but often a mistake.
Severity = Literal["error", "hint"]


class Code(NamedTuple):
    """A code: its name in the runtime, its severity, and its explanation."""

    name: str
    severity: Severity
    text: str

    @property
    def title(self) -> str:
        """Return the first line of the explanation."""
        return self.text.partition("\n")[0]


CODES = {
    "OMP301": Code("extension", "error", """\
A map of more of an object than is present.

Part of the memory that a construct maps is on the device already, and the rest is not. OpenMP
forbids this (5.2, 5.8.3): the device would need one copy of it all, and the earlier construct has
made a smaller one. The construct cannot be done on the device.

Cure: map the whole object first, in the outermost construct, or map the parts in such a way that
none overlaps another."""),
    "OMP302": Code("rows_overlap", "error", """\
Two maps of one construct overlap.

Two list items of one construct share memory, and neither is a part of the other as a struct's
member is. OpenMP forbids this: no order is defined in which they are mapped, and the first one
would decide the size of the device's copy.

Cure: map the union of both as one section."""),
    "OMP303": Code("too_long", "error", """\
A map of more memory than the host has there.

A section reaches beyond the object that it begins in, so that the construct copies memory that
belongs to something else, or that does not exist. Usually the section has an end instead of a
length: a[first:length] begins at first and has length elements.

Cure: correct the length of the section."""),
    "OMP304": Code("absent", "error", """\
An update, or a map with `present`, of what is not present.

`target update` with the modifier `present`, or a map with it, asserts that the device has the
object. It has not, and OpenMP ends the program then (5.2, 5.8.3 and 13.9). Usually the object has
been unmapped earlier, or another part of it is mapped.

Cure: map the object in a construct around this one, or leave out `present`."""),
    "OMP305": Code("piecemeal", "error", """\
A struct is mapped member by member, in several constructs.

A construct maps a member of a struct while another member is mapped alone. On the device the
members would have to lie as in the struct, in one object, but the earlier construct has made an
object of its own for one of them. OpenMP forbids such an extension (5.2, 5.8.3).

Cure: map the whole struct, or all its members that are used, in the first construct."""),
    "OMP311": Code("still_mapped", "hint", """\
An object that is still mapped when the program ends.

Nothing has unmapped it: an `enter data` without an `exit data`, or an `exit data` that a branch
leaves out. The device's copy is never copied back, and its memory is used to the end. Objects of
`declare target` are no finding.

Cure: unmap the object with `target exit data`, with `from` if the host needs the result."""),
    "OMP312": Code("not_mapped", "hint", """\
An `exit data` or an update of what is not mapped.

The construct does nothing, as OpenMP says, but a program that asks for it believes that the device
has the object. Usually another construct has unmapped it already, or the construct names other
memory than was mapped.

Cure: leave out the construct, or correct its list item. The modifier `present` of an update makes
this an error that ends the program."""),
    "OMP313": Code("dangling", "hint", """\
A mapped pointer leads to host memory that is not mapped.

The device gets the address of host memory as it is. A kernel that follows the pointer reads
nothing sensible, or fails. On a CPU device it reads the host's memory, so that the mistake shows
only on a GPU.

Cure: map what the pointer leads to as well, as a section: map(to: p[0:n])."""),
    "OMP314": Code("host_pointer", "hint", """\
A region gets the host's address of mapped memory.

The memory that a mapped pointer leads to is on the device, but the pointer there has not been
attached to it: it was mapped before that memory, as a part of a struct, or was copied over by an
update. Or the pointer is in is_device_ptr, has_device_addr or firstprivate, and holds the address
that the memory has on the host. A kernel that follows it leaves the device's memory.

Cure: map the pointer and its section in one construct, behind what the section needs; or use
map(attach) or `use_device_ptr`. For is_device_ptr, take the address within `target data
use_device_ptr`, or from `omp_get_mapped_ptr`."""),
    "OMP315": Code("allocated_again", "hint", """\
The same object is created on the device again and again.

Each construct allocates memory for the object, copies it, and frees it again. The object lives
only as long as one construct, as a loop around a `target` region does with its maps. Four
constructs in a row count; fewer make no loop.

Cure: put `target data`, or `enter data` and `exit data`, around the loop; update what changes."""),
    "OMP316": Code("unused", "hint", """\
An object on the device that nothing could use.

It was mapped and unmapped, and between that no region ran on the device and nothing was copied
back. Often a region fell back to the host, or the map has an unnecessary list item.

Cure: leave out the map, or look with `omptool doctor --run` where the regions ran."""),
    "OMP317": Code("global_not_copied", "hint", """\
A map of a declare target variable that copies nothing, while its bytes differ.

A variable of `declare target` is on the device from the beginning to the end of the program. So a
map of it finds it present, and copies nothing, in either direction. Host and device had different
values when the construct began.

Cure: use `target update to(x)` before the construct and `target update from(x)` behind it, or map
with `always`."""),
    "OMP318": Code("part_back", "hint", """\
A part of an object is copied back, and the object ends.

An `exit data` with `from` names a part of a mapped object, and its reference is the last one. The
device's copy goes as a whole: what a region wrote to the rest of it is thrown away.

Cure: name the whole object in the `exit data`, or copy the part by `target update from` and unmap
the object by `release`, if the rest is of no use."""),
    "OMP321": Code("beyond_object", "error", """\
A kernel reads or writes beyond an object.

The address is in no object that is on the device: the index is out of the mapped section, or a
pointer was computed wrongly. OpenMP forbids it; the kernel reads what is there by chance, or
destroys other data.

Cure: map the section that the kernel uses, or correct the index."""),
    "OMP322": Code("unwritten", "error", """\
A kernel reads device memory that nobody has written.

The object was mapped with `alloc` or `from`, or only in part with `to`, and the kernel reads from
it before anything has written there. The value is undefined.

Cure: map the object with `to` or `tofrom`, or write it in a kernel first."""),
    "OMP323": Code("result_lost", "hint", """\
A device's result is thrown away, and the host reads the variable.

A kernel has changed the object, its map has no `from`, and the host reads its own, older copy
afterwards. A scalar without a map is `firstprivate` in a region: what the region computes in it
stays there.

Cure: map with `from` or `tofrom`, or use `target update from` before the host reads."""),
    "OMP324": Code("too_early", "error", """\
The host uses what an unfinished region uses.

A construct with `nowait` still runs, and the host reads or writes memory that it copies or that a
kernel on shared memory uses. OpenMP does not define the order of both.

Cure: wait first, with `taskwait` or a `depend` clause on both sides."""),
    "OMP325": Code("stale", "hint", """\
A copy overwrites what had changed at its other end.

Host and device have both changed the object since it was last copied, and a copy now replaces the
one by the other. One of both changes is lost.

Cure: update the other side after each change: `target update to` after the host's, `target update
from` after the device's."""),
    "OMP331": Code("result_dropped", "hint", """\
A device's result is thrown away.

A kernel has changed the object, and its map has no `from`, so that the change goes with the
device's copy. The host did not read the variable afterwards, as far as was seen. For scratch
memory this is right.

Cure: map scratch memory with `alloc`, and results with `from` or `tofrom`."""),
    "OMP332": Code("copied_again", "hint", """\
The same bytes are copied again.

A copy to the device, or from it, moved bytes that its other end had already. It takes time and
changes nothing.

Cure: map the object in a construct around the others, and update only what has changed."""),
    "OMP333": Code("round_trip", "hint", """\
Bytes come back as they were, and go to the device again.

The object was copied to the host, which did not change it, and was then copied to the same device.

Cure: keep the object on the device with `target data` around both constructs."""),
    "OMP334": Code("always_in_vain", "hint", """\
A map with `always` copies bytes that had not changed.

The modifier `always` copies at each construct. None of these copies was needed so far.

Cure: leave out `always`, or use `target update` where the data changes."""),
    "OMP340": Code("not_checked", "hint", """\
A part of the program that the checker cannot see.

The finding says what was not checked, and why: a kernel on a GPU, an image without the code that
the checker needs, memory that the host shares with the device. The absence of other findings says
nothing about this part.

Cure: run the program on a CPU device (`omptool run --plugin host`), with images that clang made for
it."""),
}  # fmt: skip
# Findings at an instruction of the host, not at a construct.
OF_HOST = frozenset(("OMP323", "OMP324"))
# Findings at a kernel's instruction, which one line of a loop may have several times.
OF_LOOPS = frozenset(("OMP321", "OMP322"))
