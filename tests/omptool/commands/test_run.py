# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`omptool run`, `devices` and `config`: which runtime a program gets, and how failures look."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from clangs import compiled
from documents import document
from fixture_programs import OMPTOOL
from linking import link
from places import TESTS

from omptool import __version__
from omptool.installation import includedir, libdir

pytestmark = pytest.mark.offloads

PROGRAM = (TESTS / "omptool" / "commands" / "sources" / "prints_runtime.c").read_text()
DECOY = (TESTS / "omptool" / "commands" / "sources" / "decoy.c").read_text()


LAUNCHER = (TESTS / "omptool" / "commands" / "sources" / "launcher.c").read_text()
STATIC = (TESTS / "omptool" / "commands" / "sources" / "static.c").read_text()

# Runs `omptool run` with the runtime in the folder argv[1].
SPACED = """
import pathlib, sys
import omptool.installation
root = pathlib.Path(sys.argv[1]) / "omptool" / "_runtime"
omptool.installation.runtime_root = lambda: root
sys.argv[1] = "run"
from omptool.cli import main
main()
"""


def run(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [OMPTOOL, *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, env=os.environ | environment
    )


def build_against(folder: Path, soname: str, *flags: str) -> Path:
    """Link the program with a decoy runtime of this SONAME in `folder`/lib."""
    (folder / "lib").mkdir()
    (folder / "program.c").write_text(PROGRAM)
    (folder / "decoy.c").write_text(DECOY)
    decoy = folder / "lib" / soname
    link(decoy, folder / "decoy.c", flags=("-shared", "-fPIC", f"-Wl,-soname,{soname}"))
    return link(folder / "program", folder / "program.c", decoy, flags=flags)


@pytest.mark.parametrize("tags", ["--disable-new-dtags", "--enable-new-dtags"])
@pytest.mark.parametrize(
    "soname", ["libomptarget.so", "libomptarget.so.16", "libomptarget.so.22.1"]
)
def test_runtime_is_replaced_whatever_the_rpath(tmp_path: Path, tags: str, soname: str) -> None:
    program = build_against(tmp_path, soname, f"-Wl,{tags}", f"-Wl,-rpath,{tmp_path}/lib")
    plain = subprocess.run([program], capture_output=True, text=True, check=True).stdout
    assert "devices=77" in plain
    done = run("run", program, "0", "x")
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[0] == str(libdir() / "libomptarget.so")
    assert "args=2" in done.stdout
    assert "devices=77" not in done.stdout


@pytest.mark.parametrize("tags", ["--disable-new-dtags", "--enable-new-dtags"])
def test_a_newer_llvm_s_name_is_an_alias_of_the_runtime(tmp_path: Path, tags: str) -> None:
    """The program would find the runtime of a made-up LLVM 26 by its DT_RPATH."""
    soname = "libomptarget.so.26.0"
    program = build_against(tmp_path, soname, f"-Wl,{tags}", f"-Wl,-rpath,{tmp_path}/lib")
    cache = {"OMPTOOL_CACHE_DIR": str(tmp_path / "cache")}
    library = tmp_path / "cache" / "aliases" / soname
    for _ in range(2):
        done = run("run", program, "0", "x", **cache)
        assert done.returncode == 0, done.stderr
        assert done.stdout.split()[0] == str(libdir() / "libomptarget.so")
        assert "devices=77" not in done.stdout
        what = f"needs {soname}, of an LLVM that is newer than this omptool"
        assert done.stderr == f"Note: {program}: {what}: {library} is its runtime under that name\n"
    assert library.parent.stat().st_mode & 0o777 == 0o700
    assert run("run", program, "0", OMPTOOL_QUIET="1", **cache).stderr == ""


def test_an_alias_is_in_no_folder_that_others_may_write_to(tmp_path: Path) -> None:
    program = build_against(tmp_path, "libomptarget.so.26.0")
    (tmp_path / "cache" / "aliases").mkdir(parents=True)
    (tmp_path / "cache" / "aliases").chmod(0o777)
    places = {"OMPTOOL_CACHE_DIR": str(tmp_path / "cache"), "TMPDIR": str(tmp_path)}
    done = run("run", program, "0", **places)
    assert done.returncode == 0, done.stderr
    assert f"newer than this omptool: {tmp_path}/omptool-alias-" in done.stderr
    assert list((tmp_path / "cache" / "aliases").iterdir()) == []


def test_exit_code_and_signal_are_the_program_s(tmp_path: Path) -> None:
    program = build_against(tmp_path, "libomptarget.so")
    assert run("run", program, "42").returncode == 42
    assert run("run", "--", program, "crash").returncode == -signal.SIGSEGV


def test_options_reach_the_runtime(tmp_path: Path) -> None:
    program = build_against(tmp_path, "libomptarget.so")
    words = ("--device", "3", "--mandatory", "--plugin", "host", program)
    assert "default=3" in run("run", *words, OMPTOOL_HOST_DEVICES="4").stdout


def test_wrapper_script_passes_the_runtime_on(tmp_path: Path) -> None:
    program = build_against(tmp_path, "libomptarget.so")
    script = tmp_path / "wrapper"
    script.write_text(f'#!/bin/sh\nexec {program} "$@"\n')
    script.chmod(0o755)
    assert str(libdir()) in run("run", script, "0").stdout


@pytest.mark.parametrize("flag", ["-static", "-static-pie"])
def test_static_launcher_passes_the_runtime_on(tmp_path: Path, flag: str) -> None:
    program = build_against(tmp_path, "libomptarget.so")
    (tmp_path / "launcher.c").write_text(LAUNCHER)
    launcher = link(tmp_path / "launcher", tmp_path / "launcher.c", flags=(flag,))
    done = run("run", launcher, program, "0", "x")
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[0] == str(libdir() / "libomptarget.so")
    assert "args=2" in done.stdout


def failures(tmp_path: Path) -> dict[str, tuple[Path | str, int, str]]:
    (tmp_path / "text").write_text("not a program")
    (tmp_path / "static.c").write_text(STATIC)
    static = link(
        tmp_path / "static", tmp_path / "static.c", flags=("-static", f"-I{includedir()}")
    )
    (tmp_path / "bin" / "folder").mkdir(parents=True)
    (tmp_path / "bin" / "data").write_text("not a program")
    setuid = tmp_path / "setuid"
    setuid.write_bytes(build_against(tmp_path, "libomptarget.so.7").read_bytes())
    setuid.chmod(0o4755)
    return {
        "missing": ("no-such-program", 127, "not found"),
        "missing path": (tmp_path / "gone", 127, "not found"),
        "directory": (tmp_path, 126, "is a directory"),
        "not executable": (tmp_path / "text", 126, "is not executable"),
        "this directory": (".", 126, "is a directory"),
        "directory on PATH": ("folder", 126, "is a directory"),
        "not executable on PATH": ("data", 126, "is not executable"),
        "static": (static, 125, "statically linked"),
        "setuid": (setuid, 125, "setuid"),
        "other runtime": (tmp_path / "program", 125, "needs libomptarget.so.7"),
    }


@pytest.mark.slow
def test_what_cannot_start_is_one_line(tmp_path: Path) -> None:
    for what, (program, code, message) in failures(tmp_path).items():
        done = run("run", program, PATH=f"{os.environ['PATH']}:{tmp_path / 'bin'}")
        assert done.returncode == code, (what, done.stderr)
        assert message in done.stderr, what
        assert len(done.stderr.splitlines()) == 1, what
        assert done.stdout == "", what


@pytest.mark.parametrize("words", [[], ["--bogus", "x"], ["--device"]])
def test_wrong_usage_is_no_exit_code_of_the_program(words: list[str]) -> None:
    assert run("run", *words).returncode == 125
    assert run("run", "--help").returncode == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--device", "x"), "--device 'x' is no device number; known values: numbers from 0; "),
        (("--device", "-1"), "--device '-1' is no device number; known values: numbers from 0; "),
        (("--device", "7", "--plugin", "host"), "--device 7: there is 1 device; known numbers: 0"),
        (("--plugin", "cud"), "--plugin cud: there is no such plugin; known plugins: "),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_unknown_plugins_and_devices_stop(words: tuple[str, ...], message: str) -> None:
    done = run("run", *words, "/bin/true")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"Error: {message}")
    assert len(done.stderr.splitlines()) == 1
    if "cud" in words:
        assert "cuda, host" in done.stderr


@pytest.mark.offloads
def test_mandatory_wins_over_a_wrapper_script(tmp_path: Path) -> None:
    """The regions run on the device, and none falls back because the script disables it."""
    program = compiled(TESTS / "packager" / "machine" / "ways_to_end.c", tmp_path)
    script = tmp_path / "wrapper"
    script.write_text(f'#!/bin/sh\nOMP_TARGET_OFFLOAD=DISABLED exec {program} "$@"\n')
    script.chmod(0o755)
    done = run("run", "--mandatory", "--summary", script)
    assert done.returncode == 0, done.stderr
    assert "is DISABLED" not in done.stderr
    plain = run("run", "--summary", script)
    assert "OMP_TARGET_OFFLOAD is DISABLED" in plain.stderr


def test_doctor_of_a_script(tmp_path: Path) -> None:
    script = tmp_path / "script.sh"
    script.write_text("#!/bin/sh\nexec true\n")
    done = run("doctor", script)
    expected = f"Error: {script}: is a script: use `omptool doctor --run -- {script}`\n"
    assert (done.returncode, done.stderr) == (2, expected)
    command = [OMPTOOL, "doctor", "./script.sh"]
    here = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert "use `omptool doctor --run -- ./script.sh`" in here.stderr


def test_runtime_whose_path_the_loader_cannot_read_is_refused(tmp_path: Path) -> None:
    copy = tmp_path / "with space"
    shutil.copytree(libdir().parent, copy / "omptool" / "_runtime")
    done = subprocess.run(
        [sys.executable, "-c", SPACED, str(copy), "/bin/true"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 125
    assert "the loader reads no path with that character" in done.stderr


def test_sanitizer_library_stays_first(tmp_path: Path) -> None:
    source = TESTS / "omptool" / "commands" / "sources" / "prints_fine.c"
    program = link(tmp_path / "p", source, flags=("-fsanitize=address",))
    done = run("run", program, ASAN_OPTIONS="detect_leaks=0")
    assert (done.returncode, done.stdout) == (0, "fine\n"), done.stderr


def test_script_without_interpreter_line_runs_as_in_a_shell(tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text('echo "$1"\nexit 7\n')
    script.chmod(0o755)
    done = run("run", script, "word")
    assert (done.returncode, done.stdout) == (7, "word\n")
    script.write_text("#!/no/such/interpreter\n")
    assert "its interpreter is missing" in run("run", script).stderr


def test_program_of_another_machine_is_no_script(tmp_path: Path) -> None:
    program = build_against(tmp_path, "libomptarget.so")
    foreign = bytearray(program.read_bytes())
    foreign[18:20] = (183).to_bytes(2, "little")  # e_machine: AArch64
    program.write_bytes(foreign)
    done = run("run", program)
    assert (done.returncode, done.stdout) == (126, "")
    assert done.stderr.splitlines() == [f"Error: {program}: Exec format error"]


def test_devices_shows_the_host_plugin() -> None:
    done = run("devices", "--json", OMPTOOL_HOST_DEVICES="2")
    assert done.returncode == 0, done.stderr
    host = next(
        plugin for plugin in document("devices", done.stdout)["plugins"] if plugin["name"] == "host"
    )
    assert (host["state"], host["reason"]) == ("ready", None)
    assert [device["number"] for device in host["devices"]] == [0, 1]
    assert all(device["units"] > 0 and device["memory"] > 0 for device in host["devices"])
    assert [device["architecture"] for device in host["devices"]] == ["x86-64"] * 2
    assert [device["images"] for device in host["devices"]] == [["ELF", "bitcode"]] * 2
    table = run("devices").stdout
    assert "ready" in table
    assert "x86-64" in table


def test_devices_names_a_refused_plugin(tmp_path: Path) -> None:
    (tmp_path / "plugin.c").write_text("int __tgt_rtl_number_of_devices(void) { return 1; }\n")
    link(
        tmp_path / "libomptarget.rtl.partial.so", tmp_path / "plugin.c", flags=("-shared", "-fPIC")
    )
    (tmp_path / "libomptarget.rtl.text.so").write_text("not a library")
    done = run("devices", "--json", OMPTOOL_PLUGIN_PATH=str(tmp_path))
    plugins = {plugin["name"]: plugin for plugin in document("devices", done.stdout)["plugins"]}
    assert plugins["partial"]["state"] == plugins["text"]["state"] == "refused"
    assert "__tgt_" in plugins["partial"]["reason"]
    assert plugins["text"]["reason"]


def test_devices_names_a_folder_that_is_not_there(tmp_path: Path) -> None:
    folder = tmp_path / "misspelt"
    done = run("devices", "--json", OMPTOOL_PLUGIN_PATH=str(folder))
    fault = f"OMPTOOL_PLUGIN_PATH names {folder}, which cannot be read: No such file or directory"
    assert (done.returncode, done.stderr) == (0, f"Warning: {fault}\n")
    first, *others = document("devices", done.stdout)["plugins"]
    assert (first["name"], first["path"]) == ("OMPTOOL_PLUGIN_PATH", str(folder))
    assert (first["state"], first["reason"]) == ("refused", "No such file or directory")
    assert first["devices"] == []
    assert "host" in [plugin["name"] for plugin in others]


def test_no_device_is_exit_3() -> None:
    assert run("devices", OMPTOOL_HOST_DEVICES="1", OMPTOOL_PLUGINS="nothing").returncode == 3


def odd_plugin(out: Path, does: str) -> Path:
    """Build a library that acts as `does` says when it is opened."""
    source = TESTS / "omptool" / "commands" / "sources" / "odd_plugin.c"
    return link(out, source, flags=("-shared", "-fPIC", f"-DDOES={does}"))


def test_crashing_plugins_are_named_beside_the_others(tmp_path: Path) -> None:
    one = odd_plugin(tmp_path / "libomptarget.rtl.crash.so", "abort()")
    other = Path(shutil.copy(one, tmp_path / "libomptarget.rtl.second.so"))
    only = {"OMPTOOL_PLUGIN_PATH": str(tmp_path), "OMPTOOL_PLUGINS": "crash,host,second"}
    done = run("devices", "--json", **only)
    assert done.returncode == 3
    assert done.stderr == "".join(
        f"Error: plugin {name} ({path}) ends programs: opening it ended with signal 6\n"
        for name, path in (("crash", one), ("second", other))
    )
    plugins = {plugin["name"]: plugin for plugin in document("devices", done.stdout)["plugins"]}
    assert {name: plugin["state"] for name, plugin in plugins.items()} == {
        "crash": "fails",
        "host": "ready",
        "second": "fails",
    }
    assert (plugins["crash"]["path"], plugins["crash"]["devices"]) == (str(one), [])
    assert [device["number"] for device in plugins["host"]["devices"]] == [0]
    done = run("devices", **(only | {"OMPTOOL_PLUGINS": "host"}))
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("does", "code", "said"),
    [
        ('puts("hello"); fflush(stdout);', 0, "hello\n"),
        ('fputs("gr\\xfcn\\n", stderr);', 0, "gr\\xfcn\n"),
        ("exit(0);", 3, "opening it ended without an answer"),
        ("exit(7);", 3, "opening it ended with exit code 7"),
        ("for (;;) pause();", 3, "opening it took more than 1 s"),
    ],
)
def test_what_a_plugin_does_when_it_is_loaded(
    tmp_path: Path, does: str, code: int, said: str
) -> None:
    odd_plugin(tmp_path / "libomptarget.rtl.odd.so", does)
    imports = "from omptool import cli; from omptool.probes import in_own_process"
    start = f"{imports}; in_own_process.SECONDS = 1; cli.main()"
    command = [sys.executable, "-c", start, "devices", "--json"]
    done = subprocess.run(
        command if "pause" in does else [OMPTOOL, "devices", "--json"],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"OMPTOOL_PLUGIN_PATH": str(tmp_path), "OMPTOOL_PLUGINS": "host,odd"},
    )
    plugins = document("devices", done.stdout)["plugins"]
    assert [plugin["name"] for plugin in plugins] == ["host", "odd"]
    if code:
        odd = f"plugin odd ({tmp_path / 'libomptarget.rtl.odd.so'})"
        said = f"Error: {odd} ends programs: {said}\n"
    else:
        said += f"Warning: plugin odd was refused: {plugins[1]['reason']}\n"
    assert (done.returncode, done.stderr) == (code, said)


def test_config_prints_what_is_asked() -> None:
    assert run("config", "--libdir").stdout == f"{libdir()}\n"
    assert run("config", "--includedir", "--version").stdout == f"{includedir()}\n{__version__}\n"
    assert (includedir() / "omptarget.h").is_file()
    assert run("config").returncode == 2


def test_pkg_config_file_leads_to_the_same_place(tmp_path: Path) -> None:
    text = (libdir() / "pkgconfig" / "omptool.pc").read_text()
    assert "-lomptarget" in text
    assert str(tmp_path) not in text
    assert "${pcfiledir}" in text
