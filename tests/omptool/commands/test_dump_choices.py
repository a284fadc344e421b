# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`omptool dump --summary`, and which images and kernels it shows, in which order and how wide."""

from __future__ import annotations

import shutil
import sys
from os import terminal_size
from pathlib import Path

import pytest
from documents import document, dumped_files, summarised
from places import DATA
from toolchain import compile_c, omptool

from packager.naming import demangle

CUDA = "nvptx64-nvidia-cuda"
MANGLED = "_Z5scaleIfEvPT_S0_i"
PLAIN = "void scale<float>(float*, float, int)"
PTX = f""".version 7.0
.target sm_70
.address_size 64
.visible .entry {MANGLED}() {{ ret; }}
.visible .entry other() {{ ret; }}
"""


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Provide an object with two fat binaries: sm_80, sm_90a and PTX; sm_80 and PTX, compressed."""
    names = [DATA / "none.fatbin", DATA / "zstd.fatbin"]
    included = "".join(f' .balign 8; .incbin \\"{name}\\";' for name in names)
    source = f'__asm__(".pushsection .nv_fatbin,\\"a\\";{included} .popsection");\nint x;'
    return compile_c(source, tmp_path_factory.mktemp("choices") / "two.o", "-c")


@pytest.fixture(scope="module")
def ptx(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Provide an image with a C++ name."""
    path = tmp_path_factory.mktemp("names") / "image.ptx"
    path.write_text(PTX)
    return path


def shown(*arguments: object) -> str:
    result = omptool("dump", *arguments)
    assert result.exit_code == 0, result.output
    return str(result.stdout)


def test_sums(two: Path) -> None:
    (file,) = summarised(two)
    (images,) = (one["images"] for one in dumped_files(two))
    assert file["size"] == two.stat().st_size
    targets = [(t["arch"], t["kind"], t["images"], t["kernels"]) for t in file["targets"]]
    assert targets == [("sm_80", "cubin", 2, 2), ("sm_90", "ptx", 2, 2), ("sm_90a", "cubin", 1, 1)]
    for column in ("images", "kernels", "stored", "inflated"):
        assert file["total"][column] == sum(target[column] for target in file["targets"])
        assert file["total"][column] == sum(one[column] for one in file["containers"])
    assert file["total"]["inflated"] == sum(image["size"] for image in images)
    stored = sum(image["stored_size"] or image["size"] for image in images)
    assert file["total"]["stored"] == stored
    assert [one["indices"] for one in file["containers"]] == [[0, 1, 2], [3, 4]]
    data = two.read_bytes()
    assert all(data[one["offset"] :].startswith(b"\x50\xed\x55\xba") for one in file["containers"])


def test_which_gpus_run_it(two: Path) -> None:
    (file,) = summarised(two)
    fates = {gpu: (one["runs"], one["covered"]) for one in file["gpus"] for gpu in one["gpus"]}
    assert fates["sm_75"] == ("not at all", 0)
    assert fates["sm_86"] == ("natively", 2)
    assert fates["sm_90"] == ("by JIT", 2)
    assert fates["sm_100"] == ("by JIT", 2)
    assert {one["containers"] for one in file["gpus"]} == {2}
    (part,) = summarised("--arch", "sm_90a", two)
    fates = {gpu: (one["runs"], one["covered"]) for one in part["gpus"] for gpu in one["gpus"]}
    assert fates["sm_90"] == ("natively", 1)
    assert fates["sm_100"] == ("not at all", 0)


def test_sums_for_people(two: Path) -> None:
    text = shown("--summary", two)
    (total,) = (line for line in text.splitlines() if line.startswith("total"))
    assert total.split()[3:5] == ["5", "5"]
    assert total.endswith(" %")
    assert text.count("cuda-fatbin") == 2
    assert "Hopper" in text
    assert "containers:" not in shown("--summary", DATA / "none.fatbin")


@pytest.mark.parametrize(
    ("options", "indices"),
    [
        (("--arch", "sm_90a"), [1]),
        (("--kind", "ptx"), [2, 4]),
        (("--kind", "ptx", "--kind", "cubin", "--arch", "sm_80"), [0, 3]),
        (("--triple", "nvptx64"), [0, 1, 2, 3, 4]),
        (("--kernel", "f*st"), [0, 1, 2, 3, 4]),
    ],
)
def test_some_images(two: Path, options: tuple[str, ...], indices: list[int]) -> None:
    (file,) = dumped_files(*options, two)
    assert [image["index"] for image in file["images"]] == indices
    assert [one["images"] for one in file["kernels"]] == ([indices] if indices else [])


TRIPLES = "the triples are nvptx64-nvidia-cuda"


@pytest.mark.parametrize("shown", [(), ("--json",), ("--summary",), ("--kernels",)])
@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            ("--triple", "nvtpx64"),
            f"no image has the triple nvtpx64 (did you mean {CUDA}?); {TRIPLES}",
        ),
        (
            ("--triple", "x86_64"),
            f"no image has the triple x86_64-pc-linux-gnu; {TRIPLES}",
        ),
        (
            ("--arch", "sm80"),
            "no image has the arch sm80 (did you mean sm_80?); the archs are sm_80, sm_90a, sm_90",
        ),
        (("--kind", "spirv"), "no image has the kind spirv; the kinds are cubin, ptx"),
        (
            ("--kernel", "frist"),
            "no kernel is called frist (did you mean first?); the kernels are first",
        ),
        (
            ("--kind", "ptx", "--arch", "sm_80"),
            (
                f"no image meets all conditions; the images are {CUDA} sm_80 (cubin), "
                f"{CUDA} sm_90a (cubin), {CUDA} sm_90 (ptx)"
            ),
        ),
    ],
)
def test_what_no_image_is_is_an_error_that_names_those_there_are(
    two: Path, shown: tuple[str, ...], options: tuple[str, ...], said: str
) -> None:
    result = omptool("dump", *shown, *options, two)
    assert result.exit_code == 1
    assert result.stderr == f"Error: {said}\n"


def test_one_of_two_choices_that_no_image_is_is_a_warning(two: Path) -> None:
    result = omptool("dump", "--triple", CUDA, "--triple", "nvtpx64", two)
    assert result.exit_code == 0
    assert result.stderr.startswith("Warning: no image has the triple nvtpx64 (did you mean ")


def test_nothing_to_choose_from_is_no_wrong_choice(two: Path, tmp_path: Path) -> None:
    plain = compile_c("int x;", tmp_path / "plain.o", "-c")
    result = omptool("dump", "--triple", "nvtpx64", plain)
    assert (result.exit_code, result.stderr) == (0, "")
    assert omptool("dump", "--kernel", "first", plain, two).exit_code == 0


def test_a_choice_that_neither_build_has_is_no_absence_of_change(two: Path) -> None:
    result = omptool("dump", "--against", two, "--triple", "nvtpx64", two)
    assert result.exit_code == 1
    assert result.stderr.startswith("Error: no image has the triple nvtpx64 (did you mean ")


def test_states_of_some_images() -> None:
    result = omptool("dump", "--triple", "no triple", DATA / "none.fatbin")
    assert result.exit_code == 2
    assert "'no triple' is not a target triple" in result.stderr


def test_each_kernel_once(two: Path) -> None:
    text = shown("--kernels", two)
    (row,) = (line for line in text.splitlines() if "first" in line)
    assert "sm_80,90a; ptx sm_90" in row
    assert "0-4" in row


@pytest.mark.parametrize("column", ["size", "stored", "arch", "registers", "name"])
def test_orders(two: Path, column: str) -> None:
    (file,) = dumped_files(two)
    keys = {
        "size": lambda image: -image["size"],
        "stored": lambda image: -(image["stored_size"] or image["size"]),
        "arch": lambda image: image["arch"],
    }
    expected = sorted(file["images"], key=keys.get(column, lambda image: image["index"]))
    lines = shown("--images", "--sort", column, two).splitlines()[4:]
    assert [int(line.split()[0]) for line in lines] == [image["index"] for image in expected]


def test_kernels_in_order(ptx: Path) -> None:
    lines = shown("--kernels", ptx, "--sort", "name").splitlines()
    assert lines[-2].startswith("other")
    assert lines[-1].startswith(PLAIN)


def test_names_as_people_write_them(ptx: Path) -> None:
    assert PLAIN in shown("--kernels", ptx)
    raw = shown("--kernels", "--no-demangle", ptx)
    assert MANGLED in raw
    assert PLAIN not in raw
    wide = shown("--kernels", "--wide", ptx)
    assert PLAIN in wide
    assert MANGLED in wide
    (file,) = dumped_files(ptx)
    names = [(one["name"], one["demangled"]) for one in file["kernels"]]
    assert names == [(MANGLED, PLAIN), ("other", None)]
    for pattern in ("scale<float>", "scale*float*, int", "_Z5scale"):
        (file,) = dumped_files("--kernel", pattern, ptx)
        assert [one["name"] for one in file["kernels"]] == [MANGLED]


def test_names_that_nothing_demangles(ptx: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demangle, "LIBRARY", "libstdc++.so.0")
    demangle._demangler.cache_clear()
    demangle.demangled.cache_clear()
    text = shown("--kernels", ptx)
    monkeypatch.undo()
    demangle._demangler.cache_clear()
    demangle.demangled.cache_clear()
    assert MANGLED in text
    assert "names are mangled: libstdc++.so.6 is not found" in text
    assert demangle.demangled("_Zno name") == "_Zno name"


def test_a_terminal_is_not_too_narrow(ptx: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from omptool.render import dump

    monkeypatch.setattr(dump, "terminal_width", lambda: 33)
    lines = shown("--kernels", ptx).splitlines()
    assert any("…" in line for line in lines)
    assert max(map(len, lines[1:])) <= 33
    assert PLAIN in shown("--kernels", "--wide", ptx)


def test_the_width_is_the_terminals(monkeypatch: pytest.MonkeyPatch) -> None:
    from omptool.render.names import terminal_width

    assert terminal_width() is None or sys.stdout.isatty()
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setattr(shutil, "get_terminal_size", lambda: terminal_size((71, 20)))
    assert terminal_width() == 71


def test_extract_takes_kernels_too(ptx: Path, tmp_path: Path) -> None:
    result = omptool("extract", ptx, "--kernel", "scale<", "--json", "-o", tmp_path)
    (image,) = document("extract", result.stdout)["images"]
    assert MANGLED in image["kernels"]
    assert omptool("extract", ptx, "--kernel", "absent", "-o", tmp_path).exit_code == 1


def test_one_kind_of_question(two: Path) -> None:
    for words in (
        ("--summary", "--images"),
        ("--summary", "--wide"),
        ("--json", "--sort", "size"),
        ("--address", "1", "--arch", "sm_80"),
        ("--against", str(two), "--summary"),
    ):
        assert omptool("dump", *words, two).exit_code == 2


def test_a_file_without_images(tmp_path: Path) -> None:
    plain = compile_c("int x;", tmp_path / "plain.o", "-c")
    assert "no device images" in shown("--summary", plain)
    (file,) = summarised(plain)
    assert (file["total"]["images"], file["containers"], file["gpus"]) == (0, [], [])
