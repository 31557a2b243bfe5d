// The ranks with their rows of cells. What moves between cells is drawn by `moves.js`.

const COLUMN_GAP = 18, PART_GAP = 5, LINE_GAP = 8, RANK_GAP = 30;
const CELL_MOST = 50, CELL_LEAST = 30, CELL_LEAST_ON_PHONES = 26, PHONE = 480;
const ROW_NAMES = { in: "input", out: "output" };

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
    this.story.rows.forEach((row, number) => {
      const column = columns.get(row.label) ?? { label: ROW_NAMES[row.label] ?? row.label, rows: [], count: 0, gaps: 0 };
      column.count = Math.max(column.count, row.cells.length);
      column.gaps = Math.max(column.gaps, row.parts.length * PART_GAP);
      column.rows.push(number);
      columns.set(row.label, column);
    });
    this.columns = [...columns.values()];
  }

  #columnWidth({ label, count, gaps }, cell) {
    return Math.max(count * cell + gaps, label.length * 6.4);
  }

  // Columns in lines of so much room.
  #lines(room, cell) {
    const found = [];
    let x = 0;
    for (const column of this.columns) {
      const wide = this.#columnWidth(column, cell);
      if (found.length === 0 || (x > 0 && x + wide > room)) found.push([]), (x = 0);
      found.at(-1).push({ column, x, wide });
      x += wide + COLUMN_GAP;
    }
    return found;
  }

  static #extent = (lines) => Math.max(180, ...lines.flat().map(({ x, wide }) => x + wide));

  // As few lines as the width allows with cells that can be read, then cells as large as that leaves room for.
  #arrange(width) {
    const room = width - this.#margin(width);
    const least = width < PHONE ? CELL_LEAST_ON_PHONES : CELL_LEAST;
    const fewest = this.#lines(room, least).length;
    let cell = least;
    const fits = (size) => {
      const lines = this.#lines(room, size);
      return lines.length === fewest && Ranks.#extent(lines) <= room;
    };
    while (cell < CELL_MOST && fits(cell + 1)) ++cell;
    this.cell = cell;
    this.high = Math.min(Math.max(cell, 36), 42);
    return this.#lines(room, cell);
  }

  // Left of the cells, for the rank's name, and right of them. On a phone the name stands upright.
  #margin(width) {
    this.left = width < PHONE ? 24 : 66;
    return this.left + 8;
  }

  /// How many lines each rank's rows would take.
  linesIn(width) {
    return this.#lines(width - this.#margin(width), CELL_LEAST).length;
  }

  /// The least width in which every rank's rows keep to one line.
  get leastWidth() {
    return this.#margin(Infinity) + Ranks.#extent(this.#lines(Infinity, CELL_LEAST));
  }

  layout(width) {
    const { story } = this;
    const lines = this.#arrange(width);
    const many = lines.length > 1, head = 16;
    const line = this.high + (many ? head : 0) + LINE_GAP;
    const band = Math.max(1, lines.length) * line - LINE_GAP + 12;
    const top = many ? 4 : 34;  // room for names, and below them for arrows from cell to cell of rank 0
    const total = this.#margin(width) + Ranks.#extent(lines);
    const height = (this.height = top + story.ranks * (band + RANK_GAP));
    this.bandTop = (rank) => top + rank * (band + RANK_GAP);
    this.band = band;

    this.root = svg("svg", { width: total, height, viewBox: `0 0 ${total} ${height}`, class: "picture" });
    for (let rank = 0; rank < story.ranks; ++rank) {
      const y = this.bandTop(rank);
      this.root.append(svg("rect", { class: "band", x: 0.5, y, width: total - 1, height: band, rx: 8 }),
        this.#rankName(rank, y + band / 2));
    }
    this.cells = story.rows.map(() => []);
    lines.forEach((columns, number) => {
      for (const { column, x } of columns)
        column.rows.forEach((row, nth) => {
          const left = this.left + x;
          const y = this.bandTop(story.rows[row].rank) + 6 + number * line + (many ? head : 0);
          if (many || nth === 0)
            this.root.append(svg("text", { class: "row-name", x: left + 1, y: many ? y - 5 : 11 }, column.label));
          this.#addRow(row, left, y);
        });
    });
    this.moves = new Moves(this);
    this.root.append(this.moves.root);
    this.place.replaceChildren(this.root);
  }

  #rankName(rank, middle) {
    const isRoot = rank === this.story.root;
    if (this.left < 66)
      return svg("text", { class: `rank-name upright${isRoot ? " root" : ""}`, transform: `translate(15 ${middle}) rotate(-90)` },
        isRoot ? "root" : `rank ${rank}`);
    const name = svg("text", { class: "rank-name", x: 9, y: middle + (isRoot ? -2 : 4) }, `rank ${rank}`);
    if (isRoot) name.append(svg("tspan", { class: "rank-role", x: 9, dy: 14 }, "root"));
    return name;
  }

  #addRow(number, left, y) {
    const row = this.story.rows[number];
    const group = svg("g", { class: `row ${row.kind}`, role: "img" });
    let x = left;
    row.cells.forEach((_, i) => {
      if (row.parts.includes(i)) x += PART_GAP;
      group.append(this.#addCell(number, i, { x: x + 1, y, width: this.cell - 2, height: this.high }));
      x += this.cell;
    });
    this.cells[number].group = group;
    this.root.append(group);
  }

  #addCell(number, i, box) {
    const { x, y, width, height } = box;
    const inner = { x, y, width, height, rx: 4 };
    const parts = {
      box,
      group: svg("g", { "data-row": number, "data-cell": i }),
      coming: svg("rect", { ...inner, width: 0, class: "coming" }),
      frame: svg("rect", { class: "frame", ...inner }),
      chunk: svg("text", { class: "chunk", x: x + 3.5, y: y + 10.5 }),
      value: svg("text", { class: "value", x: x + width / 2, y: y + height - 11 }),
      segments: svg("path", { class: "segments" }),
    };
    const tracks = svg("path", { class: "tracks", d: this.#segments(box, () => true) });
    parts.group.append(svg("rect", { class: "fill", ...inner }), parts.coming, tracks, parts.segments, parts.frame,
      parts.chunk, parts.value);
    const tell = () => this.tell(this.#cellText(number, i));
    parts.group.addEventListener("pointerenter", tell);
    parts.group.addEventListener("click", tell);
    this.cells[number].push(parts);
    return parts.group;
  }

  // A small piece for each rank whose part is in the cell.
  #segments({ x, y, width, height }, has) {
    const n = this.story.ranks, room = width - 6, gap = n > 10 ? 0.4 : 1;
    const wide = Math.max(0.7, (room - gap * (n - 1)) / n).toFixed(2);
    let d = "";
    for (let rank = 0; rank < n; ++rank)
      if (has(rank)) d += `M${(x + 3 + (rank * (room + gap)) / n).toFixed(2)} ${y + height - 7}h${wide}v4h-${wide}z`;
    return d;
  }

  #cellText(number, i) {
    const row = this.story.rows[number];
    const { value, ranks, index } = this.story.written(number, i, this.t).cell;
    const holds = ranks === 0n ? "nothing of this call yet"
                               : `c${index} = ${value}, with what came from ${ranksText(ranks, this.story.ranks)}`;
    return `rank ${row.rank}, ${ROW_NAMES[row.label] ?? row.label}: ${holds}`;
  }

  draw(t) {
    this.t = t;
    const step = this.story.stepAt(t);
    this.story.rows.forEach((row, number) => {
      let changed = false;
      row.cells.forEach((_, i) => {
        const parts = this.cells[number][i];
        const written = this.story.written(number, i, t);
        const fresh = written.step >= 0 && written.step === step;
        if (fresh !== parts.fresh) parts.frame.classList.toggle("fresh", fresh);
        parts.fresh = fresh;
        if (parts.shown === written) return;
        parts.shown = written;
        changed = true;
        this.#fill(parts, written.cell);
      });
      if (changed) this.cells[number].group.setAttribute("aria-label", this.#rowText(number, t));
    });
    this.moves.draw(t, step);
  }

  #fill({ group, value: text, chunk: name, segments, box }, { value, ranks, index, chunk }) {
    const empty = ranks === 0n;
    group.setAttribute("class", `cell ${empty ? "empty" : chunkClass(chunk)}`);
    Object.assign(group.dataset, { value: empty ? "" : value, ranks: ranks.toString(16), index, chunk });
    text.textContent = empty ? "" : valueText(value);
    text.classList.toggle("long", text.textContent.length * 9 > box.width);
    name.textContent = empty ? "" : `c${index}`;
    segments.setAttribute("d", this.#segments(box, (rank) => (ranks >> BigInt(rank)) & 1n));
  }

  #rowText(number, t) {
    const row = this.story.rows[number];
    const texts = row.cells.map((_, i) => {
      const { value, ranks, index } = this.story.written(number, i, t).cell;
      return ranks === 0n ? "empty" : `c${index} ${valueText(value)}`;
    });
    return `rank ${row.rank} ${ROW_NAMES[row.label] ?? row.label}: ${texts.join(", ")}`;
  }

  /// Around cells [first, first + count) of a row.
  boxOf([row, first, count]) {
    const a = this.cells[row][first].box, b = this.cells[row][first + count - 1].box;
    return { x: a.x, y: a.y, width: b.x + b.width - a.x, height: a.height };
  }
}
