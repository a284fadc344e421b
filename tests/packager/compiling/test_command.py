# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parse a compiler's command line: sources, kind of result, and the words of each step."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from fixture_programs import NVPTX, X86_64

from packager.compiling.command import CompileCommand, parse
from packager.compiling.compilers import Compiler
from packager.compiling.targets import Target, expect_able, offloading, targets
from packager.errors import UsageError

AMDGCN = "amdgcn-amd-amdhsa"


def default(is_cxx: bool) -> Compiler:
    return Compiler(("default++" if is_cxx else "default",))


def default_fortran() -> Compiler:
    return Compiler(("flang",))


def parsed(text: str, compiler: str = "cc") -> CompileCommand:
    return parse(shlex.split(text), shlex.split(compiler), default, default_fortran)


@pytest.mark.parametrize(
    ("text", "end", "sources"),
    [
        ("-c a.c -o a.o", "object", ["a.c"]),
        ("-O2 a.c b.cpp c.o -lm -o app", "program", ["a.c", "b.cpp"]),
        ("a.o b.a libc.so.6 -o app", "program", []),
        ("-I a.c -include b.c c.cc", "program", ["c.cc"]),
        ("-MD -MF a.c -MT b.c -Xclang d.c -mllvm e.c f.c -c", "object", ["f.c"]),
        ("-Xopenmp-target=nvptx64 a.c -Xopenmp-target b.c -c d.c", "object", ["d.c"]),
        ("-x c one two -x none three.o", "program", ["one", "two"]),
        ("-xc++ one", "program", ["one"]),
        ("-x c - -c -o a.o", "object", ["-"]),
        ("-E a.c", "text", ["a.c"]),
        ("-S a.c -o a.s", "code", ["a.c"]),
        ("-fsyntax-only a.c", "code", ["a.c"]),
        ("-M a.c", "text", ["a.c"]),
        ("-x c++-header -c a.h b", "text", []),
        ("-c a.h", "text", []),
        ("-c a.o", "object", []),
        ("-iframework a.c -Xarch_host b.c -c d.c", "object", ["d.c"]),
        ("-Xlinker -c a.c -o app", "program", ["a.c"]),
        ("-dumpdir x a.c", "program", ["a.c"]),
        ("-E a.F90", "text", []),
        ("-dM -E -", "text", ["-"]),
        ("--version", "other", []),
        ("-v", "other", []),
        ("-print-file-name=libm.a", "other", []),
    ],
)
def test_sources_and_end(text: str, end: str, sources: list[str]) -> None:
    command = parsed(text)
    assert command.end == end
    assert [str(item.path) for item in command.of_kind("source")] == sources


def test_a_source_is_compiled_without_the_links_words() -> None:
    command = parsed("-O2 -L lib -Wl,-z,now a.c -shared -lm -Xlinker -s -DX=1 b.o -o app -MD -MF d")
    assert command.compiling() == ["-O2", "-DX=1", "-MD", "-MF", "d"]
    assert command.compiling(device=True) == ["-O2", "-DX=1"]
    assert command.linking([Path("made.o")]) == [
        *("cc", "-O2", "-L", "lib", "-Wl,-z,now", "made.o", "-shared", "-lm"),
        *("-Xlinker", "-s", "-DX=1", "b.o", "-o", "app"),
    ]


def test_an_objects_own_words_stay() -> None:
    command = parsed("-c -oa.o -L. -MMD a.c -fPIC")
    assert command.compiling() == ["-L.", "-MMD", "-fPIC"]
    assert command.output == Path("a.o")


def test_what_only_objects_need_is_not_linked() -> None:
    words = parsed("-Wa,-n -Xassembler -n -idirafter .. -iquote lib a.c -o app").linking(
        [Path("o")]
    )
    assert words == ["cc", "o", "-o", "app"]


def test_long_names_are_the_short_ones() -> None:
    command = parsed("--compile --output=b.o -- a.c")
    assert (command.end, command.output) == ("object", Path("b.o"))
    assert command.words == ("-c", "-o", "b.o", "a.c")
    assert parsed("--output b a.c").output == Path("b")
    assert parsed("--assemble a.c").end == "code"


def test_rules_that_pass_by_the_driver_are_its_own() -> None:
    assert parsed("-Wp,-MMD,a,b.d -c a.c").compiling() == ["-MMD", "-MF", "a,b.d"]
    assert parsed("-Wp,-MD,a.d -c a.c").compiling(device=True) == []


@pytest.mark.parametrize("text", ["-c a.f77", "a.c b.cu -o app", "-x hip a -c"])
def test_other_languages_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is not C, C\\+\\+ or Fortran: make an object of it"):
        parsed(text)


@pytest.mark.parametrize(
    ("text", "compiler", "of_fortran", "of_c"),
    [
        ("a.f90 -o app", "", "flang", "flang"),
        ("-x f95 a -c", "", "flang", "flang"),
        ("a.f90 b.c", "", "flang", "default"),
        ("a.f90 b.cpp", "env A=1 mpifort", "env A=1 mpifort", "default++"),
        ("a.F90 b.c", "clang-22", "flang", "clang-22"),
        ("a.f", "flang-new-19", "flang-new-19", "flang-new-19"),
        ("a.o -o app", "flang-22", "flang-22", "flang-22"),
        ("a.c", "clang-22", "", "clang-22"),
    ],
)
def test_who_compiles_fortran(text: str, compiler: str, of_fortran: str, of_c: str) -> None:
    command = parsed(text, compiler)
    assert " ".join(command.fortran) == of_fortran
    assert " ".join(command.compiler) == of_c


def test_fortran_links_what_it_compiles() -> None:
    command = parsed("-J mods -module-dir x a.f90 b.c -lm -o app")
    assert [str(item.path) for item in command.of_kind("fortran")] == ["a.f90"]
    words = command.linking([Path("1.o"), Path("2.o")])
    assert words == ["flang", "-J", "mods", "-module-dir", "x", *words[5:]]
    assert words[5:] == ["1.o", "2.o", "-lm", "-o", "app"]


def test_one_command_cannot_show_code_of_two_languages() -> None:
    with pytest.raises(UsageError, match="is Fortran beside another language"):
        parsed("-S a.f90 b.c")


def test_processors_name_their_triples() -> None:
    command = parsed("--offload-arch=sm_90,gfx90a:xnack+ a.c")
    assert command.triples == ("nvptx64-nvidia-cuda:sm_90", "amdgcn-amd-amdhsa:gfx90a:xnack+")
    assert command.words == ("a.c",)
    both = parsed("-fopenmp-targets=nvptx64 --offload-arch=sm_90 a.c")
    assert (both.triples, both.words) == (("nvptx64",), ("--offload-arch=sm_90", "a.c"))
    with pytest.raises(UsageError, match="the triple of --offload-arch=native is unknown"):
        parsed("--offload-arch=native a.c")


@pytest.mark.parametrize("text", ["--target=aarch64-linux-gnu", "-target aarch64-linux-gnu"])
def test_the_host_may_be_another_machine(text: str) -> None:
    assert parsed(f"--target=x86_64 {text} a.c").host == "aarch64-linux-gnu"


def test_languages_are_not_those_of_objects() -> None:
    assert parsed("-x c one -o app").linking([Path("1.o")]) == ["cc", "1.o", "-o", "app"]


@pytest.mark.parametrize(
    ("text", "compiler", "words"),
    [
        ("cat -c a.c", ["cat"], ["-c", "a.c"]),
        ("env A=b nice cat a.o", ["env", "A=b", "nice", "cat"], ["a.o"]),
        ("-c a.c", ["default"], ["-c", "a.c"]),
        ("a.c -c", ["default"], ["a.c", "-c"]),
        ("a.c b.cpp", ["default++"], ["a.c", "b.cpp"]),
        ("/no/such/compiler a.c", ["default"], ["/no/such/compiler", "a.c"]),
    ],
)
def test_the_first_word_may_be_the_compiler(
    text: str, compiler: list[str], words: list[str]
) -> None:
    command = parsed(text, "")
    assert list(command.compiler) == compiler
    assert list(command.words) == words


@pytest.mark.parametrize(
    ("options", "level"),
    [("", 2), ("-O", 1), ("-O0", 0), ("-O3 -Og", 1), ("-Os", 2), ("-Ofast", 3), ("-O9", 3)],
)
def test_how_much_is_optimised(options: str, level: int) -> None:
    assert parsed(f"{options} a.c").level == level


def test_response_files_are_opened(tmp_path: Path) -> None:
    (tmp_path / "words").write_text("-c 'a b.c'")
    assert parsed(f"@{tmp_path}/words").of_kind("source")[0].path == Path("a b.c")


def test_one_object_cannot_be_made_of_two_sources() -> None:
    with pytest.raises(UsageError, match="one object, and there are several sources"):
        parsed("-c a.c b.c -o a.o")


def test_one_entry_cannot_be_of_two_sources() -> None:
    with pytest.raises(UsageError, match="-MJ is a file for one source"):
        parsed("-c a.c b.c -MJ a.json")


def test_words_for_ptxas() -> None:
    found = parsed("-Xcuda-ptxas -v -O2 -Xcuda-ptxas -maxrregcount=32 a.c -Xclang -O3")
    assert found.ptxas == ("-v", "-maxrregcount=32")
    assert not found.is_shown


def test_targets_are_told_to_clang() -> None:
    found = targets(["x86_64", "nvptx64:sm_80", "nvptx64:sm_90"], [])
    assert [target.triple for target in found] == ["x86_64-pc-linux-gnu", "nvptx64-nvidia-cuda"]
    assert offloading(found) == [
        *("-fopenmp", "-fopenmp-targets=x86_64-pc-linux-gnu,nvptx64-nvidia-cuda"),
        *("-Xopenmp-target=nvptx64-nvidia-cuda", "--offload-arch=sm_80,sm_90"),
        "-Wno-unused-command-line-argument",
        *("-foffload-lto", "-nogpulib"),
    ]
    assert "-foffload-lto" not in offloading(found[:1])


@pytest.mark.parametrize(
    ("host", "triple", "own", "called"),
    [
        (17, X86_64, 16, ""),
        (18, X86_64, 17, ""),
        (18, X86_64, 22, ""),
        (22, X86_64, 23, ""),
        (23, X86_64, 18, ""),
        (17, X86_64, 18, "17 or older"),
        (18, X86_64, 23, "22 or older"),
        (19, X86_64, 17, "18 or later"),
        (23, X86_64, 17, "18 or later"),
        (17, NVPTX, 23, ""),
        (23, NVPTX, 16, ""),
        (22, AMDGCN, 18, ""),
        (22, AMDGCN, 23, "18 to 22"),
        (23, AMDGCN, 22, "23 or later"),
    ],
)
def test_kernels_are_such_as_the_host_calls(host: int, triple: str, own: int, called: str) -> None:
    target = Target(triple, (), ("sh", "-c", f"echo clang version {own}.0.0"))
    if not called:
        return expect_able(host, target)
    words = rf"is clang {own}: a program of clang {host} calls kernels of clang {called} only"
    with pytest.raises(UsageError, match=words):
        expect_able(host, target)


def test_a_triple_may_have_its_own_compiler() -> None:
    assert targets(["x86_64", "amdgcn:gfx90a"], ["amdgcn=ccache 'my clang'"])[1] == Target(
        "amdgcn-amd-amdhsa", ("gfx90a",), ("ccache", "my clang")
    )


@pytest.mark.parametrize(
    ("named", "compilers", "message"),
    [
        (["x86_64:"], [], "'x86_64:' is not TRIPLE[:ARCH]"),
        ([""], [], "'' is not TRIPLE[:ARCH]"),
        (["nvptx64:sm_80", "nvptx64:sm_80"], [], "nvptx64:sm_80 is named twice"),
        (["x86_64"], ["clang"], "'clang' is not TRIPLE=COMPILER"),
        (["x86_64"], ["x86_64=my 'clang"], "is not a command: no closing quotation"),
        (["x86_64"], ["amdgcn=clang"], "amdgcn-amd-amdhsa, which no --triple names"),
    ],
)
def test_wrong_targets_are_named(named: list[str], compilers: list[str], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        targets(named, compilers)
    assert message in str(caught.value)
