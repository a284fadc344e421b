"""In which order clang-offload-packager writes the strings of an image: that of its hash tables.

Releases up to 16 move them from a DenseMap to a StringMap, later ones have the DenseMap alone. The
hashes are CityHash's, with LLVM's seed, and Bernstein's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

Hash = Callable[[bytes], int]

OWN = (b"file", b"kind")  # keys that are in the table, too, and go no further
DENSE_SIZE, STRING_MAP_SIZE = 64, 16
MAX_KEY = 32  # bytes: longer ones are hashed otherwise, and nobody has them
MASK = (1 << 64) - 1
SEED = 0xFF51AFD7ED558CCD
K0, K1 = 0xC3A5C85C97CB3127, 0xB492B66FBE98F273
K2, K3 = 0x9AE16A3B2F90404F, 0xC949D7C7509E6557
MULTIPLIER = 0x9DDFEA08EB382D69


def packed_order(given: Iterable[str], *, with_string_map: bool) -> list[str]:
    """The keys of an image, which are `given` in this order, as a packager writes them; as they
    stand if one is too long.
    """
    keys = [key.encode("utf-8", "surrogateescape") for key in given]
    if all(len(key) <= MAX_KEY for key in keys):
        keys = _dense_map(keys)
    keys = [key for key in keys if key not in OWN]
    if with_string_map:
        keys = _string_map(keys)
    return [key.decode("utf-8", "surrogateescape") for key in keys]


def _dense_map(keys: Iterable[bytes]) -> list[bytes]:
    table: list[bytes | None] = [None] * DENSE_SIZE
    for count, key in enumerate(keys, 1):
        if 4 * count >= 3 * len(table):
            table = _grown(table, _city)
        _put(table, key, _city)
    return [key for key in table if key is not None]


def _string_map(keys: Iterable[bytes]) -> list[bytes]:
    table: list[bytes | None] = [None] * STRING_MAP_SIZE
    for count, key in enumerate(keys, 1):
        _put(table, key, _bernstein)
        if 4 * count > 3 * len(table):
            table = _grown(table, _bernstein)
    return [key for key in table if key is not None]


def _put(table: list[bytes | None], key: bytes, hashed: Hash) -> None:
    place, step = hashed(key) % len(table), 1
    while table[place] is not None:
        place, step = (place + step) % len(table), step + 1
    table[place] = key


def _grown(table: list[bytes | None], hashed: Hash) -> list[bytes | None]:
    result: list[bytes | None] = [None] * (2 * len(table))
    for key in table:
        if key is not None:
            _put(result, key, hashed)
    return result


def _bernstein(key: bytes) -> int:
    value = 0
    for byte in key:
        value = (value * 33 + byte) & 0xFFFFFFFF
    return value


def _city(key: bytes) -> int:
    size = len(key)
    first, last = _number(key[:8]), _number(key[-8:])
    if size > 16:
        a, b, c = first * K1, _number(key[8:16]), last * K2
        low = _turned(a - b, 43) + _turned(c ^ SEED, 30) + _number(key[-16:-8]) * K0
        return _mixed(low, a + _turned(b ^ K3, 20) - c + size + SEED)
    if size > 8:
        return _mixed(SEED ^ first, _turned(last + size, size)) ^ last
    if size > 3:
        return _mixed(size + (_number(key[:4]) << 3), SEED ^ _number(key[-4:]))
    if size:
        low, high = key[0] + (key[size >> 1] << 8), size + (key[-1] << 2)
        return _folded(low * K2 ^ high * K3 ^ SEED) * K2 & MASK
    return K2 ^ SEED


def _mixed(low: int, high: int) -> int:
    a = _folded((low ^ high) * MULTIPLIER)
    return _folded((high ^ a) * MULTIPLIER) * MULTIPLIER & MASK


def _folded(value: int) -> int:
    value &= MASK
    return value ^ value >> 47


def _turned(value: int, by: int) -> int:
    value &= MASK
    return (value >> by | value << (64 - by)) & MASK


def _number(data: bytes) -> int:
    return int.from_bytes(data, "little")
