"""The summary of a report of bench/gpu.sh: lines to read."""


def size_text(count):
    for unit, bytes_of in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count >= bytes_of:
            return f"{count / bytes_of:.4g} {unit}"
    return f"{count} B"


def table_of(rows):
    """One line per collective and size: tutti beside NCCL."""
    if not rows:
        return []
    wide = rows[0]["ranks"] > 1
    figure = "busbw" if wide else "algbw"
    lines = [f"{'collective':15}{'size':>10}{'native us':>12}{figure + ' GB/s':>12}{'of limit':>10}{'NCCL us':>12}"
             f"{figure + ' GB/s':>12}{'NCCL/native':>13}"]
    keys = dict.fromkeys((row["collective"], row["bytes"]) for row in rows)
    for collective, count in keys:
        by = {row["backend"]: row for row in rows if (row["collective"], row["bytes"]) == (collective, count)}
        native, nccl = by.get("native"), by.get("nccl")

        def cells(row):
            return f"{row['time_us']:12.2f}{row[figure]:12.2f}" if row else f"{'-':>12}{'-':>12}"

        share = f"{100 * native['of_limit']:9.0f}%" if native and native["of_limit"] is not None else f"{'-':>10}"
        ratio = (native or {}).get("ratio", {}).get("nccl")
        lines.append(f"{collective:15}{size_text(count):>10}{cells(native)}{share}{cells(nccl)}"
                     f"{f'{ratio:13.2f}' if ratio else f'{chr(45):>13}'}")
    return lines


def summary_of(report):
    machine = report["machine"]
    names = ", ".join(dict.fromkeys(str(gpu["name"]) for gpu in machine["gpus"])) or "emulated"
    driver = machine["gpus"][0]["driver_version"] if machine["gpus"] else "none"
    yield f"tutti on {machine['gpus_used']} x {names}, driver {driver}, {report['date']}"
    if report["emulated"]:
        yield "EMULATED: it says nothing of speed"
    for note in report["notes"]:
        yield note
    tests = report["tests"]
    if tests:
        yield f"GPU tests: {tests['passed']} passed, {len(tests['failed'])} failed, {len(tests['skipped'])} skipped"
    for step in report["steps"]:
        if step["part"] == "sanitizer" and step["state"] != "left_out":
            yield f"{step['part']}: {step['what']}: {step['state'].replace('_', ' ')}"
    for what in report["left_out"]:
        yield f"left out: {what}"
    limits = report["limits"]
    for row in limits["memory"]:
        yield (f"GPU {row['gpu']}: a copy within its memory: {row['copied']:.0f} GB/s copied "
               f"({row['read_and_written']:.0f} read and written), measured")
    for row in limits["link_copies"]:
        if row["copied"]:
            yield f"GPU {row['from_gpu']} to GPU {row['to_gpu']}: {row['copied']:.0f} GB/s copied, measured"
        else:
            yield f"GPU {row['from_gpu']} to GPU {row['to_gpu']}: no peer access"
    if limits["nvlink"]:
        least = min(limits["nvlink"], key=lambda link: link["one_way"])
        yield f"NVLink: {least['links']} links, {least['one_way']:.0f} GB/s one way, by nvidia-smi"
    if limits["data_sheet"]:
        sheet = limits["data_sheet"]
        yield f"data sheet: memory {sheet['memory']} GB/s, links {sheet['links_one_way']} GB/s one way"
    if report["ceiling"]:
        yield f"limit of the table: {report['ceiling']['rate']:.0f} GB/s, {report['ceiling']['what']}"
    yield from table_of(report["bandwidth"])
    for trouble in report["troubles"]:
        yield f"FAILED: {trouble}"
    yield "failed" if report["troubles"] else "passed, of what ran"
