//! A headless Chromium, driven by its debugging protocol over a pair of pipes: messages of JSON, each ended by a zero byte.

use std::{collections::VecDeque, process::Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    process::{Child, ChildStdin, ChildStdout, Command},
    time::timeout,
};

use super::PATIENCE;

/// A running browser. It is killed when this is dropped.
pub(super) struct Browser {
    _child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    last: u64,
    /// Events that no caller has awaited yet.
    events: VecDeque<Value>,
    _profile: TempDir,
}

impl Browser {
    pub(super) async fn start() -> Self {
        let profile = tempfile::tempdir().unwrap();
        let program = std::env::var("CHROMIUM").unwrap_or_else(|_| "chromium".to_owned());
        // The protocol reads from the descriptor 3 and writes to 4.
        let mut command = Command::new("sh");
        command
            .args(["-c", "exec \"$0\" \"$@\" 3<&0 4>&1 0</dev/null 1>/dev/null", &program])
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--remote-debugging-pipe"])
            .args([
                "--disable-background-networking",
                "--disable-component-update",
                "--disable-extensions",
                "--disable-sync",
            ])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg("about:blank");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true);
        let mut child = command.spawn().unwrap();
        let (to, from) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        Self { _child: child, to, from, last: 0, events: VecDeque::new(), _profile: profile }
    }

    /// A tab whose errors are noted.
    pub(super) async fn tab(&mut self) -> Tab<'_> {
        let target = self.call("Target.createTarget", json!({"url": "about:blank"}), None).await;
        let attach = json!({"targetId": target["targetId"], "flatten": true});
        let attached = self.call("Target.attachToTarget", attach, None).await;
        let session = attached["sessionId"].as_str().unwrap().to_owned();
        let mut tab = Tab { browser: self, session };
        for domain in ["Page", "Runtime", "Log"] {
            tab.call(&format!("{domain}.enable"), json!({})).await;
        }
        tab.prefer(&[]).await;
        tab
    }

    async fn call(&mut self, method: &str, params: Value, session: Option<&str>) -> Value {
        self.last += 1;
        let id = self.last;
        let mut message = json!({"id": id, "method": method, "params": params});
        if let Some(session) = session {
            message["sessionId"] = session.into();
        }
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        self.to.write_all(&bytes).await.unwrap_or_else(|error| panic!("{error}: {MISSING}"));
        loop {
            let message = self.read(method).await;
            if message["id"] == id {
                assert!(message.get("error").is_none(), "{method}: {message}");
                return message["result"].clone();
            }
            self.events.push_back(message);
        }
    }

    async fn read(&mut self, what: &str) -> Value {
        let mut bytes = Vec::new();
        let read = timeout(PATIENCE, self.from.read_until(0, &mut bytes)).await;
        let length = read.unwrap_or_else(|_| panic!("the browser did not answer: {what}")).unwrap();
        assert!(length > 0, "{what}: {MISSING}");
        serde_json::from_slice(&bytes[..length - 1]).unwrap()
    }

    async fn event(&mut self, name: &str) {
        loop {
            if let Some(place) = self.events.iter().position(|event| event["method"] == name) {
                self.events.remove(place);
                return;
            }
            let message = self.read(name).await;
            self.events.push_back(message);
        }
    }
}

const MISSING: &str =
    "the browser ended; if it is missing, install it (apt-get install chromium), or name another with CHROMIUM";

/// A page of the browser.
pub(super) struct Tab<'a> {
    browser: &'a mut Browser,
    session: String,
}

impl Tab<'_> {
    async fn call(&mut self, method: &str, params: Value) -> Value {
        self.browser.call(method, params, Some(&self.session)).await
    }

    /// Opens a page, and waits until it is loaded.
    pub(super) async fn open(&mut self, url: &str) {
        self.browser.events.retain(|event| event["method"] != "Page.loadEventFired");
        let opened = self.call("Page.navigate", json!({"url": url})).await;
        assert!(opened.get("errorText").is_none(), "{url}: {opened}");
        self.browser.event("Page.loadEventFired").await;
    }

    /// The width of the window, and the scheme of colours.
    pub(super) async fn look(&mut self, width: u32, scheme: &str) {
        let size = json!({"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 500});
        self.call("Emulation.setDeviceMetricsOverride", size).await;
        self.prefer(&[("prefers-color-scheme", scheme)]).await;
    }

    /// What the person prefers; that nothing moves besides, because each picture of a motion would be drawn.
    async fn prefer(&mut self, preferences: &[(&str, &str)]) {
        let still = [("prefers-reduced-motion", "reduce")];
        let all = still.iter().chain(preferences).map(|(name, value)| json!({"name": name, "value": value}));
        self.call("Emulation.setEmulatedMedia", json!({"features": all.collect::<Vec<_>>()})).await;
    }

    /// The value of an expression, or what its promise gives.
    pub(super) async fn evaluate(&mut self, expression: &str) -> Value {
        let params = json!({"expression": expression, "awaitPromise": true, "returnByValue": true});
        let result = self.call("Runtime.evaluate", params).await;
        assert!(result.get("exceptionDetails").is_none(), "{expression:.200}: {result}");
        result["result"].get("value").cloned().unwrap_or_default()
    }

    /// Waits until an expression is true: looks at each change of the page.
    pub(super) async fn until(&mut self, expression: &str) {
        let wait = format!(
            "new Promise((done) => {{
                const look = () => {{ if ({expression}) {{ observer.disconnect(); done(true); }} }};
                const observer = new MutationObserver(look);
                observer.observe(document, {{ subtree: true, childList: true, attributes: true, characterData: true }});
                look();
            }})"
        );
        assert_eq!(self.evaluate(&wait).await, json!(true), "{expression}");
    }

    pub(super) async fn press(&mut self, key: &str) {
        let is_text = key.chars().count() == 1;
        let mut down = json!({"type": if is_text { "keyDown" } else { "rawKeyDown" }, "key": key});
        let code = match key {
            "Enter" => 13,
            "Escape" => 27,
            _ => 0,
        };
        if is_text {
            down["text"] = key.into();
        }
        if code > 0 {
            down["windowsVirtualKeyCode"] = code.into();
        }
        if key == "Enter" {
            (down["type"], down["text"]) = ("keyDown".into(), "\r".into());
        }
        self.call("Input.dispatchKeyEvent", down).await;
        self.call("Input.dispatchKeyEvent", json!({"type": "keyUp", "key": key, "windowsVirtualKeyCode": code})).await;
    }

    /// Presses a key that leads to another page, and waits until that is loaded.
    pub(super) async fn press_and_load(&mut self, key: &str) {
        self.browser.events.retain(|event| event["method"] != "Page.loadEventFired");
        self.press(key).await;
        self.browser.event("Page.loadEventFired").await;
    }

    /// Clicks into the middle of an element, as a person does: it has to be in sight, with nothing above it. `find` is an
    /// expression of the page.
    pub(super) async fn click(&mut self, find: &str) {
        let place = self
            .evaluate(&format!(
                "(() => {{
                    const element = {find};
                    if (!element) return 'it is not there';
                    element.scrollIntoView({{ block: 'center' }});
                    const {{ left, top, width, height }} = element.getBoundingClientRect();
                    const [x, y] = [left + width / 2, top + height / 2], hit = document.elementFromPoint(x, y);
                    if (!element.contains(hit)) return `above it is ${{hit?.outerHTML.slice(0, 120)}}`;
                    return [x, y];
                }})()"
            ))
            .await;
        assert!(place.is_array(), "{find} can't be clicked: {place}");
        for kind in ["mousePressed", "mouseReleased"] {
            let event = json!({"type": kind, "x": place[0], "y": place[1], "button": "left", "clickCount": 1});
            self.call("Input.dispatchMouseEvent", event).await;
        }
    }

    /// Clicks what leads to another page, and waits until that is loaded.
    pub(super) async fn click_and_load(&mut self, find: &str) {
        self.browser.events.retain(|event| event["method"] != "Page.loadEventFired");
        self.click(find).await;
        self.browser.event("Page.loadEventFired").await;
    }

    /// Goes back to the page before, which the browser may have kept, and waits until that is shown.
    pub(super) async fn go_back(&mut self) {
        self.browser.events.retain(|event| event["method"] != "Page.frameNavigated");
        self.evaluate("void history.back()").await;
        self.browser.event("Page.frameNavigated").await;
        let loaded = "new Promise((done) => document.readyState === 'complete' ? done() : addEventListener('load', () => done()))";
        self.evaluate(loaded).await;
    }

    /// Types into a field in place of what is there; a list gets the entry of this value.
    pub(super) async fn fill(&mut self, find: &str, text: &str) {
        let is_list = self
            .evaluate(&format!(
                "(() => {{
                    const field = {find};
                    field.focus();
                    if (field.tagName !== 'SELECT') {{ field.select(); return false; }}
                    field.value = {};
                    return field.value === {0};
                }})()",
                Value::from(text)
            ))
            .await;
        if is_list == json!(false) {
            self.call("Input.insertText", json!({"text": text})).await;
        }
        assert_eq!(self.evaluate(&format!("{find}.value")).await, text, "{find}");
    }

    /// Goes on in a new tab of the same browser. Returns the one that was in front, to which [`Self::turn_to`] leads back.
    pub(super) async fn open_another(&mut self) -> String {
        let other = self.browser.tab().await.session;
        self.turn_to(other).await
    }

    /// Goes on in another tab. Returns the one that was in front.
    pub(super) async fn turn_to(&mut self, session: String) -> String {
        let before = std::mem::replace(&mut self.session, session);
        self.call("Page.bringToFront", json!({})).await;
        before
    }

    /// What went wrong in the pages so far, in the words of the browser.
    pub(super) fn errors(&self) -> Vec<String> {
        let of = |event: &Value| match event["method"].as_str() {
            Some("Runtime.exceptionThrown") => Some(event["params"]["exceptionDetails"].to_string()),
            Some("Log.entryAdded") if event["params"]["entry"]["level"] == "error" => {
                Some(event["params"]["entry"].to_string())
            }
            _ => None,
        };
        self.browser.events.iter().filter_map(of).collect()
    }
}
