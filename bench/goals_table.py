"""The cells of the goals as Markdown tables."""

import goals_judge


def size_text(count):
    for unit, bytes_of in (("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count >= bytes_of:
            return f"{count / bytes_of:g} {unit}"
    return f"{count} B"


def figure(value):
    return "-" if value is None else f"{value:.0f}" if value >= 100 else f"{value:.3g}" if value >= 10 else f"{value:.2f}"


def outcome(cell):
    """What one goal came to: ratio, the lower end of its interval, goal; short ones are marked."""
    if cell.verdict == goals_judge.UNSEEN:
        return f"not seen ({cell.wanted:g})"
    if cell.of_bound:
        text = f"{figure(cell.ratio)} (<= {cell.wanted:g})"
    else:
        text = f"{figure(cell.ratio)} [{figure(cell.low)}] ({cell.wanted:g})"
        if cell.peer.startswith("openmpi-"):
            text += " " + cell.peer.removeprefix("openmpi-")
        elif cell.peer in ("mpich",) and cell.goal == "best peer":
            text += " mpich"
        if cell.low < cell.wanted - goals_judge.TOLERANCE and cell.verdict == goals_judge.HOLDS:
            text += " at the bound"
    return f"🔴 **{text}**" if cell.verdict == goals_judge.SHORT else text


def table_of(cells):
    """One operation, number of ranks and kind of memory: a line per size and placement."""
    titles = list(dict.fromkeys(cell.goal for cell in cells))
    lines = ["| size | placement | us | bound | share | " + " | ".join(titles) + " |",
             "|---" * (5 + len(titles)) + "|"]
    keys = dict.fromkeys((cell.size, cell.placement) for cell in sorted(cells, key=lambda cell: cell.size))
    for size, placement in keys:
        of_row = {cell.goal: cell for cell in cells if (cell.size, cell.placement) == (size, placement)}
        any_cell = next(iter(of_row.values()))
        share = f"{100 * any_cell.bound / any_cell.time:.0f} %" if any_cell.bound else "-"
        texts = [outcome(of_row[title]) if title in of_row else "" for title in titles]
        what = size_text(size) if size else "-"
        lines.append(f"| {what} | {placement} | {figure(any_cell.time)} | {figure(any_cell.bound)} | {share} | "
                     + " | ".join(texts) + " |")
    return lines


def tables_of(cells, machine, command, date, missing):
    """The text between the marks of docs/speed.md."""
    seen = [cell for cell in cells if cell.verdict != goals_judge.UNSEEN]
    short = [cell for cell in seen if cell.verdict == goals_judge.SHORT]
    lines = [f"Measured on {machine['cores']} cores of {machine['cpu']}, {machine['memory_gib']:.0f} GiB, {machine['mpi']}, "
             f"{date}, by `{command}`: f32, sum, fresh buffers.",
             f"{len(seen) - len(short)} of {len(seen)} cells hold; {len(short)} fall short (🔴)."
             + (f" Not installed, so not seen: {', '.join(missing)}." if missing else ""), ""]
    groups = dict.fromkeys((cell.ranks, cell.operation, cell.memory) for cell in cells)
    for ranks, operation, memory in groups:
        group = [cell for cell in cells if (cell.ranks, cell.operation, cell.memory) == (ranks, operation, memory)]
        where = "" if operation == "barrier" else f", {memory}"
        bad = sum(cell.verdict == goals_judge.SHORT for cell in group)
        lines += [f"### {operation}{where}, {ranks} ranks", "",
                  "All cells hold." if bad == 0 else f"{bad} of {len(group)} cells fall short.", ""]
        lines += table_of(group) + [""]
    return "\n".join(lines)
