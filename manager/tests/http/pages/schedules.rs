//! Schedules that are created, changed and deleted by pages, and what is refused.

use jobbers_common::access::AccessRole;
use serde_json::json;

use super::{LONG, ODD, Site};
use crate::{access::keys::create, server::soon};

const FORM: &str = "/ui/new-schedule";

/// A form that is fine, but for one field.
fn fields<'a>(name: &'a str, field: &str, typed: &'a str) -> Vec<(&'static str, &'a str)> {
    let fine = [
        ("act", "create"),
        ("name", name),
        ("cron", "30 4 * * 1"),
        ("time_zone", "Europe/Berlin"),
        ("every", ""),
        ("task", "echo"),
        ("version", "3"),
        ("queue", "default"),
        ("parameters", "{\"n\": 1.50}"),
        ("overlap", "buffer_one"),
        ("catch_up", "none"),
    ];
    fine.into_iter().map(|(key, value)| (key, if key == field { typed } else { value })).collect()
}

pub(super) async fn a_schedule_is_created_by_a_form_and_deleted(site: Site) {
    assert!(site.page("/ui/schedules").await.contains("href=\"new-schedule\""));
    let looked = site.send(site.form(FORM, &fields("weekly/one", "act", "preview"))).await;
    assert_eq!((looked.status.as_u16(), looked.text.matches(":30:00Z</td>").count()), (200, 10), "{}", looked.text);
    assert!(
        looked.text.contains("name=\"name\" placeholder=\"nightly/report\" value=\"weekly/one\""),
        "{}",
        looked.text
    );
    assert!(looked.text.contains(">{&quot;n&quot;: 1.50}</textarea>"), "{}", looked.text);
    assert_eq!(site.get("/schedules").await.json()["schedules"], json!([]), "a look creates nothing");

    let next = site.act(FORM, &fields("weekly/one", "", "")).await;
    let page = site.page(&next).await;
    assert!(
        page.contains("Schedule weekly/one is created.") && page.contains("jobbers schedules put weekly/one"),
        "{page}"
    );
    let one = site.get("/schedules/weekly%2Fone").await.expect(200);
    assert_eq!((&one["cron"], &one["time_zone"]), (&json!("30 4 * * 1"), &json!("Europe/Berlin")));
    assert_eq!((&one["overlap"], &one["catch_up"]), (&json!("buffer_one"), &json!("none")));
    assert_eq!((&one["task"]["name"], &one["task"]["version"]), (&json!("echo"), &json!(3)));
    assert!(site.get("/schedules/weekly%2Fone").await.text.contains(" 1.50}"), "as it was typed");
    site.post("/schedules/weekly%2Fone/run", "").await.expect(201);
    let run = site.get("/schedules/weekly%2Fone").await.json()["last_run"]["task"].as_str().unwrap().to_owned();

    let page = "/ui/schedule?name=weekly%2Fone";
    assert!(site.page(page).await.contains("The tasks and workflows that it started stay."));
    let next = site.act(page, &[("act", "delete")]).await;
    let list = site.page(&next).await;
    assert!(
        list.contains("is deleted; what it started stays.") && list.contains("jobbers schedules delete weekly/one"),
        "{list}"
    );
    assert_eq!(site.get("/schedules/weekly%2Fone").await.status, 404);
    assert_eq!(site.status(&run).await, "submitted", "the task that it started stays");
    // A second tab still shows it.
    for act in ["delete", "edit", "pause", "run"] {
        let gone = site.send(site.form(page, &[("act", act), ("cron", "0 1 * * *")])).await;
        assert_eq!((gone.status.as_u16(), gone.text.contains("weekly/one")), (404, true), "{act}: {}", gone.text);
    }
}

pub(super) async fn what_is_refused_of_a_schedule_comes_back_as_it_was_typed(site: Site) {
    site.act(FORM, &fields("taken", "", "")).await;
    let before = site.get("/schedules/taken").await.json();
    for (name, field, typed, status, marked) in [
        ("one", "cron", "every full moon", 422, "cron"),
        ("one", "time_zone", "Mars/Olympus", 422, "time_zone"),
        ("one", "every", "15m", 422, ""),
        ("one", "name", LONG, 422, "name"),
        ("one", "name", ODD, 422, "name"),
        ("one", "name", "", 422, ""),
        ("one", "task", ODD, 422, ""),
        ("one", "task", "", 422, ""),
        ("one", "version", "two", 422, "version"),
        ("one", "queue", "none", 404, ""),
        ("one", "parameters", "{", 422, "parameters"),
        ("one", "parameters", "{\"n\": <b>}", 422, "parameters"),
        ("one", "overlap", "never", 422, ""),
        ("taken", "cron", "1 1 * * *", 409, ""),
    ] {
        let refused = site.send(site.form(FORM, &fields(name, field, typed))).await;
        let page = &refused.text;
        assert_eq!(refused.status.as_u16(), status, "{field} {typed}: {page}");
        assert!(page.contains("role=\"alert\"") && page.contains("Nothing was created: "), "{field}: {page}");
        let shown = typed.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;");
        let is_kept = page.contains(&format!("value=\"{shown}\"")) || page.contains(&format!(">{shown}</textarea>"));
        assert!(is_kept || typed.is_empty() || field == "overlap", "{field} {typed} is kept: {page}");
        assert!(!page.contains("<img") && !page.contains("<b>}"), "what was typed is text: {page}");
        let invalid = page.split('<').find(|tag| tag.contains("aria-invalid")).unwrap_or_default();
        assert!(marked.is_empty() || invalid.contains(&format!("name=\"{marked}\"")), "{field} {typed}: {invalid:?}");
        assert!(page.contains("<option value=\"none\" selected>"), "the choices are kept: {page}");
    }
    for (field, typed) in [("cron", "61 * * * *"), ("time_zone", "Mars/Olympus"), ("every", "15m")] {
        let mut form = fields("one", field, typed);
        form[0].1 = "preview";
        let refused = site.send(site.form(FORM, &form)).await;
        assert_eq!(refused.status, 400, "{field}: {}", refused.text);
        assert!(refused.text.contains("Nothing was created: ") && refused.text.contains(typed), "{}", refused.text);
    }
    let all = site.get("/schedules").await.json();
    assert_eq!(all["schedules"], json!([before]), "nothing was created, and nothing changed");
    // A reader sees why.
    let (text, _) = create(&*site.engine, Some(AccessRole::Admin), &[]).await;
    let (viewer, _) = create(&*site.engine, Some(AccessRole::Viewer), &[]).await;
    soon(async { while site.get("/queues").await.status != 401 {} }).await;
    let form = || site.form(FORM, &fields("one", "", ""));
    let refused = site.send(form().bearer_auth(viewer.as_str())).await;
    assert_eq!(refused.status, 403, "{}", refused.text);
    assert!(
        refused.text.contains("schedules:write") && refused.text.contains("value=\"30 4 * * 1\""),
        "{}",
        refused.text
    );
    let delete = site.form("/ui/schedule?name=taken", &[("act", "delete")]);
    let refused = site.send(delete.bearer_auth(viewer.as_str())).await;
    assert_eq!((refused.status.as_u16(), refused.text.contains("schedules:write")), (403, true), "{}", refused.text);
    let kept = site.send(site.request(reqwest::Method::GET, "/schedules/taken").bearer_auth(text.as_str())).await;
    assert_eq!(kept.status, 200);
}

pub(super) async fn two_tabs_do_not_overwrite_each_other(site: Site) {
    site.act(FORM, &fields("shared", "", "")).await;
    let page = "/ui/schedule?name=shared";
    let html = site.page(page).await;
    let tag = html.split("name=\"tag\" value=\"").nth(1).and_then(|rest| rest.split_once('"')).unwrap().0;
    let tag = tag.replace("&quot;", "\"");
    let edit = |cron: &'static str| [("act", "edit"), ("cron", cron), ("overlap", "skip"), ("tag", tag.as_str())];
    site.act(page, &edit("0 1 * * *")).await;
    let late = site.send(site.form(page, &edit("0 2 * * *"))).await;
    assert_eq!(late.status, 412, "{}", late.text);
    let late = site.send(site.form(page, &[("act", "delete"), ("tag", tag.as_str())])).await;
    assert_eq!(late.status, 412, "what the other tab made of it stays: {}", late.text);
    assert_eq!(site.get("/schedules/shared").await.expect(200)["cron"], "0 1 * * *");
    let html = site.page(page).await;
    let tag = html.split("name=\"tag\" value=\"").nth(1).and_then(|rest| rest.split_once('"')).unwrap().0;
    site.act(page, &[("act", "delete"), ("tag", &tag.replace("&quot;", "\""))]).await;
    assert_eq!(site.get("/schedules/shared").await.status, 404);
}
