# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`run --summary` prints at the end which regions ran, transfers, and fallbacks."""

from __future__ import annotations

import re
import signal
import subprocess
from pathlib import Path

import pytest
from clangs import compiled
from documents import document
from recorder import OBSERVING
from running import omptool_run, run

from packager import load
from packager.naming.region_names import short_names

pytestmark = pytest.mark.offloads


ABORTS = """\
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv) {
  (void)argv;
  double x[10] = {0};
#pragma omp target map(tofrom : x)
  x[0] = 1;
  if (argc > 3)
    _exit(3);
  if (argc > 2) { /* a map of more than is present */
    double *more = malloc(80);
#pragma omp target enter data map(to : more[:5])
#pragma omp target map(tofrom : more[:10])
    more[0] = 1;
  }
  if (argc > 1)
    abort();
}
"""
MANY = 30


def summary(program: Path, option: str = "--summary", **environment: str) -> list[str]:
    """Return the lines that the program leaves on stderr."""
    done = omptool_run(option, program, **environment)
    assert done.returncode == 0, done.stderr
    return done.stderr.splitlines()


def rows(lines: list[str], title: str) -> dict[str, list[str]]:
    """Return the cells of a table's rows, by the first of them."""
    table = lines[lines.index(f"{title}:") + 2 :]
    found = [re.split(r"  +", line.strip()) for line in table if line.startswith("  ")]
    end = next(number for number, cells in enumerate(found) if cells[0] == "total")
    return {cells[0]: cells[1:] for cells in found[: end + 1]}


def aborting(folder: Path) -> Path:
    source = folder / "aborts.c"
    source.write_text(ABORTS)
    return compiled(source, folder)


def many(folder: Path) -> Path:
    """Return a program of C++ whose regions have long names, of which one is not launched."""
    regions = "".join(
        f"""
#pragma omp target map(tofrom : cells[: size])
    for (long i = 0; i < size; ++i) cells[i] += {number};"""
        for number in range(MANY)
    )
    source = folder / "many.cpp"
    source.write_text(
        "namespace solver::multigrid { template <typename Cell, int Order> struct Relaxation {\n"
        f"  void smooth_all_levels(Cell *cells, long size, bool is_last) {{{regions}\n"
        "    if (is_last) {\n"
        "#pragma omp target map(tofrom : cells[: size])\n"
        "      cells[0] = 0; }\n"
        "  } }; }\n"
        "int main(int argc, char **) { static double cells[1000]; static float others[1000];\n"
        "  solver::multigrid::Relaxation<double, 3>{}.smooth_all_levels(cells, 1000, argc > 9);\n"
        "  solver::multigrid::Relaxation<float, 2>{}.smooth_all_levels(others, 1000, false); }\n"
    )
    app = folder / "many"
    flags = ["-fopenmp", "-fopenmp-targets=x86_64-pc-linux-gnu", "-O1", "-std=c++17"]
    subprocess.run(["clang++-19", *flags, source, "-o", app], check=True)
    return app


def test_regions_and_copies(tmp_path: Path) -> None:
    """A region's row has the copies for it, and they are in no other row."""
    lines = summary(compiled(OBSERVING / "traced.c", tmp_path, "-g"))
    assert lines[0] == "Regions:"
    assert lines[1].split()[0] == "region"
    regions = rows(lines, "Regions")
    assert list(regions)[-1] == "total"
    assert (regions["main:6"][3], regions["main:6"][5:]) == ("1", ["16 B", "16 B"])
    assert (regions["main:10"][3], regions["main:10"][5:]) == ("1", ["0 B", "0 B"])
    copies = rows(lines, "Copies")
    assert copies["traced.c:13 target update"][2:] == ["1", "0 B", "16 B"]
    assert copies["omp_target_memcpy (no source line)"][2:] == ["2", "16 B", "16 B"]
    assert not any("traced.c:6" in name for name in copies)
    shares = [float(one["total"][0].rstrip("%")) for one in (regions, copies)]
    assert abs(sum(shares) - 100) < 0.2
    assert float(regions["total"][0].rstrip("%")) == pytest.approx(
        sum(float(regions[name][0].rstrip("%")) for name in ("main:6", "main:10")), abs=0.2
    )


def test_columns_stand_below_each_other(tmp_path: Path) -> None:
    lines = summary(compiled(OBSERVING / "traced.c", tmp_path))
    at = lines.index("Copies:")
    assert len({len(line) for line in lines[1:at]}) == 1
    copies = rows(lines, "Copies")
    assert "target update (no source line)" in copies
    assert not any("main" in name for name in copies)
    assert not any("__tgt" in line for line in lines)


@pytest.mark.parametrize("width", [80, 100, 200])
def test_long_names_fit_the_terminal(tmp_path: Path, width: int) -> None:
    """Names keep their ends, and stay different if there is room; one row has the others."""
    app = many(tmp_path)
    lines = summary(app, COLUMNS=str(width))
    end = next(number for number, line in enumerate(lines) if line.startswith("  total"))
    table = lines[1 : end + 1]
    assert len({len(line) for line in table}) == 1
    assert max(map(len, table)) <= width
    *shown, more, total = [re.split(r"  +", line.strip()) for line in table[1:]]
    assert (more[0], total[0]) == (f"{2 * MANY - 20} more (--summary=all)", "total")
    assert len(shown) == 20
    assert all(re.search(r"smooth_all_levels:\d+$", row[0]) for row in shown)
    assert len({row[0] for row in shown}) == 20 or width == 80
    assert total[4] == str(2 * MANY)
    every = rows(summary(app, "--summary=all", COLUMNS="200"), "Regions")
    assert len(every) == 2 * MANY + 1


def test_the_summary_of_a_program_that_aborts(tmp_path: Path) -> None:
    app = aborting(tmp_path)
    done = omptool_run("--summary", app, "x")
    assert done.returncode == -signal.SIGABRT
    lines = done.stderr.splitlines()
    assert rows(lines, "Regions")["main:7"][3] == "1"
    assert done.stderr.count("Regions:") == 1
    fatal = omptool_run("--summary", app, "x", "x")
    assert fatal.returncode == -signal.SIGABRT
    assert "fatal error" in fatal.stderr
    assert "main:7" in rows(fatal.stderr.splitlines(), "Regions")
    assert "Regions" not in omptool_run("--summary", app, "x", "x", "x").stderr  # _exit


def test_a_handler_of_the_program_takes_the_place_of_the_summary(tmp_path: Path) -> None:
    source = tmp_path / "handles.c"
    source.write_text(
        "#include <signal.h>\n#include <stdlib.h>\n#include <unistd.h>\n"
        'static void mine(int number) { (void)!write(2, "mine\\n", 5); _exit(number); }\n'
        "int main(void) { signal(SIGABRT, mine);\n"
        "#pragma omp target\n"
        "  {}\n"
        "  abort(); }\n"
    )
    done = omptool_run("--summary", compiled(source, tmp_path))
    assert done.returncode == signal.SIGABRT
    assert done.stderr == "mine\n"


def test_an_abort_that_holds_the_heap_ends_in_time(tmp_path: Path) -> None:
    source = tmp_path / "holds.c"
    source.write_text(
        "#include <stdlib.h>\n#include <unistd.h>\n"
        "void *__libc_malloc(size_t);\n"
        "static volatile int is_held;\n"
        "void *malloc(size_t size) { while (is_held) pause(); return __libc_malloc(size); }\n"
        "int main(void) {\n"
        "#pragma omp target\n"
        "  {}\n"
        "  is_held = 1; abort(); }\n"
    )
    done = omptool_run("--summary", compiled(source, tmp_path))
    assert (done.returncode, done.stdout) == (-signal.SIGABRT, "")


def test_devices_that_were_not_used_are_counted(tmp_path: Path) -> None:
    app = aborting(tmp_path)
    said = (
        "2 of 3 devices were not used: OMPTOOL_DEVICE_POLICY=least-loaded spreads regions over them"
    )
    assert summary(app, OMPTOOL_HOST_DEVICES="3")[-1] == said
    assert said not in summary(app, OMPTOOL_HOST_DEVICES="3", OMPTOOL_DEVICE_POLICY="least-loaded")
    assert not any("not used" in line for line in summary(app))


def test_a_document_of_the_sums(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    app = compiled(OBSERVING / "traced.c", tmp_path, "-g")
    done = omptool_run("--summary-json", out, app)
    assert (done.returncode, done.stderr) == (0, "")
    read = document("run-summary", out.read_text())
    assert (read["exit_code"], read["signal"], read["damaged"]) == (0, None, 0)
    (process,) = read["processes"]
    regions = {one["region"]: one for one in process["regions"]}
    assert regions.keys() == {"main:6", "main:10"}
    assert (regions["main:6"]["launches"], regions["main:6"]["to_device"]) == (1, 16)
    assert regions["main:6"]["kernels_ns"] > 0
    places = {one["place"].rpartition("/")[2]: one for one in process["copies"]}
    assert places["traced.c:13:1"]["construct"] == "target update"
    assert process["devices_not_used"] == 0


def test_regions_are_named_as_packager_names_them(tmp_path: Path) -> None:
    """Kernels of a template for lambdas: in functions, templates, classes and other lambdas."""
    source = tmp_path / "lambdas.cpp"
    source.write_text(
        "namespace grid { namespace {\n"
        "template <typename Body> void forall(int n, Body body) {\n"
        "#pragma omp target\n"
        "  body(n); }\n"
        "template <typename T> struct Step {\n"
        "  template <typename U> void run(U u) { forall(3, [=](int i) { (void)(u + i); }); }\n"
        "  void operator()(int) const {\n"
        "    auto inner = [](int i) { forall(i, [](int) {}); }; inner(2); } };\n"
        "void plain(int) { struct Body { void operator()(int) const {} }; forall(1, Body{}); }\n"
        "} void all() { Step<double> step; step.run(2); step.run(2.f); step(1); plain(1); } }\n"
        "int main() { grid::all(); }\n"
    )
    app, out = tmp_path / "lambdas", tmp_path / "out.json"
    flags = ["-fopenmp", "-fopenmp-targets=x86_64-pc-linux-gnu", "-O1", "-std=c++17"]
    subprocess.run(["clang++-19", *flags, source, "-o", app], check=True)
    done = omptool_run("--summary-json", out, app)
    assert (done.returncode, done.stderr) == (0, "")
    (process,) = document("run-summary", out.read_text())["processes"]
    names = {one["region"] for one in process["regions"]}
    (binary,) = load(app)
    assert names == set(short_names(entry.name for entry in binary.entries).values())
    scope = "grid::(anonymous namespace)"
    assert names == {
        f"{scope}::forall<Step::operator()::{{lambda#1}}::operator()::{{lambda#1}}>:3",
        f"{scope}::forall<{scope}::plain::Body>:3",
        f"{scope}::forall<{scope}::Step<double>::run<float>::{{lambda#1}}>:3",
        f"{scope}::forall<{scope}::Step<double>::run<int>::{{lambda#1}}>:3",
    }


def test_a_document_of_a_program_that_aborts(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    done = omptool_run("--summary-json", out, aborting(tmp_path), "x")
    assert done.returncode == -signal.SIGABRT
    read = document("run-summary", out.read_text())
    assert (read["exit_code"], read["signal"]) == (None, signal.SIGABRT)
    assert [one["region"] for one in read["processes"][0]["regions"]] == ["main:7"]


def test_a_document_that_cannot_be_written(tmp_path: Path) -> None:
    """Before the program starts, and when it has ended."""
    done = omptool_run("--summary-json", "/dev/null/x", "/bin/true")
    assert (done.returncode, done.stderr) == (
        125,
        "Error: --summary-json /dev/null/x: there is no folder /dev/null\n",
    )
    folder = tmp_path / "folder"
    folder.mkdir()
    out = folder / "out"
    done = omptool_run("--summary-json", out, "/bin/sh", "-c", f"rmdir {folder}; exit 3")
    assert done.returncode == 125
    assert re.fullmatch(rf"Error: {out}: cannot write .*No such file or directory\n", done.stderr)


def test_sums_that_no_runtime_wrote(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    written = ["'{'", "'[1]'", "'{\"process\": 1}'", "'[[[['"]
    script = "; ".join(
        f"echo {text} >$OMPTOOL_SUMMARY_JSON/{n}.json" for n, text in enumerate(written)
    )
    done = omptool_run(
        "--summary-json", out, "/bin/sh", "-c", f"{script}; mkdir $OMPTOOL_SUMMARY_JSON/x"
    )
    assert (done.returncode, done.stderr) == (0, "")
    read = document("run-summary", out.read_text())
    assert (read["processes"], read["damaged"]) == ([], 5)


def test_a_choice_of_rows_that_is_none() -> None:
    done = omptool_run("--summary=most", "/bin/true")
    assert (done.returncode, done.stderr) == (
        125,
        "Error: --summary=most: is no choice of rows; known choices: all\n",
    )


def test_a_fallback_is_counted_with_its_reason(tmp_path: Path) -> None:
    lines = summary(
        compiled(OBSERVING / "traced.c", tmp_path), OMPTOOL_PLUGINS="nosuch", OMPTOOL_QUIET="1"
    )
    assert lines[0] == "Regions:"
    cells = ["-", "0 ns", "0 ns", "0", "0 ns", "0 B", "0 B", "1"]
    assert re.split(r"  +", lines[2].strip())[1:] == cells
    assert re.search(r"^  main:10 ran 1 time on the host: there is no device: ", lines[5])


def test_a_program_without_regions_has_none(tmp_path: Path) -> None:
    source = tmp_path / "plain.c"
    source.write_text("#include <omp.h>\nint main(void) { return omp_get_num_devices() > 9; }\n")
    assert summary(compiled(source, tmp_path)) == ["Regions: none"]


def test_a_region_that_no_call_asked_for_is_listed(tmp_path: Path) -> None:
    """The region is listed even if the program calls no function of the runtime."""
    idle = "not launched (not called, or its `if` was false)"
    found = summary(compiled(OBSERVING / "counts_devices.c", tmp_path))
    assert found == ["Regions: none", f"  main:6 {idle}"]
    source = tmp_path / "unused.cpp"
    source.write_text(
        "namespace grid { void heat(int n) {\n"
        "#pragma omp target if(n > 100)\n"
        "{ } } }\n"
        "int main(int argc, char**) { if (argc > 9) grid::heat(argc); }\n"
    )
    app = tmp_path / "unused"
    flags = ["-fopenmp", "-fopenmp-targets=x86_64-pc-linux-gnu", "-O1"]
    subprocess.run(["clang++-19", *flags, source, "-o", app], check=True)
    assert summary(app) == ["Regions: none", f"  grid::heat:2 {idle}"]


def test_a_wrong_value_is_named(tmp_path: Path) -> None:
    done = run(compiled(OBSERVING / "traced.c", tmp_path), OMPTOOL_SUMMARY="yes")
    assert done.stderr == (
        "omptarget: the runtime ignores OMPTOOL_SUMMARY=yes and uses 0; known values: 0, 1, all\n"
    )
