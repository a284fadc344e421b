# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs that are shipped: docs/packaging.md as it stands, and auditwheel's work without it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sysconfig
import zipfile
from pathlib import Path

import pytest
from fixture_programs import OMPTOOL
from machine import lacks, output
from places import FIXTURES, ROOT
from products import Products
from toolchain import omptool
from typed import blocks, typed
from verifying import findings

from omptool.installation import libdir

pytestmark = [pytest.mark.slow, pytest.mark.offloads]

PAGE = ROOT / "docs" / "packaging.md"
TAG = "cp3-none-linux_x86_64"
SAXPY = [FIXTURES / "saxpy" / name for name in ("host.c", "kernels.ll")]
METADATA = "Metadata-Version: 2.1\nName: saxpy\nVersion: 1.0\n"
WHEEL = f"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: false\nTag: {TAG}\n"
ASKED = "import saxpy; print(saxpy.saxpy(1000))"
# Prints which files of the runtime and of libomp a process has loaded.
LOADED = """
import re
paths = {line.split()[-1] for line in open("/proc/self/maps")}
print(*(path for path in paths if re.search(r"/lib(omptarget|omp)[-.][^/]*$", path)))
"""


def python(code: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    words = [str(Path(OMPTOOL).with_name("python")), "-c", code]
    own = os.environ | environment
    return subprocess.run(words, cwd=folder, env=own, capture_output=True, text=True, check=False)


# ---- a wheel as the page says ----


@pytest.fixture(scope="module")
def installed(products: Products) -> Path:
    """Provide the folder with the page's wheel installed and the commands' output beside it."""

    def make(folder: Path) -> None:
        _, *rest = blocks(PAGE, "A wheel with a kernel")  # the first gets the tools
        (folder / "said").write_text(typed("\n".join(rest), folder).stdout)

    return products.folder("packaged-wheel", make) / "saxpy" / "try"


def test_a_wheel_runs_its_kernel_on_a_device(installed: Path) -> None:
    said = (installed.parent.parent / "said").read_text()
    assert "(1000, 'device')\n" in said
    assert re.search(r"^saxpy/_saxpy.*\.so: no findings", said, re.MULTILINE)
    runtime = installed / "saxpy" / "_runtime" / "libomptarget.so"
    assert f"started by itself, on {runtime}: regions run on a device" in said


def test_a_wheel_has_the_runtime_in_itself_alone(installed: Path, tmp_path: Path) -> None:
    moved = tmp_path / "elsewhere"
    shutil.copytree(installed, moved)
    done = python(f"import saxpy; saxpy.saxpy(1){LOADED}", moved, OMP_TARGET_OFFLOAD="MANDATORY")
    assert done.returncode == 0, done.stderr
    loaded = done.stdout.split()
    assert {Path(path).name for path in loaded} >= {"libomptarget.so", "libomp.so.5"}
    assert {Path(path).parent for path in loaded} == {moved / "saxpy" / "_runtime"}
    assert (moved / "saxpy" / "_runtime" / "LICENSE.omptool").is_file()


def test_two_wheels_share_one_runtime(installed: Path, tmp_path: Path) -> None:
    for name in ("saxpy", "second"):
        shutil.copytree(installed / "saxpy", tmp_path / name)
    code = f"import saxpy, second; print(second.saxpy(10), saxpy.saxpy(10)){LOADED}"
    done = python(code, tmp_path, OMP_TARGET_OFFLOAD="MANDATORY")
    assert done.stdout.startswith("(10, 'device') (10, 'device')\n"), done.stderr
    assert len([p for p in done.stdout.split() if p.endswith("/libomptarget.so")]) == 1


# ---- a wheel as auditwheel makes it of a module that was linked in the usual way ----


@pytest.fixture(scope="module")
def renamed(products: Products) -> Path:
    """Provide the folder of a wheel with auditwheel's copies of the runtime and libomp."""
    return products.folder("renamed-runtime", _repaired) / "installed"


def _repaired(folder: Path) -> None:
    include = sysconfig.get_paths()["include"]
    source = FIXTURES / "wheel" / "saxpy.c"
    flags = ["-O2", "-fPIC", "-fopenmp", "-fopenmp-targets=x86_64-pc-linux-gnu", f"-I{include}"]
    output("clang-19", *flags, "-c", source, "-o", folder / "saxpy.o")
    module = folder / "_saxpy.so"
    link = ["clang-19", "-shared", "-fopenmp", folder / "saxpy.o", "-o", module]
    output(OMPTOOL, "link", "--", *link)
    with zipfile.ZipFile(folder / f"saxpy-1.0-{TAG}.whl", "w") as wheel:
        wheel.write(FIXTURES / "wheel" / "saxpy" / "__init__.py", "saxpy/__init__.py")
        wheel.write(module, "saxpy/_saxpy.so")
        for name, text in (("METADATA", METADATA), ("WHEEL", WHEEL)):
            wheel.writestr(f"saxpy-1.0.dist-info/{name}", text)
        rows = [f"{name},,\n" for name in (*wheel.namelist(), "saxpy-1.0.dist-info/RECORD")]
        wheel.writestr("saxpy-1.0.dist-info/RECORD", "".join(rows))
    typed(f"auditwheel repair -w repaired saxpy-1.0-{TAG}.whl", folder)
    (repaired,) = folder.glob("repaired/*.whl")
    zipfile.ZipFile(repaired).extractall(folder / "installed")


def renamed_runtime(folder: Path) -> Path:
    (runtime,) = folder.glob("saxpy.libs/libomptarget-*.so")
    return runtime


def test_a_renamed_runtime_is_known(renamed: Path) -> None:
    """The runtime has another name; the module needs versions of its functions."""
    module = renamed / "saxpy" / "_saxpy.so"
    (libomp,) = renamed.glob("saxpy.libs/libomp-*")
    fault = f"image 0 needs libomp.so.5, which its host needs as {libomp.name}: "
    (found,) = findings(module)
    assert (found["code"], found["severity"]) == ("OMP115", "error")
    assert str(found["message"]).startswith(fault)
    said = omptool("doctor", module).stdout
    assert renamed_runtime(renamed).name in said.splitlines()[1]
    assert f"OMP203 error: {fault}" in said


def test_a_renamed_runtime_names_the_folder_and_the_cure(renamed: Path) -> None:
    done = python(ASKED, renamed)
    assert done.stdout == "(1000, 'host')\n"
    folder, name = f"{renamed}/saxpy/../saxpy.libs", renamed_runtime(renamed).name
    reason = f"no plugin (libomptarget.rtl.*.so) is in {folder}: {name} was renamed when it was "
    reason += "packaged: package libomptarget.so, its plugins and libomp together, under their own "
    reason += "names (docs/packaging.md)"
    lines = done.stderr.splitlines()
    assert len(lines) == 2, "a line for each region"
    assert all(line.endswith(f"there is no device: {reason}") for line in lines), lines


def test_a_runtime_without_plugins_says_where_they_go(tmp_path: Path) -> None:
    """The runtime has its own name; only plugins beside it are missing."""
    shutil.copy(libdir() / "libomptarget.so", tmp_path)
    runtime = tmp_path / "libomptarget.so"
    output(OMPTOOL, "cc", "--cc", "gcc", "--", *SAXPY, "-o", tmp_path / "app")
    environment = os.environ | {"LD_LIBRARY_PATH": str(tmp_path), "OMPTOOL_PLUGIN_PATH": "/nothing"}
    words = [str(tmp_path / "app")]
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=environment)
    reason = f"no plugin (libomptarget.rtl.*.so) is in /nothing, {tmp_path}: copy omptool's beside "
    assert f"{reason}{runtime}, or name their folder in OMPTOOL_PLUGIN_PATH\n" in done.stderr


# ---- a folder, a Debian package, a container ----


def test_a_folder_a_debian_package_and_a_container(tmp_path: Path) -> None:
    made = tmp_path / "made"
    made.mkdir()
    lines = [*blocks(PAGE, "A program in a folder"), *blocks(PAGE, "A Debian package")]
    typed("\n".join(lines), made)
    package = made / "saxpy_1.0_amd64.deb"
    assert "Depends: libc6\n" in output("dpkg-deb", "--field", package)
    unpacked = tmp_path / "unpacked"
    output("dpkg-deb", "--extract", package, unpacked)
    shutil.rmtree(made)
    expected = (FIXTURES / "saxpy" / "expected.txt").read_text()
    assert ran(unpacked / "usr/bin/saxpy") == expected
    for path in (*unpacked.glob("usr/bin/*"), *unpacked.glob("usr/lib/saxpy/*.so")):
        assert str(libdir()) not in output("readelf", "-d", path)
    assert ran(*in_container(unpacked), "/usr/bin/saxpy") == expected


def ran(*command: object) -> str:
    words = [str(word) for word in command]
    environment = os.environ | {"OMP_TARGET_OFFLOAD": "MANDATORY"}
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=environment)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def in_container(root: Path) -> list[str]:
    """Return a prefix for commands that limits them to `root`, /proc and the C library."""
    files = [root / "usr/bin/saxpy", *root.glob("usr/lib/saxpy/*.so")]
    for path in map(Path, re.findall(r"(/\S+) \(0x", output("ldd", *files))):
        if not path.is_relative_to(root):
            place = root / path.relative_to("/")
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, place)
    (root / "proc").mkdir()
    inside = ["unshare", "--mount", "--pid", "--fork", "sh", "-c"]
    inside += [f'mount -t proc proc "{root}/proc" && exec chroot "{root}" "$@"', "sh"]
    tried = subprocess.run([*inside, "/nothing"], capture_output=True, text=True, check=False)
    if "/nothing" not in tried.stderr:
        lacks(f"this process may not have a root of its own: {tried.stderr}")
    return inside
