// The head: one virtual time for all stories, moved by buttons, keys, the slider, the timelines, or by itself.

const STEP_SECONDS = 2;

class Player {
  constructor(stories, end, show) {
    this.end = end;
    this.show = show;
    this.stops = [...new Set(stories.flatMap((story) => story.stops))].sort((a, b) => a - b);
    const steps = Math.max(...stories.map((story) => story.stops.length - 1));
    this.rate = end / (STEP_SECONDS * steps);  // ns of the story in a second before the screen
    this.t = 0;
    this.playing = false;
    this.speed = 1;
    this.calm = matchMedia("(prefers-reduced-motion: reduce)");
    this.#listen();
  }

  #listen() {
    const on = (id, event, act) => document.getElementById(id).addEventListener(event, act);
    on("first", "click", () => this.seek(0));
    on("last", "click", () => this.seek(this.end));
    on("back", "click", () => this.step(-1));
    on("forward", "click", () => this.step(1));
    on("play", "click", () => this.toggle());
    this.slider = document.getElementById("slider");
    this.slider.max = this.end;
    this.slider.addEventListener("input", () => this.seek(Number(this.slider.value)));
    on("speed", "change", (event) => (this.speed = Number(event.target.value)));
    document.addEventListener("keydown", (event) => this.#key(event));
    for (const stop of this.stops)
      document.getElementById("stops").append(html("i", { style: `left:${(100 * stop) / this.end}%` }));
  }

  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const { target, key } = event;
    if (target.tagName === "SELECT") return;
    const act = {
      ArrowRight: () => this.step(1),
      ArrowLeft: () => this.step(-1),
      Home: () => this.seek(0),
      End: () => this.seek(this.end),
      ".": () => this.seek(this.t + this.end / 200),
      ",": () => this.seek(this.t - this.end / 200),
      // A button that has the focus is pressed by the space bar, as everywhere.
      " ": target.tagName === "BUTTON" ? undefined : () => this.toggle(),
    }[key];
    if (!act) return;
    event.preventDefault();
    act();
  }

  seek(t) {
    this.pause();
    this.#set(t);
  }

  step(by) {
    const near = this.end * 1e-9;
    const next = by > 0 ? this.stops.find((stop) => stop > this.t + near) : this.stops.findLast((stop) => stop < this.t - near);
    this.seek(next ?? (by > 0 ? this.end : 0));
  }

  toggle() {
    if (this.playing) this.pause();
    else this.play();
  }

  play() {
    if (this.t >= this.end) this.#set(0);
    this.playing = true;
    this.#marked();
    let before = performance.now(), waited = 0;
    const run = (now) => {
      if (!this.playing) return;
      const seconds = ((now - before) / 1000) * this.speed;
      before = now;
      if (this.calm.matches) {  // from step to step, nothing flies
        waited += seconds;
        if (waited >= STEP_SECONDS * 0.75) {
          waited = 0;
          this.#set(this.stops.find((stop) => stop > this.t) ?? this.end);
        }
      } else {
        this.#set(this.t + seconds * this.rate);
      }
      if (this.t >= this.end) this.pause();
      else requestAnimationFrame(run);
    };
    requestAnimationFrame(run);
  }

  pause() {
    this.playing = false;
    this.#marked();
  }

  #marked() {
    const button = document.getElementById("play");
    button.classList.toggle("playing", this.playing);
    button.setAttribute("aria-label", this.playing ? "Pause" : "Play");
  }

  #set(t) {
    this.t = Math.min(this.end, Math.max(0, t));
    this.draw();
  }

  draw() {
    const { t, end } = this;
    this.slider.value = t;
    this.slider.style.setProperty("--at", `${(100 * t) / end}%`);
    const now = timeText(t, end), of = ` of ${timeText(end)}`;
    this.slider.setAttribute("aria-valuetext", now + of);
    document.getElementById("clock").replaceChildren(now, html("span", {}, of));
    this.show(t);
  }
}
