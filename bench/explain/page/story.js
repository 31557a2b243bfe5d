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
    this.writes = this.rows.map((row) => row.cells.map((cell) => [{ at: -1, step: -1, cell: cellOf(cell) }]));
    this.steps = [];
    const now = this.rows.map((row) => row.cells.map(cellOf));
    data.steps.forEach((step, i) => this.#follow(this.#begin(step, i + 1), step.changed, now));
    for (const row of this.writes) for (const cell of row) cell.sort((a, b) => a.at - b.at);
    this.ends = this.steps.map((step) => step.end);
    this.stops = [...new Set([0, ...this.ends, this.end])];
  }

  // A step ends when the last of its actions has, or else when its flags are there. Where all of it is over before an
  // earlier step ends, the two are one for who watches. Flags that nobody waits for may come when all have returned.
  #begin({ text, actions, messages, end }, number) {
    const step = {
      number, text,
      actions: actions.map(([kind, rank, block, begin, end, from, to, text, source]) =>
        ({ kind, rank, block, begin, end, from, to, source: this.texts[source],
           text: typeof text === "string" ? text : `rank ${rank} ${this.texts[text]}` })),
      messages: messages.map(([purpose, from, to, block, sent, arrived]) =>
        ({ purpose: this.texts[purpose], from, to, block, sent, arrived })),
    };
    step.end = Math.min(this.end, step.actions.length ? Math.max(...step.actions.map((action) => action.end)) : end);
    const before = this.steps.at(-1);
    if (!before || step.end > before.end) {
      this.steps.push({ ...step, last: number });
    } else {
      before.last = number;
      before.text = [before.text, text].filter(Boolean).join("; ");
      before.actions = before.actions.concat(step.actions);
      before.messages = before.messages.concat(step.messages);
    }
    return step;
  }

  // What a step's actions write where. `changed` is what the step left behind, so it holds of the last write to a cell.
  #follow(step, changed, now) {
    const left = new Map(changed.map(([row, cell, ...data]) => [`${row} ${cell}`, cellOf(data)]));
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
          this.writes[row][cell].push({ at: action.end, step: this.steps.length - 1, cell: got });
        }),
      );
    }
    for (const [row, cell, ...data] of changed) now[row][cell] = cellOf(data);
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

  /// "Step 3 of 7"
  nameOf(step) {
    if (step < 0) return "Before the call";
    if (step >= this.steps.length) return "After the last step";
    const { number, last } = this.steps[step], all = this.counted.steps;
    if (number > all) return "After the last message";
    return number === last ? `Step ${number} of ${all}` : `Steps ${number} to ${Math.min(last, all)} of ${all}`;
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
