# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Read a file of any kind into FatBinaries."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from packager.elf import headers
from packager.errors import FormatError, LimitError
from packager.files.reader import Reader, open_input, open_reader
from packager.formats.containers import archive, nested, opencl_elf
from packager.formats.containers import known as containers
from packager.formats.containers.payload import Damage
from packager.formats.device_images import known as images
from packager.formats.device_images.bitcode import magic
from packager.hosts import members
from packager.hosts.host import read_host
from packager.hosts.limits import Limits
from packager.hosts.windows import coff
from packager.look import WHOLE, Look
from packager.model import DeviceImage, FatBinary
from packager.records import NamedTuple
from packager.triples import GPUS


class Loaded(NamedTuple):
    """A file or archive member: its contents, its bytes, and the bytes of its images in order.

    The bytes can be read until the next one is requested.
    """

    binary: FatBinary
    data: Sequence[Reader]
    file: Reader
    elf: headers.Elf | None = None  # None: no ELF file


def load(path: Path, look: Look = WHOLE) -> FatBinary:
    """Read the offload code of the file at `path`, which is no archive.

    Of images only headers, symbols and tables are read, and what `look` adds. Raises FormatError,
    without the file's name, if the file cannot be read or is malformed.
    """
    with open_reader(path, look) as data:
        return read_file(str(path), data)


def read_file(path: str, data: Reader) -> FatBinary:
    """Read an open file that is not an archive; `path` names it in the result."""
    return load_file(path, data).binary


def load_file(path: str, data: Reader) -> Loaded:
    """Read an open file that is not an archive, and keep its headers."""
    if archive.probe(data):
        raise FormatError("is an archive")
    return _load(path, data)


def _everything(_: Reader) -> bool:
    return True


def load_all(
    path: Path, look: Look = WHOLE, wanted: Callable[[Reader], bool] = _everything
) -> Iterator[Loaded]:
    """Yield a file, or each member of an archive with offload code that is `wanted`.

    An archive without offload code yields one empty FatBinary. A member's path is "libk.a(k.o)",
    and that of a member of a nested archive "libk.a(inner.a(k.o))". A package (.whl, .deb) is an
    archive of its files. A malformed part is a fault of the file around it. Raises FormatError if
    nothing can be read.
    """
    with open_input(path, look) as data:
        yield from load_open(path, data, wanted)


def load_open(
    path: Path, data: Reader, wanted: Callable[[Reader], bool] = _everything
) -> Iterator[Loaded]:
    """Yield an open file, or each member of an open archive with offload code that is `wanted`."""
    if not headers.probe(data) and members.probe(data):  # the latter looks at the end, too
        yield from _archive(path, data, wanted)
    elif wanted(data):
        yield _load(str(path), data)


def load_member(path: Path, member: members.Member) -> Iterator[Loaded]:
    """Yield a member of the archive `path` that has offload code. Raises FormatError."""
    if isinstance(member.data, Damage):
        raise FormatError(member.data.message)
    yield from _load_member(f"{path}({member.name})", member, member.data)


def _archive(path: Path, data: Reader, wanted: Callable[[Reader], bool]) -> Iterator[Loaded]:
    faults: list[FatBinary] = []
    found = False
    for member in members.members(path, data):
        name = f"{path}({member.name})" if member.name else str(path)
        try:
            if isinstance(member.data, Damage):
                raise FormatError(member.data.message)
            for loaded in _load_member(name, member, member.data) if wanted(member.data) else ():
                found = True
                yield loaded
        except LimitError as error:
            if not found:
                raise
            stopped = _bare(str(path), (), data).binary._replace(limits=(str(error),))
            faults.append(stopped)
            break
        except FormatError as error:
            fault = _bare(name, (), data).binary._replace(faults=(str(error),))
            faults.append(fault._replace(file=_file(member)))
    if faults and not found:
        raise FormatError(_of_member(str(path), faults[0]))
    yield from (Loaded(fault, (), data) for fault in faults)
    if not found:
        yield _bare(str(path), (), data)


def _load_member(name: str, member: members.Member, data: Reader) -> Iterator[Loaded]:
    """Yield a member with offload code; archives may hold files of any kind."""
    is_host = headers.probe(data) or coff.probe(data)
    if is_host or containers.of_file(data) or _is_for_gpu(data):
        loaded = _load(name, data)
    elif bitcode := _bitcode_host(name, data):
        loaded = bitcode
    else:
        return
    if not loaded.binary.is_empty or _shows_host_only(loaded.binary):
        named = (image._replace(member=member.name) for image in loaded.binary.images)
        binary = loaded.binary._replace(images=tuple(named), file=_file(member))
        yield loaded._replace(binary=binary)


def _shows_host_only(binary: FatBinary) -> bool:
    return binary.host_only is not None and binary.host_only.is_shown


def _of_member(path: str, fault: FatBinary) -> str:
    """Return the first fault, with the name of its member."""
    name, message = fault.path.removeprefix(path)[1:-1], fault.faults[0]
    return message if not name or message.startswith("member ") else f"member {name}: {message}"


def _file(member: members.Member) -> str | None:
    """Return the file that offsets in a member are in, if that is one on disk."""
    return None if member.file is None else str(member.file)


def _is_for_gpu(data: Reader) -> bool:
    """Return whether bytes are an image that names a GPU as its machine."""
    return images.is_image(data) and images.contents(data).machine in GPUS


def _load(path: str, data: Reader) -> Loaded:
    if not len(data):
        raise FormatError("is empty")
    if coff.probe(data):
        return _of_host(Loaded(*coff.read_host(path, data), data))
    if not headers.probe(data) or opencl_elf.probe(data):
        return _bitcode_host(path, data) or _container(path, data)
    file = headers.read(data)
    if headers.is_debug_only(file):
        kind = "shared" if file.is_dynamic else "executable"
        about = FatBinary(path, file.machine, kind, None, (), (), (), is_debug_only=True)
        return Loaded(about, (), data, file)
    if not headers.is_foreign(file) and (host := read_host(path, file)):
        return _of_host(Loaded(*host, data, file))
    return _bare(path, [(images.bare(data), data)], data, file)


def _bitcode_host(path: str, data: Reader) -> Loaded | None:
    """Return the host's object of bitcode that holds device code; None for any other file."""
    if not magic.probe(data):
        return None
    from packager.hosts import bitcode

    host = bitcode.read_host(path, data)
    return _expect_parts(Loaded(*host, data)) if host else None


def _of_host(loaded: Loaded) -> Loaded:
    """Return the binary with regions of the host alone, and with digests of kernels if wanted."""
    if loaded.file.context.look.host_only:
        from packager.hosts import host_only  # imports readers of debug information

        cause = host_only.found(loaded.file, loaded.binary.named)
        loaded = loaded._replace(binary=loaded.binary._replace(host_only=cause))
    if loaded.file.context.look.code and loaded.binary.type == "object":
        from packager.same_kernel.objects import digests

        codes = tuple(digests(loaded.binary, loaded.data))
        loaded = loaded._replace(binary=loaded.binary._replace(codes=codes))
    return _expect_parts(loaded)


def _bare(
    path: str,
    found: Iterable[tuple[DeviceImage, Reader]],
    file: Reader,
    elf: headers.Elf | None = None,
) -> Loaded:
    pairs = list(found)
    of_no_host = FatBinary(path, None, None, None, tuple(image for image, _ in pairs), (), ())
    return Loaded(of_no_host, [data for _, data in pairs], file, elf)


def _expect_parts(loaded: Loaded) -> Loaded:
    """Return a file that has parts. Raises the first limit or fault if nothing was read."""
    if not loaded.binary.has_parts:
        for limit in loaded.binary.limits:
            raise LimitError(limit)
        for fault in loaded.binary.faults:
            raise FormatError(fault)
    return loaded


def _container(path: str, data: Reader) -> Loaded:
    """Read a file that is not ELF: a container, or one device image."""
    container = containers.of_file(data)
    if container is None:
        if not images.is_image(data):
            raise FormatError("is neither an ELF file nor a device image of a known format")
        return _bare(path, [(images.bare(data), data)], data)
    pairs: list[tuple[DeviceImage, Reader]] = []
    faults: list[str] = []
    limits = Limits()
    with limits.noted():
        for item in nested.payloads(container.parse, data):
            if isinstance(item, Damage):
                faults.append(item.message)
            else:
                image = images.from_payload(item, len(pairs), container.NAME, None)
                pairs.append((image, item.image))
    loaded = _bare(path, pairs, data)
    binary = loaded.binary._replace(faults=tuple(faults), limits=limits.met)
    return _expect_parts(loaded._replace(binary=binary))
