// Line charts as SVG: few lines, direct labels, ticks as people write them.

/**
 * @typedef {{ name: string, colour: string, dash?: string, points: [number, number][] }} Series
 * @typedef {{ title: string, x: string, y: string, log?: boolean, percent?: boolean,
 *   domain: [number, number], range: [number, number], series: Series[] }} Chart
 */

const NAMESPACE = "http://www.w3.org/2000/svg";

/**
 * @param {string} name @param {Record<string, string | number>} attributes @param {string} [text]
 */
function element(name, attributes, text) {
  const made = document.createElementNS(NAMESPACE, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
  if (text !== undefined) made.textContent = text;
  return made;
}

/** Steps of 1, 2 or 5 times a power of ten. @param {number} low @param {number} high @param {number} count */
export function ticks(low, high, count) {
  const raw = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((one) => one * power).find((one) => one >= raw) ?? raw;
  const found = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high * (1 + 1e-9); k++) found.push(k * step);
  return found;
}

/** @param {number} low exponent @param {number} high exponent @param {number} count */
function powers(low, high, count) {
  const step = Math.max(1, Math.ceil((high - low) / count));
  const found = [];
  for (let k = Math.floor(high); k >= low; k -= step) found.push(k);
  return found;
}

/** @param {number} value @param {boolean} [percent] */
export function shown(value, percent) {
  if (percent) return `${Number((100 * value).toPrecision(3))} %`;
  if (value !== 0 && (Math.abs(value) < 1e-3 || Math.abs(value) >= 1e6)) {
    return value.toExponential(2).replace(/\.?0+e/, "e").replace("e+", "e");
  }
  return String(Number(value.toPrecision(6)));
}

/**
 * Draw a chart into a figure, as wide as there is room.
 * @param {HTMLElement} figure @param {Chart} chart
 */
export function draw(figure, chart) {
  const width = Math.max(figure.clientWidth, 260);
  const height = Math.round(Math.min(Math.max(0.62 * width, 250), 360));
  const [left, right, top, bottom] = [54, width - 28, 14, height - 44];
  const svg = element("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img" });
  svg.setAttribute("aria-label", `${chart.title}. ${chart.series.map((one) => one.name).join(", ")}.`);
  const [x0, x1] = chart.domain;
  const [y0, y1] = chart.log ? chart.range.map(Math.log10) : chart.range;
  /** @param {number} x */
  const toX = (x) => left + ((x - x0) / (x1 - x0)) * (right - left);
  /** @param {number} y */
  const toY = (y) => bottom - (((chart.log ? Math.log10(y) : y) - y0) / (y1 - y0)) * (bottom - top);
  for (const x of ticks(x0, x1, Math.max(3, Math.floor(width / 110)))) {
    svg.append(element("line", { class: "grid", x1: toX(x), x2: toX(x), y1: top, y2: bottom }));
    svg.append(element("text", { class: "tick", x: toX(x), y: bottom + 18, "text-anchor": "middle" }, shown(x, chart.percent)));
  }
  const heights = chart.log ? powers(y0, y1, 6).map((k) => 10 ** k) : ticks(y0, y1, 5);
  for (const y of heights) {
    const text = chart.log ? (y === 1 ? "1" : `1e${Math.round(Math.log10(y))}`) : shown(y, chart.percent);
    svg.append(element("line", { class: "grid", x1: left, x2: right, y1: toY(y), y2: toY(y) }));
    svg.append(element("text", { class: "tick", x: left - 6, y: toY(y) + 4, "text-anchor": "end" }, text));
  }
  svg.append(element("text", { class: "axis", x: right, y: height - 6, "text-anchor": "end" }, chart.x));
  const lines = chart.series.map((one) => onPaper(one.points, chart.log ? 10 ** y0 : -Infinity, toX, toY));
  /** @type {{ x: number, y: number, width: number }[]} */
  const taken = [];
  for (const [k, { name, colour, dash }] of chart.series.entries()) {
    if (lines[k].length < 2) continue;
    const path = lines[k].map(([x, y], first) => `${first ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");
    svg.append(element("path", { class: "line", d: path, stroke: colour, "stroke-dasharray": dash ?? "none" }));
    const place = placeOf(lines[k], lines, taken, 7.4 * name.length, { left, right, top, bottom });
    taken.push(place);
    svg.append(element("text", { class: "name", x: place.x, y: place.y, fill: colour }, name));
  }
  figure.querySelector("svg")?.remove();
  figure.append(svg);
}

/**
 * A line in pixels; on a logarithmic scale it goes down to the lowest value shown and ends.
 * @param {[number, number][]} points @param {number} least
 * @param {(x: number) => number} toX @param {(y: number) => number} toY
 */
function onPaper(points, least, toX, toY) {
  /** @type {[number, number][]} */
  const found = [];
  for (const [x, y] of points) {
    if (!Number.isFinite(y)) continue;
    found.push([toX(x), toY(Math.max(y, least))]);
    if (y <= least) break;
  }
  return found;
}

/** to the right or left of a point, and how far below it: near it if there is room */
const BESIDE = [-7, 17, -26, 36, -46, 56].flatMap((y) => [[1, y], [-1, y]]);

/**
 * Where the name of a line has room beside it: far from all lines and other names.
 * @param {[number, number][]} line in pixels
 * @param {[number, number][][]} lines all of them
 * @param {{ x: number, y: number, width: number }[]} taken
 * @param {number} width of the name
 * @param {{ left: number, right: number, top: number, bottom: number }} room
 */
function placeOf(line, lines, taken, width, room) {
  let best = { x: room.left, y: room.top, width };
  let most = -Infinity;
  for (let k = 0; k < 30; k++) {
    const [px, py] = line[Math.floor((k * (line.length - 1)) / 29)];
    for (const [dx, dy] of BESIDE.map(([side, y]) => [side > 0 ? 6 : -width - 6, y])) {
      const [x, y] = [px + dx, py + dy];
      if (x < room.left + 4 || x + width > room.right || y < room.top + 12 || y > room.bottom - 4) continue;
      let clear = 40;
      for (let step = 0; step <= 8; step++) {
        const at = x + (step * width) / 8;
        for (const other of lines) {
          const height = heightAt(other, at);
          // the middle of the letters is above their line
          if (height !== null) clear = Math.min(clear, Math.abs(height - (y - 4)) - 6);
        }
      }
      for (const other of taken) {
        const apart = Math.max(Math.abs(other.y - y) - 14, other.x - x - width, x - other.x - other.width);
        clear = Math.min(clear, apart);
      }
      const value = Math.min(clear, 8) + clear / 40 - Math.abs(dy - 5) / 60;
      if (value > most) [best, most] = [{ x, y, width }, value];
    }
  }
  return best;
}

/** The height of a line at x, or null beside it. @param {[number, number][]} line @param {number} x */
function heightAt(line, x) {
  for (let k = 1; k < line.length; k++) {
    const [[x0, y0], [x1, y1]] = [line[k - 1], line[k]];
    if (x0 <= x && x <= x1 && x1 > x0) return y0 + ((y1 - y0) * (x - x0)) / (x1 - x0);
  }
  return null;
}
