// Keeps an open page current: listens to the page as a stream of events, and replaces those parts marked as live that have
// changed. Without a stream it reads the page again every few seconds. A part in which something is open or has the focus
// stays until it is left. Says when the page is not current, and goes on by itself.
"use strict";
(() => {
  const EVERY = 3000, LONGEST = 30000;
  const stale = document.getElementById("stale");
  let current = new Date(), wait = EVERY, timer, source;

  const isInUse = (part) => part.contains(document.activeElement) || part.querySelector("details[open], :checked") !== null;

  const replace = (page) => {
    for (const part of document.querySelectorAll("[data-live][id]")) {
      const fresh = page.getElementById(part.id);
      if (fresh && !isInUse(part) && fresh.innerHTML !== part.innerHTML) part.replaceChildren(...fresh.childNodes);
    }
    document.title = page.title;
  };

  const say = (text) => {
    stale.hidden = text === "";
    if (stale.textContent !== text) stale.textContent = text;
  };

  const parse = (html) => new DOMParser().parseFromString(html, "text/html");
  const title = (page) => page.querySelector("h1")?.textContent ?? "";

  // What the manager refuses is a page with this one part.
  const isRefusal = (page) => page.getElementById("content") !== null;

  const isCurrent = () => {
    current = new Date();
    wait = EVERY;
    say("");
  };

  const isStale = (why) => say(`Not current: this is as of ${current.toLocaleTimeString()}. It is tried again. (${why})`);

  const after = (span, next) => {
    clearTimeout(timer);
    if (!document.hidden) timer = setTimeout(next, span);
  };

  const close = () => {
    clearTimeout(timer);
    source?.close();
    source = undefined;
  };

  // A stream that ends, or is silent for long, is followed by a look.
  const listen = () => {
    close();
    if (document.hidden) return;
    const on = (name, act) => source.addEventListener(name, (event) => {
      after(4 * EVERY, look);
      act(event.data);
    });
    source = new EventSource(location.href);
    on("page", (html) => { replace(parse(html)); isCurrent(); });
    on("same", isCurrent);
    on("refused", (html) => isStale(title(parse(html))));
    on("busy", isStale);
    source.onerror = () => { close(); after(wait, look); };
    after(4 * EVERY, look);
  };

  const look = async () => {
    close();
    try {
      const answer = await fetch(location.href, { cache: "no-store", headers: { "Jobbers-Live": "1" } });
      const page = parse(await answer.text());
      if (answer.redirected) throw new Error("your session has ended: open the page again to sign in");
      if (answer.ok && isRefusal(document)) return location.reload();
      if (!answer.ok && !isRefusal(document)) throw new Error(title(page) || answer.status);
      replace(page);
      isCurrent();
    } catch (error) {
      wait = Math.min(wait * 2, LONGEST);
      isStale(error.message);
    }
    next();
  };

  const next = () => wait > EVERY || isRefusal(document) ? after(wait, look) : listen();

  document.addEventListener("visibilitychange", () => {
    wait = EVERY;
    if (document.hidden) close();
    else look();
  });
  addEventListener("pagehide", close);
  addEventListener("pageshow", (event) => { if (event.persisted) look(); });

  // `/` goes to the search; `g` and the first letter of a page's name go to that page; `j` and `k` go down and up the rows
  // of the page; `?` says so.
  const KEYS = [["/", "go to the search"], ["g q", "go to the page that begins with q: Queues"],
    ["j, k", "go to the next row, and back"], ["Enter", "open the row"], ["?", "these keys"]];

  const move = (by) => {
    const rows = [...document.querySelectorAll("main tr, main .needs li")]
      .map((row) => row.querySelector("a")).filter((link) => link && link.offsetParent !== null);
    const at = rows.indexOf(rows.find((link) => link.closest("tr, li").contains(document.activeElement)));
    const to = rows[at < 0 ? (by > 0 ? 0 : rows.length - 1) : Math.min(Math.max(at + by, 0), rows.length - 1)];
    if (to) { to.focus(); to.scrollIntoView({ block: "nearest" }); }
  };

  const help = () => {
    let dialog = document.getElementById("keys-help");
    if (!dialog) {
      dialog = document.createElement("dialog");
      dialog.id = "keys-help";
      const title = document.createElement("h2"), list = document.createElement("dl"), close = document.createElement("button");
      title.textContent = "Keys";
      close.textContent = "Close";
      dialog.setAttribute("aria-label", "Keys");
      close.addEventListener("click", () => dialog.close());
      for (const [key, what] of KEYS) {
        const name = document.createElement("dt"), meaning = document.createElement("dd");
        name.append(Object.assign(document.createElement("kbd"), { textContent: key }));
        meaning.textContent = what;
        list.append(name, meaning);
      }
      dialog.append(title, list, close);
      document.body.append(dialog);
    }
    if (!dialog.open) dialog.showModal();
  };

  let gone = 0;
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea")) return;
    if (event.key === "/") {
      const search = document.querySelector("input[type=search]");
      if (search) { event.preventDefault(); search.focus(); }
    } else if (event.key === "?") {
      event.preventDefault();
      help();
    } else if (event.key === "g") {
      gone = Date.now();
    } else if (Date.now() - gone < 1500) {
      gone = 0;
      const pages = [...document.querySelectorAll("header nav a")];
      const page = pages.find((page) => page.textContent.toLowerCase().startsWith(event.key));
      if (page) page.click();
    } else if (event.key === "j" || event.key === "k") {
      move(event.key === "j" ? 1 : -1);
    }
  });

  if (document.querySelector("[data-live]")) next();
})();
