# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A program with every construct on a device that fails at its k-th call, for every k.

Each run ends with the right results, which the program checks itself, or by SIGABRT with a message
that names the object and the region; it never hangs, crashes, leaks or goes on with wrong data.
"""

from __future__ import annotations

import itertools
import os
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest
from clangs import OTHERS, compiled, compiled_by
from fixture_programs import call
from places import ROOT
from products import Products

from omptool.installation import libdir

pytestmark = pytest.mark.offloads

PROGRAM = ROOT / "tests" / "programs" / "faults" / "constructs.cpp"
FAKES = ROOT / "runtime" / "tests" / "support" / "fakes"
AT_ONCE = 2
BATCH = 8  # places between two looks whether the program has ended
PATIENCE = 60  # seconds, enough on a loaded machine
MOST_CALLS = 2000

ONE = {"FAKEFAIL_ON": "0"}
LOST = {"FAKEFAIL_ON": "1"}
FULL = {"FAKEFAIL_ON": "1", "FAKEFAIL_IN": "data_alloc"}
DEAF = {"FAKEFAIL_ON": "1", "FAKEFAIL_IN": "data_submit"}
MANDATORY = {"FAKEFAIL_ON": "0", "OMP_TARGET_OFFLOAD": "MANDATORY"}
FAULTS = {"one call": ONE, "device lost": LOST, "memory full": FULL, "takes no data": DEAF}
# Sample of the calls for `make test`.
SAMPLED = [(fault, 5) for fault in FAULTS]
EVERY_CALL = [pytest.param(fault, 1, marks=pytest.mark.exhaustive) for fault in FAULTS]

# Every reason to end; OBJECT is a mapped one or a global variable, REGION a kernel.
OBJECT = r"(the object at 0x[0-9a-f]+|\w+ at 0x[0-9a-f]+) \(\d+ bytes\)"
REGION = r"region [\w: ()]+:\d+"
# A failed wait for a queue reports only the construct.
ENDS = [
    rf"{REGION} failed on device 0 \(fakefail\) (with error 1|\(error 1)",
    rf"{REGION}: copying objects back failed \(error 1",
    r"copying objects back from device 0 failed \(error 1",
    r"updating objects of device 0 failed \(error 1",
    rf"({REGION}: )?copying {OBJECT} to the device failed",
    rf"{REGION} failed on device 0 \(fakefail\) after its call had returned: .+",
    rf"{REGION}: copying back {OBJECT} failed",
    rf"{REGION} must run on the host, but copying {OBJECT} from the device failed",
    rf"copying back {OBJECT} failed",
    rf"updating the device's copy of {OBJECT} failed",
    rf"updating {OBJECT} from the device failed",
    (
        rf"({REGION} cannot run on a device|the data of a construct cannot be mapped), "
        r"and OMP_TARGET_OFFLOAD is MANDATORY: .+"
    ),
]
# The device's own error follows, unless the message has it already.
WORD = r"( \((error 1 \()?FAKE failure\)+)?"
END = re.compile(rf"^omptarget fatal error: ({'|'.join(ENDS)}){WORD}$", re.MULTILINE)
FELL_BACK = re.compile(r"^omptarget: (region .+?) runs on the host: ", re.MULTILINE)


@dataclass(frozen=True)
class Outcome:
    at: int
    code: int
    output: str

    @property
    def failed_at_all(self) -> bool:
        return "FAKE: call " in self.output

    @property
    def is_right(self) -> bool:
        """Return whether results are right, and no device memory is left or freed twice."""
        misused = re.search("FAKE: 0x", self.output)
        return self.code == 0 and "ok\n" in self.output and not misused

    @property
    def says_why(self) -> bool:
        return self.code == -6 and bool(END.search(self.output))


@pytest.fixture(scope="session")
def failing(products: Products) -> Path:
    """Provide the folder of the plugin fakefail."""
    return products.folder("fakefail", fakefail)


def fakefail(folder: Path) -> None:
    host = libdir() / "libomptarget.rtl.host.so"
    plugin = folder / "libomptarget.rtl.fakefail.so"
    include = ROOT / "runtime" / "include"
    flags = ("-std=c++20", "-O1", "-shared", "-fPIC", f"-I{include}", f'-DHOST_PLUGIN="{host}"')
    call("g++", *flags, FAKES / "fakefail.cpp", "-o", plugin)


@pytest.fixture(scope="session")
def program(products: Products) -> Path:
    return products.made("constructs", lambda folder: compiled(PROGRAM, folder, "-O1"))


@pytest.fixture
def others(products: Products, version: str) -> Path:
    """Provide the program by another clang."""
    return products.made(
        f"constructs-{version}", lambda folder: compiled_by(version, PROGRAM, folder)
    )


def run(program: Path, failing: Path, at: int, **fault: str) -> Outcome:
    paths = {"LD_LIBRARY_PATH": str(libdir()), "OMPTOOL_PLUGIN_PATH": str(failing)}
    chosen = {"OMPTOOL_PLUGINS": "fakefail", "FAKEFAIL_AT": str(at), "OMP_NUM_THREADS": "2"}
    done = subprocess.run(
        [str(program)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=PATIENCE,
        env=os.environ | paths | chosen | fault,
    )
    return Outcome(at, done.returncode, done.stdout)


def sweep(program: Path, failing: Path, step: int, **fault: str) -> list[Outcome]:
    """Let each `step`-th call fail in turn, up to the program's last call."""
    outcomes: list[Outcome] = []
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for first in itertools.count(1, BATCH * step):
            assert first < MOST_CALLS, "the program does not end"
            places = range(first, first + BATCH * step, step)
            outcomes += pool.map(lambda at: run(program, failing, at, **fault), places)
            if not outcomes[-1].failed_at_all:
                break
    wrong = [one for one in outcomes if not (one.is_right or one.says_why)]
    assert not wrong, "\n".join(
        f"{fault}, call {one.at}: code {one.code}\n{one.output}" for one in wrong
    )
    return [one for one in outcomes if one.failed_at_all]


def test_without_a_failure_every_region_runs_on_the_device(program: Path, failing: Path) -> None:
    done = run(program, failing, 0, OMP_TARGET_OFFLOAD="MANDATORY")
    assert (done.code, done.output) == (0, "ok\n")


@pytest.mark.parametrize(("fault", "step"), [*SAMPLED, *EVERY_CALL])
def test_whatever_fails_the_results_are_right_or_the_program_says_why_it_ends(
    program: Path, failing: Path, fault: str, step: int
) -> None:
    outcomes = sweep(program, failing, step, **FAULTS[fault])
    assert any(one.is_right and FELL_BACK.search(one.output) for one in outcomes)


@pytest.mark.parametrize("step", [5, pytest.param(1, marks=pytest.mark.exhaustive)])
def test_where_offloading_is_mandatory_no_region_falls_back(
    program: Path, failing: Path, step: int
) -> None:
    outcomes = sweep(program, failing, step, **MANDATORY)
    assert not any(FELL_BACK.search(one.output) for one in outcomes)
    ends = [one.output for one in outcomes if one.says_why]
    assert any("the data of a construct cannot be mapped" in end for end in ends)
    assert any("cannot run on a device" in end for end in ends)


def test_one_region_falls_back_between_two_that_do_not(program: Path, failing: Path) -> None:
    """Of three regions in between(), which share an object, the second needs one more."""
    alone = []
    for one in sweep(program, failing, 1, FAKEFAIL_ON="0", FAKEFAIL_IN="data_alloc"):
        regions = FELL_BACK.findall(one.output)
        if one.is_right and len(regions) == 1 and "between" in regions[0]:
            alone.append(regions[0])
    assert len(alone) == 1


@pytest.mark.parametrize(
    ("version", "fault"),
    [
        pytest.param(version, fault, marks=() if (a + b) % 2 == 0 else pytest.mark.exhaustive)
        for a, version in enumerate(OTHERS)
        for b, fault in enumerate(FAULTS)
    ],
)
def test_whatever_fails_in_programs_of_other_clangs(
    others: Path, failing: Path, fault: str
) -> None:
    sweep(others, failing, 11, **FAULTS[fault])


@pytest.mark.exhaustive
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("version", OTHERS)
def test_whatever_fails_at_every_call_of_programs_of_other_clangs(
    others: Path, failing: Path, fault: str
) -> None:
    sweep(others, failing, 1, **FAULTS[fault])


@pytest.mark.exhaustive
@pytest.mark.parametrize("stay", ["0", "1"])
@pytest.mark.parametrize(
    "function",
    [
        "init_device",
        "load_binary",
        "data_alloc",
        "data_submit",
        "data_retrieve",
        "data_delete",
        "run",
    ],
)
def test_whatever_call_of_one_function_fails(
    program: Path, failing: Path, function: str, stay: str
) -> None:
    assert sweep(program, failing, 1, FAKEFAIL_ON=stay, FAKEFAIL_IN=function)
