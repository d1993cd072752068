//! Every action of every screen, as a person with a mouse and a keyboard does it; each effect is checked by the API.
//!
//! One browser does all of it, screen by screen.

use std::time::Duration;

use jobbers_common::{
    access::{AccessKey, AccessRole},
    engine::{
        PutMode,
        boards::task::{BoardTime, When},
    },
    time::Timestamp,
};
use reqwest::Method;
use serde_json::{Value, json};

use super::{
    chromium::{Browser, Tab},
    open,
};
use crate::{
    access::keys::create,
    boards,
    pages::{Site, report},
    server::soon,
};

pub(in crate::pages) async fn every_action_of_every_screen_does_what_it_says(site: Site) {
    site.fill().await;
    let mut browser = Browser::start().await;
    let mut tab = browser.tab().await;
    tab.look(1280, "light").await;
    let mut drive = Drive { site: &site, tab };
    drive.tasks().await;
    drive.signals().await;
    drive.many_tasks().await;
    drive.submissions().await;
    drive.queues().await;
    drive.workers().await;
    drive.schedules().await;
    drive.workflows().await;
    drive.boards().await;
    drive.letters().await;
    drive.store().await;
    drive.sessions().await;
    // What is refused is a page, which the browser notes as an answer that is no success.
    let errors: Vec<String> = drive.tab.errors().into_iter().filter(|error| !error.contains("\"network\"")).collect();
    assert_eq!(errors, [""; 0]);
}

struct Drive<'a> {
    site: &'a Site,
    tab: Tab<'a>,
}

/// The field of this name in the part that is open.
fn field(name: &str) -> String {
    format!("document.querySelector('details[open] [name={name}]')")
}

/// A button, a link or the head of an action that shows this text and is in sight.
fn shown(tags: &str, text: &str) -> String {
    format!(
        "[...document.querySelectorAll('{tags}')].find((it) => it.offsetParent && it.textContent.trim().startsWith('{text}'))"
    )
}

impl Drive<'_> {
    async fn open(&mut self, page: &str) {
        open(self.site, &mut self.tab, page).await;
    }

    /// Opens an action, fills its fields, and presses its button; the page that follows says what was done.
    async fn act(&mut self, action: &str, fields: &[(&str, &str)], button: &str) {
        self.tab.click(&shown("main summary", action)).await;
        for (name, text) in fields {
            self.tab.fill(&field(name), text).await;
        }
        self.tab.click_and_load(&shown("details[open] button", button)).await;
    }

    async fn shows(&mut self, text: &str) {
        let page = self.tab.evaluate("document.body.textContent").await;
        assert!(page.as_str().unwrap().contains(text), "{text:?} is not on the page: {page}");
    }

    async fn lacks(&mut self, find: &str) {
        assert_eq!(self.tab.evaluate(&format!("{find} === undefined")).await, json!(true), "{find}");
    }

    async fn is_at(&mut self, path: &str) {
        assert_eq!(self.tab.evaluate("location.pathname").await, path);
    }

    async fn get(&self, path: &str) -> Value {
        self.site.get(path).await.expect(200)
    }

    async fn until(&self, path: &str, is_so: impl Fn(&Value) -> bool) {
        self.site.until(path, |answer| answer.status == 200 && is_so(&answer.json())).await;
    }

    async fn tasks(&mut self) {
        self.open("/ui/task?id=ready").await;
        self.act("Cancel", &[], "Cancel it").await;
        assert_eq!(self.site.status("ready").await, "cancelled");
        self.shows("1 task cancelled, or asked to stop.").await;
        self.act("Send again", &[], "Send it again").await;
        assert_eq!(self.site.status("ready").await, "submitted");
        // The button leads back to what was there, as it is now, and does nothing again.
        self.tab.go_back().await;
        self.is_at("/ui/task").await;
        self.tab.until("document.getElementById('head').textContent.includes('submitted')").await;
        assert_eq!(self.site.status("ready").await, "submitted");

        // Two tabs act on one task: the second learns that there is nothing left to do.
        self.open("/ui/task?id=ready").await;
        let first = self.tab.open_another().await;
        self.open("/ui/task?id=ready").await;
        self.act("Cancel", &[], "Cancel it").await;
        self.act("Send again", &[], "Send it again").await;
        self.act("Cancel", &[], "Cancel it").await;
        let second = self.tab.turn_to(first).await;
        self.act("Cancel", &[], "Cancel it").await;
        assert_eq!(self.site.status("ready").await, "cancelled");
        self.is_at("/ui/task").await;
        self.tab.turn_to(second).await;

        self.site.post("/tasks", json!({"id": "moved", "name": "echo", "delay": "1h"})).await.expect(201);
        self.open("/ui/task?id=moved").await;
        self.act("Run later", &[("delay", "2h")], "Change its time").await;
        self.shows("It starts at another time.").await;
        let scheduled = self.get("/scheduled-tasks").await;
        let moved = scheduled["tasks"].as_array().unwrap().iter().find(|task| task["id"] == "moved").unwrap();
        assert!(moved["due_in"].as_f64().unwrap() > 7_100.0, "{moved}");
        self.act("Run now", &[], "Run it now").await;
        assert_eq!(self.site.status("moved").await, "submitted");
        self.lacks(&shown("main summary", "Run now")).await;
        self.act("Cancel", &[], "Cancel it").await;

        // What is sent unchanged is the same again.
        self.open("/ui/task?id=failed-1").await;
        self.tab.click_and_load(&shown("main a", "Edit and send again")).await;
        self.tab.fill("document.querySelector('[name=id]')", "edited").await;
        self.tab.click_and_load(&shown("main button", "Submit")).await;
        let (old, new) = (self.get("/tasks/failed-1").await, self.get("/tasks/edited").await);
        assert_eq!((&new["parameters"], &new["queue"]), (&old["parameters"], &old["queue"]));
        self.shows("It is submitted.").await;
    }

    async fn signals(&mut self) {
        let task = json!({"id": "waits", "name": "echo", "signals": [{"name": "approved"}, {"name": "paid"}]});
        self.site.post("/tasks", task).await.expect(201);
        self.open("/ui/task?id=waits").await;
        self.act("Send signal approved", &[], "Send it").await;
        self.shows("The signal is sent.").await;
        assert_eq!(self.site.status("waits").await, "waiting");
        self.act("Send signal paid", &[], "Send it").await;
        assert_eq!(self.site.status("waits").await, "submitted");
    }

    async fn many_tasks(&mut self) {
        for id in ["one", "two", "three"] {
            let task = json!({"id": id, "name": "echo", "queue": "mail", "labels": {"of": "many"}});
            self.site.post("/tasks", task).await.expect(201);
        }
        let list = "/ui/tasks?label=of%3Dmany";
        for (act, status) in [("Cancel the chosen", "cancelled"), ("Send the chosen again", "submitted")] {
            self.open(list).await;
            for id in ["one", "two"] {
                self.tab.click(&format!("document.querySelector('[type=checkbox][value={id}]')")).await;
            }
            self.tab.click_and_load(&shown("main button", act)).await;
            self.tab.click_and_load(&shown("main button", "Yes")).await;
            for id in ["one", "two"] {
                assert_eq!(self.site.status(id).await, status);
            }
            assert_eq!(self.site.status("three").await, "submitted");
        }
        self.open(list).await;
        for (act, status, done) in [
            ("Cancel all that match", "cancelled", "3 tasks cancelled"),
            ("Send all that match again", "submitted", "3 tasks sent again"),
        ] {
            self.tab.click_and_load(&shown("main button", act)).await;
            self.shows("3 tasks").await;
            self.tab.click_and_load(&shown("main button", "Yes")).await;
            self.shows(done).await;
            for id in ["one", "two", "three"] {
                assert_eq!(self.site.status(id).await, status);
            }
        }
        let later = |id| json!({"id": id, "name": "echo", "queue": "mail", "labels": {"of": "later"}, "delay": "1h"});
        for (id, act) in [("soon", "Run the chosen now"), ("sooner", "Run all that match now")] {
            self.site.post("/tasks", later(id)).await.expect(201);
            self.open("/ui/tasks?label=of%3Dlater&status=scheduled").await;
            if act.contains("chosen") {
                self.tab.click(&format!("document.querySelector('[type=checkbox][value={id}]')")).await;
            }
            self.tab.click_and_load(&shown("main button", act)).await;
            self.shows("Run 1 task now?").await;
            self.tab.click_and_load(&shown("main button", "Yes")).await;
            self.shows("1 task run as soon as a worker is free.").await;
            assert_eq!(self.site.status(id).await, "submitted");
        }
        self.open(list).await;
        self.tab.click("document.querySelector('[type=checkbox][value=three]')").await;
        self.tab.click_and_load(&shown("main button", "Delete the chosen")).await;
        self.tab.click_and_load(&shown("main button", "Yes")).await;
        assert!(self.site.get("/tasks/three").await.status.is_client_error(), "it is gone");
        self.tab.click_and_load(&shown("main button", "Delete all that match")).await;
        self.shows("Delete 2 tasks?").await;
        self.tab.click_and_load(&shown("main a", "No")).await;
        assert_eq!(self.site.status("two").await, "submitted", "the answer was no");
        self.tab.click_and_load(&shown("main button", "Delete all that match")).await;
        self.tab.click_and_load(&shown("main button", "Yes")).await;
        self.shows("2 tasks deleted").await;
        for id in ["one", "two"] {
            assert!(self.site.get(&format!("/tasks/{id}")).await.status.is_client_error(), "{id} is gone");
        }
    }

    async fn submissions(&mut self) {
        self.open("/ui/submit").await;
        self.tab.click_and_load(&shown("main a", "greet@2")).await;
        let one = |name: &str| format!("document.querySelector('[name=\"{name}\"]')");
        for (name, text) in [
            ("p.to", "Ada"),
            ("p.times", "3"),
            ("p.tone", "kind"),
            ("p.aloud", "true"),
            ("p.words", "[1"),
            ("id", "hello"),
        ] {
            self.tab.fill(&one(name), text).await;
        }
        self.tab.click_and_load(&shown("main button", "Submit")).await;
        self.shows("parameter words is no JSON").await;
        for (name, text) in [("p.to", "Ada"), ("p.tone", "kind"), ("p.words", "[1")] {
            assert_eq!(self.tab.evaluate(&format!("{}.value", one(name))).await, text, "it is as it was typed");
        }
        self.tab.fill(&one("p.words"), "[1]").await;
        self.tab.click_and_load(&shown("main button", "Submit")).await;
        let given = json!({"to": "Ada", "times": 3, "tone": "kind", "aloud": true, "words": [1]});
        assert_eq!(self.get("/tasks/hello").await["parameters"], given);
    }

    async fn queues(&mut self) {
        self.open("/ui/queue?name=mail").await;
        self.act("Pause", &[], "Pause").await;
        assert_eq!(self.get("/queues/mail").await["paused"], true);
        self.act("Resume", &[], "Resume").await;
        assert_eq!(self.get("/queues/mail").await["paused"], false);
        let limits = [("max_concurrent", "7"), ("rate_tasks", "5"), ("rate_per", "1m")];
        self.act("Change limits", &limits, "Change").await;
        let queue = self.get("/queues/mail").await;
        assert_eq!((&queue["max_concurrent"], &queue["rate_limit"]), (&json!(7), &json!({"tasks": 5, "per": "1m"})));
        self.open("/ui/queue?name=paused").await;
        self.act("Purge", &[("typed", "7")], "Delete").await;
        self.shows("Nothing was deleted").await;
        assert_eq!(self.site.status("waits/for").await, "submitted");
        self.act("Purge", &[("typed", "1")], "Delete").await;
        self.shows("1 task deleted from queue paused.").await;
        assert_eq!(self.get("/queues/paused").await["tasks"]["submitted"], Value::Null);
    }

    async fn workers(&mut self) {
        let lifetime = Duration::from_secs(60);
        self.site.engine.register_worker(report("worker-2", "other"), lifetime).await.unwrap();
        let draining = async |site: &Site| {
            let workers = site.get("/workers").await.json()["workers"].as_array().unwrap().clone();
            let asked = workers.iter().filter(|worker| worker["draining_since"].is_string());
            asked.map(|worker| worker["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        self.open("/ui/workers").await;
        self.act("Drain some", &[("host", "other")], "Drain").await;
        assert_eq!(draining(self.site).await, ["worker-2"]);
        self.act("Let some claim again", &[("host", "other")], "Resume").await;
        assert_eq!(draining(self.site).await, [""; 0]);
        self.open("/ui/worker?id=worker-2").await;
        self.act("Drain", &[], "Drain").await;
        assert_eq!(draining(self.site).await, ["worker-2"]);
        self.act("Resume", &[], "Resume").await;
        assert_eq!(draining(self.site).await, [""; 0]);
    }

    async fn schedules(&mut self) {
        let schedule = "/schedules/nightly%2Frun";
        self.open("/ui/schedule?name=nightly%2Frun").await;
        let before = self.get(schedule).await["last_run"]["task"].clone();
        self.act("Run now", &[], "Run it").await;
        assert_ne!(self.get(schedule).await["last_run"]["task"], before);
        self.act("Pause", &[], "Pause").await;
        assert_eq!(self.get(schedule).await["paused"], true);
        self.act("Resume", &[], "Resume").await;
        assert_eq!(self.get(schedule).await["paused"], false);
        let before = self.get(schedule).await;
        self.act("Edit", &[("cron", "30 4 * * *"), ("overlap", "skip")], "Change").await;
        let edited = self.get(schedule).await;
        assert_eq!((&edited["cron"], &edited["overlap"]), (&json!("30 4 * * *"), &json!("skip")));
        assert_eq!((&edited["task"], &edited["catch_up"]), (&before["task"], &before["catch_up"]), "all else stays");
        self.new_schedule().await;
    }

    /// One is created after a look at its slots, and deleted.
    async fn new_schedule(&mut self) {
        self.open("/ui/schedules").await;
        self.tab.click_and_load(&shown("main a", "Create a schedule")).await;
        let fields = [("name", "hourly/sum"), ("cron", "99 * * * *"), ("task", "echo"), ("overlap", "skip")];
        for (name, text) in fields.into_iter().chain([("queue", "mail"), ("parameters", "{\"n\": 1.50}")]) {
            self.tab.fill(&format!("document.querySelector('main [name={name}]')"), text).await;
        }
        self.tab.click_and_load(&shown("main button", "Show its slots")).await;
        self.shows("Nothing was created: ").await;
        self.tab.fill("document.querySelector('main [name=cron]')", "0 5 * * *").await;
        self.tab.click_and_load(&shown("main button", "Show its slots")).await;
        self.shows("T05:00:00Z").await;
        assert_eq!(self.site.get("/schedules/hourly%2Fsum").await.status, 404, "a look creates nothing");
        self.tab.click_and_load(&shown("main button", "Create")).await;
        self.is_at("/ui/schedule").await;
        self.shows("Schedule hourly/sum is created.").await;
        let created = self.get("/schedules/hourly%2Fsum").await;
        assert_eq!((&created["cron"], &created["overlap"]), (&json!("0 5 * * *"), &json!("skip")));
        assert_eq!((&created["task"]["name"], &created["task"]["queue"]), (&json!("echo"), &json!("mail")));
        assert_eq!(created["task"]["parameters"], json!({"n": 1.5}));
        self.act("Delete", &[], "Delete it").await;
        self.is_at("/ui/schedules").await;
        self.shows("Schedule hourly/sum is deleted; what it started stays.").await;
        assert_eq!(self.site.get("/schedules/hourly%2Fsum").await.status, 404);
    }

    async fn workflows(&mut self) {
        self.open("/ui/workflow?id=w").await;
        self.act("Cancel", &[], "Cancel it").await;
        self.until("/workflows/w", |run| run["state"] == "cancelled").await;
        self.open("/ui/workflow?id=w").await;
        self.act("Retry", &[], "Retry").await;
        self.until("/workflows/w", |run| run["state"] == "running").await;
    }

    async fn boards(&mut self) {
        let leased = boards::put(self.site, "mail", b"y", When::At(BoardTime(i64::MAX))).await;
        self.open("/ui/boards").await;
        self.tab.click_and_load(&shown("main a", "masstasker")).await;
        self.tab.click_and_load(&shown("main a", "mail")).await;
        self.tab.click_and_load(&shown("main a", &leased.to_string())).await;
        self.act("Release", &[], "Release it").await;
        self.shows("It may be taken now.").await;
        assert_eq!(self.site.get(&format!("/boards/masstasker/tasks/{leased}")).await.status, 404);
        self.act("Delete", &[], "Delete it").await;
        assert_eq!(self.get("/boards").await["boards"][0]["tasks"], 1);
        self.act("Delete all", &[("typed", "1")], "Delete").await;
        assert_eq!(self.get("/boards").await["boards"][0]["tasks"], 0);
    }

    async fn letters(&mut self) {
        self.open("/ui/letter?id=failed-1").await;
        self.act("Send again", &[], "Send it again").await;
        assert_eq!(self.site.status("failed-1").await, "submitted");
        for n in 3..6 {
            self.site.fail(&format!("failed-{n}"), "slow").await;
        }
        let is_dead = |count: u64| move |stats: &Value| stats["total"] == count;
        self.until("/dead-letter-queue/stats", is_dead(4)).await;
        // So slowly that it can be stopped.
        self.open("/ui/letters?error=slow").await;
        let change = [("rate", "0.001"), ("parameters", "{\"more\": 1}")];
        self.act("Send again", &change, "Send them again").await;
        self.is_at("/ui/operation").await;
        self.act("Stop", &[], "Stop it").await;
        self.shows("It is stopped.").await;
        let sent = self.get("/tasks?queue=dying&status=submitted&include=parameters").await;
        let changed = sent["tasks"].as_array().unwrap().iter().filter(|task| task["parameters"]["more"] == 1).count();
        assert!(changed <= 1, "{sent}");
        self.until("/dead-letter-queue/stats", |stats| stats["total"] == json!(4 - changed)).await;
        self.open("/ui/letter?id=failed-2").await;
        self.act("Delete", &[], "Delete it").await;
        let left = 3 - changed;
        self.until("/dead-letter-queue/stats", |stats| stats["total"] == json!(left)).await;
        self.open("/ui/letters").await;
        self.act("Delete", &[("typed", "77")], "Delete").await;
        self.shows("Nothing was deleted").await;
        self.act("Delete", &[("typed", &left.to_string())], "Delete").await;
        self.until("/dead-letter-queue/stats", is_dead(0)).await;

        // At a rate: the page shows how far it is without being loaded again.
        let ids = ["brisk-1", "brisk-2", "brisk-3"];
        for id in ids {
            self.site.fail(id, "brisk").await;
        }
        self.until("/dead-letter-queue/stats", is_dead(3)).await;
        self.open("/ui/letters?error=brisk").await;
        self.act("Send again", &[("rate", "0.5")], "Send them again").await;
        self.is_at("/ui/operation").await;
        self.tab.evaluate("window.notReloaded = true").await;
        self.tab
            .until("document.getElementById('progress').textContent.includes('3 of 3 are handled, 3 were sent')")
            .await;
        assert_eq!(self.tab.evaluate("window.notReloaded").await, json!(true));
        for id in ids {
            assert_eq!(self.site.status(id).await, "submitted");
        }
    }

    async fn store(&mut self) {
        self.open("/ui/store").await;
        self.tab.click_and_load(&shown("main button", "Examine it")).await;
        self.shows("sound").await;
        self.lacks(&shown("main summary", "Repair")).await;
        self.site.damage();
        self.tab.click_and_load(&shown("main button", "Examine it again")).await;
        let examined = self.get("/store/examination").await;
        let kinds = examined["found"].as_array().unwrap();
        let count: u64 = kinds.iter().map(|kind| kind["count"].as_u64().unwrap()).sum();
        assert!(count > 0, "a look changes nothing: {examined}");
        self.shows(&format!("{count} finding")).await;
        for kind in kinds {
            self.shows(kind["flaw"].as_str().unwrap()).await;
        }
        self.act("Repair", &[], "Repair it").await;
        self.shows(" mended.").await;
        self.shows("sound").await;
        self.lacks(&shown("main summary", "Repair")).await;
        assert_eq!(self.get("/store/examination").await["found"], json!([]));
        assert_eq!(self.get("/scheduled-tasks").await["tasks"][0]["id"], "later");
    }

    /// From the first key on: sign in, create, rotate, revoke and delete a key, sign out, and a session that ends meanwhile.
    async fn sessions(&mut self) {
        let site = self.site;
        let (text, admin) = create(&*site.engine, Some(AccessRole::Admin), &[]).await;
        soon(async { while site.get("/queues").await.status != 401 {} }).await;
        self.open("/ui/keys").await;
        self.is_at("/sign-in").await;
        let sign_in = shown("main button", "Sign in");
        self.tab.fill("document.querySelector('[name=key]')", text.as_str()).await;
        self.tab.click_and_load(&sign_in).await;
        self.is_at("/ui/keys").await;
        let made = [("name", "ci"), ("role", "viewer"), ("expires_in", "90d")];
        self.act("Create a key", &made, "Create").await;
        let viewer = self.tab.evaluate("document.querySelector('main pre').textContent").await;
        self.tab.click_and_load(&shown("main a", "The key")).await;
        self.act("Rotate", &[("keep", "1h")], "Rotate").await;
        let rotated = self.tab.evaluate("document.querySelector('main pre').textContent").await;
        assert_ne!(viewer, rotated);
        let rotated = rotated.as_str().unwrap();
        let with =
            async |key: &str| site.send(site.request(Method::GET, "/queues").bearer_auth(key)).await.status.as_u16();
        soon(async { while with(rotated).await != 200 {} }).await;

        // A person who may look and not act reads why.
        self.tab.click_and_load(&shown("header button", "Sign out")).await;
        self.is_at("/sign-in").await;
        self.tab.fill("document.querySelector('[name=key]')", rotated).await;
        self.tab.click_and_load(&sign_in).await;
        self.open("/ui/queue?name=mail").await;
        self.act("Pause", &[], "Pause").await;
        self.shows("queues:control").await;

        // The key is revoked while a page of its session is open.
        self.open("/ui/queue?name=mail").await;
        let id = rotated.split('_').nth(1).unwrap().to_owned();
        let config = site.engine.config().await.unwrap();
        let stored = config.keys.values().find(|key| key.id.as_str() == id).unwrap();
        let stored = AccessKey::clone(stored);
        let at = Some(Timestamp::from_micros(1));
        site.engine.put_key(AccessKey { revoked_at: at, ..stored }, PutMode::Replace).await.unwrap();
        soon(async { while with(rotated).await != 401 {} }).await;
        self.tab.until("document.getElementById('stale').textContent.includes('session has ended')").await;
        self.act("Pause", &[], "Pause").await;
        self.is_at("/sign-in").await;
        self.tab.fill("document.querySelector('[name=key]')", text.as_str()).await;
        self.tab.click_and_load(&sign_in).await;
        self.is_at("/ui/queue").await;
        self.open(&format!("/ui/key?id={id}")).await;
        self.act("Delete", &[], "Delete").await;
        self.shows(&format!("Key {id} is deleted.")).await;
        self.open(&format!("/ui/key?id={}", admin.id)).await;
        self.act("Revoke", &[], "Revoke").await;
        soon(async { while with(text.as_str()).await != 401 {} }).await;
        self.open("/ui/").await;
        self.is_at("/sign-in").await;
    }
}
