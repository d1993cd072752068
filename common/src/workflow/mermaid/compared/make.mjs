// Writes `charts.jsonl`: flowcharts made from what their syntax consists of, and how Mermaid's own parser reads them.
//
// In an empty folder: `npm install mermaid@11 jsdom`, then `node PATH/make.mjs . > PATH/charts.jsonl`. A second number in
// the command line is how many charts of random pieces are made (400), a third one is the seed (1).
//
// A line is a chart that Mermaid accepts: its text, its nodes with their labels, its arrows (`-->`, `-.->`, `==>`, `~~~`, and
// `<->` for one with two heads), and whether all of it is everyday syntax, which has to be read and not refused.
import { createRequire } from 'node:module';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const folder = resolve(process.argv[2] ?? '.');
const { JSDOM } = createRequire(folder + '/x.js')('jsdom');
const page = new JSDOM('<body></body>');
globalThis.window = page.window;
globalThis.document = page.window.document;
console.warn = () => {};
const { default: mermaid } = await import(pathToFileURL(folder + '/node_modules/mermaid/dist/mermaid.core.mjs'));
mermaid.initialize({ maxEdges: 1e6, maxTextSize: 1e8, logLevel: 'fatal', securityLevel: 'loose' });

// How Mermaid reads a chart; nothing if it refuses it.
const LETTERS = { quot: '"', amp: '&', lt: '<', gt: '>', apos: "'", nbsp: '\u00a0' };
const decoded = (text) => String(text)
  .replace(/ﬂ°°(\d+)¶ß/g, (_, number) => String.fromCodePoint(number))
  .replace(/ﬂ°(\w+)¶ß/g, (all, name) => LETTERS[name] ?? `#${name};`);
async function read(chart) {
  let db;
  try {
    ({ db } = await mermaid.mermaidAPI.getDiagramFromText(chart));
  } catch {
    return undefined;
  }
  const stroke = { normal: '-->', dotted: '-.->', thick: '==>', invisible: '~~~' };
  const line = (edge) => edge.type?.startsWith('double') ? '<->' : stroke[edge.stroke] ?? 'INVALID';
  const edges = db.getEdges().map((edge) => [edge.start, line(edge), edge.end]);
  const used = new Set(edges.flatMap(([start, , end]) => [start, end]));
  // A style for a subgraph makes a node that is not drawn.
  const subgraphs = new Set(db.getSubGraphs().map((subgraph) => subgraph.id));
  const nodes = [...db.getVertices().values()].filter(({ id }) => used.has(id) || !subgraphs.has(id));
  return { nodes: nodes.map(({ id, text }) => [id, decoded(text)]), edges };
}

let seed = Number(process.argv[4] ?? 1) * 2654435761 >>> 0 || 1;
function random(below) {
  seed ^= seed << 13; seed >>>= 0;
  seed ^= seed >>> 17;
  seed ^= seed << 5; seed >>>= 0;
  return seed % below;
}
const one = (list) => list[random(list.length)];

let count = 0;
const fresh = () => one(['a', 'b', 'node', 'n-', 's_', 'step.', 'Xx', '7', 'o', 'x', 'v', 'endpoint', 'default.']) + ++count;
const task = () => `t.n${++count}`;
const rich = () => one([task(), `${task()}@2:io`, `${task()}(x=1)`, `${task()}(s='a, (b)')`, `mail:${task()}`,
  `${task()}(q=#quot;a#quot;)`, `${task()} on ok=1h`, `${task()}(n=100#35;)`, `${task()}\n`, `${task()}(a=1,\n  b=2)`]);
const labels = [() => task(), () => `"${rich()}"`, () => `"\`${task()}\`"`];
const SHAPES = [['[', ']'], ['(', ')'], ['([', '])'], ['[[', ']]'], ['[(', ')]'], ['((', '))'], ['(((', ')))'], ['{', '}'],
  ['{{', '}}'], ['[/', '/]'], ['[\\', '\\]'], ['[/', '\\]'], ['[\\', '/]'], ['>', ']'], ['(-', '-)']];
const shaped = (id, shape = one(SHAPES), label = one(labels)) => id + shape[0] + label() + shape[1];
const node = () => shaped(fresh(), one(SHAPES.slice(0, 10)));
const plain = () => `${fresh()}["${rich()}"]`;

const WHOLE = ['-->', '--->', '---->', '---', '----', '--o', '--x', '---o', '-.->', '-..->', '-.-', '-.-x', '-...-o', '==>', '===>',
  '===', '====', '==o', '==x', '~~~', '~~~~'];
const WITHIN = [['--', '-->'], ['--', '---'], ['--', '---->'], ['--', '--x'], ['-.', '.->'], ['-.', '.-'], ['-.', '..->'],
  ['==', '==>'], ['==', '==='], ['==', '==o']];
const TEXTS = ['yes', 'if so', '"POST /x"', '"a; b --> c"', '"`**now**`"', 'at 5 pm', '"#quot;x#quot;"'];
const arrow = () => one([
  () => ` ${one(WHOLE)} `, () => one(WHOLE.filter((whole) => !/[ox]$/.test(whole))),
  () => ` ${one(WHOLE.slice(0, 19))}|${one(TEXTS)}| `, () => ` ${one(WHOLE.slice(0, 19))} |${one(TEXTS)}|`,
  () => { const [open, close] = one(WITHIN); return ` ${open} ${one(TEXTS)} ${close} `; },
  () => `\n  ${one(WHOLE)} `, () => ` ${one(WHOLE)}\n  `, () => `\n %% a comment\n ${one(WHOLE)}\n\n`,
])();

// Each family of constructs is a list of ways to write it; [text, is it everyday?].
const everyday = (...ways) => ways.map((way) => [way, true]);
const rare = (...ways) => ways.map((way) => [way, false]);
const FAMILIES = [
  SHAPES.flatMap((shape) => labels.map((label) => [() => shaped(fresh(), shape, label), true])),
  WHOLE.flatMap((whole) => everyday(() => `${plain()} ${whole} ${plain()}`, () => `${node()} ${whole}|${one(TEXTS)}| ${node()}`)),
  WHOLE.filter((whole) => !/[ox]$/.test(whole)).flatMap((whole) => everyday(() => `${plain()}${whole}${plain()}`)),
  WITHIN.flatMap(([open, close]) => TEXTS.map((text) => [() => `${plain()} ${open} ${text} ${close} ${plain()}`, true])),
  rare(...['<-->', 'x--x', 'o--o', '<==>', '<-.->', 'x-.-x'].map((two) => () => `${plain()} ${two} ${plain()}`),
    () => `${plain()} <-- text --> ${plain()}`, () => `${plain()} x--> ${plain()}`, () => `${plain()} <--- ${plain()}`),
  everyday(() => `${node()}${arrow()}${node()}${arrow()}${node()}`, () => `${plain()}${arrow()}${plain()}`),
  everyday(() => `${plain()} & ${plain()}${arrow()}${node()} & ${node()} & ${node()}`, () => `${node()} & ${node()}`),
  everyday(() => { const id = fresh(); return `${plain()} ${id}@--> ${plain()}\n${id}@{ animate: true }`; },
    () => `${plain()} ${fresh()}@==>|text| ${plain()}`, () => `${plain()} ${fresh()}@-- text --> ${plain()}`),
  everyday(() => `${node()}:::hot`, () => `${node()}:::hot --> ${node()}:::cold`, () => `${node()}:::hot-->${node()}`,
    () => { const id = fresh(); return `${shaped(id)}\n${id}:::hot---${plain()}`; }),
  everyday(() => `${fresh()}@{ shape: rect, label: "${task()}" }`, () => `${fresh()}@{shape: diam, label: "${task()}(x=1)"}`,
    () => `${plain()}@{ shape: circle }`, () => `${fresh()}@{\n  shape: doc\n  label: "${task()}"\n}`,
    () => `${fresh()}@{ label: "${task()}" } --> ${fresh()}@{ shape: stadium, label: "${task()}" }`),
  everyday(() => `subgraph one${++count}\n  ${node()}${arrow()}${node()}\nend`, () => `subgraph one${++count}["a title"]\n${node()}\nend`,
    () => `subgraph "a title"\ndirection LR\n${node()}\nend`, () => `subgraph the first part\n${node()}\nend`,
    () => `subgraph two${++count} [title]\n  subgraph three${++count}\n  ${plain()}\n  end\nend`, () => `subgraph one${++count}; ${plain()}; end`),
  rare(() => `subgraph one${++count}\n${plain()}\nend ${plain()}`, () => `subgraph class one\n${plain()}\nend`,
    () => `subgraph one${++count}\n${plain()}\nend\none${count - 1} --> ${plain()}`),
  everyday(() => 'classDef hot fill:#f96,stroke:#333,stroke-width:4px', () => 'classDef default fill:#f9f;', () => 'classDef a,b color:red'),
  everyday(() => { const id = fresh(); return `${shaped(id)}\nclass ${id} hot`; }, () => 'class a,b hot', () => 'class a hot;'),
  everyday(() => { const id = fresh(); return `${shaped(id)}\nstyle ${id} fill:#bbf,stroke:#f66,stroke-dasharray: 5 5`; }),
  rare(() => { const id = fresh(); return `${shaped(id)}\nstyle ${id} fill:red; ${plain()}`; }, () => `style s${++count} fill:red`),
  everyday(() => `${plain()} --> ${plain()}\nlinkStyle 0 stroke:#ff3,stroke-width:4px`, () => 'linkStyle default color:red'),
  everyday(() => 'click a "https://example.org/a;b" "a tip" _blank', () => 'click a href "https://example.org"', () => 'click a call say("x;y")',
    () => 'click a done', () => 'click a call done() "a tip"'),
  rare(() => 'click a https://example.org/a', () => `click a call done\n(${plain()})`),
  everyday(() => '%% a comment --> not an arrow', () => '    %% a comment; a --> b', () => '%%{init: {"theme": "base"}}%%'),
  rare(() => '%%', () => 'direction TB; a --> b', () => `${plain()} --> direction TB`),
  everyday(() => 'direction TB', () => ';', () => ';;', () => ''),
  everyday(() => 'accTitle: a title', () => 'accDescr: a text --> more', () => 'accDescr {\n  a text\n  --> more\n}'),
];
// Comments, directions and titles: they take a whole line.
const LINES = FAMILIES.slice(-4);
const HEADS = ['flowchart TD', 'flowchart LR', 'graph TD', 'graph LR;', 'flowchart', 'flowchart-elk TB', '\n\n  graph RL',
  '%% first\nflowchart BT', '%%{init: {\n  "theme": "base"\n}}%%\nflowchart TD', '---\ntitle: x\nconfig:\n  theme: base\n---\nflowchart TD',
  '%%{ init: { "flowchart": { "curve": "basis" } } }%%\ngraph TD'];
const PIECES = ['a["t.a"]', 'b("t.b")', 'c', 'a', 'b', 'x', 'o', 'end', 'class', 'style', 'subgraph', 'click', 'a b', 'direction', 'TB', '1', '-', '--', '-->',
  '---', '-.->', '.', '==>', '=', '~~~', '<', '>', '&', ' & ', ';', ';', '\n', '\n', '\n', ' ', ' ', ' ', ':', ':::', '|', '|x|', '"', '"x"', '`', '[', ']', '(',
  ')', '{', '}', '@', '@{', '@{ shape: rect }', '%%', '%%{', '}%%', '%% c\n', '#', '#35;', '/', '\\', 'e1@-->', 'e1', 'linkStyle 0 ', 'classDef q fill:#f00',
  'default', 'v', '[t.c]', '["t.c"]', 'accTitle:', 'call ', 'href ', 'x--', '--x', 'o--o', '-- x -->', '\u00e9', ',', '*', '+', '_', 'direction TB', 'fill:red'];

// Mermaid drops the last `;` of a line with a style that has a color: one between statements, which is not for every day, or
// the end of an entity, which spoils how a label is drawn and nothing else.
const hasLine = (chart, form) => chart.split('\n').some((line) => form.test(line));

async function put(chart, isEveryday) {
  const found = hasLine(chart, /(style|classDef).*:\S*#.*#\w+;[^;]*$/) ? undefined : await read(chart);
  const everyday = isEveryday && !hasLine(chart, /(style|classDef).*:\S*#.*;\s*\S/);
  if (found) process.stdout.write(JSON.stringify({ chart, everyday, ...found }) + '\n');
  return found !== undefined;
}
const cases = FAMILIES.flat();
for (const [way, isEveryday] of cases) await put(`${one(HEADS.slice(0, 5))}\n${way()}\n`, isEveryday);
for (const head of HEADS) await put(`${head}\n${plain()}${arrow()}${plain()}`, true);
for (const first of FAMILIES) {
  for (const second of FAMILIES) {
    const [[one1, is1], [two2, is2]] = [one(first), one(second)];
    for (const between of [one(['; ', ';', '\n\n', ' \n  ']), '\n']) {
      const isEveryday = is1 && is2 && (between.trim() === '' || !LINES.includes(first) && !LINES.includes(second));
      if (await put(`${one(HEADS)}\n${one1()}${between}${two2()}`, isEveryday)) break;
    }
  }
}
// Charts in which pieces were put, left out or replaced at random.
for (let left = Number(process.argv[3] ?? 400); left > 0;) {
  const parts = `a["t.a"]; b["t.b"]; c["t.c"]\n${one(one(FAMILIES))[0]()}${one([';', '\n'])}${one(one(FAMILIES))[0]()}\na --> b`
    .split(/(\s+|\w+|--+>?|[^\w\s])/).filter((part) => part !== '');
  for (let changes = 1 + random(4); changes > 0; changes--) {
    const at = Math.max(0, parts.length - random(parts.length * 2));
    parts.splice(at, random(3), ...[[], [one(PIECES)], [one(PIECES), one(PIECES)]][random(3)]);
  }
  if (await put('flowchart TD\n' + parts.join(''), false)) left--;
}
