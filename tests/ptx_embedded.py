"""The GPU code that a library or program embeds, in its fatbin containers."""

import struct
import sys

FATBIN = 0xBA55ED50


def fat_entries(data):
    """(kind, architecture, bytes) of each entry of each fatbin container; kind 1 is PTX, 2 machine code."""
    at = 0
    while (at := data.find(struct.pack("<I", FATBIN), at)) >= 0:
        _, _, header, size = struct.unpack_from("<IHHQ", data, at)
        entry, end = at + header, at + header + size
        while entry < end:
            kind, = struct.unpack_from("<H", data, entry)
            head, = struct.unpack_from("<I", data, entry + 4)
            length, = struct.unpack_from("<Q", data, entry + 8)
            compressed, = struct.unpack_from("<I", data, entry + 16)
            architecture, = struct.unpack_from("<I", data, entry + 28)
            body = data[entry + head:entry + head + length]
            if compressed:
                sys.exit("the embedded code is compressed; build it with --no-compress")
            yield kind, architecture, body
            entry += head + length
        at += 4
