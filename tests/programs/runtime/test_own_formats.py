# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Images in a plugin's own format: the plugins on this machine decide about them."""

from __future__ import annotations

from pathlib import Path

import pytest
from documents import dumped_images
from fixture_programs import X86_64, call, compile_host, lower, run, runtime_flags
from linking import link
from places import FIXTURES, TESTS
from products import Products
from toolchain import omptool

from omptool.installation import includedir

MAGIC = b"\1OWN FORMAT\n".ljust(16, b"\0")
ALONE = {"OMPTOOL_PLUGINS": "host"}
SAXPY = FIXTURES / "saxpy"


@pytest.fixture(scope="module")
def work(products: Products) -> Path:
    """Provide the plugin, a host, and images: one of its format, a damaged one, and ELF."""

    def build(folder: Path) -> Path:
        flags = ("-std=c99", "-Wall", "-Wextra", "-O2", "-shared", "-fPIC", f"-I{includedir()}")
        source = TESTS / "programs" / "runtime" / "own_format.c"
        plugin = folder / "libomptarget.rtl.own.so"
        call("cc", *flags, f"-I{FIXTURES / 'sample_plugin'}", source, "-o", plugin)
        compile_host(SAXPY / "host.c", folder / "host.o")
        data = lower(SAXPY / "kernels.ll", folder / "kernels.so").read_bytes()
        (folder / "own").write_bytes(MAGIC + data)
        (folder / "other").write_bytes(b"\1OTHER FORMAT\n" + data)
        (folder / "cut.so").write_bytes(data[:200])
        return folder

    return products.made("own-format", build)


def environment(work: Path) -> dict[str, str]:
    return {"OMPTOOL_PLUGIN_PATH": str(work), "OMPTOOL_PLUGINS": "host,own"}


@pytest.mark.slow
@pytest.mark.offloads
def test_what_a_plugin_takes_is_bundled_and_runs(work: Path, tmp_path: Path) -> None:
    image = ("--image", f"{X86_64}={work / 'own'}")
    out = tmp_path / "bundled.o"
    done = omptool("bundle", work / "host.o", *image, "-o", out, environment=environment(work))
    assert (done.exit_code, done.stderr) == (0, "")
    app = link(tmp_path / "app", out, flags=runtime_flags())
    ran = run(app, OMP_TARGET_OFFLOAD="MANDATORY", **environment(work))
    assert (ran.stdout, ran.stderr) == ((SAXPY / "expected.txt").read_text(), "")
    for path in (out, app):
        said = omptool("verify", path, environment=environment(work))
        assert (said.exit_code, "OMP110" in said.stdout) == (0, False), said.stdout
    again = omptool(
        "edit", app, "--add", f"{X86_64}:znver4={work / 'own'}", "-o", tmp_path / "two",
        environment=environment(work),
    )  # fmt: skip
    assert again.exit_code == 0, again.stderr
    assert [image["kind"] for image in dumped_images(tmp_path / "two")] == ["unknown"] * 2
    replaced = ("edit", app, "--replace", f"0={work / 'own'}", "-o", tmp_path / "replaced")
    done = omptool(*replaced, environment=environment(work))
    assert done.exit_code == 0, done.stderr
    refused = omptool(*replaced, environment=ALONE)
    assert refused.exit_code == 2
    what = "has an unknown format, and no plugin on this machine takes it ("
    assert refused.stderr.startswith(f"Error: {app}: image {work / 'own'}: {what}")


@pytest.mark.slow
def test_where_the_plugin_is_not_here(work: Path, tmp_path: Path) -> None:
    image = ("--image", f"{X86_64}={work / 'own'}")
    out = tmp_path / "bundled.o"
    done = omptool("bundle", work / "host.o", *image, "-o", out, environment=ALONE)
    what = "has an unknown format, and no plugin on this machine takes it"
    assert done.exit_code == 2
    assert done.stderr.startswith(f"Error: {work / 'host.o'}: image {work / 'own'}: {what} (")
    assert done.stderr.count("\n") == 1
    assert not out.exists()
    assert omptool("bundle", work / "host.o", *image, "--force", "-o", out).exit_code == 0
    said = omptool("verify", out, environment=ALONE)
    assert said.exit_code == 1
    assert f"OMP110 error: image 0 ({X86_64}) has an unknown format" in said.stdout
    assert omptool("verify", out, environment=environment(work)).exit_code == 0


@pytest.mark.slow
def test_a_format_that_no_plugin_knows(work: Path, tmp_path: Path) -> None:
    words = ("--image", f"{X86_64}={work / 'other'}", "-o", tmp_path / "bundled.o")
    done = omptool("bundle", work / "host.o", *words, environment=environment(work))
    assert done.exit_code == 2
    assert "no plugin on this machine takes it" in done.stderr


def test_a_damaged_file_of_a_known_format_is_still_refused(work: Path, tmp_path: Path) -> None:
    words = ("--image", f"{X86_64}={work / 'cut.so'}", "-o", tmp_path / "bundled.o")
    done = omptool("bundle", work / "host.o", *words, environment=environment(work))
    assert done.exit_code == 2
    assert "runs past the end" in done.stderr
