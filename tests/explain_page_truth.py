"""What each rank must hold after a collective, from the inputs that a story begins with and the definition alone."""


def outputs_of(story):
    """{(rank, label): values} of every output."""
    n, root = story["ranks"], story["root"]
    inputs, outputs = {}, {}
    for row in story["rows"]:
        if row["kind"] == "in":
            inputs[row["rank"]] = [cell[0] if cell else None for cell in row["cells"]]
        if row["kind"] == "out":
            outputs[row["rank"]] = row["label"]

    def sums():
        return [sum(values) for values in zip(*(inputs[rank] for rank in range(n)))]

    def chunk(values, number):
        size = len(values) // n
        return values[number * size:(number + 1) * size]

    everything = [value for rank in range(n) for value in inputs.get(rank, [])]
    truths = {
        "all_reduce": lambda rank: sums(),
        "reduce_scatter": lambda rank: chunk(sums(), rank),
        "all_gather": lambda rank: everything,
        "broadcast": lambda rank: inputs[root],
        "reduce": lambda rank: sums(),
        "gather": lambda rank: everything,
        "scatter": lambda rank: chunk(inputs[root], rank),
        "all_to_all": lambda rank: [value for peer in range(n) for value in chunk(inputs[peer], rank)],
        "send_recv": lambda rank: inputs[root],
    }
    if not outputs:
        return {}
    truth = truths[story["collective"]]
    rooted = story["collective"] in ("reduce", "gather")
    return {(rank, label): truth(rank) for rank, label in outputs.items() if not rooted or rank == root}
