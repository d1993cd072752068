// Makes pictures small enough for a repository, in place.
//
//   node docs/images/smaller.mjs FILE…
//
// A PNG gets a palette of the 256 colours that it has most of; each other colour becomes the nearest of them. In an SVG, lines,
// polylines and rectangles of one style that follow each other become one path in whole pixels.
import { readFileSync, writeFileSync } from "node:fs";
import { crc32, deflateSync, inflateSync } from "node:zlib";

const MOST_COLOURS = 256;

/** The pixels of a PNG of eight bits a channel, without interlacing: three or four bytes each. */
const decode = (png) => {
  const [width, height, depth, kind, , , interlaced] = [png.readUInt32BE(16), png.readUInt32BE(20), ...png.subarray(24, 29)];
  const channels = { 2: 3, 6: 4 }[kind];
  if (depth !== 8 || channels === undefined || interlaced) throw new Error("not a PNG as Chromium makes them");
  const parts = [];
  for (let at = 8; at < png.length; at += 12 + png.readUInt32BE(at)) {
    if (png.toString("latin1", at + 4, at + 8) === "IDAT") parts.push(png.subarray(at + 8, at + 8 + png.readUInt32BE(at)));
  }
  const raw = inflateSync(Buffer.concat(parts)), stride = width * channels, pixels = Buffer.alloc(stride * height);
  for (let row = 0; row < height; row++) {
    const filter = raw[row * (stride + 1)];
    for (let x = 0; x < stride; x++) {
      const at = row * stride + x;
      const left = x < channels ? 0 : pixels[at - channels], up = row === 0 ? 0 : pixels[at - stride];
      const corner = x < channels || row === 0 ? 0 : pixels[at - stride - channels];
      pixels[at] = raw[row * (stride + 1) + 1 + x] + [0, left, up, (left + up) >> 1, paeth(left, up, corner)][filter];
    }
  }
  return { width, height, channels, pixels };
};

const paeth = (left, up, corner) => {
  const [a, b, c] = [left, up, corner].map((it) => Math.abs(left + up - corner - it));
  return a <= b && a <= c ? left : b <= c ? up : corner;
};

const chunk = (name, data) => {
  const body = Buffer.concat([Buffer.from(name, "latin1"), data]), out = Buffer.alloc(body.length + 8);
  out.writeUInt32BE(data.length, 0);
  body.copy(out, 4);
  out.writeUInt32BE(crc32(body), body.length + 4);
  return out;
};

const smallerPng = (png) => {
  if (png[25] === 3) return png;
  const { width, height, channels, pixels } = decode(png);
  const count = new Map();
  const colour = (at) => (pixels[at] << 16) | (pixels[at + 1] << 8) | pixels[at + 2];
  for (let at = 0; at < pixels.length; at += channels) count.set(colour(at), (count.get(colour(at)) ?? 0) + 1);
  const palette = [...count].sort((a, b) => b[1] - a[1]).slice(0, MOST_COLOURS).map(([it]) => it);
  const place = new Map(palette.map((it, index) => [it, index]));
  const distance = (a, b) => [16, 8, 0].reduce((sum, shift) => sum + (((a >> shift) & 255) - ((b >> shift) & 255)) ** 2, 0);
  const nearest = (it) => {
    if (!place.has(it)) place.set(it, palette.reduce((best, other, index) => distance(it, other) < distance(it, palette[best]) ? index : best, 0));
    return place.get(it);
  };
  const rows = Buffer.alloc((width + 1) * height);
  for (let row = 0; row < height; row++) {
    for (let x = 0; x < width; x++) rows[row * (width + 1) + 1 + x] = nearest(colour((row * width + x) * channels));
  }
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([8, 3], 8);
  const colours = Buffer.from(palette.flatMap((it) => [it >> 16, (it >> 8) & 255, it & 255]));
  const data = deflateSync(rows, { level: 9, memLevel: 9 });
  return Buffer.concat([png.subarray(0, 8), chunk("IHDR", head), chunk("PLTE", colours), chunk("IDAT", data), chunk("IEND", Buffer.alloc(0))]);
};

const attributes = (tag) => Object.fromEntries([...tag.matchAll(/([\w-]+)="([^"]*)"/g)].map(([, name, value]) => [name, value]));
const whole = (number) => String(Math.round(Number(number)));

/** Points in whole pixels, each as its distance from the one before; steps in one direction are one. */
const line = (points) => {
  const at = points.map(([x, y]) => [Math.round(x), Math.round(y)]);
  const steps = [];
  for (const [index, [x, y]] of at.slice(1).entries()) {
    const step = [x - at[index][0], y - at[index][1]], before = steps.at(-1);
    const isFlat = before && (before[0] === 0 && step[0] === 0 && before[1] * step[1] >= 0 || before[1] === 0 && step[1] === 0 && before[0] * step[0] >= 0);
    if (isFlat) steps[steps.length - 1] = [before[0] + step[0], before[1] + step[1]];
    else steps.push(step);
  }
  const moves = steps.map(([x, y]) => x === 0 ? `v${y}` : y === 0 ? `h${x}` : `l${x}${y < 0 ? "" : " "}${y}`);
  return `M${at[0].join(" ")}${moves.join("")}`;
};

/** The way of a shape, and what it looks like; nothing for another element. */
const shape = (tag) => {
  const it = attributes(tag), opacity = it.opacity === "1" || it.opacity === undefined ? "" : ` opacity="${it.opacity}"`;
  const stroke = () => `fill="none" stroke="${it.stroke}"${it["stroke-width"] === "1" ? "" : ` stroke-width="${it["stroke-width"]}"`}${opacity}`;
  if (tag.startsWith("<line ")) return [line([[it.x1, it.y1], [it.x2, it.y2]]), stroke()];
  if (tag.startsWith("<polyline ")) return [line(it.points.trim().split(/\s+/).map((point) => point.split(","))), stroke()];
  if (tag.startsWith("<rect ") && it.stroke === "none" && it.fill !== "none") {
    const [x, y, width, height] = [it.x, it.y, it.width, it.height].map(whole);
    // The cells of a map differ in their opacity alone, and lie side by side.
    return [`M${x} ${y}h${width}v${height}h-${width}z`, `fill="${it.fill}"`, opacity.replace(/\d\.\d+/, (it) => Number(it).toFixed(1))];
  }
  return undefined;
};

/** An element without what is the default. */
const short = (element) => {
  const defaults = [' opacity="1"', ' stroke="none"', ' font-family="sans-serif"', ' text-anchor="start"'];
  return defaults.reduce((text, it) => text.replace(it, ""), element)
    .replace(/(\d+\.\d)\d+/g, "$1").replace(/>\s+/, ">").replace(/\s+</, "<");
};

const smallerSvg = (svg) => {
  const out = [];
  let ways = new Map(), look;
  const end = () => {
    for (const [opacity, shapes] of ways) out.push(`<path d="${shapes.join("")}" ${look}${opacity}/>`);
    ways = new Map();
  };
  for (const [element] of svg.matchAll(/<text [^>]*>[^<]*<\/text>|<[^>]+>/g)) {
    const [way, style, opacity = ""] = shape(element) ?? [];
    if (way === undefined || style !== look) end();
    look = style;
    if (way !== undefined) ways.set(opacity, [...(ways.get(opacity) ?? []), way]);
    else out.push(short(element));
  }
  end();
  return out.join("\n").replace("<svg ", '<svg font-family="sans-serif" ') + "\n";
};

for (const file of process.argv.slice(2)) {
  const before = readFileSync(file);
  const after = file.endsWith(".svg") ? Buffer.from(smallerSvg(before.toString())) : smallerPng(before);
  if (after.length < before.length) writeFileSync(file, after);
  console.log(`${file}: ${before.length} -> ${Math.min(after.length, before.length)} bytes`);
}
