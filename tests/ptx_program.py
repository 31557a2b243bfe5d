"""PTX as a program: its kernels, their instructions, what follows what, and what addresses are made of."""

import re


class Instruction:
    def __init__(self, line, text):
        self.line, self.text = line, text
        self.guard = None
        if text.startswith("@"):
            self.guard, text = text.split(None, 1)
        self.op, _, rest = text.partition(" ")
        self.operands = [o.strip() for o in re.findall(r"\{[^}]*\}|\[[^\]]*\]|[^,]+", rest.strip()) if o.strip()]
        self.address = next((o[1:-1] for o in self.operands if o.startswith("[")), None)

    def registers(self, operand):
        return re.findall(r"%[a-z]+\d+", operand)

    @property
    def writes(self):
        if self.op.startswith(("st.", "bra", "bar", "ret", "setp")) or not self.operands:
            return []
        return self.registers(self.operands[0])

    @property
    def reads(self):
        return [r for operand in self.operands[1:] for r in self.registers(operand)]


class Kernel:
    def __init__(self, name, parameters, body, first_line, text):
        self.name, self.parameters, self.text = name, parameters, text
        self.code, self.labels = [], {}
        line = first_line
        for statement in re.split(r"(\n)", body):
            if statement == "\n":
                line += 1
                continue
            statement = statement.split("//")[0].strip()
            while label := re.match(r"(\$\w+):\s*", statement):
                self.labels[label.group(1)] = len(self.code)
                statement = statement[label.end():]
            statement = statement.strip("{} \t")
            for part in (p.strip() for p in statement.split(";")):
                if part and not part.startswith("."):
                    self.code.append(Instruction(line, part))
        self.defined_by = {}
        for index, instruction in enumerate(self.code):
            for register in instruction.writes:
                self.defined_by.setdefault(register, []).append(index)

    def successors(self, index):
        instruction = self.code[index]
        if instruction.op.startswith("bra"):
            target = self.labels[instruction.operands[-1]]
            return [target] + ([index + 1] if instruction.guard else [])
        if instruction.op in ("ret", "exit", "trap") and not instruction.guard:
            return []
        return [index + 1] if index + 1 < len(self.code) else []


def statements_of(ptx):
    """One statement per line, so that operand lists cut over lines are whole."""
    return re.sub(r",\s*\n\s*", ", ", ptx)


def without_source_lines(ptx):
    """The same program, less the places in the source that -lineinfo gives."""
    return re.sub(r"\n[ \t]*\.loc[^\n]*", "", ptx)


def end_of_braces(text, at):
    """One past the brace that closes the one at `at`."""
    depth = 0
    for brace in re.compile(r"[{}]").finditer(text, at):
        depth += 1 if brace.group() == "{" else -1
        if depth == 0:
            return brace.end()
    raise ValueError("a brace is not closed")


def kernels_of(ptx):
    ptx = statements_of(ptx)
    for match in re.finditer(r"\.entry\s+(\w+)\s*\((.*?)\)[^{]*", ptx, re.S):
        parameters = [(name, int(size or 0))
                      for name, size in re.findall(r"(\w+_param_\d+)(?:\[(\d+)\])?", match.group(2))]
        end = end_of_braces(ptx, match.end())
        body = ptx[match.end() + 1:end - 1]
        yield Kernel(match.group(1), parameters, body, ptx.count("\n", 0, match.end()) + 1, ptx[match.start():end])


def short_name(mangled, names):
    if match := re.search(r"collectiveILNS_6KernelE(\d+)E", mangled):
        return names[int(match.group(1))]
    return "messages" if "messages" in mangled else "probe"


class Places:
    """Which parameter fields each register's value derives from, whatever path the kernel takes."""

    def __init__(self, kernel, layout):
        self.kernel = kernel
        team = next(name for name, size in kernel.parameters if size == layout["team"])
        reports = next((name for name, size in kernel.parameters if size == layout["reports"]), None)
        self.fields = {(team, layout["flags"]): "flags", (team, layout["entries"]): "entries",
                       (team, layout["board"]): "board", (team, layout["packets"]): "packets"}
        for offset in range(0, layout["reports"], 8):
            self.fields[reports, offset] = "reports"
        self.constant, self.origin = {}, {}
        self.follow_addresses_of_parameters()
        self.follow_values()

    def follow_addresses_of_parameters(self):
        """Registers that hold the address of a parameter plus a constant."""
        changed = True
        while changed:
            changed = False
            for instruction in self.kernel.code:
                if not instruction.writes or instruction.writes[0] in self.constant:
                    continue
                value = None
                if instruction.op.startswith("mov.b64") or instruction.op.startswith("mov.u64"):
                    value = self.parameter_at(instruction.operands[1])
                elif instruction.op.startswith("add.s64") and re.fullmatch(r"-?\d+", instruction.operands[2]):
                    base = self.constant.get(instruction.operands[1])
                    value = (base[0], base[1] + int(instruction.operands[2])) if base else None
                if value:
                    self.constant[instruction.writes[0]] = value
                    changed = True

    def parameter_at(self, address):
        base, _, offset = address.partition("+")
        offset = int(offset or 0)
        if base in self.constant:
            return self.constant[base][0], self.constant[base][1] + offset
        if "_param_" in base:
            return base, offset
        return None

    def follow_values(self):
        changed = True
        while changed:
            changed = False
            for instruction in self.kernel.code:
                for i, register in enumerate(instruction.writes):
                    origins = set()
                    if instruction.op.startswith("ld.param"):
                        parameter = self.parameter_at(instruction.address)
                        width = int(re.search(r"(\d+)$", instruction.op).group(1)) // 8
                        if parameter and (parameter[0], parameter[1] + i * width) in self.fields:
                            origins.add(self.fields[parameter[0], parameter[1] + i * width])
                    elif not instruction.op.startswith("ld."):
                        for source in instruction.reads:
                            origins |= self.origin.get(source, set())
                    if origins - self.origin.get(register, set()):
                        self.origin.setdefault(register, set()).update(origins)
                        changed = True

    def of(self, address):
        origins = set()
        for register in re.findall(r"%[a-z]+\d+", address):
            origins |= self.origin.get(register, set())
        return origins

    def base_and_offset(self, address):
        """A register and what is added to it, seen through additions of constants."""
        base, _, offset = address.partition("+")
        offset = int(offset or 0)
        while len(defined := self.kernel.defined_by.get(base, [])) == 1:
            instruction = self.kernel.code[defined[0]]
            if not instruction.op.startswith("add.s64") or not re.fullmatch(r"-?\d+", instruction.operands[2]):
                break
            base, offset = instruction.operands[1], offset + int(instruction.operands[2])
        return base, offset


def in_a_loop(kernel, index):
    seen, todo = set(), list(kernel.successors(index))
    while todo:
        at = todo.pop()
        if at == index:
            return True
        if at not in seen:
            seen.add(at)
            todo.extend(kernel.successors(at))
    return False
