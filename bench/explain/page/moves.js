// The arrows of a step: a copy is a line with a filled head; an addition gathers its terms, dashed, at a plus, and goes
// on with a hollow head. What is on its way rides along as a small cell.

// Where there are many lines, and many of each action, they are drawn thin, and what rides along as dots.
const CROWD = 40, CROWD_OF_ONE = 4;
// So many cells at most fill while they are written: more would be slow.
const FILLS = 600;

class Moves {
  constructor(ranks) {
    this.ranks = ranks;
    this.story = ranks.story;
    this.root = svg("g", { "aria-hidden": "true" });
    this.moves = [];
    this.marked = null;
  }

  draw(t, step) {
    if (step !== this.step) this.#show(step);
    this.step = step;
    for (const move of this.moves) this.#drawMove(move, t);
    for (const flag of this.flags) Moves.#drawFlag(flag, t);
  }

  /// Lets one action stand out, or none.
  mark(action) {
    this.marked = action;
    for (const move of this.moves) {
      move.group.classList.toggle("marked", move.action === action);
      move.group.classList.toggle("faded", action !== null && move.action !== action);
    }
  }

  #show(step) {
    for (const row of this.ranks.cells) for (const { coming } of row) coming.setAttribute("width", 0);
    const ofRank = new Map();
    this.moves = (this.story.steps[step]?.actions ?? []).map((action) => {
      const nth = ofRank.get(action.rank) ?? 0;
      if (action.kind === "add") ofRank.set(action.rank, nth + 1);
      return this.#move(action, nth);
    });
    const legs = this.moves.reduce((sum, move) => sum + move.legs.length, 0);
    this.flags = this.moves.length ? [] : (this.story.steps[step]?.messages ?? []).map((message) => this.#flag(message));
    this.fills = this.moves.reduce((sum, { action }) => sum + places(action.to).length, 0) <= FILLS;
    this.root.setAttribute("class", legs > Math.max(CROWD, CROWD_OF_ONE * this.moves.length) ? "crowd" : "");
    this.root.replaceChildren(...this.moves.map((move) => move.group), ...this.flags.map(({ group }) => group));
  }

  // Where no data moves, what ranks tell each other: a line straight from one to the other, each in a place of its own.
  #flag({ from, to, sent, arrived }) {
    const { ranks } = this, n = this.story.ranks;
    const wide = ranks.root.viewBox.baseVal.width - ranks.left - 20;
    const x = (ranks.left + 10 + (wide * (from * n + to + 0.5)) / (n * n)).toFixed(1);
    const up = to < from;
    const begin = ranks.bandTop(from) + (up ? 6 : ranks.band - 6), end = ranks.bandTop(to) + (up ? ranks.band : 0);
    const path = svg("path", { class: "leg onto", d: `M${x} ${begin}V${end}`, pathLength: 1 });
    const tip = svg("path", { class: "head", d: `M${x} ${end + (up ? -1 : 1)}l-3 ${up ? 6 : -6}h6z` });
    const group = svg("g", { class: "move flag" }, path, tip, svg("circle", { cx: x, cy: begin, r: 2.5 }));
    return { group, path, tip, sent, arrived };
  }

  static #drawFlag({ group, path, tip, sent, arrived }, t) {
    const part = Math.min(1, Math.max(0, (t - sent) / (arrived - sent)));
    group.classList.toggle("running", part > 0 && part < 1);
    group.classList.toggle("done", part >= 1);
    path.style.strokeDashoffset = part > 0 ? 1 - part : 0;
    tip.classList.toggle("there", part >= 1);
  }

  #move(action, nth) {
    const { ranks } = this;
    const group = svg("g", { class: `move ${action.kind}` });
    const legs = [];
    const count = action.to[0][2];
    const addLeg = ({ d, head }, stage, stages, cell) => {
      const into = stage === 0 && stages === 2;
      const path = svg("path", { class: `leg ${into ? "into" : "onto"}`, d, pathLength: 1 });
      const tip = svg("path", { class: "head", d: into ? "" : head });
      const token = svg("g", { class: `token ${chunkClass(cell.chunk)}` },
        svg("rect", { x: -14, y: -9, width: 28, height: 18, rx: 4 }),
        svg("text", { y: 4 }, count > 1 ? `×${count}` : valueText(cell.value)));
      group.append(path, tip, token);
      legs.push({ path, tip, token, into, stage, stages });
    };
    const from = action.from.map((range) => ranks.boxOf(range)), to = action.to.map((range) => ranks.boxOf(range));
    if (count > 1)
      for (const { x, y, width, height } of [...from, ...to])
        group.append(svg("rect", { class: "bracket", x: x - 2, y: y - 2, width: width + 4, height: height + 4, rx: 6 }));
    if (action.kind === "add") {
      const plus = this.#plusOf(action, from, to, nth);
      from.forEach((box, i) => {
        const [row, first] = action.from[i];
        addLeg(route(box, plus), 0, 2, this.story.written(row, first, action.begin).cell);
      });
      to.forEach((box) => addLeg(route(plus, box), 1, 2, action.got[0]));
      group.append(svg("g", { class: "plus", transform: `translate(${plus.x + 9} ${plus.y + 9})` },
        svg("circle", { r: 9 }), svg("path", { d: "M-4.5 0h9M0 -4.5v9" })));
    } else {
      to.forEach((box) => addLeg(route(from[0], box), 0, 1, action.got[0]));
    }
    return { action, group, legs };
  }

  // Below the rank that adds; between the rows that its terms come from and those that the sum goes to, if they are
  // apart, else in the middle of all.
  #plusOf(action, from, to, nth) {
    const middle = (boxes) => boxes.reduce((sum, box) => sum + box.x + box.width / 2, 0) / boxes.length;
    const rows = (ranges) => ranges.map(([row]) => this.ranks.boxOf([row, 0, this.ranks.cells[row].length]));
    const right = Math.max(...rows(action.from).map((box) => box.x + box.width));
    const left = Math.min(...rows(action.to).map((box) => box.x));
    const x = (right <= left ? (right + left) / 2 : (middle(from) + middle(to)) / 2) + nth * 24;
    const y = this.ranks.bandTop(action.rank) + this.ranks.band + RANK_GAP / 2;
    return { x: x - 9, y: y - 9, width: 18, height: 18 };
  }

  #drawMove({ action, group, legs }, t) {
    const done = t >= action.end, running = !done && t > action.begin;
    const part = done ? 1 : running ? (t - action.begin) / (action.end - action.begin) : 0;
    group.classList.toggle("done", done);
    group.classList.toggle("running", running);
    for (const { path, tip, token, into, stage, stages } of legs) {
      const own = Math.min(1, Math.max(0, part * stages - stage));
      if (!into) path.style.strokeDashoffset = running ? 1 - own : 0;
      tip.classList.toggle("there", own >= 1);
      const flies = running && own > 0 && own < 1;
      token.classList.toggle("flies", flies);
      if (!flies) continue;
      const at = path.getPointAtLength(own * path.getTotalLength());
      token.setAttribute("transform", `translate(${at.x.toFixed(1)} ${at.y.toFixed(1)})`);
    }
    if (!this.fills) return;
    action.to.flatMap((range) => places([range]).map(([row, cell], i) => [this.ranks.cells[row][cell], action.got[i]]))
      .forEach(([{ coming, box }, { chunk }]) => this.#fill(action, coming, chunk, running ? box.width * part : 0));
  }

  // A cell that is being written fills from the left.
  #fill(action, coming, chunk, wide) {
    if (wide > 0 && coming.by !== action) coming.setAttribute("class", `coming ${chunkClass(chunk)}`);
    if (wide > 0 || coming.by === action) coming.setAttribute("width", wide.toFixed(1));
    coming.by = wide > 0 ? action : undefined;
  }
}
