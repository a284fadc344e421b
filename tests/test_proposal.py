"""The interface of 2013, libtarget.so: programs written, linked, dumped, verified and run."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from fixture_programs import FIXTURES, OMPTOOL, build
from jsonschema import Draft202012Validator
from linking import LINKERS, link
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

from omptool.installation import includedir, libdir

ROOT = Path(__file__).parent.parent
# Of mold 1.10 a versioned reference finds no default version: it needs the other library, too.
RUNTIMES = dict.fromkeys(LINKERS, ("-ltarget",)) | {"mold": ("-ltarget", "-lomptarget")}
# One global and two kernels; what a device makes of them, in the same order, is the same source.
SOURCE = """
#include "libtarget.h"
long table[4];
void first(long *p) { *p = 1; }
void second(long *p) { *p = 2; }
"""
ENTRIES = """
LIBTARGET_GLOBAL(table);
LIBTARGET_KERNEL(first);
LIBTARGET_KERNEL(second);
"""
MAIN = """
#include <stdio.h>
int main(void) {
  long value = 0;
  void *objects[1] = {&value};
  int sizes[1] = {sizeof value};
  tgt_map_type types[1] = {tgt_map_tofrom};
  int result = __tgt_target(-1, (void *)second, 1, objects, sizes, types);
  printf("%d %ld\\n", result, value);
  return 0;
}
"""
# A compiler's work by hand: the descriptor, a raw image, registration. IMAGE, SECTION as -D.
BY_HAND = """
#ifdef UNVERSIONED
#define LIBTARGET_NO_SYMVER
#endif
#include "libtarget.h"
void first(long *p) { *p = 1; }
void second(long *p) { *p = 2; }
long table[4];
__asm__(".section .rodata\\n image: .incbin \\"" IMAGE "\\"\\n image_end:\\n .previous");
extern char image[], image_end[];
__attribute__((section(SECTION), used)) static tgt_offload_entry entries[3] =
    {{table, sizeof table}, {(void *)first, 0}, {(void *)second, 0}};
static tgt_device_image images[1] = {{image, image_end}};
static tgt_bin_desc descriptor = {1, images, entries, entries + 3};
__attribute__((constructor)) static void begin(void) { __tgt_register_lib(&descriptor); }
"""


@pytest.fixture
def image(tmp_path: Path) -> Path:
    return device_image(SOURCE + ENTRIES, tmp_path / "image.so")


def host(folder: Path, source: str = SOURCE + ENTRIES + MAIN) -> Path:
    return compile_c(source, folder / "host.o", "-c", "-fPIC")


def bundled(folder: Path, *images: object, force: bool = True, source: str | None = None) -> Path:
    """The host with images (files for the CPU, or target=file), for --abi proposal."""
    plain = host(folder) if source is None else host(folder, source)
    words = [word if "=" in str(word) else f"{X86_64}={word}" for word in images]
    options = [part for word in words for part in ("--image", word)]
    out = folder / "bundled.o"
    more = ["--force"] if force else []
    done = omptool("bundle", plain, "--abi", "proposal", *options, *more, "-o", out)
    assert done.exit_code == 0, done.output
    return out


def program(folder: Path, *images: object, linker: str = "bfd", source: str | None = None) -> Path:
    flags = (f"-L{libdir()}", *RUNTIMES[linker])
    inputs = bundled(folder, *images, source=source)
    return link(folder / f"app-{linker}", inputs, linker=linker, flags=flags)


def dumped(path: Path) -> dict[str, Any]:
    result = omptool("dump", "--json", path)
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    schema = json.loads(files("omptool").joinpath("schemas/dump.json").read_text())
    Draft202012Validator(schema).validate(document)
    (file,) = document["files"]
    return dict(file)


def rows(file: dict[str, Any]) -> list[tuple[Any, ...]]:
    keys = ("kind", "name", "symbol", "size", "images")
    return [tuple(entry[key] for key in keys) for entry in file["entries"]]


def started(path: Path, *command: object, **environment: str) -> subprocess.CompletedProcess[str]:
    words = [str(word) for word in (*command, path)]
    return subprocess.run(
        words, capture_output=True, text=True, check=False, timeout=60, env=os.environ | environment
    )


def under_run(path: Path, *options: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return started(path, OMPTOOL, "run", *options, **environment)


SOUND = [
    ("global", None, "table", 32, ["present"]),
    ("kernel", None, "first", 0, ["present"]),
    ("kernel", None, "second", 0, ["present"]),
]


# ---- linking and running ----


@pytest.mark.parametrize("linker", LINKERS)
def test_every_linker_finds_the_version_of_2013(tmp_path: Path, image: Path, linker: str) -> None:
    app = program(tmp_path, image, linker=linker)
    wanted = {
        word for line in run("readelf", "-W", "--dyn-syms", app).splitlines()
        for word in line.split() if word.startswith("__tgt_")
    }  # fmt: skip
    assert wanted == {
        f"{name}@LIBTARGET_2013"
        for name in ("__tgt_register_lib", "__tgt_unregister_lib", "__tgt_target")
    }
    assert "[libtarget.so]" in run("readelf", "-d", app)
    for done in (
        under_run(app, "--mandatory"),
        started(app, LD_LIBRARY_PATH=str(libdir()), OMP_TARGET_OFFLOAD="MANDATORY"),
    ):
        assert (done.stdout, done.stderr, done.returncode) == ("0 2\n", "", 0)


def test_a_program_of_both_interfaces_is_one_runtime(tmp_path: Path, image: Path) -> None:
    """Each library that a program is linked with calls the interface that it was written for."""
    other = FIXTURES / "shared_library" / "library.c"
    library = tmp_path / "libother.so"
    link(library, other, flags=("-shared", "-fPIC", f"-I{includedir()}", f"-L{libdir()}",
                                "-lomptarget"))  # fmt: skip
    paths = (f"-L{libdir()}", f"-Wl,-rpath,{tmp_path}", f"-Wl,-rpath-link,{libdir()}")
    inputs = (bundled(tmp_path, image), library)
    app = link(tmp_path / "app", *inputs, flags=(*paths, "-ltarget"))
    done = started(app, LD_LIBRARY_PATH=str(libdir()), LD_DEBUG="files")
    assert done.stdout == "0 2\n"
    loaded = [line for line in done.stderr.splitlines() if "calling init: " in line]
    assert sum(line.endswith("/libomptarget.so") for line in loaded) == 1


@pytest.mark.parametrize("order", [["-lomptarget", "-ltarget"], ["-ltarget", "-lomptarget"]])
@pytest.mark.parametrize("linker", LINKERS)
def test_the_other_library_may_be_linked_with_it(
    tmp_path: Path, image: Path, linker: str, order: list[str]
) -> None:
    flags = (f"-L{libdir()}", *order)
    app = link(tmp_path / "app", bundled(tmp_path, image), linker=linker, flags=flags)
    assert under_run(app, "--mandatory").stdout == "0 2\n"


def test_verify_names_the_program_that_an_old_mold_makes_in_silence(
    tmp_path: Path, image: Path
) -> None:
    """A newer one finds default versions, and its program is sound."""
    flags = (f"-L{libdir()}", "-ltarget")
    app = link(tmp_path / "app", bundled(tmp_path, image), linker="mold", flags=flags)
    calls = "__tgt_register_lib" in run("readelf", "-W", "--dyn-syms", app)
    fault = "is never registered: the file does not call __tgt_register_lib"
    assert [message.endswith(fault) for message in only(app, "OMP101")] == [True] * (not calls)


def foreign_runtime(folder: Path) -> Path:
    """A libtarget.so without versions, as the document has it."""
    names = ("__tgt_register_lib", "__tgt_unregister_lib", "__tgt_target")
    source = "\n".join(f"int {name}(void) {{ return 1; }}" for name in names)
    flags = ("-shared", "-fPIC", "-Wl,-soname,libtarget.so")
    return compile_c(source, folder / "libtarget.so", *flags)


def by_hand(folder: Path, image: Path, *flags: str, section: str = "libtarget_entries") -> Path:
    """A program without anything of omptool's but, if it is ours, the library."""
    words = (f'-DIMAGE="{image}"', f'-DSECTION="{section}"', "-Wno-attributes", *flags)
    return compile_c(BY_HAND + MAIN, folder / "hand", *words)


def test_a_program_linked_with_another_libtarget_runs_on_this_one(
    tmp_path: Path, image: Path
) -> None:
    runtime = foreign_runtime(tmp_path)
    app = by_hand(tmp_path, image, "-DUNVERSIONED", str(runtime), f"-Wl,-rpath,{tmp_path}")
    assert started(app).stdout == "1 0\n"
    assert under_run(app, "--mandatory").stdout == "0 2\n"


def test_a_libtarget_for_something_else_is_left_alone(tmp_path: Path) -> None:
    flags = ("-shared", "-fPIC", "-Wl,-soname,libtarget.so")
    other = compile_c("int aim(void) { return 5; }", tmp_path / "libtarget.so", *flags)
    source = "int aim(void); int main(void) { return aim(); }"
    app = link(
        tmp_path / "app", compile_c(source, tmp_path / "app.o", "-c"), other,
        flags=(f"-Wl,-rpath,{tmp_path}",),
    )  # fmt: skip
    assert under_run(app).returncode == 5


@pytest.fixture
def old_plugin(tmp_path: Path) -> Path:
    """The tests' plugin of section 5, in a folder of its own."""
    runtime = ROOT / "runtime"
    out = tmp_path / "plugins" / "libomptarget.rtl.proposal_cpu.so"
    out.parent.mkdir()
    cpu = runtime / "plugins" / "host"
    run(
        "g++", "-std=c++20", "-O1", "-shared", "-fPIC", f"-I{runtime / 'include'}", f"-I{cpu}",
        runtime / "tests" / "plugins" / "proposal_cpu.cpp", cpu / "elf_image.cpp", cpu / "call.cpp",
        "-o", out,
    )  # fmt: skip
    return out.parent


def test_a_plugin_of_2013_runs_a_program_of_2013(
    tmp_path: Path, image: Path, old_plugin: Path
) -> None:
    app = program(tmp_path, image)
    path = {"OMPTOOL_PLUGIN_PATH": str(old_plugin)}
    done = under_run(app, "--mandatory", "--plugin", "proposal_cpu", **path)
    assert (done.stdout, done.stderr) == ("0 2\n", "")
    listed = subprocess.run(
        [OMPTOOL, "devices", "--json"], capture_output=True, text=True, check=True,
        env=os.environ | path,
    )  # fmt: skip
    plugins = {row["name"]: row for row in json.loads(listed.stdout)["plugins"]}
    assert plugins["proposal_cpu"]["state"] == "ready"
    assert len(plugins["proposal_cpu"]["devices"]) == 2


def test_a_plugin_of_2013_runs_what_lower_makes(tmp_path: Path, old_plugin: Path) -> None:
    app = build("proposal", tmp_path)
    path = {"OMPTOOL_PLUGIN_PATH": str(old_plugin)}
    done = under_run(app, "--mandatory", "--plugin", "proposal_cpu", **path)
    assert done.stdout == (FIXTURES / "proposal" / "expected.txt").read_text()
    assert done.stderr == ""


def test_plugins_of_2013_are_counted(tmp_path: Path, old_plugin: Path) -> None:
    (plugin,) = old_plugin.iterdir()
    for number in range(9):
        shutil.copy(plugin, old_plugin / f"libomptarget.rtl.copy{number}.so")
    plugin.unlink()
    listed = subprocess.run(
        [OMPTOOL, "devices", "--json"], capture_output=True, text=True, check=True,
        env=os.environ | {"OMPTOOL_PLUGIN_PATH": str(old_plugin)},
    )  # fmt: skip
    plugins = {row["name"]: row for row in json.loads(listed.stdout)["plugins"]}
    assert all(plugins[f"copy{number}"]["state"] == "ready" for number in range(8))
    assert plugins["copy8"]["state"] == "refused"
    assert plugins["copy8"]["reason"].startswith("there are 8 plugins of its interface")


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


def only(path: Path, code: str) -> list[str]:
    """The errors in a file, which must all be of one code."""
    errors = [finding for finding in findings(path) if finding["severity"] == "error"]
    assert {finding["code"] for finding in errors} == {code}
    return [str(finding["message"]) for finding in errors]


def device(folder: Path, entries: str, source: str = SOURCE) -> Path:
    return device_image(source + entries, folder / "other.so")


def test_a_table_of_another_length_is_an_error(tmp_path: Path) -> None:
    short = device(tmp_path, "LIBTARGET_GLOBAL(table);\nLIBTARGET_KERNEL(first);\n")
    app = program(tmp_path, short)
    errors = [f for f in findings(app) if f["severity"] == "error"]
    assert [f["code"] for f in errors] == ["OMP105", "OMP106"]
    assert errors[0]["message"] == f"kernel 2 (second) is missing in image 0 ({X86_64})"
    assert str(errors[1]["message"]).startswith(
        f"the host lists 3 entries, and image 0 ({X86_64}) has 2: without names they pair by place"
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


def test_an_unsupported_entry_keeps_its_place(tmp_path: Path) -> None:
    entries = ENTRIES.replace("LIBTARGET_KERNEL(first)", "LIBTARGET_ENTRY(0, 0)")
    app = program(tmp_path, device(tmp_path, entries))
    assert only(app, "OMP105") == [f"kernel 1 (first) is missing in image 0 ({X86_64})"]
    assert under_run(app, "--mandatory").stdout == "0 2\n"


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
    """Nothing else tells: without symbols the file is as sound as any."""
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


def test_entries_of_another_abi_on_libtargets_registration_are_an_error(tmp_path: Path) -> None:
    """Clang's references have no version: they go to the first library that has the name."""
    runtime = (f"-L{libdir()}", "-Wl,--no-as-needed", "-ltarget")
    flags = ("-fopenmp", f"-fopenmp-targets={X86_64}")
    app = compile_c(OPENMP, tmp_path / "app", *flags, *runtime, compiler=CLANG)
    messages = [str(f["message"]) for f in findings(app) if f["code"] == "OMP101"]
    assert any("is libtarget.so's" in message for message in messages)
    first = (f"-L{libdir()}", "-Wl,--no-as-needed", "-lomptarget", "-ltarget")
    sound = compile_c(OPENMP, tmp_path / "sound", *flags, *first, compiler=CLANG)
    assert "OMP101" not in {f["code"] for f in findings(sound)}
    assert under_run(sound, "--mandatory").returncode == 0


# ---- bundle and emit ----


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
    assert "huge of 3000000000 bytes: proposal counts in int" in done.stderr


def test_entries_are_compared_and_located_by_their_symbols(tmp_path: Path, image: Path) -> None:
    before = program(tmp_path, image)
    swapped = "LIBTARGET_GLOBAL(table);\nLIBTARGET_KERNEL(second);\nLIBTARGET_KERNEL(first);\n"
    (tmp_path / "after").mkdir()
    after = program(tmp_path / "after", image, source=SOURCE + swapped + MAIN)
    changed = omptool("dump", "--against", before, after)
    assert changed.exit_code == 1, changed.output
    assert changed.stdout == "+ entry kernel second\n- entry kernel second\n"
    (entry,) = (one for one in dumped(before)["entries"] if one["symbol"] == "second")
    located = omptool("dump", "--address", f"{entry['address']:#x}", before)
    assert located.exit_code == 0, located.output
    assert "second" in located.stdout


# ---- doctor ----


def diagnosed(path: Path, **environment: str) -> tuple[int, dict[str, Any]]:
    done = started(path, OMPTOOL, "doctor", "--json", **environment)
    return done.returncode, json.loads(done.stdout)


def test_doctor_predicts_what_happens_to_a_program_of_2013(
    tmp_path: Path, image: Path, old_plugin: Path
) -> None:
    app = program(tmp_path, image)
    only_old = {"OMPTOOL_PLUGIN_PATH": str(old_plugin), "OMPTOOL_PLUGINS": "proposal_cpu"}
    for environment, plugin in (({}, "host"), (only_old, "proposal_cpu")):
        code, said = diagnosed(app, **environment)
        assert code == 0, said
        assert {entry["runs_on"] for entry in said["entries"]} == {f"device 0 ({plugin})"}
    named = compile_c(OPENMP, tmp_path / "clang", "-fopenmp", f"-fopenmp-targets={X86_64}",
                      compiler=CLANG)  # fmt: skip
    code, said = diagnosed(named, **only_old)
    assert code == 1
    assert "whose entries have no names" in said["images"][0]["rule"]


def test_doctor_knows_which_tables_the_runtime_refuses(tmp_path: Path) -> None:
    short = device(tmp_path, "LIBTARGET_GLOBAL(table);\nLIBTARGET_KERNEL(first);\n")
    code, said = diagnosed(program(tmp_path, short))
    assert code == 1
    assert {entry["runs_on"] for entry in said["entries"]} == {"host"}
    assert "the host lists 3 entries, image 0 2" in said["entries"][0]["reason"]
    smaller = device(tmp_path, ENTRIES, SOURCE.replace("long table[4]", "int table[4]"))
    code, said = diagnosed(program(tmp_path, smaller))
    assert code == 1
    assert said["entries"][2]["reason"] == "image 0 has another size for entry 0 (table)"
