// Puts the page together.

// What a collective is for; how it does it, the stories tell.
const PROMISES = {
  all_reduce: "Every rank ends with the SUM of what all ranks had.",
  reduce_scatter: "Each rank ends with its own chunk of the SUM of what all ranks had.",
  all_gather: "Every rank ends with the chunks of all ranks, side by side.",
  broadcast: "Every rank ends with what the root had.",
  reduce: "The root ends with the SUM of what all ranks had.",
  gather: "The root ends with the chunks of all ranks, side by side.",
  scatter: "Each rank ends with its own chunk of what the root had.",
  all_to_all: "Each rank ends with the chunks that all ranks had for it.",
  send_recv: "One rank ends with what another had.",
  barrier: "No rank goes on before all have come.",
};

const RESULTS = { sum: "sum", prod: "product", min: "minimum", max: "maximum", avg: "average" };

const stories = JSON.parse(document.getElementById("data").textContent).map((data) => new Story(data));
// The same algorithm in several memories.
if (new Set(stories.map((story) => story.title)).size < stories.length)
  for (const story of stories) story.title += ` (${story.memory} memory)`;
// An axis has a length even where nothing takes time.
const end = Math.max(...stories.map((story) => story.end)) || 1;
const main = document.getElementById("stories");

function describe() {
  const [{ collective, op, ranks, root, machine, cellBytes, rows }] = stories;
  const name = collective === "send_recv" ? "send and receive" : collective.replaceAll("_", "-");
  const by = new Intl.ListFormat("en-GB").format(stories.map((story) => story.title));
  document.title = `${name} by ${by}, ${ranks} ranks · tutti`;
  document.getElementById("title").textContent = `${name[0].toUpperCase()}${name.slice(1)} by ${by}`;
  document.getElementById("promise").textContent =
    (PROMISES[collective] ?? "").replace("SUM", RESULTS[op]) + (root < 0 ? "" : collective === "send_recv" ? ` Rank ${root} sends.` : ` The root is rank ${root}.`);
  document.getElementById("setting").textContent =
    `${ranks} ranks on the machine “${machine}”. ` +
    (rows.length ? `A cell is ${bytesText(cellBytes)} of equal numbers. ` : "") +
    "Times are virtual: predicted by running the kernel itself, not measured.";
}

function explainSigns() {
  const n = Math.min(stories[0].ranks, 4);
  const cell = svg("svg", { viewBox: "0 0 40 34", width: 40, height: 34 },
    svg("g", { class: "cell hue2" }, svg("rect", { class: "fill", x: 1, y: 1, width: 38, height: 32, rx: 4 }),
      svg("rect", { class: "frame", x: 1, y: 1, width: 38, height: 32, rx: 4 }),
      svg("text", { class: "chunk", x: 5, y: 11 }, "c2"), svg("text", { class: "value", x: 23, y: 23 }, "5"),
      ...Array.from({ length: n }, (_, i) =>
        svg("rect", { class: i < 2 ? "segments" : "tracks", x: 4 + (i * 33) / n, y: 27, width: 33 / n - 1, height: 3.5 }))));
  const arrow = (kind, ...more) =>
    svg("svg", { viewBox: "0 0 40 22", width: 40, height: 22 },
      svg("g", { class: `move ${kind} done` }, svg("path", { class: "leg", d: "M2 11H34" }),
        svg("path", { class: "head there", d: "M37 11l-8 -4.5v9z" }), ...more));
  const plus = svg("g", { class: "plus", transform: "translate(15 11)" }, svg("circle", { r: 8 }),
    svg("path", { d: "M-4 0h8M0 -4v8" }));
  const bar = (kind) =>
    svg("svg", { viewBox: "0 0 28 14", width: 28, height: 14 },
      svg("rect", { class: `bar ${kind}`, x: 1, y: kind === "wait" ? 5 : 1, width: 26, height: kind === "wait" ? 4 : 12 }));
  const sign = (is, picture, text) => (is ? [html("li", {}, picture, html("span", {}, text))] : []);
  const acts = (kind) => stories.some(({ steps }) => steps.some(({ actions }) => actions.some((a) => a.kind === kind)));
  const spends = (kind) => stories.some(({ spans }) => spans.some((span) => span.kind === kind));
  document.getElementById("legend").append(
    ...sign(acts("copy") || acts("add"), cell, "a cell: its value, and whose parts are in it"),
    ...sign(acts("copy"), arrow("copy"), "copies"),
    ...sign(acts("add"), arrow("add", plus), "adds"),
    ...sign(spends("transfer"), bar("transfer"), "transfer"),
    ...sign(spends("reduce"), bar("reduce"), "reduce"),
    ...sign(spends("wait"), bar("wait"), "wait"),
    ...sign(true, svg("svg", { viewBox: "0 0 28 14", width: 28, height: 14 }, svg("path", { class: "flag", d: "M2 1L26 13" })),
      "flag to another rank: go on"),
  );
}

function summarise() {
  const checked = ({ counted, formula, formulaText }, of, text) => {
    if (formulaText) return `${text(counted[of])}; the formula does not hold: ${formulaText}`;
    return counted[of] === formula[of] ? `${text(counted[of])} ✓ as its formula says`
                                       : `${text(counted[of])} ✗ its formula says ${text(formula[of])}`;
  };
  const rows = stories.map((story) =>
    html("tr", {}, html("th", { scope: "row" }, story.title),
      html("td", {}, checked(story, "steps", String)),
      html("td", {}, checked(story, "bytes", bytesText)),
      html("td", {}, `${timeText(story.end)} (predicted)`),
      html("td", { class: story.right ? "right" : "wrong" }, story.right ? "✓ right on every rank" : "✗ wrong")));
  document.querySelector("#summary tbody").append(...rows);
  if (stories.length < 2) return;
  const [fastest, ...others] = [...stories].sort((a, b) => a.end - b.end);
  const behind = others.map((story) => `${story.title} takes ${(story.end / fastest.end || 1).toFixed(2)} times as long`);
  document.getElementById("verdict").textContent =
    `At this size ${fastest.title} ends first, after ${timeText(fastest.end)} of virtual time; ${behind.join(", ")}.`;
}

const player = new Player(stories, end, (t) => panels.forEach((panel) => panel.draw(t)));
const panels = stories.map((story) => new Panel(story, end, (t) => player.seek(t)));
main.append(...panels.map((panel) => panel.root));

// Side by side if pictures do not get much longer by it, else one above the other.
function layout() {
  const wide = main.clientWidth, columns = Math.min(2, stories.length);
  if (wide === 0) return;  // not shown yet, or no longer
  const inside = wide / columns - 44;
  main.classList.toggle("beside",
    columns > 1 && inside >= 400 && panels.every((panel) => panel.ranks.linesIn(inside) <= 2));
  for (const panel of panels) panel.layout();
  // Timelines at one height, unless that leaves much room empty.
  const heights = panels.map((panel) => panel.ranks.height);
  const alike = main.classList.contains("beside") && Math.max(...heights) - Math.min(...heights) < 80;
  for (const panel of panels) panel.ranks.place.style.minHeight = alike ? `${Math.max(...heights)}px` : "";
  player.draw();
}

// Only when the head rests: a story that plays would talk without end.
let announced;
function announce() {
  clearTimeout(announced);
  announced = setTimeout(() => {
    if (!player.playing) document.getElementById("announce").textContent = panels.map((panel) => panel.spoken).join(" ");
  }, 400);
}

function switchTheme() {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
}

document.getElementById("theme").addEventListener("click", switchTheme);
document.addEventListener("keydown", (event) => {
  if (event.key === "t" && !event.ctrlKey && !event.metaKey && !event.altKey) switchTheme();
});
document.addEventListener("keyup", announce);
document.addEventListener("pointerup", announce);

describe();
explainSigns();
summarise();
layout();
let laidOut = main.clientWidth;
new ResizeObserver(() => {
  if (main.clientWidth !== laidOut) layout();
  laidOut = main.clientWidth;
}).observe(main);
