# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""omptool parses a link command like drivers and linkers."""

from __future__ import annotations

from pathlib import Path

import pytest

from packager.errors import UsageError
from packager.linking.host_command import HostCommand, parse

LD = (
    "ld -m elf_x86_64 -pie -dynamic-linker /lib64/ld.so -o app crt1.o -L/x -L y a.o b.o -lomp -lc "
    "crtn.o"
)


def parsed(line: str) -> HostCommand:
    return parse(line.split())


def names(command: HostCommand) -> list[str]:
    return [str(item.path) for item in command.inputs]


def test_a_linkers_words() -> None:
    command = parsed(LD)
    assert not command.is_driver
    assert names(command) == ["crt1.o", "a.o", "b.o", "crtn.o"]
    assert command.output == Path("app")
    assert command.folders == (Path("/x"), Path("y"))
    assert [library.name for library in command.libraries] == ["omp", "c"]


@pytest.mark.parametrize(
    ("program", "is_driver"),
    [
        ("cc", True), ("clang++-19", True), ("x86_64-linux-gnu-gcc", True), ("ccache g++", True),
        ("env A=b C= ld.lld", False), ("env -i -u X A=b ld", False),
        ("/usr/bin/ld", False), ("ld.lld-19", False), ("x86_64-linux-gnu-ld.gold", False),
        ("mold", False), ("ld64-driver.sh", True),
    ],
)  # fmt: skip
def test_drivers_and_linkers(program: str, is_driver: bool) -> None:
    assert parsed(f"{program} a.o").is_driver == is_driver


def test_words_that_a_driver_passes_on() -> None:
    command = parsed(
        "cc -Wl,--whole-archive,lib.a -Wl,--no-whole-archive -Xlinker -r last.a -o out"
    )
    assert [(str(i.path), i.is_whole) for i in command.inputs] == [
        ("lib.a", True),
        ("last.a", False),
    ]
    assert command.is_relocatable
    assert command.passed("-Map=m") == ("-Xlinker", "-Map=m")


def test_a_value_is_no_input(tmp_path: Path) -> None:
    """An added word must not part an option from its value, be the option known or not."""
    given = tmp_path / "a.o"
    given.touch()
    for words in ("-Xlinker --wrap -Xlinker malloc", "--wondrous malloc", "-Wl,-T -Wl,script"):
        command = parsed(f"cc {words} -Xlinker {given} b.o")
        expected = f"cc {words} -Xlinker {given} w.o b.o"
        assert command.with_words(["w.o"], []) == expected.split()


@pytest.mark.parametrize(
    ("words", "static"),
    [("cc -la -Wl,-Bstatic -lb -l:c.so -Wl,-Bdynamic -ld", "b :c.so"), ("cc -la -static", "a"),
     ("ld -la -static -lb", "b")],
)  # fmt: skip
def test_which_libraries_must_be_static(words: str, static: str) -> None:
    assert [one.name for one in parsed(words).libraries if one.is_static] == static.split()


@pytest.mark.parametrize("sysroot", ["--sysroot=/s", "--sysroot /s", "-Wl,--sysroot,/s"])
def test_folders_in_the_sysroot(sysroot: str) -> None:
    command = parsed(f"cc -L=/a -L /b -L$SYSROOT/c {sysroot} x.o")
    assert command.folders == (Path("/s/a"), Path("/b"), Path("/s/c"))


def test_what_is_added_stands_around_the_inputs() -> None:
    command = parsed(LD)
    words = command.with_words(["w.o"], ["rt.so"])
    assert words[words.index("w.o") - 1] == "crt1.o"
    assert words[words.index("rt.so") - 1] == "crtn.o"
    assert parsed("cc -Xlinker x.a b.o").with_words(["w.o"], ["rt.so"]) == (
        ["cc", "w.o", "-Xlinker", "x.a", "b.o", "rt.so"]
    )


def test_clangs_offloading_options_are_gone() -> None:
    line = "clang -fopenmp -fopenmp-targets=x --offload-arch=sm_90 -Xopenmp-target=x -march=y a.o"
    assert parsed(line).words == ("clang", "-fopenmp", "a.o")


@pytest.mark.parametrize(
    ("words", "has"),
    [("-lomptarget", True), ("/x/libomptarget.so.19.1", True), ("-l:libomptarget.so", True),
     ("-lomptarget.devicertl", False), ("/x/libomptarget.devicertl.host.a", False),
     ("-lomp", False)],
)  # fmt: skip
def test_a_runtime_that_is_named(words: str, has: bool) -> None:
    assert parsed(f"cc a.o {words}").names_runtime == has


def test_response_files_are_opened(tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.write_text("'b c.o' d\\ e.o")
    (tmp_path / "words").write_text(f"a.o\n@{inner} -o 'my app'")
    command = parsed(f"cc @{tmp_path / 'words'} @{tmp_path / 'nowhere'}")
    assert names(command)[:3] == ["a.o", "b c.o", "d e.o"]
    assert command.output == Path("my app")
    assert command.words[-1] == f"@{tmp_path / 'nowhere'}"  # the linker will say so


def test_a_response_file_for_the_linker(tmp_path: Path) -> None:
    """A driver passes such a file on as it is."""
    path = tmp_path / "words"
    path.write_text("a.o -Lx -lk")
    for words in (f"-Wl,@{path},b.o", f"-Xlinker @{path} b.o"):
        command = parsed(f"cc {words}")
        assert names(command) == ["a.o", "b.o"]
        assert [library.name for library in command.libraries] == ["k"]


def test_a_response_file_that_names_itself(tmp_path: Path) -> None:
    path = tmp_path / "words"
    path.write_text(f"@{path}")
    with pytest.raises(UsageError, match="name each other"):
        parsed(f"cc @{path}")
    path.write_text("'a.o")
    with pytest.raises(UsageError, match="cannot be read as a response file"):
        parsed(f"cc @{path}")


def test_sources_are_refused(tmp_path: Path) -> None:
    source = tmp_path / "a.c"
    source.touch()
    with pytest.raises(UsageError, match="is a source: compile it first") as caught:
        parsed(f"cc {source} b.o")
    assert caught.value.subject == source


def test_no_command() -> None:
    with pytest.raises(UsageError, match="no command"):
        parse(())
