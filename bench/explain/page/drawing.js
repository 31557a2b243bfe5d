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

// A line from the edge of one box to the edge of another; boxes are {x, y, width, height}.
function route(from, to) {
  const centre = (box) => ({ x: box.x + box.width / 2, y: box.y + box.height / 2 });
  const a = centre(from), b = centre(to);
  if (Math.abs(a.y - b.y) < (from.height + to.height) / 4) {  // side by side: over the top
    const top = Math.min(from.y, to.y), lift = Math.min(26, 8 + Math.abs(a.x - b.x) / 10);
    return `M${a.x} ${from.y} C${a.x} ${top - lift} ${b.x} ${top - lift} ${b.x} ${to.y - 2}`;
  }
  const down = b.y > a.y;
  const begin = down ? from.y + from.height : from.y, end = down ? to.y - 2 : to.y + to.height + 2;
  const bend = Math.max(12, Math.abs(end - begin) * 0.45) * (down ? 1 : -1);
  return `M${a.x} ${begin} C${a.x} ${begin + bend} ${b.x} ${end - bend} ${b.x} ${end}`;
}
