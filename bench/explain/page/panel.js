// One algorithm: its picture, a caption in words, its timeline.

const CAPTION_LEAST = 352;  // as in page.css

class Panel {
  constructor(story, end, seek) {
    this.story = story;
    this.root = document.getElementById("story").content.firstElementChild.cloneNode(true);
    const find = (selector) => this.root.querySelector(selector);
    this.state = find(".state");
    this.heading = find("h3");
    this.sentence = find(".sentence");
    this.list = find("ol");
    this.told = find(".tell");
    find("h2").textContent = story.title;
    find(".source").append(html("code", {}, story.kernel), " in ", html("code", {}, story.file), `, ${story.memory} memory`);
    this.root.setAttribute("aria-label", story.title);
    find(".ranks").setAttribute("aria-label", `Buffers of the ranks, ${story.title}`);
    find(".caption").setAttribute("aria-label", `What happens in this step, ${story.title}`);
    const tell = (text) => (this.told.textContent = text);
    tell("Point at a bar or a cell, or tap it, to see what it is.");
    this.ranks = new Ranks(story, find(".ranks"), tell);
    this.timeline = new Timeline(story, end, find(".timeline"), { seek, tell });
  }

  layout() {
    const width = this.root.querySelector(".timeline").clientWidth;
    const beside = width >= this.ranks.leastWidth + CAPTION_LEAST;
    this.root.classList.toggle("caption-beside", beside);
    this.ranks.layout(beside ? width - CAPTION_LEAST : width);
    this.timeline.layout(width);
  }

  draw(t) {
    this.ranks.draw(t);
    this.timeline.draw(t);
    const { story } = this;
    const step = story.stepAt(t);
    if (step !== this.shownStep) this.#showStep(step);
    this.shownStep = step;
    this.state.textContent = t >= story.end ? `done at ${timeText(story.end)}` : `takes ${timeText(story.end)}`;
    this.root.classList.toggle("ended", t >= story.end);
    for (const { item, action } of this.items) {
      item.classList.toggle("now", action.begin < t && t < action.end);
      item.classList.toggle("past", t >= action.end);
    }
  }

  #showStep(step) {
    const { story } = this;
    const now = story.steps[step];
    const actions = [...(now?.actions ?? [])].sort((a, b) => a.rank - b.rank || a.block - b.block || a.begin - b.begin);
    this.items = actions.map((action) => {
      const item = html("li", { class: action.kind }, action.text.replace(" -> ", " → "), " ", html("code", {}, action.source));
      item.addEventListener("pointerenter", () => this.ranks.moves.mark(action));
      item.addEventListener("pointerleave", () => this.ranks.moves.mark(null));
      return { item, action };
    });
    const told = this.items.length ? [] : this.#told(now?.messages ?? []);
    this.list.replaceChildren(...told, ...this.items.map(({ item }) => item));
    this.heading.textContent = story.nameOf(step);
    this.sentence.textContent = now ? now.text : this.#outside(step);
    this.root.querySelector(".caption").scrollTop = 0;
  }

  // Of a step without data: whom each rank tells that it may go on.
  #told(messages) {
    const of = Map.groupBy(messages, ({ from }) => from);
    return [...of].sort(([a], [b]) => a - b).map(([from, all]) => {
      const peers = [...new Set(all.map(({ to }) => to))].sort((a, b) => a - b);
      return html("li", {}, `rank ${from} tells rank${peers.length > 1 ? "s" : ""} ${peers.join(", ")}`);
    });
  }

  #outside(step) {
    const { story } = this;
    if (step < 0) return [story.values, "Play, or step forward."].filter(Boolean).join(". ");
    return story.right ? "Nothing moves any more. Every rank holds what it should."
                       : `Nothing moves any more. The result is wrong: ${story.wrong}`;
  }

  /// What a listener hears when the head stops.
  get spoken() {
    const texts = [...this.list.children].map((item) => item.firstChild.textContent);
    return `${this.story.title}: ${this.heading.textContent}. ${this.sentence.textContent}. ${texts.join(". ")}`;
  }
}
