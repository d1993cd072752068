//! The pages in a browser: a headless Chromium opens each screen, follows the keys, and waits for what changes; and
//! axe-core finds nothing, in light, in dark and on a phone.

use std::{collections::BTreeMap, time::Duration};

use jobbers_common::access::AccessRole;
use serde_json::json;

use self::chromium::{Browser, Tab};
use super::{Site, links};
use crate::{access::keys::create, server::soon};

mod axe;
mod chromium;
pub(super) mod drive;

/// How a screen is looked at: a name, its width, the scheme of its colours, and what axe-core checks.
const LOOKS: [(&str, u32, &str, &str); 3] =
    [("light", 1280, "light", axe::ALL), ("dark", 1280, "dark", axe::CONTRAST), ("phone", 360, "light", axe::ALL)];

/// How many pages of a screen are looked at for links to further screens. Every link is followed by a test of its own.
const FOLLOWED: usize = 3;

/// One page of each screen, by a walk over links.
async fn screens(site: &Site) -> Vec<String> {
    let mut first = BTreeMap::new();
    let found = links::addresses_of(site, FOLLOWED).await;
    for path in found.into_iter().filter_map(|(path, is_page)| is_page.then_some(path)) {
        let screen = path.split('?').next().unwrap_or_default().to_owned();
        first.entry(screen).or_insert(path);
    }
    first.into_values().collect()
}

async fn open(site: &Site, tab: &mut Tab<'_>, path: &str) {
    tab.open(&format!("http://{}{path}", site.address)).await;
}

pub(super) async fn each_screen_opens_without_an_error(site: Site) {
    site.fill().await;
    let screens = screens(&site).await;
    // All but the download.
    assert!(screens.len() + 1 >= links::REACHED.len(), "{screens:?}");
    let mut browser = Browser::start().await;
    let mut tab = browser.tab().await;
    for path in &screens {
        open(&site, &mut tab, path).await;
    }
    assert_eq!(tab.errors(), [""; 0]);
}

/// On one engine: a page is the same on the other.
#[tokio::test]
async fn each_screen_is_for_everybody() {
    let site = Site::on_sqlite().await;
    site.fill().await;
    let mut paths = screens(&site).await;
    site.damage();
    paths.push("/ui/store?examine=yes".to_owned());
    let mut browser = Browser::start().await;
    let mut audit = Audit { tab: browser.tab().await, axe: axe::source().await, faults: Vec::new() };
    for path in &paths {
        open(&site, &mut audit.tab, path).await;
        audit.check(path).await;
    }
    audit.what_no_link_leads_to(&site).await;
    assert_eq!(audit.faults, [""; 0]);
}

/// What keeps people from using pages.
struct Audit<'a> {
    tab: Tab<'a>,
    axe: String,
    faults: Vec<String>,
}

impl Audit<'_> {
    /// Looks at the page that is open.
    async fn check(&mut self, page: &str) {
        self.tab.evaluate(&format!("(() => {{ {} }})()", self.axe)).await;
        for (look, width, scheme, rules) in LOOKS {
            self.tab.look(width, scheme).await;
            let found = self.tab.evaluate(&axe::run(rules)).await;
            self.faults.extend(found.as_array().unwrap().iter().map(|fault| format!("{page}, {look}: {fault}")));
            let is_wide = self.tab.evaluate("document.documentElement.scrollWidth > innerWidth").await;
            let fault = || format!("{page}, {look}: it has to be scrolled sideways");
            self.faults.extend((is_wide == json!(true)).then(fault));
        }
    }

    /// The question before an action, and what only people with a key see.
    async fn what_no_link_leads_to(&mut self, site: &Site) {
        open(site, &mut self.tab, "/ui/tasks").await;
        self.tab.click("document.querySelector('[type=checkbox]')").await;
        self.tab.click_and_load("document.querySelector('[value=cancel]')").await;
        self.check("the question").await;
        let (text, key) = create(&*site.engine, Some(AccessRole::Admin), &[]).await;
        soon(async { while site.get("/queues").await.status != 401 {} }).await;
        open(site, &mut self.tab, "/ui/keys").await;
        self.check("/sign-in").await;
        self.tab.fill("document.querySelector('[name=key]')", text.as_str()).await;
        self.tab.click_and_load("document.querySelector('main button')").await;
        self.check("/ui/keys").await;
        open(site, &mut self.tab, &format!("/ui/key?id={}", key.id)).await;
        self.check("/ui/key").await;
    }
}

pub(super) async fn what_changes_is_shown_without_a_reload(site: Site) {
    site.fill().await;
    let mut browser = Browser::start().await;
    let mut tab = browser.tab().await;
    open(&site, &mut tab, "/ui/queue?name=mail").await;
    tab.evaluate("window.notReloaded = true").await;
    site.post("/queues/mail/pause", "").await.expect(200);
    tab.until("document.getElementById('standing').textContent.includes('paused')").await;
    tab.until("document.getElementById('why').textContent.includes('queue mail is paused')").await;
    assert_eq!(tab.evaluate("window.notReloaded").await, json!(true));
    let asked = "performance.getEntriesByType('resource').filter((it) => it.initiatorType === 'fetch').length";
    assert_eq!(tab.evaluate(asked).await, json!(0), "it came by the stream of events");
    // A part that is in use stays as it is until it is left.
    open(&site, &mut tab, "/ui/").await;
    let drawn = tab.evaluate("document.querySelector('#history svg path').getAttribute('d').length > 0").await;
    assert_eq!(drawn, json!(true), "what happened is drawn");
    assert_eq!(tab.errors(), [""; 0]);
}

pub(super) async fn keys_lead_everywhere(site: Site) {
    site.fill().await;
    let mut browser = Browser::start().await;
    let mut tab = browser.tab().await;
    open(&site, &mut tab, "/ui/tasks").await;
    tab.press("/").await;
    assert_eq!(tab.evaluate("document.activeElement.type").await, json!("search"));
    // In a field, keys are text.
    tab.press("?").await;
    assert_eq!(tab.evaluate("document.querySelector('dialog')").await, json!(null));
    tab.evaluate("document.activeElement.blur()").await;

    tab.press("j").await;
    let row = "[...document.querySelectorAll('main tr')].indexOf(document.activeElement.closest('tr'))";
    let first = tab.evaluate(row).await.as_i64().unwrap();
    tab.press("j").await;
    assert_eq!(tab.evaluate(row).await, json!(first + 1));
    tab.press("k").await;
    assert_eq!(tab.evaluate(row).await, json!(first));
    let href = tab.evaluate("document.activeElement.href").await;
    tab.press_and_load("Enter").await;
    assert_eq!(tab.evaluate("location.href").await, href);

    tab.press("?").await;
    assert_eq!(tab.evaluate("document.querySelector('dialog').open").await, json!(true));
    tab.press("Escape").await;
    tab.until("!document.querySelector('dialog').open").await;

    tab.press("g").await;
    tab.press_and_load("q").await;
    assert_eq!(tab.evaluate("location.pathname").await, json!("/ui/queues"));
    assert_eq!(tab.errors(), [""; 0]);
}

/// How long a browser may take for one thing. A bound, not a measurement.
const PATIENCE: Duration = Duration::from_secs(30);
