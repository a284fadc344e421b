"""Several offloading libraries in one process, by different clangs, loaded and unloaded."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from clangs import INSTALLED, OTHERS, compiler
from fixture_programs import OMPTOOL, call

EVERY = sorted((*OTHERS, INSTALLED))
# A library whose region adds STEP to what is mapped, and once more what it counts on the device.
PART = """
static int calls;
#pragma omp declare target(calls)
static void region(int *x, int n) {
  #pragma omp target map(tofrom : x[0 : n])
  { calls++; for (int i = 0; i < n; ++i) x[i] += STEP + calls; }
}
void NAME(int *x, int n);
void NAME(int *x, int n) { region(x, n); }
"""
OBJECTS = """
#include <cstdio>
struct Object {
  int value;
  explicit Object(int start) : value(start) {}
  ~Object() { std::printf("%d ", value); }
};
#pragma omp declare target
Object first(3);
Object second(first.value + 1);
#pragma omp end declare target
extern "C" int use() {
  int seen = 0;
#pragma omp target map(from : seen)
  { first.value += 10; second.value += 20; seen = first.value * 100 + second.value; }
  return seen;
}
"""
LOADING = """
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char **argv) {
  for (int i = 0; i < 2; ++i) {
    void *library = dlopen(argv[argc - 1], RTLD_NOW);
    int (*use)(void) = (int (*)(void))dlsym(library, "use");
    printf("%d ", use());
    dlclose(library);
  }
  printf("end ");
  return 0;
}
"""


def library(version: str, source: Path, output: Path, *flags: str) -> Path:
    call(*compiler(version, source), "-shared", "-fPIC", *flags, source, "-o", output)
    return output


def ran(*command: object, **environment: str) -> str:
    """What a program says on the device; nothing may be said about falling back."""
    done = subprocess.run(
        [OMPTOOL, "run", "--mandatory", *map(str, command)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env=os.environ | environment,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.parametrize(
    ("main", "parts"), [("22", ("14", "16")), ("14", ("22", "19")), ("19", ("16", "22", "14"))]
)
def test_one_process_holds_what_different_clangs_made(
    tmp_path: Path, main: str, parts: tuple[str, ...]
) -> None:
    """They share a mapping table: what the program maps, each library finds."""
    calls = "".join(f"void part{by}(int *, int);\n" for by in parts)
    body = "".join(f"part{by}(x, 4);\n" for by in parts)
    program = tmp_path / "main.c"
    program.write_text(
        f"#include <stdio.h>\n{calls}int main(void) {{ int x[4] = {{1, 2, 3, 4}}, *p = x;\n"
        f"#pragma omp target data map(tofrom : x)\n{{\n{body}\n"
        '#pragma omp target\nx[3] *= 2;\nprintf("%d ", p[0]);\n}\nprintf("%d %d\\n", x[0], x[3]);\n'
        "return 0; }\n"
    )
    libraries = []
    for step, by in enumerate(parts, start=1):
        source = tmp_path / f"part{by}.c"
        source.write_text(PART.replace("NAME", f"part{by}").replace("STEP", str(step)))
        libraries.append(library(by, source, tmp_path / f"libpart{by}.so"))
    linked = ("-Wl,--allow-shlib-undefined", *libraries)
    call(*compiler(main, program), program, *linked, "-o", tmp_path / "main")
    total = sum(1 + step for step in range(1, len(parts) + 1))
    wanted = f"1 {1 + total} {2 * (4 + total)}\n"
    assert ran(tmp_path / "main", LD_LIBRARY_PATH=str(tmp_path)) == wanted


@pytest.mark.parametrize("version", EVERY)
def test_kernels_of_one_name_are_two(tmp_path: Path, version: str) -> None:
    """One file compiled twice: its kernels have one name, from its inode and line."""
    source = tmp_path / "part.c"
    source.write_text(PART)
    libraries = [
        library(version, source, tmp_path / f"lib{name}.so", f"-DNAME={name}", f"-DSTEP={step}")
        for name, step in {"one": 1, "two": 20}.items()
    ]
    program = tmp_path / "main.c"
    program.write_text(
        "#include <stdio.h>\nvoid one(int *, int); void two(int *, int);\n"
        'int main(void) { int x[1] = {0}; one(x, 1); printf("%d ", x[0]); two(x, 1);\n'
        'printf("%d ", x[0]); one(x, 1); printf("%d\\n", x[0]); return 0; }\n'
    )
    linked = (f"-L{tmp_path}", "-lone", "-ltwo", "-Wl,--allow-shlib-undefined")
    call("gcc", program, *linked, "-o", tmp_path / "main")
    assert len({kernel for path in libraries for kernel in kernels(path)}) == 1
    assert ran(tmp_path / "main", LD_LIBRARY_PATH=str(tmp_path)) == "2 23 26\n"


def kernels(path: Path) -> set[str]:
    """The names of the kernels that `path` has entries for."""
    dump = subprocess.run([OMPTOOL, "dump", path], capture_output=True, text=True, check=True)
    words = dump.stdout.split()
    return {word for word in words if word.startswith("__omp_offloading_") and "_l" in word}


@pytest.mark.parametrize("policy", ["DEFAULT", "MANDATORY"])
def test_a_variable_that_the_device_lacks_is_an_error(tmp_path: Path, policy: str) -> None:
    """LLVM's runtime says so and runs the region all the same."""
    source = tmp_path / "main.c"
    source.write_text(
        "#ifdef DEVICE\nstatic\n#endif\nint lost = 4;\n#pragma omp declare target(lost)\n"
        "#include <stdio.h>\nint main(void) { int x = 0;\n#pragma omp target map(from : x)\n"
        'x = lost;\nprintf("%d\\n", x); return 0; }\n'
    )
    clang = compiler(INSTALLED, source)
    call(*clang, "-Xarch_device", "-DDEVICE", source, "-o", tmp_path / "main")
    done = subprocess.run(
        [OMPTOOL, "run", tmp_path / "main"],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"OMP_TARGET_OFFLOAD": policy},
    )
    assert "lost" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    if policy == "MANDATORY":
        assert (done.returncode, done.stdout) == (-6, "")
    else:
        assert (done.returncode, done.stdout) == (0, "4\n")


@pytest.mark.parametrize("version", EVERY)
def test_objects_of_a_library_live_on_the_device_as_long_as_it_is_loaded(
    tmp_path: Path, version: str
) -> None:
    """Constructors in their order before a region, destructors backwards when it is unloaded."""
    source, program = tmp_path / "objects.cpp", tmp_path / "main.c"
    source.write_text(OBJECTS)
    program.write_text(LOADING)
    built = library(version, source, tmp_path / "libobjects.so")
    call(*compiler(version, program), program, "-o", tmp_path / "main")
    words = ran(tmp_path / "main", built).split()
    assert words[-1] == "end"
    for half in (words[:5], words[5:-1]):
        assert half[0] == "1324"
        # The host's own objects go as well, untouched.
        assert sorted(half[1:]) == ["13", "24", "3", "4"]
        assert half.index("24") < half.index("13")


@pytest.mark.parametrize("version", EVERY)
def test_objects_of_a_program_live_until_it_ends(tmp_path: Path, version: str) -> None:
    source = tmp_path / "main.cpp"
    source.write_text(OBJECTS + 'int main() { std::printf("%d ", use()); return 0; }\n')
    call(*compiler(version, source), source, "-o", tmp_path / "main")
    words = ran(tmp_path / "main").split()
    assert words[0] == "1324"
    assert sorted(words[1:]) == ["13", "24", "3", "4"]
