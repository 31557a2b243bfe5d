// What each rank does with its time: bars in virtual time, and a cursor that is the player's head.

const LANE_LABEL = 50, AXIS = 22;

class Timeline {
  // `end`: of the axis, the same for all stories; `seek` takes a time.
  constructor(story, end, place, { seek, tell }) {
    Object.assign(this, { story, end, place, seek, tell });
    const keys = new Set();
    for (let rank = 0; rank < story.ranks; ++rank) keys.add(`${rank} 0`);
    for (const { rank, block } of story.spans) keys.add(`${rank} ${block}`);
    this.lanes = [...keys].map((key) => key.split(" ").map(Number)).sort((a, b) => a[0] - b[0] || a[1] - b[1]);
    this.blocks = this.lanes.some(([, block]) => block > 0);
    this.lane = 0;
  }

  layout(width) {
    const { story } = this;
    this.left = LANE_LABEL;
    this.wide = width - LANE_LABEL - 8;
    this.high = this.lanes.length > 16 ? 11 : this.lanes.length > 8 ? 14 : 18;
    const height = this.lanes.length * this.high + AXIS;
    this.step = undefined;
    this.root = svg("svg", {
      width, height, viewBox: `0 0 ${width} ${height}`, class: "bars", tabindex: 0, role: "slider",
      "aria-label": `Timeline of ${story.title}`, "aria-valuemin": 0, "aria-valuemax": Math.round(story.end),
    });
    this.lanes.forEach(([rank, block], i) => {
      const y = i * this.high;
      if (block === 0 || this.high >= 14)
        this.root.append(svg("text", { class: "lane-name", x: 8, y: y + this.high / 2 + 4 },
          block === 0 ? `rank ${rank}` : `block ${block}`));
      this.root.append(svg("rect", { class: "lane", x: this.left, y: y + 1, width: this.#x(story.end) - this.left,
                                     height: this.high - 2 }));
    });
    this.#drawAxis(height);
    const rowOf = new Map(this.lanes.map(([rank, block], i) => [`${rank} ${block}`, i]));
    this.laneOf = (rank, block) => rowOf.get(`${rank} ${block}`) ?? rowOf.get(`${rank} 0`);
    for (const { kind, rank, block, begin, end } of story.spans) {
      const inset = kind === "wait" ? this.high / 2 - 2 : 2;
      const bar = svg("rect", {
        class: `bar ${kind}`, x: this.#x(begin), y: this.laneOf(rank, block) * this.high + inset,
        width: Math.max(1, this.#x(end) - this.#x(begin)), height: this.high - 2 * inset,
      });
      this.root.append(bar);
    }
    this.messages = svg("g", { class: "messages" });
    this.mark = svg("rect", { class: "lane-mark", x: 2, width: width - 4, height: this.high, rx: 3 });
    this.cursor = svg("g", { class: "cursor" }, svg("path", { d: `M0 0V${height - AXIS}` }),
      svg("path", { class: "grip", d: `M-6 ${height - AXIS + 9}h12v-5l-6 -6l-6 6z` }));
    this.root.append(this.messages, this.mark, this.cursor);
    this.place.replaceChildren(this.root);
    this.#listen();
  }

  #x(t) {
    return this.left + (t / this.end) * this.wide;
  }

  #drawAxis(height) {
    const most = Math.max(2, Math.floor(this.wide / 80));
    const rough = this.end / most, power = 10 ** Math.floor(Math.log10(rough));
    const tick = [1, 2, 5, 10].map((factor) => factor * power).find((value) => value >= rough);
    for (let i = 0; i * tick <= this.end; ++i) {
      const x = this.#x(i * tick);
      this.root.append(svg("path", { class: "tick", d: `M${x} 0V${height - AXIS + 3}` }));
      if (x < this.left + this.wide - 12)
        this.root.append(svg("text", { class: "tick-name", x, y: height - 3 }, Timeline.tickText(i * tick, this.end)));
    }
    for (const stop of this.story.ends)
      this.root.append(svg("path", { class: "stop", d: `M${this.#x(stop)} 0V${height - AXIS}` }));
  }

  static tickText(ns, end) {
    const [size, unit] = end >= 1e6 ? [1e6, "ms"] : end >= 1e3 ? [1e3, "µs"] : [1, "ns"];
    return ns === 0 ? "0" : `${Number((ns / size).toFixed(3))} ${unit}`;
  }

  // Dragging follows the pointer wherever it goes; a page on a phone still scrolls up and down over the bars.
  #listen() {
    const at = (event) => {
      const box = this.root.getBoundingClientRect();
      const x = ((event.clientX - box.left) / box.width) * this.root.viewBox.baseVal.width;
      return {
        time: Math.min(this.end, Math.max(0, ((x - this.left) / this.wide) * this.end)),
        lane: Math.min(this.lanes.length - 1, Math.max(0, Math.floor((event.clientY - box.top) / this.high))),
      };
    };
    this.root.addEventListener("pointerdown", (event) => {
      this.root.setPointerCapture(event.pointerId);
      this.lane = at(event).lane;
      this.seek(at(event).time);
      this.tellLane(at(event).time);
    });
    this.root.addEventListener("pointermove", (event) => {
      if (this.root.hasPointerCapture(event.pointerId)) this.seek(at(event).time);
      else this.lane = at(event).lane;
      this.tellLane(at(event).time);
    });
    this.root.addEventListener("keydown", (event) => {
      const by = { ArrowUp: -1, ArrowDown: 1 }[event.key];
      if (!by) return;
      event.preventDefault();
      this.lane = Math.min(this.lanes.length - 1, Math.max(0, this.lane + by));
      this.draw(this.t);
      this.tellLane(this.t);
    });
  }

  tellLane(t) {
    const [rank, block] = this.lanes[this.lane];
    const here = this.story.spans.findLast(
      (span) => span.rank === rank && span.block === block && span.begin <= t && t < span.end);
    const who = `rank ${rank}${this.blocks ? `, block ${block}` : ""}`;
    if (here) {
      const { kind, text, begin, end, source } = here;
      const what = text.startsWith("rank") ? text : `${who} ${text}`;
      this.tell(`${what} (${kind}, ${timeText(begin)} to ${timeText(end)}${source ? `, ${source}` : ""})`);
    } else {
      this.tell(`${who} ${t >= this.story.end ? "is done" : "is between two words"} at ${timeText(t)}`);
    }
    this.mark.setAttribute("y", this.lane * this.high);
  }

  // The flags of a step, from who sets them to who sees them.
  #showMessages(step) {
    const lines = (this.story.steps[step]?.messages ?? []).map(({ purpose, from, to, block, sent, arrived }) => {
      const y = (rank) => (this.laneOf(rank, block) + 0.5) * this.high;
      return svg("path", { class: purpose, d: `M${this.#x(sent)} ${y(from)}L${this.#x(arrived)} ${y(to)}` });
    });
    this.messages.replaceChildren(...lines);
  }

  draw(t) {
    this.t = t;
    const step = this.story.stepAt(t);
    if (step !== this.step) this.#showMessages(step);
    this.step = step;
    this.cursor.setAttribute("transform", `translate(${this.#x(t).toFixed(2)} 0)`);
    this.root.setAttribute("aria-valuenow", Math.round(t));
    this.root.setAttribute("aria-valuetext", timeText(t));
    this.mark.setAttribute("y", this.lane * this.high);
  }
}
