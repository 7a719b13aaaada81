// The faults of the page as it is shown, each a text: what does not fit, touches, crosses or
// cannot be read. The argument is the scheme, "light" or "dark".
const width = document.documentElement.clientWidth;
const faults = [];
const shown = (element) => element.getClientRects().length > 0;
const name = (element) => `${element.tagName}.${element.className} "${element.innerText.slice(0, 30)}"`;

// No horizontal scroll. What has a scroll bar or an ellipsis of its own may be wider.
if (document.documentElement.scrollWidth > width) {
  faults.push(`the page is ${document.documentElement.scrollWidth} px wide`);
}
for (const element of document.querySelectorAll("header *, main *, footer *")) {
  const inner = element.closest(".scroll, .crumbs, option");
  if (shown(element) && !inner && element.getBoundingClientRect().right > width + 1) {
    faults.push(`beyond the right edge: ${name(element)}`);
  }
}

// Buttons have a gap between them.
const buttons = [...document.querySelectorAll(".button, button, .cta")].filter(shown);
buttons.forEach((one, index) => {
  for (const two of buttons.slice(index + 1)) {
    const [p, q] = [one, two].map((button) => button.getBoundingClientRect());
    const across = Math.max(p.left - q.right, q.left - p.right);
    const down = Math.max(p.top - q.bottom, q.top - p.bottom);
    if (Math.max(across, down) < 4) faults.push(`touching: ${name(one)}, ${name(two)}`);
  }
});

// The lines of text in an element, and its buttons, as rectangles.
function rectangles(element) {
  const all = [...element.querySelectorAll(".button")].map((button) => button.getBoundingClientRect());
  const texts = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const range = document.createRange();
    range.selectNodeContents(texts.currentNode);
    all.push(...range.getClientRects());
  }
  return all;
}

// The circles of the front page, which style sheets draw, stay clear of its text.
for (const hero of document.querySelectorAll(".hero")) {
  const box = hero.getBoundingClientRect();
  for (const which of ["::before", "::after"]) {
    const style = getComputedStyle(hero, which);
    if (style.display === "none" || style.content === "none") continue;
    const [w, h, right, bottom] = ["width", "height", "right", "bottom"].map((key) => parseFloat(style[key]));
    const [x, y] = [box.right - right - w / 2, box.bottom - bottom - h / 2];
    for (const line of rectangles(hero)) {
      const dx = Math.max(line.left - x, 0, x - line.right);
      const dy = Math.max(line.top - y, 0, y - line.bottom);
      if (Math.hypot(dx, dy) < w / 2) faults.push(`the circle ${which} crosses text at ${line.left}, ${line.top}`);
    }
  }
}

// Contrast of text, by WCAG 2: 4.5 at least.
function parts(colour) {
  const numbers = colour.match(/[\d.]+/g).map(Number);
  return numbers.length < 4 ? [...numbers, 1] : numbers;
}
function luminance(colour) {
  const [r, g, b] = colour.map((part) => {
    const share = part / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}
function background(element) {
  const layers = [];
  for (let at = element; at; at = at.parentElement) {
    const style = getComputedStyle(at);
    // Of a gradient, the colour that half of it has at least.
    const stops = style.backgroundImage.match(/rgba?\([^)]*\)/g);
    const colour = parts(stops ? stops[1] : style.backgroundColor);
    if (colour[3] > 0) layers.push(colour);
    if (colour[3] === 1) break;
  }
  const over = (below, colour) => below.map((part, index) => part * (1 - colour[3]) + colour[index] * colour[3]);
  return layers.reverse().reduce(over, [255, 255, 255]);
}
const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (texts.nextNode()) {
  const element = texts.currentNode.parentElement;
  const skipped = !shown(element) || element.closest(".skip, option, [aria-hidden]");
  if (skipped || !texts.currentNode.textContent.trim()) continue;
  const pair = [parts(getComputedStyle(element).color).slice(0, 3), background(element)].map(luminance);
  const contrast = (Math.max(...pair) + 0.05) / (Math.min(...pair) + 0.05);
  if (contrast < 4.5) faults.push(`contrast ${contrast.toFixed(2)}: ${name(element)}`);
}

const page = luminance(background(document.body));
if (arguments[0] === "dark" ? page > 0.05 : page < 0.8) faults.push(`the page is not ${arguments[0]}`);
return faults;
