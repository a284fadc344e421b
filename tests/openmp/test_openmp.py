"""Programs of tests/openmp, compiled by clang with OpenMP, on the bundled runtime's device."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from clangs import CLANG, FLAGS, VERSIONS, compiled, compiler, run, stem
from fixture_programs import OMPTOOL, call
from outcomes import Programs
from whole_programs import SOUND, source

from omptool.installation import libdir


@pytest.mark.parametrize("optimisation", ["-O0", "-O2"])
@pytest.mark.parametrize("path", SOUND, ids=stem)
def test_it_runs_on_the_device(tmp_path: Path, path: Path, optimisation: str) -> None:
    done = run(compiled(path, tmp_path, optimisation))
    assert (done.returncode, done.stdout, done.stderr) == (0, "ok\n", "")


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("program", SOUND, ids=stem)
def test_it_runs_on_the_device_whatever_clang_made_it(
    programs: Programs, program: Path, version: str
) -> None:
    assert programs.outcome(version, program).ran, programs.outcome(version, program)


@pytest.mark.parametrize("flags", [["-no-pie"], ["-flto", "-fuse-ld=lld"], ["-g"], ["-Wl,-s"]])
def test_however_it_is_linked(tmp_path: Path, flags: list[str]) -> None:
    done = run(compiled(source("structs"), tmp_path, *flags))
    assert (done.returncode, done.stdout, done.stderr) == (0, "ok\n", "")


@pytest.mark.parametrize("name", ["interop", "mapping"])
def test_it_runs_without_omptool_run(tmp_path: Path, name: str) -> None:
    environment = os.environ | {"LD_LIBRARY_PATH": str(libdir()), "OMP_TARGET_OFFLOAD": "MANDATORY"}
    program = [str(compiled(source(name), tmp_path))]
    done = subprocess.run(program, capture_output=True, text=True, check=False, env=environment)
    assert (done.returncode, done.stdout, done.stderr) == (0, "ok\n", "")


def test_two_sonames_in_one_process_are_one_runtime(tmp_path: Path) -> None:
    """Each library asks for another libomptarget; what one maps, the other finds."""
    for name, body in {
        "map": "int *f(int *p) {\n#pragma omp target enter data map(to : p[0 : 4])\nreturn p; }",
        "find": "int omp_target_is_present(const void *, int);\n"
        "int g(int *p) { return omp_target_is_present(p, 0); }",
    }.items():
        (tmp_path / f"{name}.c").write_text(body)
    (tmp_path / "main.c").write_text(
        "#include <stdio.h>\nint *f(int *); int g(int *); static int x[4];\n"
        'int main(void) { printf("%d", g(x)); printf("%d\\n", g(f(x))); return 0; }\n'
    )
    region = "void h(void);\nvoid h(void) {\n#pragma omp target\n;}\n"
    with (tmp_path / "map.c").open("a") as more:  # without a region there is no image
        more.write(f"\n{region}")
    clang = (CLANG[".c"], *FLAGS, "-shared", "-fPIC")
    call(*clang, tmp_path / "map.c", "-o", tmp_path / "libmap.so")
    old = libdir() / "libomptarget.so.16"
    find = (tmp_path / "find.c", "-Wl,--no-as-needed", old)
    call("gcc", "-shared", "-fPIC", *find, "-o", tmp_path / "libfind.so")
    libraries = (tmp_path / "libmap.so", tmp_path / "libfind.so")
    linked = (f"-L{libdir()}", "-lomptarget", "-Wl,--allow-shlib-undefined")
    call("gcc", tmp_path / "main.c", *libraries, *linked, "-o", tmp_path / "main")
    needed = subprocess.run(
        ["readelf", "-d", *libraries], capture_output=True, text=True, check=True
    ).stdout
    assert "[libomptarget.so.16]" in needed
    assert "[libomptarget.so.19.1]" in needed
    done = run(tmp_path / "main", LD_LIBRARY_PATH=str(tmp_path))
    assert (done.stdout, done.stderr) == ("01\n", "")


@pytest.mark.parametrize("version", VERSIONS)
def test_what_a_region_names_is_the_device_s_whatever_the_program_exports(
    tmp_path: Path, version: str
) -> None:
    """Images of clang 14 and 16 leave the linker the choice; libraries export all of theirs."""
    (tmp_path / "main.c").write_text(
        "#include <stdio.h>\nint big[2] = {1, 2};\n#pragma omp declare target link(big)\n"
        "int main(void) { int seen = 0;\n#pragma omp target enter data map(to : big)\n"
        "big[0] = 60;\n#pragma omp target map(from : seen)\n{ seen = big[0]; big[0] = 99; }\n"
        'printf("%d %d ", seen, big[0]);\n#pragma omp target exit data map(from : big)\n'
        'printf("%d\\n", big[0]); return 0; }\n'
    )
    program = tmp_path / "main"
    call(*compiler(version, tmp_path / "main.c"), "-rdynamic", tmp_path / "main.c", "-o", program)
    done = run(program)
    assert (done.returncode, done.stdout, done.stderr) == (0, "1 60 99\n", "")


def test_a_library_is_loaded_unloaded_and_loaded_again(tmp_path: Path) -> None:
    (tmp_path / "library.c").write_text(
        "static const int table[2] = {0, 1};\n"
        "int count = 1;\n#pragma omp declare target to(count)\n"
        "int next(void) { int n = 0, one = 1;\n#pragma omp target map(from : n)\n"
        "n = (count += table[one]) - 1;\nreturn n; }\n"
    )
    (tmp_path / "main.c").write_text(
        "#include <dlfcn.h>\n#include <stdio.h>\nint main(int argc, char **argv) {\n"
        "for (int i = 0; i < 3; ++i) { void *h = dlopen(argv[argc - 1], RTLD_NOW);\n"
        'int (*next)(void) = (int (*)(void))dlsym(h, "next");\n'
        'printf("%d%d ", next(), next()); dlclose(h); }\nreturn 0; }\n'
    )
    library = tmp_path / "library.so"
    call(CLANG[".c"], *FLAGS, "-shared", "-fPIC", tmp_path / "library.c", "-o", library)
    call(CLANG[".c"], *FLAGS, tmp_path / "main.c", "-o", tmp_path / "main")
    done = subprocess.run(
        [OMPTOOL, "run", "--mandatory", str(tmp_path / "main"), str(library)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert (done.stdout, done.stderr) == ("12 12 12 ", "")


@pytest.mark.parametrize("before", ["libfirst.so", "libsecond.so"])
def test_libomp_may_come_with_a_library_that_is_opened(tmp_path: Path, before: str) -> None:
    """No other library sees it. The default device is its own, here the host; copies wait."""
    (tmp_path / "first.c").write_text(
        "int omp_get_default_device(void);\nint first(void) { return omp_get_default_device(); }\n"
    )
    (tmp_path / "second.c").write_text(
        "#include <omp.h>\n#include <unistd.h>\nint second(void) { int x = 1, y = 0, late = 0;\n"
        "int host = omp_get_initial_device(); void *d = omp_target_alloc(4, 0); omp_depend_t on;\n"
        "#pragma omp parallel num_threads(2)\n#pragma omp single\n{\n"
        "#pragma omp task depend(out : late) shared(late)\n{ usleep(100000); late = 7; }\n"
        "#pragma omp depobj(on) depend(in : late)\n"
        "omp_target_memcpy_async(d, &late, 4, 0, 0, 0, host, 1, &on);\n}\n"
        "omp_target_memcpy(&y, d, 4, 0, 0, host, 0); omp_target_free(d, 0);\n"
        "omp_set_default_device(host);\n#pragma omp target map(to : x)\n"
        "x = 5;\nreturn 10 * y + x; }\n"
    )
    (tmp_path / "main.c").write_text(
        "#include <dlfcn.h>\n#include <stdio.h>\n"
        "static int call(const char *file, const char *name) { void *h = dlopen(file, RTLD_NOW);\n"
        "return h ? ((int (*)(void))dlsym(h, name))() : -1; }\n"
        f'int main(void) {{ dlopen("{before}", RTLD_NOW);\n'
        'printf("%d ", call("libfirst.so", "first"));\n'
        'printf("%d\\n", call("libsecond.so", "second")); return 0; }\n'
    )
    shared = ("-shared", "-fPIC", "-o")
    runtime = (f"-L{libdir()}", "-lomptarget")
    call("gcc", tmp_path / "first.c", *shared, tmp_path / "libfirst.so", *runtime)
    call(CLANG[".c"], *FLAGS, tmp_path / "second.c", *shared, tmp_path / "libsecond.so")
    call("gcc", tmp_path / "main.c", "-o", tmp_path / "main")
    done = run(tmp_path / "main", LD_LIBRARY_PATH=f"{tmp_path}:{libdir()}")
    assert (done.stdout, done.stderr) == ("0 75\n", "")


def test_tasks_that_nobody_waits_for_do_no_harm(tmp_path: Path) -> None:
    """Libomp runs them when it ends, after the program's images are gone."""
    (tmp_path / "main.c").write_text(
        "int x[4];\nint main(void) { for (int i = 0; i < 20; ++i) {\n"
        "#pragma omp target nowait map(tofrom : x)\nx[0]++;\n}\nreturn 0; }\n"
    )
    call(CLANG[".c"], *FLAGS, tmp_path / "main.c", "-o", tmp_path / "main")
    assert run(tmp_path / "main").returncode == 0


@pytest.mark.parametrize("policy", ["DEFAULT", "DISABLED"])
def test_without_a_device_it_runs_on_the_host(tmp_path: Path, policy: str) -> None:
    program = compiled(source("updates"), tmp_path)
    environment = os.environ | {"OMP_TARGET_OFFLOAD": policy, "OMPTOOL_PLUGINS": "none"}
    done = subprocess.run(
        [OMPTOOL, "run", str(program)], capture_output=True, text=True, check=False, env=environment
    )
    assert "Abort" not in done.stderr
    assert done.returncode in (0, 1)  # on one memory an update changes nothing
    if policy == "DEFAULT":
        assert "runs on the host: there is no device" in done.stderr
    else:
        assert done.stderr == ""
