// The ranks with their rows of cells, and what moves between them now.

const RANK_LABEL = 50, COLUMN_GAP = 18, LINE_GAP = 8, RANK_GAP = 26, CELL_MOST = 46, CELL_LEAST = 30;

class Ranks {
  constructor(story, place, tell) {
    this.story = story;
    this.place = place;
    this.tell = tell;
    this.#findColumns();
  }

  // Rows of the same name stand below each other.
  #findColumns() {
    const columns = new Map();
    const seen = new Map();
    this.story.rows.forEach((row, number) => {
      const nth = `${row.rank} ${row.label}`;
      seen.set(nth, (seen.get(nth) ?? 0) + 1);
      const key = `${row.label} ${seen.get(nth)}`;
      if (!columns.has(key)) columns.set(key, { label: row.label, count: 0, rows: [] });
      const column = columns.get(key);
      column.count = Math.max(column.count, row.cells.length);
      column.rows.push(number);
    });
    this.columns = [...columns.values()];
  }

  static labelLines(label, width) {
    if (label.length * 6.2 <= width) return [label];
    const cut = label.indexOf(" ");
    return cut < 0 ? [label] : [label.slice(0, cut), label.slice(cut + 1)];
  }

  #columnWidth(column, cell) {
    const words = Ranks.labelLines(column.label, column.count * cell).map((line) => line.length * 6.2);
    return Math.max(column.count * cell, ...words);
  }

  // Puts columns into as few lines as the width allows with cells that can be read.
  #arrange(width) {
    const room = width - RANK_LABEL - 8;
    const lines = (cell) => {
      const found = [];
      let x = Infinity;
      for (const column of this.columns) {
        const wide = this.#columnWidth(column, cell);
        if (x + wide > room && x > 0) found.push([]), (x = 0);
        found.at(-1).push({ column, x, wide });
        x += wide + COLUMN_GAP;
      }
      return found;
    };
    let cell = CELL_LEAST;
    const fewest = lines(cell).length;
    while (cell < CELL_MOST && lines(cell + 1).length === fewest) ++cell;
    while (cell > CELL_LEAST && Math.max(...lines(cell).flat().map(({ x, wide }) => x + wide)) > room) --cell;
    this.cell = cell;
    this.high = Math.min(cell, 38);
    return lines(cell);
  }

  /// The least width in which every row keeps to one line.
  get leastWidth() {
    const all = this.columns.map((column) => this.#columnWidth(column, CELL_LEAST) + COLUMN_GAP);
    return all.reduce((a, b) => a + b, RANK_LABEL);
  }

  layout(width) {
    const { story } = this;
    const lines = this.#arrange(width);
    const head = 12 * Math.max(...lines.flat().map(({ column, wide }) => Ranks.labelLines(column.label, wide).length)) + 6;
    const many = lines.length > 1;
    const line = this.high + (many ? head : 0) + LINE_GAP;
    const band = line * lines.length - LINE_GAP + 12;
    const top = many ? 4 : head + 2;
    const total = Math.max(width, RANK_LABEL + 8 + Math.max(...lines.flat().map(({ x, wide }) => x + wide)));
    const height = top + story.ranks * (band + RANK_GAP) - RANK_GAP + 20;
    this.bandTop = (rank) => top + rank * (band + RANK_GAP);
    this.band = band;

    this.root = svg("svg", { width: total, height, viewBox: `0 0 ${total} ${height}`, class: "picture" });
    for (let rank = 0; rank < story.ranks; ++rank) {
      const y = this.bandTop(rank);
      this.root.append(
        svg("rect", { class: "band", x: 0.5, y, width: total - 1, height: band, rx: 8 }),
        svg("text", { class: "rank-name", x: 8, y: y + band / 2 + 4 }, `rank ${rank}`),
      );
      if (rank === story.root)
        this.root.append(svg("text", { class: "rank-role", x: 8, y: y + band / 2 + 17 }, "root"));
    }
    this.cells = story.rows.map(() => []);
    lines.forEach((columns, number) => {
      for (const { column, x, wide } of columns)
        column.rows.forEach((row, nth) => {
          const left = RANK_LABEL + x;
          const y = this.bandTop(story.rows[row].rank) + 6 + number * line + (many ? head : 0);
          if (many || nth === 0)
            Ranks.labelLines(column.label, wide).forEach((text, i, all) => {
              const at = (many ? y : top) - 6 - 12 * (all.length - 1 - i);
              this.root.append(svg("text", { class: "row-name", x: left + 1, y: at }, text));
            });
          this.#addRow(row, left, y);
        });
    });
    this.moving = svg("g", { class: "moving", "aria-hidden": "true" });
    this.root.append(this.moving);
    this.place.replaceChildren(this.root);
    this.shownStep = undefined;
  }

  #addRow(number, left, y) {
    const row = this.story.rows[number];
    const group = svg("g", { class: `row ${row.kind}`, role: "img" });
    const size = this.cell, high = this.high;
    row.cells.forEach((_, i) => {
      const x = left + i * size + 1;
      const box = { x, y, width: size - 2, height: high };
      const inner = { x: box.x, y: box.y, width: box.width, height: box.height, rx: 4 };
      const named = size >= 34;
      const parts = {
        group: svg("g", { class: "cell", "data-row": number, "data-cell": i }),
        fill: svg("rect", { class: "fill", ...inner }),
        coming: svg("rect", { class: "coming", ...inner, width: 0 }),
        frame: svg("rect", { class: "frame", ...inner }),
        chunk: svg("text", { class: "chunk", x: x + 4, y: y + 11 }),
        value: svg("text", { class: "value", x: x + box.width / 2, y: y + high / 2 + (named ? 7 : 3) }),
        segments: svg("path", { class: "segments" }),
        tracks: svg("path", { class: "tracks", d: this.#segments(box, () => true) }),
        box,
        named,
      };
      const { group: cell, fill, coming, frame, chunk, value, segments, tracks } = parts;
      cell.append(fill, coming, tracks, segments, frame, chunk, value);
      cell.addEventListener("pointerenter", () => this.#tellCell(number, i));
      cell.addEventListener("click", () => this.#tellCell(number, i));
      group.append(cell);
      this.cells[number].push(parts);
    });
    this.cells[number].group = group;
    this.root.append(group);
  }

  // A small piece for each rank whose part is in the cell.
  #segments(box, has) {
    const n = this.story.ranks, room = box.width - 6, gap = n > 10 ? 0.4 : 1;
    const wide = Math.max(0.8, (room - gap * (n - 1)) / n);
    let d = "";
    for (let rank = 0; rank < n; ++rank)
      if (has(rank)) {
        const x = box.x + 3 + rank * (wide + gap);
        d += `M${x.toFixed(2)} ${box.y + box.height - 6}h${wide.toFixed(2)}v3.5h-${wide.toFixed(2)}z`;
      }
    return d;
  }

  #tellCell(number, i) {
    const row = this.story.rows[number];
    const { cell } = this.story.written(number, i, this.t);
    this.tell(
      `rank ${row.rank}, ${row.label}: ` +
        (cell.ranks === 0n
          ? "nothing of this call yet"
          : `c${cell.chunk} = ${cell.value}, with the parts of ${ranksText(cell.ranks, this.story.ranks)}`),
    );
  }

  draw(t) {
    this.t = t;
    const step = this.story.stepAt(t);
    if (step !== this.shownStep) this.#showStep(step);
    this.shownStep = step;
    this.#drawCells(t, step);
    for (const move of this.moves) this.#drawMove(move, t);
  }

  #drawCells(t, step) {
    this.story.rows.forEach((row, number) => {
      let changed = false;
      row.cells.forEach((_, i) => {
        const parts = this.cells[number][i];
        const written = this.story.written(number, i, t);
        parts.frame.classList.toggle("fresh", written.step >= 0 && written.step === step);
        if (parts.shown === written) return;
        parts.shown = written;
        changed = true;
        const { value, ranks, chunk } = written.cell;
        const empty = ranks === 0n;
        parts.group.setAttribute("class", `cell ${empty ? "empty" : chunkClass(chunk)}`);
        parts.group.dataset.value = empty ? "" : value;
        parts.group.dataset.ranks = ranks.toString(16);
        parts.group.dataset.chunk = chunk;
        parts.value.textContent = empty ? "" : valueText(value);
        parts.value.classList.toggle("long", parts.value.textContent.length * 8.6 > parts.box.width);
        parts.chunk.textContent = empty || !parts.named ? "" : `c${chunk}`;
        parts.segments.setAttribute("d", this.#segments(parts.box, (rank) => (ranks >> BigInt(rank)) & 1n));
      });
      if (changed) this.cells[number].group.setAttribute("aria-label", this.#rowText(number, t));
    });
  }

  #rowText(number, t) {
    const row = this.story.rows[number];
    const texts = row.cells.map((_, i) => {
      const { cell } = this.story.written(number, i, t);
      return cell.ranks === 0n ? "empty" : `c${cell.chunk} ${valueText(cell.value)}`;
    });
    return `rank ${row.rank} ${row.label}: ${texts.join(", ")}`;
  }

  // ---- Arrows -------------------------------------------------------------------------------------------------------
  #boxOf([row, first, count]) {
    const a = this.cells[row][first].box, b = this.cells[row][first + count - 1].box;
    return { x: a.x, y: a.y, width: b.x + b.width - a.x, height: a.height };
  }

  #showStep(step) {
    const actions = this.story.steps[step]?.actions ?? [];
    for (const row of this.cells) for (const parts of row) parts.coming.setAttribute("width", 0);
    this.moves = actions.map((action) => this.#move(action));
    this.moving.replaceChildren(...this.moves.map((move) => move.group));
  }

  #move(action) {
    const group = svg("g", { class: `move ${action.kind}` });
    const legs = [];
    const leg = (d, stage, stages, cell, count) => {
      const path = svg("path", { class: stage === 0 && stages === 2 ? "leg into" : "leg onto", d, pathLength: 1 });
      const token = svg("g", { class: `token ${chunkClass(cell.chunk)}` },
        svg("rect", { x: -13, y: -9, width: 26, height: 18, rx: 4 }),
        svg("text", { y: 4 }, count > 1 ? `${count}×` : valueText(cell.value)));
      group.append(path, token);
      legs.push({ path, token, stage, stages });
    };
    const from = action.from.map((range) => this.#boxOf(range)), to = action.to.map((range) => this.#boxOf(range));
    const count = action.to[0][2];
    const sent = (nth) => {
      const [row, first] = action.from[nth];
      return this.story.written(row, first, action.begin).cell;
    };
    let node;
    if (action.kind === "add") {
      const x = [...from, ...to].reduce((sum, box) => sum + box.x + box.width / 2, 0) / (from.length + to.length);
      const y = this.bandTop(action.rank);
      const below = to.some((box) => box.y > y + this.band) || action.rank === 0;
      node = { x: x - 1, y: below ? y + this.band + RANK_GAP / 2 - 5 : y - RANK_GAP / 2 - 1, width: 2, height: 2 };
      from.forEach((box, i) => leg(route(box, node), 0, 2, sent(i), count));
      to.forEach((box) => leg(route(node, box), 1, 2, action.got[0], count));
    } else {
      to.forEach((box) => leg(route(from[0], box), 0, 1, action.got[0], count));
    }
    if (count > 1)
      for (const box of [...from, ...to])
        group.append(svg("rect", { class: "bracket", x: box.x - 1.5, y: box.y - 1.5, width: box.width + 3,
                                   height: box.height + 3, rx: 6 }));
    if (node)
      group.append(svg("g", { class: "plus", transform: `translate(${node.x + 1} ${node.y + 1})` },
        svg("circle", { r: 9 }), svg("path", { d: "M-4.5 0h9M0 -4.5v9" })));
    group.append(svg("title", {}, action.text));
    return { action, group, legs };
  }

  #drawMove({ action, group, legs }, t) {
    const done = t >= action.end, running = !done && t > action.begin;
    const part = done ? 1 : running ? (t - action.begin) / (action.end - action.begin) : 0;
    group.classList.toggle("done", done);
    group.classList.toggle("running", running);
    for (const { path, token, stage, stages } of legs) {
      const own = Math.min(1, Math.max(0, part * stages - stage));
      path.classList.toggle("there", own >= 1);
      path.style.strokeDashoffset = path.classList.contains("into") ? "" : 1 - own;
      const flies = running && own > 0 && own < 1;
      token.classList.toggle("flies", flies);
      if (!flies) continue;
      const at = path.getPointAtLength(own * path.getTotalLength());
      token.setAttribute("transform", `translate(${at.x.toFixed(1)} ${at.y.toFixed(1)})`);
    }
    for (const range of action.to)
      places([range]).forEach(([row, cell], i) => {
        const { coming, box } = this.cells[row][cell];
        if (running) coming.setAttribute("class", `coming ${chunkClass(action.got[i].chunk)}`);
        if (running || coming.by === action) coming.setAttribute("width", running ? (box.width * part).toFixed(1) : 0);
        coming.by = running ? action : undefined;
      });
  }
}
