// One algorithm: its picture, a caption in words, its timeline.

class Panel {
  constructor(story, end, seek) {
    this.story = story;
    this.root = document.getElementById("story").content.firstElementChild.cloneNode(true);
    const find = (selector) => this.root.querySelector(selector);
    this.state = find(".state");
    this.heading = find("h3");
    this.list = find("ol");
    this.told = find(".tell");
    find("h2").textContent = story.title;
    find(".source").append(html("code", {}, `${story.kernel}`), ` in `, html("code", {}, story.file), `, ${story.memory}`);
    this.root.setAttribute("aria-label", story.title);
    find(".ranks").setAttribute("aria-label", `Buffers of the ranks, ${story.title}`);
    find(".caption").setAttribute("aria-label", `What happens in this step, ${story.title}`);
    const tell = (text) => (this.told.textContent = text);
    tell("Point at a bar or a cell, or tap it, to see what it is.");
    this.ranks = new Ranks(story, find(".ranks"), tell);
    this.timeline = new Timeline(story, end, find(".timeline"), { seek, tell });
  }

  layout(width) {
    this.ranks.layout(width);
    this.timeline.layout(width);
  }

  draw(t) {
    this.ranks.draw(t);
    this.timeline.draw(t);
    const { story } = this;
    const step = story.stepAt(t), steps = story.steps.length;
    if (step !== this.shownStep) this.#showStep(step);
    this.shownStep = step;
    this.state.textContent = t >= story.end ? `done at ${timeText(story.end)}` : `takes ${timeText(story.end)}`;
    this.root.classList.toggle("ended", t >= story.end);
    for (const { item, action } of this.items) {
      item.classList.toggle("now", action.begin < t && t < action.end);
      item.classList.toggle("past", t >= action.end);
    }
    if (step >= 0 && step < steps) return;
    this.heading.textContent = step < 0 ? "Before the call" : "After the last step";
  }

  #showStep(step) {
    const { story } = this;
    const now = story.steps[step];
    this.items = (now?.actions ?? []).map((action) => {
      const item = html("li", { class: action.kind }, html("span", { class: "words" }, action.text), " ",
        html("code", {}, action.source));
      return { item, action };
    });
    const said = this.items.length ? [] : [html("li", { class: "quiet" }, this.#quiet(step))];
    this.list.replaceChildren(...said, ...this.items.map(({ item }) => item));
    this.root.querySelector(".caption").scrollTop = 0;
    if (!now) return;
    const begin = step > 0 ? story.ends[step - 1] : 0;
    this.heading.textContent = `Step ${step + 1} of ${story.steps.length}, to ${timeText(story.ends[step])}`;
    this.heading.title = `from ${timeText(begin)}`;
  }

  #quiet(step) {
    if (step < 0) return "Each rank holds its own input. Play, or step forward.";
    if (step >= this.story.steps.length)
      return this.story.right
        ? "Nothing moves any more: ranks tell each other that they are done. Every rank holds what it should."
        : "Nothing moves any more. The result is wrong.";
    return "No data moves: ranks set flags, and wait for those of others.";
  }

  /// What a listener hears when the head stops.
  get spoken() {
    const texts = [...this.list.children].map((item) => item.firstChild.textContent);
    return `${this.story.title}: ${this.heading.textContent}. ${texts.join(". ")}`;
  }
}
