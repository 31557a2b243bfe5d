"""How well each text of a page can be read: contrast as WCAG 2 defines it, of the colours that the browser computed."""

# A script that returns [contrast, text, class, colour behind it] of every text that is shown, the worst first. A text in
# a cell has the cell's filling behind it, and what is just coming into the cell.
CONTRASTS = """
const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
const rgb = (colour, under) => {
  canvas.fillStyle = under; canvas.fillRect(0, 0, 1, 1);
  canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
  return [...canvas.getImageData(0, 0, 1, 1).data.slice(0, 3)];
};
const light = (c) => c.map(v => v / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
  .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
const ground = (e) => {
  for (; e; e = e.parentElement) {
    const colour = getComputedStyle(e).backgroundColor;
    if (colour !== 'rgba(0, 0, 0, 0)') return colour;
  }
};
const found = [];
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
for (let node; (node = walker.nextNode());) {
  const e = node.parentElement, style = getComputedStyle(e);
  if (!node.data.trim() || ['SCRIPT', 'STYLE', 'OPTION', 'TEMPLATE'].includes(e.tagName) || style.visibility === 'hidden' ||
      style.display === 'none' || e.closest('.unseen')) continue;
  const isSvg = e instanceof SVGElement, cell = e.closest('.cell'), token = e.closest('.token');
  const grounds = [ground(e)];
  const under = token ? ['rect'] : cell ? ['.fill', '.coming'] : [];
  const within = token ?? cell;
  for (const part of under.map(name => within.querySelector(name)).filter(Boolean)) {
    const colour = getComputedStyle(part).fill;
    if (colour !== 'none') grounds.push(colour);
  }
  if (isSvg && !within && e.closest('.picture')) grounds.push(getComputedStyle(e.closest('.picture').querySelector('.band')).fill);
  for (const back of grounds.slice(within && grounds.length > 1 ? 1 : 0)) {
    const a = light(rgb(isSvg ? style.fill : style.color, back)), b = light(rgb(back, '#000'));
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    found.push([contrast, node.data.trim().slice(0, 40), e.className.baseVal ?? e.className, back]);
  }
}
return found.sort((x, y) => x[0] - y[0]);"""
