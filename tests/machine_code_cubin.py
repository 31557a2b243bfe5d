"""The kernels of a cubin, which is an ELF file: their machine code, and what .nv.info and the like say of them."""

import struct

# Attributes in .nv.info: of a function, keyed by its symbol, and of a kernel, in its own section.
FRAME, STACK, REGISTERS, BARRIERS, THREADS = 0x11, 0x12, 0x2F, 0x4C, 0x05
BYTE, HALF, BYTES = 2, 3, 4  # how an attribute holds its value
RESERVED_SHARED = 1024  # bytes that lie before a block's own from sm_90 on, and that the section counts


class Kernel:
    """A kernel's code, and its figures: registers and threads per block, bytes of the rest."""

    def __init__(self, name, code):
        self.name, self.code = name, code
        self.registers = self.frame = self.stack = None
        self.shared = self.barriers = 0
        self.threads = None  # the most that a block may have, if the kernel says so


class Elf:
    def __init__(self, data):
        if data[:4] != b"\x7fELF" or data[4] != 2:
            raise ValueError("a cubin that is no 64-bit ELF file")
        self.data = data
        table, = struct.unpack_from("<Q", data, 40)
        width, count, names = struct.unpack_from("<HHH", data, 58)
        headers = [struct.unpack_from("<IIQQQQIIQQ", data, table + i * width) for i in range(count)]
        self.names = headers[names][4]
        self.sections = [(self.text(self.names + header[0]), header) for header in headers]
        symbols = next(header for _, header in self.sections if header[1] == 2)
        strings = headers[symbols[6]][4]
        self.symbols = [self.text(strings + struct.unpack_from("<I", data, symbols[4] + at)[0])
                        for at in range(0, symbols[5], symbols[9])]

    def text(self, begin):
        return self.data[begin:self.data.index(b"\0", begin)].decode()

    def body(self, header):
        return b"" if header[1] == 8 else self.data[header[4]:header[4] + header[5]]  # 8: takes no space in the file

    def attributes(self, header):
        """(form, attribute, value) of each entry of a .nv.info section; the value of BYTES is bytes."""
        body, at = self.body(header), 0
        while at < len(body):
            form, attribute, value = struct.unpack_from("<BBH", body, at)
            at += 4
            if form == BYTES:
                yield form, attribute, body[at:at + value]
                at += value
            else:
                yield form, attribute, value & 0xFF if form == BYTE else value


def kernels_of(data, architecture):
    """The kernels of the cubin `data`, by name. The frame and stack of one are the largest of what it calls, too."""
    elf = Elf(data)
    kernels = {name[6:]: Kernel(name[6:], elf.body(header)) for name, header in elf.sections
               if name.startswith(".text.")}
    frames_elsewhere = 0
    for name, header in elf.sections:
        if name == ".nv.info":
            for form, attribute, value in elf.attributes(header):
                if form != BYTES or attribute not in (FRAME, STACK, REGISTERS):
                    continue
                symbol, number = struct.unpack("<II", value)
                kernel = kernels.get(elf.symbols[symbol])
                if kernel is None:  # a function that a kernel calls, such as a division of 64 bits
                    frames_elsewhere = max(frames_elsewhere, number if attribute == FRAME else 0)
                elif attribute == FRAME:
                    kernel.frame = number
                elif attribute == STACK:
                    kernel.stack = number
                else:
                    kernel.registers = number
        elif name.startswith(".nv.info."):
            kernel = kernels[name[len(".nv.info."):]]
            for form, attribute, value in elf.attributes(header):
                if attribute == BARRIERS and form == BYTE:
                    kernel.barriers = value
                if attribute == THREADS and form == BYTES:
                    x, y, z = struct.unpack("<III", value)
                    kernel.threads = x * y * z
        elif name.startswith(".nv.shared.") and name[len(".nv.shared."):] in kernels:
            kernels[name[len(".nv.shared."):]].shared = header[5] - (RESERVED_SHARED if architecture >= 90 else 0)
    for kernel in kernels.values():
        kernel.frame = None if kernel.frame is None else max(kernel.frame, frames_elsewhere)
    return kernels
