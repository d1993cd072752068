// Takes pictures of web pages with a headless Chromium, over its debugging protocol.
//
//   node --experimental-websocket picture.mjs FOLDER < LIST
//
// A line of LIST: NAME WIDTH HEIGHT light|dark URL. HEIGHT 0 is the whole page. Prints what the console of a page says.
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const folder = process.argv[2];
const profile = mkdtempSync(join(tmpdir(), "picture-"));
const flags = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--remote-debugging-port=0", `--user-data-dir=${profile}`];
const chromium = spawn(process.env.CHROMIUM ?? "chromium", [...flags, "about:blank"], { stdio: ["ignore", "ignore", "pipe"] });
const address = await new Promise((found) => {
  let said = "";
  chromium.stderr.on("data", (data) => {
    said += data;
    const match = said.match(/ws:\/\/\S+/);
    if (match) found(match[0]);
  });
});

const socket = new WebSocket(address);
await new Promise((open) => socket.addEventListener("open", open));
let last = 0;
const waiting = new Map(), listeners = new Set();
socket.addEventListener("message", ({ data }) => {
  const message = JSON.parse(data);
  waiting.get(message.id)?.(message);
  waiting.delete(message.id);
  for (const listener of listeners) listener(message);
});
const call = (method, params = {}, sessionId) => new Promise((done, failed) => {
  last += 1;
  waiting.set(last, (message) => (message.error ? failed(new Error(`${method}: ${message.error.message}`)) : done(message.result)));
  socket.send(JSON.stringify({ id: last, method, params, sessionId }));
});
const event = (name) => new Promise((found) => {
  const listener = (message) => {
    if (message.method === name) { listeners.delete(listener); found(message.params); }
  };
  listeners.add(listener);
});

try {
  const { targetId } = await call("Target.createTarget", { url: "about:blank" });
  const { sessionId } = await call("Target.attachToTarget", { targetId, flatten: true });
  const on = (method, params) => call(method, params, sessionId);
  for (const domain of ["Page", "Log", "Runtime"]) await on(`${domain}.enable`);
  listeners.add(({ method, params }) => {
    if (method === "Log.entryAdded") console.error(`${params.entry.level}: ${params.entry.text} (${params.entry.url})`);
    if (method === "Runtime.exceptionThrown") console.error(params.exceptionDetails.text);
  });
  for (const line of readFileSync(0, "utf8").split("\n").filter(Boolean)) {
    const [name, width, height, scheme, url] = line.split(" ");
    const size = { width: Number(width), height: Number(height) || 900, deviceScaleFactor: 1, mobile: Number(width) < 500 };
    await on("Emulation.setDeviceMetricsOverride", size);
    await on("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: scheme }] });
    const loaded = event("Page.loadEventFired");
    await on("Page.navigate", { url });
    await loaded;
    const overflow = "document.documentElement.scrollWidth - document.documentElement.clientWidth";
    const { result } = await on("Runtime.evaluate", { expression: overflow });
    if (result.value > 0) console.error(`${name} is ${result.value} pixels too wide`);
    const { data } = await on("Page.captureScreenshot", { format: "png", captureBeyondViewport: Number(height) === 0 });
    writeFileSync(join(folder, `${name}.png`), Buffer.from(data, "base64"));
  }
} finally {
  chromium.kill();
  await new Promise((gone) => chromium.on("exit", gone));
  rmSync(profile, { recursive: true, force: true });
}
