"""The goals for CPUs, and whether a report of tutti-bench reaches them: one cell per row of native and goal."""

import dataclasses

OPERATIONS = ("barrier", "all_reduce", "reduce_scatter", "all_gather", "broadcast", "send_recv")
HOLDS, SHORT, UNSEEN = "holds", "short", "not seen"
TOLERANCE = 0.03  # of a ratio
NEAR_BOUND = 1.15  # times the bound
DISPROVED = 0.95  # of the bound: a call that takes less shows that the bound is none, and so proves nothing by it
KIB, MIB = 1 << 10, 1 << 20


def open_mpi(peer):
    return peer.startswith("openmpi")


def best(peer):
    return open_mpi(peer) or peer == "mpich"


@dataclasses.dataclass
class Goal:
    """At least `ratio` against the fastest of the peers that `against` accepts."""

    title: str
    against: object
    ratio: float


def goals_of(ranks, operation, memory, size):
    """The goals of a row of native."""
    if ranks > 2:
        yield Goal("Open MPI", lambda peer: peer == "mpi", 1.5)
        return
    if operation == "reduce_scatter":
        if size >= 8 * KIB:
            yield Goal("Open MPI's defaults", lambda peer: peer == "openmpi", 8)
        yield Goal("MPICH", lambda peer: peer == "mpich", 3)
        return
    if operation != "barrier":
        yield Goal("best peer", best, least_ratio(operation, memory, size))
    yield Goal("Gloo", lambda peer: peer == "gloo", 100 if operation == "all_reduce" and size <= 8 else 5)


def least_ratio(operation, memory, size):
    if operation == "all_reduce":
        return 1.5 if memory == "any" or size in (64, 128, 2 * KIB) else 2
    if operation == "all_gather":
        return 1.5 if size <= 2 * MIB else 1.2
    return 2 if size <= MIB else 1.5  # broadcast and send_recv


def most_bounds(ranks, operation, memory, size, placement):
    """How many times the bound a row may take, where that is a goal."""
    if ranks > 2:
        return None
    if operation == "barrier":
        return 1.2
    if operation == "all_reduce":
        if size == 8:
            return 1.5
        if memory == "peer-mapped" and size >= {"near": 2 * MIB, "far": 32 * MIB}.get(placement, 32 * MIB):
            return 1.25
    return None


@dataclasses.dataclass
class Cell:
    ranks: int
    operation: str
    memory: str
    size: int
    placement: str
    time: float  # us
    bound: float  # us, or None
    goal: str  # against what
    wanted: float  # a ratio of at least this; if `of_bound`, at most so many times the bound
    of_bound: bool
    peer: str  # the fastest of those that the goal is about
    ratio: float  # the median
    low: float
    verdict: str


def judged(row, goal, peers):
    """peers: name -> time of those that ran in this row's placement and size."""
    rivals = {peer: us for peer, us in peers.items() if goal.against(peer) and peer in row["ratio"]}
    peer = min(rivals, key=rivals.get) if rivals else ""
    ratio, low = (row["ratio"][peer], row["ratio_low"][peer]) if peer else (None, None)
    bound = row["bound_us"]
    at_bound = bound is not None and DISPROVED * bound <= row["time_us"] <= NEAR_BOUND * bound
    verdict = UNSEEN if not peer else HOLDS if low >= goal.ratio - TOLERANCE or at_bound else SHORT
    return cell_of(row, goal.title, goal.ratio, False, peer, ratio, low, verdict)


def cell_of(row, title, wanted, of_bound, peer, ratio, low, verdict):
    return Cell(row["ranks"], row["collective"], row["memory"], row["bytes"], row["placement"], row["time_us"],
                row["bound_us"], title, wanted, of_bound, peer, ratio, low, verdict)


def cells_of(ranks, report):
    """All cells of one report."""
    rows = [row for row in report["rows"] if row["ranks"] == ranks]
    for row in rows:
        if row["backend"] != "native":
            continue
        peers = {other["backend"]: other["time_us"] for other in rows
                 if other["backend"] != "native" and other["bytes"] == row["bytes"]
                 and other["placement"] == row["placement"] and other["collective"] == row["collective"]}
        at = (ranks, row["collective"], row["memory"], row["bytes"])
        for goal in goals_of(*at):
            yield judged(row, goal, peers)
        most = most_bounds(*at, row["placement"])
        if most is not None:
            # A flag exchange for what is one, the bound for what moves data.
            least = row["placement_ns"] / 1000 if row["bytes"] <= 8 else row["bound_us"]
            if not least:
                yield cell_of(row, "bound", most, True, "", None, None, UNSEEN)
                continue
            times = row["time_us"] / least
            title = "flag exchange" if row["bytes"] <= 8 else "bound"
            yield cell_of(row, title, most, True, title, times, times, HOLDS if times <= most else SHORT)
