# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The manual pages agree with the commands: options, values, arguments and exit codes."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import click
import pytest
from places import ROOT

from omptool.cli import COMMANDS, cli

PAGES = {name: ROOT / "man" / f"omptool-{name}.1" for name in COMMANDS}
SECTIONS = ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXIT STATUS", "ENVIRONMENT", "EXAMPLES"]
EVERY = pytest.mark.parametrize("name", list(COMMANDS))


GROUP = cli.make_context("omptool", ["devices"])


def command(name: str) -> click.Command:
    found = cli.get_command(GROUP, name)
    assert found
    return found


def sections(page: Path) -> dict[str, str]:
    """Return the page's sections as plain text."""
    parts = re.split(r"^\.SH (.*)\n", page.read_text(), flags=re.MULTILINE)
    return {title: plain(body) for title, body in zip(parts[1::2], parts[2::2], strict=True)}


def plain(roff: str) -> str:
    """Return roff as plain text, with each tag after .TP on a line of its own after "TP "."""
    lines = []
    tag = False
    for line in roff.splitlines():
        if line == ".TP":
            tag = True
            continue
        macro = re.match(r"\.([A-Z]{1,2}) ?", line)
        text = line[macro.end() :] if macro else line
        words = re.findall(r'"[^"]*"|(?:\\ |\S)+', text)
        joiner = "" if macro and len(macro[1]) == 2 and macro[1] != "SS" else " "
        text = joiner.join(word.strip('"') for word in words)
        text = re.sub(r"\\f[A-Z]", "", text).replace(r"\-", "-").replace(r"\ ", " ")
        lines.append(f"TP {text}" if tag else text)
        tag = False
    return "\n".join(lines)


def tags(section: str) -> list[str]:
    return [line[3:] for line in section.splitlines() if line.startswith("TP ")]


def options(name: str) -> list[click.Option]:
    context = click.Context(command(name), parent=GROUP)
    return [p for p in command(name).get_params(context) if isinstance(p, click.Option)]


@EVERY
def test_each_page_has_its_sections_and_the_commands_summary(name: str) -> None:
    page = sections(PAGES[name])
    assert list(page)[: len(SECTIONS)] == SECTIONS
    assert list(page)[-1] == "SEE ALSO"
    title, summary = page["NAME"].split(" - ")
    assert title == f"omptool-{name}"
    assert summary.strip().lower() == COMMANDS[name].rstrip(".").lower()


@EVERY
def test_options_are_those_of_help_in_its_order(name: str) -> None:
    documented = [
        re.findall(r"(?<![\w-])--?[\w-]+", tag) for tag in tags(sections(PAGES[name])["OPTIONS"])
    ]
    actual = [sorted(option.opts, key=len) for option in options(name)]
    assert [sorted(names, key=len) for names in documented] == actual


@EVERY
def test_values_and_defaults_are_those_of_help(name: str) -> None:
    text = sections(PAGES[name])["OPTIONS"]
    entries = re.split(r"^TP ", text, flags=re.MULTILINE)[1:]
    for option, entry in zip(options(name), entries, strict=True):
        tag = entry.splitlines()[0]
        value = "" if option.is_flag or option.count else value_name(option)
        assert value in tag.replace(" | ", "|").replace("\\:", ""), (tag, value)
        if option.show_default and isinstance(option.default, int):
            assert str(option.default) in entry


def value_name(option: click.Option) -> str:
    if isinstance(option.type, click.Choice):
        return "|".join(option.type.choices)
    return option.metavar or ""


@EVERY
def test_the_synopsis_names_every_option_and_argument(name: str) -> None:
    synopsis = sections(PAGES[name])["SYNOPSIS"]
    assert synopsis.startswith(f"omptool {name}")
    named = set(re.findall(r"(?<![\w-])--?[a-zA-Z][\w-]*", synopsis.replace("--]", "]")))
    for option in options(name):
        if "--help" not in option.opts:
            assert named & set(option.opts), option.opts
            named -= set(option.opts)
    assert not named
    for parameter in command(name).params:
        if isinstance(parameter, click.Argument):
            words = (parameter.metavar or str(parameter.name).upper()).split()
            assert words[-1].strip("[].…") in synopsis.replace(" | ", "|").replace("\\:", "")


@EVERY
def test_exit_codes_of_help_are_documented(name: str) -> None:
    documented = {int(tag) for tag in tags(sections(PAGES[name])["EXIT STATUS"])}
    said = re.search(r"Exits.*", command(name).help or "", re.DOTALL)
    in_help = {int(code) for code in re.findall(r"\b\d+\b", said[0])} if said else set()
    assert in_help <= documented
    assert documented <= {0, 1, 2, 3, 124, 125, 126, 127}


def test_the_main_page_lists_the_commands_and_its_options() -> None:
    page = sections(ROOT / "man" / "omptool.1")
    listed = [tag.split(",")[0] for tag in tags(page["COMMANDS"])]
    assert listed == list(COMMANDS)
    for summary in COMMANDS.values():
        assert summary in page["COMMANDS"]
    documented = set(re.findall(r"--?[\w-]+", " ".join(tags(page["OPTIONS"]))))
    assert documented == {"-h", "--help", "-V", "--version"}
    assert {int(tag) for tag in tags(page["EXIT STATUS"])} == {0, 1, 2, 3}


def test_the_variables_that_the_runtime_reads_are_documented() -> None:
    """Variables of LLVM's CUDA plugin are in docs/plugins.md instead."""
    read = set()
    for room, prefixes in (
        ("libomptarget", "OMP|OMPTOOL|LIBOMPTARGET"),
        ("observe", "OMPTOOL|LIBOMPTARGET"),
        ("plugins", "OMP|OMPTOOL"),
        ("worker", "OMPTOOL"),
    ):
        pattern = (
            rf'(?:getenv|own_setting|openmps_setting|variable|number)\("((?:{prefixes})_\w+)"[,)]'
        )
        for source in ROOT.glob(f"runtime/{room}/**/*.cpp"):
            read |= set(re.findall(pattern, source.read_text()))
    assert read == set(tags(sections(PAGES["run"])["ENVIRONMENT"]))


@pytest.mark.parametrize("page", sorted((ROOT / "man").glob("*.1")), ids=lambda page: page.stem)
def test_man_formats_it_without_a_warning(page: Path) -> None:
    command = ["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", str(page)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert done.stderr == ""
    assert len(done.stdout) > 1000


def test_each_macro_begins_a_line() -> None:
    macro = re.compile(r"\S\s+\.[A-Z]{1,2}\b")
    wrong = [
        f"{page.name}: {line}"
        for page in sorted((ROOT / "man").glob("*.1"))
        for line in page.read_text().splitlines()
        if macro.search(line)
    ]
    assert wrong == []


def test_nothing_else_is_in_the_folder() -> None:
    pages = {page.name for page in (ROOT / "man").glob("*.1")}
    assert pages == {"omptool.1", *(page.name for page in PAGES.values())}
