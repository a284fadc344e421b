# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Objects and programs of the interface of 2013: dumped, verified and written."""

from __future__ import annotations

from pathlib import Path

import pytest
from documents import dumped
from linking import LINKERS, link
from proposals import (
    ENTRIES,
    MAIN,
    SOUND,
    SOURCE,
    bundled,
    by_hand,
    device,
    foreign_runtime,
    host,
    only,
    program,
    rows,
    under_run,
)
from toolchain import (
    CLANG,
    NVPTX,
    OPENMP,
    PTX,
    X86_64,
    compile_c,
    device_image,
    omptool,
    run,
    stripped,
)
from verifying import findings, found, merging_script

from omptool.installation import libdir


@pytest.fixture
def image(tmp_path: Path) -> Path:
    return device_image(SOURCE + ENTRIES, tmp_path / "image.so")


# ---- dump ----


def test_object_and_programs_are_dumped(tmp_path: Path, image: Path) -> None:
    paths = [bundled(tmp_path, image), *(program(tmp_path, image, linker=one) for one in LINKERS)]
    for path in paths:
        file = dumped(path)
        assert file["abi"] == "proposal"
        assert rows(file) == SOUND
        (descriptor,) = file["descriptors"]
        assert descriptor["images"] == [0]
        assert descriptor["registered_by"] == "_GLOBAL__A_000000_OPENMPTGT"
        assert file["images"][0]["kernels"] == ["first", "second"]
        assert omptool("verify", path).exit_code == 0


def test_a_stripped_program_keeps_places_and_sizes(tmp_path: Path, image: Path) -> None:
    app = stripped(program(tmp_path, image))
    assert rows(dumped(app)) == [(kind, None, None, size, ok) for kind, _, _, size, ok in SOUND]
    text = omptool("dump", app).stdout
    assert "ABI proposal" in text
    assert " name " not in text  # a column of nothing
    assert found(app) == set()


@pytest.mark.parametrize("flags", [["-no-pie"], ["-pie", "-fPIE"], ["-pie", "-fPIE", "-s"]])
def test_a_program_made_without_omptool_is_dumped(
    tmp_path: Path, image: Path, flags: list[str]
) -> None:
    app = by_hand(tmp_path, image, *flags, f"-L{libdir()}", "-ltarget")
    file = dumped(app)
    assert file["abi"] == "proposal"
    assert [row[3:] for row in rows(file)] == [row[3:] for row in SOUND]
    assert file["images"][0]["container"] == "raw"
    assert len(file["descriptors"]) == 1
    assert found(app) == set()


@pytest.mark.parametrize("flags", [("-pie",), ("-no-pie",), ("-Wl,-z,pack-relative-relocs",)])
def test_without_section_headers_the_same_is_found(
    tmp_path: Path, image: Path, flags: tuple[str, ...]
) -> None:
    paths = (f"-L{libdir()}", "-ltarget")
    app = link(tmp_path / "app", bundled(tmp_path, image), flags=(*flags, *paths))
    bare = tmp_path / "bare"
    run("llvm-strip-19", "--strip-sections", app, "-o", bare)
    file = dumped(bare)
    assert file["abi"] == "proposal"
    assert [row[3:] for row in rows(file)] == [row[3:] for row in SOUND]
    assert found(bare) == {("OMP122", "info")}


@pytest.mark.parametrize("told_by", ["version", "pattern"])
@pytest.mark.parametrize("flags", [("-no-pie",), ("-pie",), ("-pie", "-s")])
def test_what_tells_the_records_where_no_section_does(
    tmp_path: Path, image: Path, told_by: str, flags: tuple[str, ...]
) -> None:
    """Decision 14: the version of the registration, else the records themselves."""
    inputs, runtime = bundled(tmp_path, image), [f"-L{libdir()}", "-ltarget"]
    if told_by == "pattern":
        for name in ("__tgt_register_lib", "__tgt_unregister_lib", "__tgt_target"):
            run("objcopy", "--redefine-sym", f"{name}@LIBTARGET_2013={name}", inputs)
        runtime = [str(foreign_runtime(tmp_path))]
    script = merging_script(tmp_path / "merged.ld", "libtarget_entries", *flags[:1])
    app = link(tmp_path / "app", inputs, flags=(*flags, *runtime, f"-Wl,-T,{script}"))
    assert "libtarget_entries" not in run("readelf", "-WS", app)
    file = dumped(app)
    assert file["abi"] == "proposal"
    assert [row[3:] for row in rows(file)] == [row[3:] for row in SOUND]
    assert found(app) == set()


# ---- verify ----


@pytest.mark.offloads
def test_a_table_of_another_length_is_an_error(tmp_path: Path) -> None:
    short = device(tmp_path, "LIBTARGET_GLOBAL(table);\nLIBTARGET_KERNEL(first);\n")
    app = program(tmp_path, short)
    errors = [f for f in findings(app) if f["severity"] == "error"]
    assert [f["code"] for f in errors] == ["OMP105", "OMP106"]
    assert errors[0]["message"] == f"kernel 2 (second) is missing in image 0 ({X86_64})"
    assert str(errors[1]["message"]).startswith(
        f"the host lists 3 entries, and image 0 ({X86_64}) has 2: "
        "without names they pair by position"
    )
    assert [row[4] for row in rows(dumped(app))] == [["present"], ["present"], ["missing"]]
    done = under_run(app)  # as the runtime sees it
    assert done.stdout == "-1 0\n"
    assert "the host lists 3 entries, the image 2" in done.stderr


def test_an_image_without_a_table_pairs_with_nothing(tmp_path: Path) -> None:
    app = program(tmp_path, device(tmp_path, ""))
    errors = [f for f in findings(app) if f["severity"] == "error"]
    assert "OMP106" in {f["code"] for f in errors}
    assert "has no table of entries" in str(errors[-1]["message"])


@pytest.mark.offloads
def test_an_unsupported_entry_keeps_its_place(tmp_path: Path) -> None:
    entries = ENTRIES.replace("LIBTARGET_KERNEL(first)", "LIBTARGET_ENTRY(0, 0)")
    app = program(tmp_path, device(tmp_path, entries))
    assert only(app, "OMP105") == [f"kernel 1 (first) is missing in image 0 ({X86_64})"]
    assert under_run(app, "--mandatory").stdout == "0 2\n"


@pytest.mark.offloads
def test_a_variable_of_another_size_is_an_error(tmp_path: Path) -> None:
    smaller = SOURCE.replace("long table[4]", "int table[4]")
    app = program(tmp_path, device(tmp_path, ENTRIES, smaller))
    (message,) = only(app, "OMP109")
    assert message == f"global 0 (table) has 32 bytes in the host, 16 in image 0 ({X86_64})"
    done = under_run(app)
    assert done.stdout == "-1 0\n"
    assert "entry 0 has 32 bytes on the host and 16 in the image" in done.stderr


def test_kernel_and_variable_in_one_place_are_an_error(tmp_path: Path) -> None:
    swapped = "LIBTARGET_KERNEL(first);\nLIBTARGET_GLOBAL(table);\nLIBTARGET_KERNEL(second);\n"
    app = stripped(program(tmp_path, device(tmp_path, swapped)))
    messages = [f["message"] for f in findings(app) if f["code"] == "OMP109"]
    assert f"entry 0 is a global in the host and a kernel in image 0 ({X86_64})" in messages
    assert [row[4] for row in rows(dumped(app))][:2] == [["kind"], ["kind"]]


def test_kernels_that_changed_places_show_in_their_symbols(tmp_path: Path) -> None:
    """Without symbols the file looks sound."""
    swapped = "LIBTARGET_GLOBAL(table);\nLIBTARGET_KERNEL(second);\nLIBTARGET_KERNEL(first);\n"
    app = program(tmp_path, device(tmp_path, swapped))
    (message,) = only(app, "OMP106")
    assert message == (
        f"2 entries are in another order in image 0 ({X86_64}): the first is entry 1, first in the "
        "host, second in the image"
    )
    assert [row[4] for row in rows(dumped(app))] == [["present"], ["misordered"], ["misordered"]]
    assert found(stripped(app)) == set()


def test_kernels_that_share_an_address_are_an_error(tmp_path: Path) -> None:
    entries = ENTRIES.replace("LIBTARGET_KERNEL(second)", "LIBTARGET_KERNEL(first)")
    source = SOURCE + entries + MAIN
    app = program(tmp_path, device(tmp_path, ENTRIES), source=source)
    assert any("share one host address" in str(f["message"]) for f in findings(app))


def test_an_image_whose_places_are_not_known_is_not_judged(tmp_path: Path, image: Path) -> None:
    text = tmp_path / "kernels.ptx"
    text.write_text(PTX)
    app = program(tmp_path, image, f"{NVPTX}:sm_70={text}")
    assert [row[4] for row in rows(dumped(app))] == [["present", "unknown"]] * 3
    assert found(app) == set()


@pytest.mark.offloads
@pytest.mark.slow
def test_entries_of_another_abi_on_libtargets_registration_are_an_error(tmp_path: Path) -> None:
    """Clang's references have no version: they go to the first library that has the name."""
    runtime = (f"-L{libdir()}", "-Wl,--no-as-needed", "-ltarget")
    flags = ("-fopenmp", f"-fopenmp-targets={X86_64}")
    app = compile_c(OPENMP, tmp_path / "app", *flags, *runtime, compiler=CLANG)
    messages = [str(f["message"]) for f in findings(app) if f["code"] == "OMP101"]
    assert any("libtarget.so's " in message for message in messages)
    first = (f"-L{libdir()}", "-Wl,--no-as-needed", "-lomptarget", "-ltarget")
    sound = compile_c(OPENMP, tmp_path / "sound", *flags, *first, compiler=CLANG)
    assert "OMP101" not in {f["code"] for f in findings(sound)}
    assert under_run(sound, "--mandatory").returncode == 0


# ---- bundle and emit ----


@pytest.mark.offloads
def test_bundle_writes_the_entries_that_it_is_asked_for(tmp_path: Path, image: Path) -> None:
    plain = host(tmp_path, SOURCE + MAIN)
    listed = tmp_path / "entries.txt"
    listed.write_text("table\nfirst\nsecond\n")
    for entries in ("auto", str(listed)):
        out = tmp_path / "out.o"
        words = ("--image", f"{X86_64}={image}", "--entries", entries, "-o", out)
        done = omptool("bundle", plain, "--abi", "proposal", *words)
        assert done.exit_code == 0, done.output
        assert rows(dumped(out)) == SOUND
        app = link(tmp_path / "app", out, flags=(f"-L{libdir()}", "-ltarget"))
        assert under_run(app, "--mandatory").stdout == "0 2\n"


@pytest.mark.offloads
def test_emit_serves_the_hosts_own_tables(tmp_path: Path, image: Path) -> None:
    out = tmp_path / "wrapper.o"
    done = omptool("emit", "--abi", "proposal", "--image", f"{X86_64}={image}", "-o", out)
    assert done.exit_code == 0, done.output
    app = link(tmp_path / "app", host(tmp_path), out, flags=(f"-L{libdir()}", "-ltarget"))
    assert under_run(app, "--mandatory").stdout == "0 2\n"
    assert rows(dumped(app)) == SOUND


def test_bundle_leaves_nothing_that_the_runtime_would_refuse(tmp_path: Path) -> None:
    short = device(tmp_path, "LIBTARGET_GLOBAL(table);\n")
    out = tmp_path / "out.o"
    words = ("--image", f"{X86_64}={short}", "-o", out)
    done = omptool("bundle", host(tmp_path), "--abi", "proposal", *words)
    assert done.exit_code == 1
    assert not out.exists()


@pytest.mark.parametrize(
    ("abi", "source", "message"),
    [
        ("interface", SOURCE + ENTRIES, "written with libtarget.h: use --abi proposal"),
        ("proposal", SOURCE, "use the macros of libtarget.h, or --entries"),
        (
            "proposal",
            '#include "omptarget.h"\nvoid first(void) {}\nOMPTARGET_KERNEL(first);\n',
            "written with omptarget.h: use --abi interface",
        ),
    ],
)
def test_a_host_for_the_other_interface_is_named(
    tmp_path: Path, image: Path, abi: str, source: str, message: str
) -> None:
    words = ("--abi", abi, "--image", f"{X86_64}={image}", "-o", tmp_path / "out.o")
    done = omptool("bundle", host(tmp_path, source), *words)
    assert done.exit_code == 2
    assert message in done.stderr


def test_a_variable_too_large_for_an_int_is_refused(tmp_path: Path) -> None:
    huge = "char huge[3000000000UL];\n"
    image = compile_c(huge, tmp_path / "huge.so", "-shared", "-fPIC", "-mcmodel=large")
    plain = compile_c(huge, tmp_path / "huge.o", "-c", "-fPIC", "-mcmodel=large")
    words = ("--image", f"{X86_64}={image}", "--entries", "auto", "-o", tmp_path / "out.o")
    done = omptool("bundle", plain, "--abi", "proposal", *words)
    assert done.exit_code == 2
    assert "huge has 3000000000 bytes; a size in the proposal ABI is an int" in done.stderr


def test_entries_are_compared_and_located_by_their_symbols(tmp_path: Path, image: Path) -> None:
    before = program(tmp_path, image)
    swapped = "LIBTARGET_GLOBAL(table);\nLIBTARGET_KERNEL(second);\nLIBTARGET_KERNEL(first);\n"
    (tmp_path / "after").mkdir()
    after = program(tmp_path / "after", image, source=SOURCE + swapped + MAIN)
    changed = omptool("dump", "--exit-code", "--against", before, after)
    assert changed.exit_code == 1, changed.output
    assert changed.stdout == "+ entry kernel second\n- entry kernel second\n"
    (entry,) = (one for one in dumped(before)["entries"] if one["symbol"] == "second")
    located = omptool("dump", "--address", f"{entry['address']:#x}", before)
    assert located.exit_code == 0, located.output
    assert "second" in located.stdout
