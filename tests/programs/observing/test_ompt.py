# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A performance tool gets OpenMP 5.2's events of devices, the same as from LLVM's runtime."""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import opencl
import pytest
import queues
from clangs import CLANG, compiled, compiled_by, libraries, made
from fixture_programs import OMPTOOL, build_once, bundled, runtime_flags
from linking import link
from machine import lacks
from mpis import DEBIAN, NODE, Mpi
from places import TESTS
from portable import four_images
from products import Products
from recorder import EMI, OBSERVING, PLAIN, Event, faults, numbered, of_device, recorded
from whole_programs import source

from omptool.installation import libdir

pytestmark = pytest.mark.offloads


def on_ours(version: str = "19") -> str:
    """Return where a program finds this runtime and the libomp of a clang."""
    return f"{libdir()}:{libraries(version)}"


def named(events: list[Event], *names: str) -> list[Event]:
    """Return the events of some names."""
    return [event for event in events if event.name in names]


# ---- the same as LLVM's ----


def as_ours(line: str) -> str:
    """Return a line in this runtime's form; docs/observing.md explains the differences."""
    if line.startswith("device_"):
        line = line.replace("type=generic-64bit", "type=host")
        line = line.replace("offset=0", "offset=-1").replace("module=0", "module=1")
    return line


@pytest.mark.parametrize("version", ["19", "22"])
@pytest.mark.parametrize("callbacks", [EMI, PLAIN], ids=["emi", "plain"])
def test_events_are_llvms(
    tmp_path: Path, version: str, callbacks: list[str], way: Mapping[str, str]
) -> None:
    program = compiled_by(version, OBSERVING / "traced.c", tmp_path)
    ours = of_device(recorded(program, on_ours(version), callbacks))
    theirs = of_device(recorded(program, libraries(version), callbacks))
    if (
        callbacks is PLAIN
    ):  # LLVM counts regions alone, and does not know what it is about to allocate
        for event in (*ours, *theirs):
            event.values.pop("target", None)
            if event.values.get("op") == "1":
                event.values["to"] = "later"
    order = sorted if way == queues.QUEUED else list
    assert order(numbered(ours, 1)) == order(map(as_ours, numbered(theirs, 4)))


def test_a_copy_on_a_device_is_from_it(tmp_path: Path) -> None:
    """LLVM's plugins for GPUs report it so, as its tests require; OpenMP has no kind for it."""
    program = compiled(OBSERVING / "copies.c", tmp_path)
    events = named(of_device(recorded(program, on_ours(), EMI)), "data_op")
    done = [event.values for event in events if event.values["endpoint"] == "2"]
    assert [values["op"] for values in done] == ["1", "2", "3", "3", "4"]
    (inside,) = (values for values in done[2:3])
    devices = [inside[side].partition("@")[2] for side in ("from", "to")]
    assert devices[0] == devices[1]
    assert inside["from"] != inside["to"]


SMALL = {"stream": (30_000, 3), "stencil": (20, 70, 11), "nbody": (60, 5)}  # the applications
# Programs that succeed on LLVM's runtime, with their arguments.
ALIKE = {
    **dict.fromkeys(("encounter", "hold", "mapping", "partly", "regions", "scalars", "tasks"), ()),
    **SMALL,
}
# Programs whose private copies LLVM packs into one per region.
PACKED = ("regions", "scalars")


class Objects:
    """Names what programs map: an address on the host or on a device is a number and an offset."""

    def __init__(self) -> None:
        self.hosts: list[range] = []
        self.devices: dict[range, str] = {}

    def allocate(self, host: int, there: int, size: int) -> None:
        """Give an object that is new its number."""
        if not any(host in one for one in self.hosts):
            self.hosts.append(range(host, host + size))
        self.devices = {one: name for one, name in self.devices.items() if there not in one}
        self.devices[range(there, there + size)] = self.on_host(host)

    def on_host(self, address: int) -> str:
        """Return the name of an address of the host."""
        found = [number for number, one in enumerate(self.hosts) if address in one]
        return (
            f"object {found[0]}+{address - self.hosts[found[0]].start}" if found else hex(address)
        )

    def on_device(self, address: int) -> str:
        """Return the name of an address of the device."""
        found = [one for one in self.devices if address in one]
        return f"{self.devices[found[0]]} there+{address - found[0].start}" if found else "nothing"


def operations(events: list[Event]) -> list[list[str]]:
    """Return each construct's operations on memory, by the names of objects."""
    constructs: dict[str, list[str]] = {}
    objects = Objects()
    for event in events:
        values = event.values
        if event.name == "target" and values["endpoint"] == "1":
            kind = int(values["kind"]) % 8  # LLVM's runtime has no kinds of their own for nowait
            constructs[values["target"]] = [f"kind {kind} on {values['device']}"]
        if event.name != "data_op" or values["endpoint"] != "2":
            continue
        source, target = (
            values[side].partition("@")[0].replace("(nil)", "0") for side in ("from", "to")
        )
        places = int(source, 16), int(target, 16)
        if values["op"] == "1":
            objects.allocate(*places, int(values["size"]))
        at_source = objects.on_device if values["op"] in "34" else objects.on_host
        at_target = objects.on_device if values["op"] in "12" else objects.on_host
        done = f"operation {values['op']}: {at_source(places[0])} to {at_target(places[1])}"
        constructs.setdefault(values["target"], []).append(f"{done}, {values['size']} bytes")
    return [[construct[0], *sorted(construct[1:])] for construct in constructs.values()]


def without_private(events: list[Event]) -> list[Event]:
    """Leave out the objects that one construct allocates, fills and frees, and does not fetch."""
    kept: set[tuple[str, str]] = set()
    freed: set[tuple[str, str]] = set()
    for event in events:
        if event.name == "data_op":
            there = (event.values["target"], event.values["from"].partition("@")[0])
            (
                kept if event.values["op"] == "3" else freed if event.values["op"] == "4" else set()
            ).add(there)
    private = freed - kept

    def is_private(event: Event) -> bool:
        side = "to" if event.values.get("op") in ("1", "2") else "from"
        there = event.values.get(side, "").partition("@")[0]
        return event.name == "data_op" and (event.values["target"], there) in private

    return [event for event in events if not is_private(event)]


@pytest.mark.parametrize("name", ALIKE)
def test_operations_are_llvms(tmp_path: Path, name: str) -> None:
    """The two callbacks of transfer tools show number, object and place of the copies."""
    folder = TESTS / "programs" / ("applications" if name in SMALL else "openmp")
    program = compiled(next(folder.glob(f"{name}.c*")), tmp_path, "-O2", "-lm")
    command = [str(program), *map(str, ALIKE[name])]
    both = ("target_emi", "target_data_op_emi")
    found = []
    for libraries_of in (on_ours(), libraries("19")):
        events = recorded(command, libraries_of, both)
        found.append(operations(without_private(events) if name in PACKED else events))
    if name == "tasks":  # whose threads map objects of their own in any order
        number = re.compile(r"object \d+")
        ours, theirs = (sorted(number.sub("object", str(one)) for one in each) for each in found)
        assert ours == theirs
    else:
        assert found[0] == found[1]


# ---- each event, on each plugin ----

ASYNCHRONOUS = {"9", "10", "11"}


@pytest.fixture
def vendors(tmp_path: Path) -> dict[str, str]:
    return opencl.vendors(tmp_path / "vendors")


def check_record(events: list[Event], kinds: set[str]) -> None:
    """Check that each callback was called, in the right order and number."""
    assert faults(events) == []
    assert {event.values["kind"] for event in named(events, "target")} == kinds
    sets = [event for event in events if event.name.startswith("set ")]
    assert [event.name for event in sets] == [f"set {name}: 5" for name in EMI]
    assert {event.name for event in of_device(events)} == {
        *("device_initialize", "device_load", "target", "data_op", "submit", "map"),
        *("device_unload", "device_finalize"),
    }
    assert events[-1].name == "end"
    loaded = Counter(event.values["module"] for event in named(events, "device_load"))
    assert loaded == Counter(event.values["module"] for event in named(events, "device_unload"))
    order = [event.name for event in events if event.name.startswith("device_")]
    assert order == sorted(order, key=ORDER.index)


ORDER = ("device_initialize", "device_load", "device_unload", "device_finalize")


def test_each_event_of_asynchronous_calls(products: Products, tmp_path: Path) -> None:
    """The construct ends after its operations, each of which has it and the program's address."""
    program = Path(shutil.copy(build_once("asynchronous", products), tmp_path))
    events = recorded(program, str(libdir()))
    check_record(events, ASYNCHRONOUS)
    assert len(named(events, "submit")) == 32
    [first] = [event for event in named(events, "map") if event.values["target"] == "1"][:1]
    assert first.values["flags"] == "0x3"  # to and from


@pytest.mark.parametrize("plugin", ["host", "opencl"])
def test_each_event_on_each_plugin(
    products: Products, tmp_path: Path, plugin: str, vendors: dict[str, str]
) -> None:
    folder = four_images(products).parent
    program = Path(shutil.copy(folder / "app", tmp_path))
    events = recorded(program, str(libdir()), EMI, 0, None, OMPTOOL_PLUGINS=plugin, **vendors)
    check_record(events, {event.values["kind"] for event in named(events, "target")})
    [ready] = named(events, "device_initialize")
    assert ready.values == {"device": "0", "type": plugin, "handle": "1", "lookup": "1"}


def on_worker(mpi: Mpi, products: Products, folder: Path, **environment: str) -> list[Event]:
    """Return the tool's events of a program on a worker's device."""
    program = shutil.copy(four_images(products).parent / "app", folder)
    assert mpi.path.exists()
    run = [OMPTOOL, "run", "--workers", "--plugin", "mpi", str(program)]
    own = mpi.environment | environment
    return recorded([*mpi.launcher, "-n", "2", *run], str(libdir()), EMI, 0, folder, **own)


@pytest.mark.parametrize("mpi", DEBIAN, ids=[mpi.name for mpi in DEBIAN])
def test_each_event_of_a_workers_device(products: Products, tmp_path: Path, mpi: Mpi) -> None:
    events = on_worker(mpi, products, tmp_path)
    check_record(events, {event.values["kind"] for event in named(events, "target")})
    [ready] = named(events, "device_initialize")
    assert ready.values["type"].startswith(f"rank 1 on {NODE}, host 0")


def test_a_workers_device_has_a_trace(products: Products, tmp_path: Path) -> None:
    events = on_worker(DEBIAN[0], products, tmp_path, RECORD_TRACE="100000")
    assert [str(event) for event in named(events, "set_trace")] == ["set_trace all=5 mutex=1"]
    traced = [event for event in events if event.name.startswith("traced")]
    assert {event.values.get("order", "right") for event in traced} == {"right"}
    for name in ("submit", "data_op"):
        told = {event.values["id"] for event in named(events, name)}
        assert {event.values["id"] for event in named(events, f"traced {name}")} == told != set()


def test_plain_events_of_asynchronous_calls(products: Products, tmp_path: Path) -> None:
    program = Path(shutil.copy(build_once("asynchronous", products), tmp_path))
    events = recorded(program, str(libdir()), PLAIN)
    assert Counter(event.name for event in events)["submit"] == 16
    constructs = {event.values["target"] for event in named(events, "target")}
    assert {
        event.values["target"] for event in named(events, "data_op", "submit", "map")
    } <= constructs


# ---- values that were wrong ----


def test_every_event_of_every_program_is_sound(tmp_path: Path) -> None:
    """Routines call others, constructs map parts of structs, memory is set, kernels have tasks."""
    for name in ("memory", "structs", "mappers", "routines", "device_pointers", "regions"):
        program = compiled(source(name), tmp_path)
        assert (name, faults(recorded(program, on_ours()))) == (name, [])


def test_what_attaches_a_pointer_comes_from_the_pointer(tmp_path: Path) -> None:
    """A struct's allocation is reported as its object, without padding for alignment."""
    program = compiled(OBSERVING / "attaches.c", tmp_path)
    events = named(recorded(program, on_ours()), "data_op")
    begun = [event.values for event in events if event.values["endpoint"] == "2"]
    allocated = {one["to"]: one for one in begun if one["op"] == "1"}
    struct = next(one for one in allocated.values() if one["size"] == "24")
    host, there = (int(struct[side].partition("@")[0], 16) for side in ("from", "to"))
    copied = [
        (
            int(one["from"].partition("@")[0], 16) - host,
            int(one["to"].partition("@")[0], 16) - there,
        )
        for one in begun
        if one["op"] == "2" and 0 <= int(one["to"].partition("@")[0], 16) - there < 24
    ]
    assert copied  # the source of each is where the host has it
    assert all(from_ == to for from_, to in copied)


def test_each_object_is_filled_before_the_next_one_is_allocated(tmp_path: Path) -> None:
    """LLVM's order, which the core does not have: it allocates all objects of a construct first."""
    source = tmp_path / "two_maps.c"
    source.write_text(
        "int main(void) {\n"
        "  int a[4] = {0}, b[4] = {0}, c[4] = {0};\n"
        "#pragma omp target map(to : a) map(alloc : c) map(tofrom : b)\n"
        "  b[0] = a[0] + (c[1] = 1);\n"
        "#pragma omp target enter data map(to : a) map(alloc : b)\n"
        "#pragma omp target exit data map(delete : a, b)\n"
        "  return b[0] != 1;\n"
        "}\n"
    )
    events = recorded(compiled(source, tmp_path), on_ours())
    assert faults(events) == []
    data = [one.values for one in named(events, "data_op") if one.values["endpoint"] == "1"]
    orders: dict[str, list[str]] = {}
    for one in data:
        orders.setdefault(one["target"], []).append(one["op"])
    region, entered, _ = orders.values()
    assert region[:5] in (["1", "2", "1", "1", "2"], ["1", "2", "1", "2", "1"])
    assert entered == ["1", "2", "1"]


# ---- traces of devices ----


def test_a_device_traces_what_callbacks_tell(products: Products, tmp_path: Path) -> None:
    """Records arrive in the tool's buffers, each once, with increasing times."""
    program = Path(shutil.copy(build_once("asynchronous", products), tmp_path))
    events = recorded(program, str(libdir()), RECORD_TRACE="1000")
    assert [str(event) for event in named(events, "set_trace")] == ["set_trace all=5 mutex=1"]
    traced = [event for event in events if event.name.startswith("traced")]
    assert {event.values.get("order", "right") for event in traced} == {"right"}
    assert {event.values.get("time", "1") for event in traced} == {"1"}

    def ids(name: str, key: str) -> Counter[str]:
        return Counter(event.values[key] for event in events if event.name == name)

    assert ids("traced submit", "id") == Counter(set(ids("submit", "id")))
    assert ids("traced data_op", "id") == Counter(set(ids("data_op", "id")))
    assert ids("traced target", "target") == ids("target", "target")
    buffers = named(events, "buffer")
    assert len(buffers) > 3
    assert {event.values["owned"] for event in buffers} == {"1"}


def test_a_buffer_without_room_loses_records(products: Products, tmp_path: Path) -> None:
    """The interface permits it, and all else works."""
    program = Path(shutil.copy(build_once("asynchronous", products), tmp_path))
    events = recorded(program, str(libdir()), RECORD_TRACE="8")
    assert [event for event in events if event.name.startswith("traced")] == []
    assert {event.values["empty"] for event in named(events, "buffer")} == {"1"}


# ---- how the tool is found ----


def test_no_tool_where_the_user_wants_none(products: Products, tmp_path: Path) -> None:
    program = Path(shutil.copy(build_once("asynchronous", products), tmp_path))
    assert recorded(program, str(libdir()), OMP_TOOL="disabled") == []


def test_the_program_is_its_own_tool(tmp_path: Path) -> None:
    """Without libomp only this runtime looks for a tool."""
    tool = made(tmp_path / "tool.o", CLANG[".c"], "-c", OBSERVING / "recorder.c")
    program = link(
        tmp_path / "app",
        bundled("saxpy", tmp_path),
        tool,
        flags=(*runtime_flags(), "-rdynamic", "-ldl"),
    )
    events = recorded(program, str(libdir()), OMP_TOOL_LIBRARIES="")
    assert named(events, "submit")
    assert len(named(events, "start")) == 1


def test_a_tool_that_cannot_be_opened_is_named(products: Products, tmp_path: Path) -> None:
    program = build_once("asynchronous", products)
    done = subprocess.run(
        [program],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"LD_LIBRARY_PATH": str(libdir()), "OMP_TOOL_LIBRARIES": "/no/tool.so"},
    )
    assert done.stderr.startswith(
        "omptarget: the runtime cannot open the tool /no/tool.so of OMP_TOOL_LIBRARIES: "
    )
    assert done.stderr.count("\n") == 1


def test_no_tool_in_a_setuid_program(products: Products, tmp_path: Path) -> None:
    """The loader ignores LD_LIBRARY_PATH, so the runtime is found by the program's RUNPATH."""
    if os.geteuid() != 0:
        lacks("only root can give a program to another user")
    program = link(
        tmp_path / "app",
        bundled("saxpy", tmp_path),
        flags=(*runtime_flags(), f"-Wl,-rpath,{libdir()}", "-Wl,--disable-new-dtags"),
    )
    assert named(recorded(program, ""), "submit")
    os.chown(program, 65534, -1)
    program.chmod(0o4755 | stat.S_ISUID)
    assert recorded(program, "", code=None) == []


def test_the_tool_starts_once_where_libomp_connects_nobody(tmp_path: Path) -> None:
    """LLVM 14's libomp starts the tool but connects no runtime: one line reports it."""
    program = compiled_by("14", OBSERVING / "traced.c", tmp_path)
    events = recorded(program, on_ours("14"))
    assert len(named(events, "start")) == 1
    assert named(events, "target") == []


def test_libomp_16_passes_on_what_it_denies(tmp_path: Path) -> None:
    program = compiled_by("16", OBSERVING / "traced.c", tmp_path)
    events = recorded(program, on_ours("16"))
    assert faults(events) == []
    assert len(named(events, "submit")) == 4


def test_a_program_may_begin_with_a_routine(tmp_path: Path) -> None:
    """The tool starts with it, and hears where the program calls it."""
    events = recorded(compiled(OBSERVING / "first_routine.c", tmp_path), on_ours())
    outside = [event for event in named(events, "data_op") if event.values["target"] == "0"]
    assert [event.values["op"] for event in outside] == ["1", "1", "4", "4"]
    assert faults(events) == []


def test_regions_wait_for_a_tool_that_starts_slowly(tmp_path: Path) -> None:
    """Two threads start a region each: events of the second one are reported, too."""
    program = compiled(OBSERVING / "overlaps.c", tmp_path)
    events = recorded(program, on_ours(), RECORD_START="500")
    assert len(named(events, "target")) == 4
    assert faults(events) == []


def test_counting_devices_starts_the_tool(tmp_path: Path) -> None:
    """The program makes no other call of the runtime."""
    events = recorded(compiled(OBSERVING / "counts_devices.c", tmp_path), on_ours())
    assert events[0].name == "start"
    assert of_device(events) == []


def test_a_region_without_waiting_has_a_kind_of_its_own(tmp_path: Path) -> None:
    """LLVM's runtime reports it as any other region."""
    events = recorded(compiled(OBSERVING / "not_waiting.c", tmp_path), on_ours())
    assert {event.values["kind"] for event in named(events, "target")} == {"9"}
    assert faults(events) == []
