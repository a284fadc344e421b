# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bitcode of several files is joined to one image, with clang's own device library."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from clangs import INSTALLED, UNPACKED_SNAPSHOTS, libraries, made, runtime, tool
from fixture_programs import NVPTX, X86_64, call
from machine import lacks
from nvptx import registered
from places import TESTS
from ptx_assembler import assembles
from running import MANDATORY, run
from toolchain import omptool

from packager.elf import headers
from packager.errors import FormatError, MissingToolError, PackagerError, UsageError
from packager.files.reader import open_reader
from packager.generations import of_release
from packager.hosts.load import load
from packager.linking import bitcode
from packager.linking.bitcode import BitcodeInput, Joined, join
from packager.lowering.joining.child import started
from packager.lowering.libdevice import libdevice
from packager.lowering.lower import Target
from packager.lowering.request import SourceError

SOURCES = TESTS / "support" / "sources"
STAND_IN = TESTS / "packager" / "linking" / "sources" / "device_library_stand_in.c"
REGIONS, OTHER = "device_link_regions", "device_link_other"
GPU = "sm_90"
VERSIONS = ("16", INSTALLED)
# Other releases than the distribution's with device libraries here.
OTHERS = ("20", "22")
# Options of `-foffload-lto` on a machine without a CUDA toolkit.
AMDGCN, AMD = "amdgcn-amd-amdhsa", ("-nogpulib", "-Xopenmp-target", "-march=gfx90a:xnack+")
DEVICE = ("-foffload-lto", "--offload-device-only", "-emit-llvm", "-c")
NO_CUDA = ("-nogpulib", "--cuda-path=/nowhere", "-Xopenmp-target", f"-march={GPU}")


def compiled(
    folder: Path, source: str, *flags: str, version: str = INSTALLED, triple: str = NVPTX
) -> BitcodeInput:
    """Compile a source to device bitcode."""
    own = {NVPTX: [*NO_CUDA], AMDGCN: [*AMD]}.get(triple, [])
    if triple == NVPTX and version in ("22", "23"):  # they would take a PTX that has no sm_90
        own.append("--cuda-feature=+ptx78")
    clang = [*tool(version), "-O2", "-fopenmp", f"-fopenmp-targets={triple}", *DEVICE, *own, *flags]
    out = made(folder / f"{source}-{version}-{triple}.bc", *clang, SOURCES / f"{source}.c")
    return BitcodeInput(out, f"{source}.o")


def both(folder: Path, version: str = INSTALLED, triple: str = NVPTX) -> list[BitcodeInput]:
    """Compile the two files of the program."""
    other = compiled(folder, OTHER, "-DFACTOR=2", version=version, triple=triple)
    return [compiled(folder, REGIONS, version=version, triple=triple), other]


def joined(
    modules: Sequence[BitcodeInput], out: Path, *device_libs: Path, version: str = INSTALLED
) -> Joined:
    """Join modules to PTX."""
    others = version in OTHERS
    folder = runtime(version) if others else Path(libraries(version).split(":")[-1])
    return join(modules, Target(NVPTX, GPU), device_libs, out, search=(folder,))


def text_module(folder: Path, name: str, text: str, triple: str = NVPTX) -> BitcodeInput:
    """Write a module of IR by hand."""
    path = folder / f"{name}.ll"
    path.write_text(f'target triple = "{triple}"\n{text}\n')
    return BitcodeInput(path, f"{name}.o")


KERNEL = "define weak_odr protected ptx_kernel void @__omp_offloading_1_2_k_l3(ptr %p) {{\n{}\n}}"
PLAIN = KERNEL.format("store i32 1, ptr %p\nret void")


def test_a_library_does_not_name_its_compiler(tmp_path: Path) -> None:
    """An image for a CPU would have the library's compiler, and its convention for kernels."""
    ident = '!llvm.ident = !{{!0, !1}}\n!0 = !{{!"clang version {}"}}\n!1 = !{{!"of a tool"}}'
    kernel = "declare i32 @helper(i32)\ndefine void @__omp_offloading_1_2_k_l3(ptr %p) {\n"
    kernel += "%one = call i32 @helper(i32 1)\nstore i32 %one, ptr %p\nret void\n}\n"
    helper = "define i32 @helper(i32 %n) {\nret i32 %n\n}\n"
    module = text_module(tmp_path, "kernel", kernel + ident.format("22.1.8"), X86_64)
    library = text_module(tmp_path, "helper", helper + ident.format("16.0.6"), X86_64)
    found = join([module], Target(X86_64, ""), [library.path], tmp_path / "image")
    assert found.libraries == (str(library.path),)
    with open_reader(found.path) as data:
        elf = headers.read(data)
        (comment,) = (one for one in elf.sections if one.name == ".comment")
        said = elf.content(comment).bytes()
    assert b"clang version 22.1.8" in said
    assert b"clang version 16" not in said


@pytest.mark.slow
@pytest.mark.parametrize("version", [*VERSIONS, *OTHERS])
def test_two_files_become_ptx(
    tmp_path: Path, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    modules = both(tmp_path, version)
    with monkeypatch.context() as without_tools:
        without_tools.setenv("PATH", "/nowhere")
        found = joined(modules, tmp_path / "out.ptx", version=version)
    assert (found.kind, found.arch, found.notes) == ("ptx", GPU, ())
    processor = "" if version in OTHERS else f"-{GPU}"
    assert [Path(name).name for name in found.libraries] == [f"libomptarget-nvptx{processor}.bc"]
    text = found.path.read_text()
    assert [name.split("_")[-2] for name in re.findall(r"\.entry (\w+)", text)] == ["saxpy", "sum"]
    assert re.search(r"^\.visible \.global .* offset = ", text, re.MULTILINE)
    externs = re.findall(r"^\.extern \.func.* (\w+)$", text, re.MULTILINE)
    assert set(externs) <= {"malloc", "free", "vprintf", "__assertfail"}
    assert "__kmpc" not in " ".join(found.exports)
    assert assembles(found.path, GPU)
    expect_whole(found, version)


def expect_whole(found: Joined, version: str) -> None:
    """Check that `verify` finds no error in the image, bundled with the host's object."""
    host, bundled = (found.path.with_name(name) for name in ("host.o", "bundled.o"))
    alone = ("-fopenmp", f"-fopenmp-targets={NVPTX}", "--offload-host-only", "-c")
    call(*tool(version), *alone, SOURCES / f"{REGIONS}.c", "-o", host)
    wrapped = ("--image", f"nvptx64:{GPU}={found.path}", "--abi", of_release(int(version)).name)
    assert omptool("bundle", host, *wrapped, "-o", bundled).exit_code == 0
    verified = omptool("verify", bundled)
    assert (verified.exit_code, verified.stdout.count("error")) == (0, 0)
    assert f"ptx   nvptx64-nvidia-cuda  {GPU}" in omptool("dump", bundled).stdout


@pytest.mark.slow
def test_files_become_a_code_object(tmp_path: Path) -> None:
    module, other = both(tmp_path, triple=AMDGCN)
    if not any(shutil.which(name) for name in ("ld.lld", "ld.lld-19")):
        lacks("no ld.lld is here")
    out = tmp_path / "image"
    found = join([module, other], Target(AMDGCN, "gfx90a:xnack+"), (), out)
    assert (found.kind, found.arch) == ("amdgcn", "gfx90a:xnack+")
    (image,) = load(out).images
    assert image.contents.arch == "gfx90a:xnack+"
    kernels = [s.name.split("_")[-2] for s in image.contents.symbols if s.kind == "kernel"]
    assert sorted(kernels) == ["saxpy", "sum"]  # by names, which have the inodes of the sources
    with pytest.raises(SourceError, match="is for amdgcn-amd-amdhsa, not for nvptx64-nvidia-cuda"):
        joined([module], out)


@pytest.mark.slow
@pytest.mark.offloads
@pytest.mark.parametrize("version", VERSIONS)
def test_files_for_the_cpu_run(tmp_path: Path, version: str) -> None:
    image = join(both(tmp_path, version, X86_64), Target(X86_64), (), tmp_path / "image.so")
    assert image.kind == "elf"
    host = [*tool(version), "-O1", "-fopenmp", f"-fopenmp-targets={X86_64}", "--offload-host-only"]
    for name in (REGIONS, OTHER):
        out = tmp_path / f"{name}.host.o"
        call(*host, "-DFACTOR=2", "-c", SOURCES / f"{name}.c", "-o", out)
    program = tmp_path / "program"
    regions, other = (tmp_path / f"{name}.host.o" for name in (REGIONS, OTHER))
    registered(version, regions, {"": image.path}, program, str(other), triple=X86_64)
    done = run(program, **MANDATORY)
    assert (done.stdout, done.stderr) == ("199 20050\n", "")


@pytest.mark.slow
@pytest.mark.parametrize("triple", [X86_64, AMDGCN])
def test_constructors_are_called_by_arrays(tmp_path: Path, triple: str) -> None:
    lists = "".join(
        f"@llvm.global_{name}s = appending global [1 x {{ i32, ptr, ptr }}] "
        f"[{{ i32, ptr, ptr }} {{ i32 65535, ptr @{name}, ptr null }}]\n"
        f"define internal void @{name}() {{\nstore volatile i32 1, ptr null\nret void\n}}\n"
        for name in ("ctor", "dtor")
    )
    module = text_module(tmp_path, "a", lists, triple)
    cpu = "gfx90a" if triple == AMDGCN else ""
    found = join([module], Target(triple, cpu), (), tmp_path / "out", emit="obj")
    with open_reader(found.path) as data:
        names = {section.name for section in headers.read(data).sections}
    assert {".init_array", ".fini_array"} <= names
    assert (".ctors" in names) == ("amdgcn.device.init" in found.exports) == (triple == AMDGCN)


@pytest.mark.slow
def test_a_processors_own_features_are_named_so(tmp_path: Path) -> None:
    out = tmp_path / "out"
    module = text_module(tmp_path, "a", PLAIN)
    join([module], Target(NVPTX, "sm_90a"), (), out)
    assert ".target sm_90a" in out.read_text()
    join([module], Target(NVPTX, "sm_80", "+ptx83"), (), out)
    assert ".version 8.3\n.target sm_80" in out.read_text()
    join([module], Target(NVPTX, "sm_80"), (), out)
    assert ".version 7.0\n" in out.read_text()  # the first with sm_80


@pytest.mark.slow
def test_one_name_defined_twice_is_named_with_both_files(tmp_path: Path) -> None:
    strong = PLAIN.replace("weak_odr protected ", "")
    modules = [text_module(tmp_path, name, strong) for name in "ab"]
    with pytest.raises(SourceError, match=r"^a\.o and b\.o both define __omp_offloading_1_2_k_l3"):
        joined(modules, tmp_path / "out")


@pytest.mark.slow
def test_different_kernels_under_one_name_are_told(tmp_path: Path) -> None:
    called = "define internal void @f(ptr %p) {{\nstore i32 {}, ptr %p\nret void\n}}\n"
    caller = KERNEL.format("call void @f(ptr %p)\nret void")
    first, same, other = (
        text_module(tmp_path, name, called.format(value) + caller)
        for name, value in (("a", 1), ("b", 1), ("c", 2))
    )
    assert joined([first, same], tmp_path / "out").notes == ()
    (note,) = joined([first, same, other], tmp_path / "out").notes
    assert note.startswith("a.o and c.o have different code for __omp_offloading_1_2_k_l3")


@pytest.mark.slow
def test_what_nothing_defines_is_named_with_who_uses_it(tmp_path: Path) -> None:
    calls = KERNEL.format("call void @nowhere(ptr %p)\ncall ptr @malloc(i64 1)\nret void")
    declared = "declare void @nowhere(ptr)\ndeclare ptr @malloc(i64)\n"
    module = text_module(tmp_path, "a", declared + calls)
    with pytest.raises(UsageError, match=r"^a\.o uses nowhere, which nothing defines"):
        joined([module], tmp_path / "out")
    library = text_module(tmp_path, "library", "define void @nowhere(ptr %p) {\nret void\n}")
    found = joined([module], tmp_path / "out", library.path)
    assert found.libraries == (str(library.path),)
    archive = tmp_path / "library.a"
    more = text_module(tmp_path, "more", "define void @unneeded() {\nret void\n}")
    for file in (library, more):
        subprocess.run([*tool(INSTALLED, "llvm-as"), file.path], check=True)
    members = [tmp_path / "more.bc", tmp_path / "library.bc"]
    subprocess.run([*tool(INSTALLED, "llvm-ar"), "rc", archive, *members], check=True)
    found = joined([module], tmp_path / "out", archive)
    assert found.libraries == (f"{archive}(library.bc)",)
    assert "nowhere" not in found.exports


@pytest.mark.slow
def test_a_library_of_another_release_is_refused(tmp_path: Path) -> None:
    module = compiled(tmp_path, REGIONS, version="16")
    library = Path(libraries(INSTALLED)) / f"libomptarget-nvptx-{GPU}.bc"
    unfit = r"nvptx-sm_90\.bc is clang 19's device library, and does not fit device_link_regions\.o"
    with pytest.raises(UsageError, match=unfit):
        joined([module], tmp_path / "out", library)
    with pytest.raises(MissingToolError, match=r"the device library of clang 16 .* is not here"):
        join([module], Target(NVPTX, GPU), (), tmp_path / "out", search=[library.parent])
    other = compiled(tmp_path, OTHER, "-DFACTOR=2")
    mixed = r"no device library suits both .*regions\.o by clang 16 and .*other\.o by clang 19"
    with pytest.raises(MissingToolError, match=mixed):
        joined([module, other], tmp_path / "out")


@pytest.mark.slow
def test_clang_22_makes_do_with_the_library_of_19(tmp_path: Path) -> None:
    """Debian has no device library of 22."""
    found = join(both(tmp_path, "22"), Target(NVPTX, GPU), (), tmp_path / "out.ptx")
    (note,) = found.notes
    assert note.startswith("no device library of clang 22 is here: /usr/lib/llvm-19/lib/")
    assert assembles(found.path, GPU)


@pytest.mark.slow
@pytest.mark.parametrize("version", ["21", "22"])
def test_the_library_of_20_takes_a_later_ones_place(version: str, tmp_path: Path) -> None:
    """The same library is used if the user names it."""
    library = runtime("20") / "libomptarget-nvptx.bc"
    modules, out = both(tmp_path, version), tmp_path / "out.ptx"
    found = join(modules, Target(NVPTX, GPU), (), out, search=[library.parent])
    what = f"no device library of clang {version} is here: {library}, of clang 20, takes its place"
    assert found.notes == (what,)
    named = join(modules, Target(NVPTX, GPU), [library], out)
    assert (named.libraries, named.notes) == (found.libraries, ())
    assert assembles(out, GPU)


@pytest.mark.slow
def test_no_library_takes_the_place_of_an_older_ones(tmp_path: Path) -> None:
    library = runtime("22") / "libomptarget-nvptx.bc"
    said = r"parallel_51: the given device library .* lacks it$"
    with pytest.raises(MissingToolError, match=said):
        joined(both(tmp_path), tmp_path / "out", library)


@pytest.mark.slow
def test_clang_23_needs_a_library_of_its_own(tmp_path: Path) -> None:
    """The records between kernels and library are others than 22's."""
    modules, out = both(tmp_path, "23"), tmp_path / "out.ptx"
    older = runtime("22") / "libomptarget-nvptx.bc"
    said = (
        r"the device library of clang 23 for nvptx64-nvidia-cuda sm_90 is not here: "
        r"libomptarget-nvptx\.bc or libompdevice\.a is in none of .*runtimes/22/lib, .*; those of "
        r"clang 22 and older do not fit; give it by --device-lib$"
    )
    with pytest.raises(MissingToolError, match=said):
        join(modules, Target(NVPTX, GPU), (), out, search=[older.parent])
    unfit = rf"^{re.escape(str(older))} is clang 22's device library, and does not fit .* clang 23"
    with pytest.raises(UsageError, match=unfit):
        join(modules, Target(NVPTX, GPU), [older], out)
    own = made(
        tmp_path / "libomptarget-nvptx.bc", *tool("23"), "-O1", f"--target={NVPTX}",
        f"-march={GPU}", "-nogpulib", "-emit-llvm", "-c", STAND_IN,
    )  # fmt: skip
    for named, search in (((), [tmp_path]), ([own], ())):
        found = join(modules, Target(NVPTX, GPU), named, out, search=search)
        assert (found.libraries, found.notes) == ((str(own),), ())
    assert re.search(r"saxpy_l\d+_kernel_environment\[5\]", out.read_text())  # words of 8 bytes
    assert assembles(out, GPU)
    expect_whole(found, "23")


@pytest.mark.slow
def test_mathematics_need_libdevice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    body = KERNEL.format(
        "%x = call double @__nv_sin(double 1.0)\nstore double %x, ptr %p\nret void"
    )
    module = text_module(tmp_path, "a", f"declare double @__nv_sin(double)\n{body}")
    if libdevice():
        assert joined([module], tmp_path / "out").libraries == (str(libdevice()),)
    monkeypatch.setattr("packager.linking.device_runtime.libdevice", lambda: None)
    with pytest.raises(MissingToolError, match=r"^a\.o uses __nv_sin: .*libdevice\.10\.bc"):
        joined([module], tmp_path / "out")


BAD: Mapping[str, tuple[str, str]] = {
    "triple": ("", "b.o: its device code is for amdgcn-amd-amdhsa, not for nvptx64-nvidia-cuda"),
    "layout": ('target datalayout = "e-p:32:32"', "b.o: its data layout 'e-p:32:32' is not one of"),
    "text": ("define", "b.o:3:1: "),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", BAD)
def test_a_file_that_cannot_be_joined_is_named(tmp_path: Path, name: str) -> None:
    text, message = BAD[name]
    triple = "amdgcn-amd-amdhsa" if name == "triple" else NVPTX
    modules = [text_module(tmp_path, "a", PLAIN), text_module(tmp_path, "b", text, triple)]
    with pytest.raises(SourceError, match=rf"^{re.escape(message)}"):
        joined(modules, tmp_path / "out")
    assert not (tmp_path / "out").exists()


OLDER_READER = r"LLVM {} wrote its bitcode, and LLVM \d+ of llvmlite reads it"
CURE = "compile it with an older clang, or update llvmlite"


def test_a_reader_that_is_too_old_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = text_module(tmp_path, "a", "of tomorrow", X86_64)
    monkeypatch.setattr(bitcode, "release_of", lambda path: "99" if path == module.path else "")
    said = rf"^a\.o:2:1: {OLDER_READER.format(99)}; {CURE}: expected top-level entity$"
    with pytest.raises(SourceError, match=said):
        join([module], Target(X86_64, ""), (), tmp_path / "out")


@pytest.mark.parametrize("version", UNPACKED_SNAPSHOTS)
def test_bitcode_of_a_snapshot_is_linked_or_named(tmp_path: Path, version: str) -> None:
    """LLVM 22 cannot read how LLVM 24 notes the scopes of aliases."""
    clang, source = tool(version), SOURCES / f"{OTHER}.c"
    flags = ("-O2", "-fopenmp", f"-fopenmp-targets={AMDGCN}", *AMD, "-c", "-DFACTOR=2")
    call(*clang, *flags, source, "-o", tmp_path / "b.o")
    words = (*clang, "-fopenmp", "-shared", tmp_path / "b.o", "-o", tmp_path / "b")
    done = omptool("link", "--", *words)
    if done.exit_code:
        assert done.stderr.count("\n") == 1
        said = OLDER_READER.format(version)
        assert re.search(rf"^Error: \S+b\.o: {said}; {CURE}: .", done.stderr), done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("at", range(4))
def test_damaged_bitcode_is_one_line(tmp_path: Path, at: int) -> None:
    sound = compiled(tmp_path, REGIONS).path.read_bytes()
    damaged = tmp_path / "damaged.bc"
    place = len(sound) * (2 * at + 1) // 8
    flipped = sound[:place] + bytes(b ^ 0xFF for b in sound[place : place + 8]) + sound[place + 8 :]
    damaged.write_bytes(sound[:place] if at == 0 else flipped)
    modules = [BitcodeInput(damaged, "damaged.o"), compiled(tmp_path, OTHER, "-DFACTOR=2")]
    said = "damaged.o"
    try:
        joined(modules, tmp_path / "out")  # a flipped name, or number, may still be a program
    except PackagerError as error:
        said = str(error)
    assert "\n" not in said
    assert "damaged.o" in said or "the joined device code" in said


@pytest.mark.slow
def test_a_worker_may_be_started_before_it_is_asked(tmp_path: Path) -> None:
    started().close()
    module, child = text_module(tmp_path, "a", PLAIN), started()
    join([module], Target(NVPTX, GPU), (), tmp_path / "out", child=child)
    assert "__omp_offloading_1_2_k_l3" in (tmp_path / "out").read_text()


@pytest.mark.slow
def test_an_object_keeps_what_others_may_use(tmp_path: Path) -> None:
    text = "define hidden void @f() {\nret void\n}\ndefine void @g() {\nret void\n}"
    module = text_module(tmp_path, "a", text, X86_64)
    for kept, names in ((None, {"f", "g"}), (["f"], {"f"}), ((), set())):
        found = join([module], Target(X86_64), (), tmp_path / "out.o", emit="obj", kept=kept)
        assert set(found.exports) == names


def test_nothing_to_join(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no module for nvptx64-nvidia-cuda is given"):
        joined([], tmp_path / "out")
    with pytest.raises(UsageError, match="needs the name of a processor"):
        join([BitcodeInput(tmp_path, "a.o")], Target(NVPTX), (), tmp_path / "out")
    with pytest.raises(FormatError, match="No such file"):
        joined([BitcodeInput(tmp_path / "none", "a.o")], tmp_path / "out")


@pytest.mark.offloads
@pytest.mark.parametrize("how", ["", "protected "])
def test_a_kernel_that_only_the_hosts_table_names(how: str, tmp_path: Path) -> None:
    """Rust packages kernels in bitcode without records of entries, under names of its own."""
    source = tmp_path / "k.c"
    source.write_text(
        "int main(void) {\n  int x = 1;\n#pragma omp target map(tofrom : x)\n  x = 0;\n"
        "  return x;\n}\n"
    )
    words = (*tool(INSTALLED), "-O1", "-fopenmp", f"-fopenmp-targets={X86_64}", "-emit-llvm", "-S")
    host, device = (
        made(tmp_path / f"{side}.ll", *words, f"--offload-{side}-only", source).read_text()
        for side in ("host", "device")
    )
    name = re.search(r"__omp_offloading_\w+_main_l3", device)
    assert name
    size = f"[{len(name[0]) + 1} x i8]"
    host, device = (
        text.replace(name[0], "kernel").replace(size, "[7 x i8]") for text in (host, device)
    )
    records = re.compile(r"^@(?:\.offloading\.entry|llvm\.(?:compiler\.)?used).*\n", re.MULTILINE)
    device = re.sub("define weak_odr protected ", f"define {how}", records.sub("", device))
    (tmp_path / "host.ll").write_text(host)
    (tmp_path / "device.ll").write_text(device)
    bitcode = made(tmp_path / "d.bc", *tool(INSTALLED), "-c", "-emit-llvm", tmp_path / "device.ll")
    package = tmp_path / "package"
    image = f"--image=file={bitcode},triple={X86_64},kind=openmp"
    call("clang-offload-packager-19", "-o", package, image)
    embedded = ("-Xclang", f"-fembed-offload-object={package}")
    out = made(tmp_path / "k.o", *tool(INSTALLED), "-c", *embedded, tmp_path / "host.ll")
    app = tmp_path / "app"
    done = omptool("link", "--", *tool(INSTALLED), "-fopenmp", out, "-o", app)
    assert done.exit_code == 0, done.output
    assert run(app, **MANDATORY).returncode == 0
