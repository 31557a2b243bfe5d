// Elements, and lines between places.

function svg(name, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

function html(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

const HUES = 8;
// Beyond eight chunks hues come again, striped; the label tells them apart in any case.
const chunkClass = (chunk) => (chunk < 0 ? "" : `hue${chunk % HUES}${chunk % (2 * HUES) >= HUES ? " striped" : ""}`);

// A line from the edge of one box to the edge of another, and its head; boxes are {x, y, width, height}.
function route(from, to) {
  const a = from.x + from.width / 2, b = to.x + to.width / 2;
  const head = (y, up) => `M${b} ${y}l-4.5 ${up ? 8 : -8}h9z`;
  if (Math.abs(from.y + from.height / 2 - to.y - to.height / 2) < Math.max(from.height, to.height) / 2) {
    // Side by side: over the top.
    const top = Math.min(from.y, to.y) - Math.min(24, 10 + Math.abs(a - b) / 12);
    return { d: `M${a} ${from.y} C${a} ${top} ${b} ${top} ${b} ${to.y - 2}`, head: head(to.y - 1, false) };
  }
  const up = to.y < from.y;
  const begin = up ? from.y : from.y + from.height, end = up ? to.y + to.height : to.y;
  const bend = Math.max(14, Math.abs(end - begin) * 0.5) * (up ? -1 : 1);
  return {
    d: `M${a} ${begin} C${a} ${begin + bend} ${b} ${end - bend} ${b} ${end + (up ? 3 : -3)}`,
    head: head(end + (up ? 1 : -1), up),
  };
}
