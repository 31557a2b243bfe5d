"""The GPU code that a library or program embeds: its fatbin containers, and what cubins say of their kernels."""

import struct
import sys

FATBIN = 0xBA55ED50


def fat_entries(data):
    """(kind, bytes) of each entry of each fatbin container in `data`; kind 1 is PTX, 2 machine code."""
    at = 0
    while (at := data.find(struct.pack("<I", FATBIN), at)) >= 0:
        _, _, header, size = struct.unpack_from("<IHHQ", data, at)
        entry, end = at + header, at + header + size
        while entry < end:
            kind, = struct.unpack_from("<H", data, entry)
            head, = struct.unpack_from("<I", data, entry + 4)
            length, = struct.unpack_from("<Q", data, entry + 8)
            compressed, = struct.unpack_from("<I", data, entry + 16)
            body = data[entry + head:entry + head + length]
            if compressed:
                sys.exit("the embedded code is compressed; build it with --no-compress")
            yield kind, body
            entry += head + length
        at += 4


def frames_and_registers(elf):
    """{kernel: (frame bytes, registers)} of a cubin."""
    sections, = struct.unpack_from("<Q", elf, 40)
    width, count, names_at = struct.unpack_from("<HHH", elf, 58)
    table = [struct.unpack_from("<IIQQQQIIQQ", elf, sections + i * width) for i in range(count)]

    def text(strings, offset):
        begin = table[strings][4] + offset
        return elf[begin:elf.index(b"\0", begin)].decode()

    kernels, frames, registers, symbols = [], {}, {}, None
    for name, kind, _, _, offset, size, link, info, _, _ in table:
        if kind == 2:
            symbols = (offset, link)
    for name, kind, _, _, offset, size, link, info, _, _ in table:
        section = text(names_at, name)
        if section.startswith(".text."):
            kernels.append(section[6:])
        if section == ".nv.info":
            at = offset
            while at < offset + size:
                form, attribute, value = struct.unpack_from("<BBH", elf, at)
                of = {0x11: frames, 0x2F: registers}.get(attribute)  # the attributes of a function
                if form == 4 and of is not None:
                    symbol, number = struct.unpack_from("<II", elf, at + 4)
                    string, = struct.unpack_from("<I", elf, symbols[0] + symbol * 24)
                    of[text(symbols[1], string)] = number
                at += 4 + (value if form == 4 else 0)
    return {kernel: (frames[kernel], registers[kernel]) for kernel in kernels}
