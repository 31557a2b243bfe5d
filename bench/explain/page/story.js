// A story as the page has it: what is in which cell at which time, and which step that is.

const EMPTY = { value: 0, ranks: 0n, index: -1, chunk: -1 };

// As page_data.cpp writes them: ranks are a mask in hexadecimal, an empty cell is 0.
const cellOf = (data) =>
  data ? { value: data[0], ranks: BigInt("0x" + data[1]), index: data[2], chunk: data[3] } : EMPTY;

// Every cell of some ranges, as [row, cell] pairs in their order.
const places = (ranges) =>
  ranges.flatMap(([row, first, count]) => Array.from({ length: count }, (_, i) => [row, first + i]));

class Story {
  constructor(data) {
    Object.assign(this, data);
    this.title = this.algorithm.replaceAll("_", "-");
    this.spans = data.spans.map(([kind, rank, block, begin, end, text, source]) =>
      ({ kind, rank, block, begin, end, text: data.texts[text], source: data.texts[source] }));
    this.steps = data.steps.map((step) => ({
      ...step,
      actions: step.actions.map(([kind, rank, block, begin, end, from, to, text, source]) =>
        ({ kind, rank, block, begin, end, from, to, text, source: data.texts[source] })),
      messages: step.messages.map(([purpose, from, to, block, sent, arrived]) =>
        ({ purpose: data.texts[purpose], from, to, block, sent, arrived })),
    }));
    this.writes = this.rows.map((row) => row.cells.map((cell) => [{ at: -1, step: -1, cell: cellOf(cell) }]));
    const now = this.rows.map((row) => row.cells.map(cellOf));
    this.steps.forEach((step, number) => this.#follow(step, number, now));
    for (const row of this.writes) for (const cell of row) cell.sort((a, b) => a.at - b.at);
    // Steps may overlap in time: one ends when all before it have ended too.
    let latest = 0;
    this.ends = this.steps.map((step) => (latest = Math.max(latest, step.end)));
    this.stops = [...new Set([0, ...this.ends, this.end])];
  }

  // What a step's actions write where. `changed` is what the step left behind, so it holds of the last write to a cell.
  #follow(step, number, now) {
    const left = new Map(step.changed.map(([row, cell, ...data]) => [`${row} ${cell}`, cellOf(data)]));
    const lastWriter = new Map();
    for (const action of step.actions) for (const at of places(action.to)) lastWriter.set(at.join(" "), action);
    const begun = now.map((row) => [...row]);
    for (const action of step.actions) {
      const sources = action.from.map((range) => places([range]).map(([row, cell]) => now[row][cell]));
      const sums = sources[0].map((_, i) => sources.map((source) => source[i]).reduce((a, b) => this.#joined(a, b)));
      action.got = [];
      action.to.forEach((range) =>
        places([range]).forEach(([row, cell], i) => {
          const isLast = lastWriter.get(`${row} ${cell}`) === action;
          const got = isLast ? (left.get(`${row} ${cell}`) ?? begun[row][cell]) : sums[i];
          action.got.push(got);
          now[row][cell] = got;
          this.writes[row][cell].push({ at: action.end, step: number, cell: got });
        }),
      );
    }
    for (const [row, cell, ...data] of step.changed) now[row][cell] = cellOf(data);
  }

  #joined(a, b) {
    const value = { prod: a.value * b.value, min: Math.min(a.value, b.value), max: Math.max(a.value, b.value) }[this.op];
    return { ...a, value: value ?? a.value + b.value, ranks: a.ranks | b.ranks };
  }

  // The last write to a cell at time t; the one before the call has step -1.
  written(row, cell, t) {
    const writes = this.writes[row][cell];
    let i = writes.length - 1;
    while (i > 0 && writes[i].at > t) --i;
    return writes[i];
  }

  // The step that time t belongs to: -1 at the begin, the number of steps when all have ended.
  stepAt(t) {
    if (t <= 0) return -1;
    const found = this.ends.findIndex((end) => t <= end);
    return found < 0 ? this.steps.length : found;
  }
}

function timeText(ns, unit = ns) {
  if (unit >= 1e6) return `${(ns / 1e6).toFixed(2)} ms`;
  if (unit >= 1e3) return `${(ns / 1e3).toFixed(2)} µs`;
  return `${ns.toFixed(ns < 10 && ns > 0 ? 1 : 0)} ns`;
}

function bytesText(bytes) {
  for (const [size, unit] of [[2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"]])
    if (bytes >= size) return `${Number((bytes / size).toFixed(2))} ${unit}`;
  return `${Number(bytes.toFixed(1))} B`;
}

const valueText = (value) => (Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(3))));

function ranksText(mask, count) {
  const all = Array.from({ length: count }, (_, rank) => rank).filter((rank) => (mask >> BigInt(rank)) & 1n);
  if (all.length === count && count > 1) return "all ranks";
  return (all.length === 1 ? "rank " : "ranks ") + all.join(", ");
}
