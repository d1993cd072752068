//! The shop on the test kit: what it submits, and how that ends, also when its workers die.

use std::collections::BTreeMap;

use jobbers_worker::{
    policy::Status,
    prelude::*,
    testing::{Faults, LEASE, TestAttempt, TestBench},
};
use tempfile::TempDir;

use crate::{
    card::{self, Charge, charge},
    day,
    images::{Graymap, Picture, scale},
    import::{Imported, import},
    inventory::{Read, Supplier, count_stock},
    mail::{Mail, send_mail},
    orders::{End, Order, take},
    report::nightly_report,
    services::Services,
    setup,
    webhooks::{Webhook, call_webhook},
};

/// A bench with the shop's queues and services.
struct Shop {
    bench: TestBench,
    services: Services,
    faults: Faults,
    _folder: TempDir,
}

impl Shop {
    async fn open() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (services, faults) = (Services::at(folder.path(), Duration::ZERO).unwrap(), Faults::default());
        let bench = TestBench::builder().state(services.clone()).faults(&faults).schedules().build().await.unwrap();
        setup::set_up(&**bench.engine()).await.unwrap();
        Self { bench, services, faults, _folder: folder }
    }

    fn effects(&self) -> BTreeMap<String, u64> {
        self.services.effects().unwrap()
    }
}

fn order(cents: u64) -> Order {
    let webhook = Some("https://shop.example/orders".to_owned());
    Order { id: "17".to_owned(), customer: "ada@example.org".to_owned(), cents, webhook }
}

fn effects<const N: usize>(expected: [(&str, u64); N]) -> BTreeMap<String, u64> {
    expected.into_iter().map(|(effect, times)| (effect.to_owned(), times)).collect()
}

#[tokio::test]
async fn an_order_is_charged_shipped_mailed_and_closed() {
    let shop = Shop::open().await;
    let run = take(shop.bench.client(), &order(1_999)).await.unwrap();
    assert_eq!(shop.bench.assert_enqueued(&charge).await, Charge { order: "17".to_owned(), cents: 1_999 });
    assert_eq!(shop.bench.drain().await.unwrap().completed, 5);
    assert_eq!(run.result(Duration::ZERO).await.unwrap(), End::Shipped);
    let done = [("called", 1), ("charged", 1), ("closed", 1), ("mailed", 1), ("shipped", 1)];
    assert_eq!(shop.effects(), effects(done));
    // The customer presses the button once more.
    take(shop.bench.client(), &order(1_999)).await.unwrap();
    assert_eq!(shop.bench.drain().await.unwrap().attempts(), 0);
}

#[tokio::test]
async fn an_order_that_the_bank_declines_is_cancelled_and_the_customer_learns_why() {
    let shop = Shop::open().await;
    let run = take(shop.bench.client(), &order(card::LIMIT + 1)).await.unwrap();
    let drained = shop.bench.drain().await.unwrap();
    assert_eq!((drained.failed, drained.retried, drained.completed), (1, 0, 2));
    assert_eq!(run.result(Duration::ZERO).await.unwrap(), End::Cancelled);
    assert_eq!(shop.effects(), effects([("closed", 1), ("mailed", 1)]));
    let end = |name: &str| shop.bench.client().task::<()>(format!("order-17/{name}").parse().unwrap());
    assert_eq!(end("sorry").status().await.unwrap(), Status::Completed);
    assert_eq!(end("ship").status().await.unwrap(), Status::Aborted);
    assert_eq!(end("charge").wait(Duration::ZERO).await.unwrap_err().to_string().matches("declined").count(), 1);
}

#[tokio::test]
async fn a_card_is_charged_once_though_the_worker_dies_before_it_reports() {
    let shop = Shop::open().await;
    shop.faults.crash_after(&charge);
    take(shop.bench.client(), &order(1_999)).await.unwrap();
    assert_eq!(shop.bench.drain().await.unwrap().crashed, 1);
    shop.bench.advance(LEASE).await.unwrap();
    assert_eq!(shop.bench.drain().await.unwrap().completed, 5);
    assert_eq!(shop.effects()["charged"], 2, "the network was called twice");
    assert_eq!(std::fs::read_dir(shop.services.file("charges")).unwrap().count(), 1, "and charged once");
}

#[tokio::test]
async fn mails_wait_in_their_queue_by_customer() {
    let shop = Shop::open().await;
    let mail = |customer: &str| Mail { customer: customer.to_owned(), text: "hello".to_owned() };
    send_mail.delay(shop.bench.client(), mail("ada@example.org")).await.unwrap();
    let waiting = shop.bench.enqueued(&send_mail).await.unwrap();
    assert_eq!(waiting[0].queue.as_str(), "mail");
    assert_eq!(waiting[0].concurrency_key.as_deref(), Some("ada@example.org"));
    assert_eq!(shop.bench.drain().await.unwrap().completed, 1);
    // No mail server finds this one, and none is asked again.
    send_mail.delay(shop.bench.client(), mail("ada")).await.unwrap();
    assert_eq!(shop.bench.drain().await.unwrap().failed, 1);

    let config = shop.bench.engine().config().await.unwrap();
    assert_eq!(config.queues["mail"].max_concurrent_per_key, Some(1));
    let connected = shop.services.connect("ada@example.org").unwrap();
    shop.services.connect("ada@example.org").map(drop).unwrap_err();
    shop.services.connect("bob@example.org").map(drop).unwrap();
    drop(connected);
    shop.services.connect("ada@example.org").map(drop).unwrap();
}

#[tokio::test]
async fn webhooks_are_retried_as_the_handbook_promises() {
    let shop = Shop::open().await;
    let call = |url: &str| Webhook { url: url.to_owned(), event: "paid 17".to_owned() };
    for (url, wait) in [("https://flaky.example", 1), ("https://busy.example", 2)] {
        call_webhook.delay(shop.bench.client(), call(url)).await.unwrap();
        assert_eq!(shop.bench.drain().await.unwrap().retried, 1, "{url}");
        let again = shop.bench.enqueued(&call_webhook).await.unwrap().remove(0);
        assert_eq!(again.ready_at.since(shop.bench.now()), Duration::from_secs(wait), "{url}");
        assert_eq!(shop.bench.drain_scheduled().await.unwrap().completed, 1, "{url}");
    }
    call_webhook.delay(shop.bench.client(), call("https://gone.example")).await.unwrap();
    let drained = shop.bench.drain().await.unwrap();
    assert_eq!((drained.failed, drained.retried), (1, 0), "no retry finds a server that is gone");
}

#[tokio::test]
async fn a_picture_is_scaled_to_each_width() {
    let shop = Shop::open().await;
    let picture = Graymap { width: 4, height: 2, shades: vec![0, 10, 100, 110, 20, 30, 120, 130] };
    std::fs::write(shop.services.file("pictures/a.pgm"), picture.write()).unwrap();
    std::fs::write(shop.services.file("pictures/b.pgm"), "P5 4 2 255\nshort").unwrap();
    let job = |file: &str| Picture { file: file.into(), widths: vec![2, 1] };
    let handle = scale.delay(shop.bench.client(), job("pictures/a.pgm")).await.unwrap();
    scale.delay(shop.bench.client(), job("pictures/b.pgm")).await.unwrap();
    let drained = shop.bench.drain().await.unwrap();
    assert_eq!((drained.completed, drained.failed), (1, 1));
    let shades = handle
        .result(Duration::ZERO)
        .await
        .unwrap()
        .into_iter()
        .map(|file| Graymap::read(&std::fs::read(shop.services.file(file)).unwrap()).unwrap().shades);
    assert_eq!(shades.collect::<Vec<_>>(), [vec![15, 115], vec![65]]);
}

#[tokio::test]
async fn a_list_is_read_on_from_where_it_stopped() {
    let shop = Shop::open().await;
    let supplier = || Supplier { name: "acme".to_owned(), pages: 3 };
    let second = TestAttempt::of(&count_stock).attempt(2).state(shop.services.clone());
    let items = second.checkpoint(&Read { pages: 2, items: 201 }).run(supplier()).await.unwrap();
    assert_eq!((items, shop.effects()), (303, effects([("counted", 1)])));
    let whole = count_stock.delay(shop.bench.client(), supplier()).await.unwrap();
    assert_eq!(shop.bench.drain().await.unwrap().completed, 1);
    assert_eq!(whole.result(Duration::ZERO).await.unwrap(), 303);
}

#[tokio::test]
async fn a_catalogue_is_imported_in_pieces_once_though_the_worker_dies() {
    let shop = Shop::open().await;
    let rows: Vec<String> = (1..=120).map(|n| if n == 71 { "?".to_owned() } else { format!("{n};250") }).collect();
    std::fs::write(shop.services.file("catalogue"), rows.join("\n")).unwrap();
    shop.faults.crash_after(&import);
    let started = import.delay(shop.bench.client(), "catalogue".into()).await.unwrap();
    let drained = shop.bench.drain().await.unwrap();
    assert_eq!((drained.crashed, drained.completed), (1, 3 + 1), "its pieces run though it died");
    shop.bench.advance(LEASE).await.unwrap();
    assert_eq!(shop.bench.drain().await.unwrap().attempts(), 1, "and are not spawned again");
    let last = started.result(Duration::ZERO).await.unwrap();
    let imported: Imported = shop.bench.result(&last.parse().unwrap()).await.unwrap();
    assert_eq!(imported, Imported { products: 119, cents: 119 * 250, wrong: vec![71] });
}

#[tokio::test]
async fn the_report_of_each_night_adds_up_what_was_charged() {
    let shop = Shop::open().await;
    take(shop.bench.client(), &order(1_999)).await.unwrap();
    shop.bench.drain().await.unwrap();
    shop.bench.advance(Duration::from_secs(2 * 86_400)).await.unwrap();
    assert_eq!(shop.bench.drain().await.unwrap().completed, 2, "two nights");
    let report = || std::fs::read_to_string(shop.services.file("report")).unwrap();
    assert_eq!(report(), "1999 cents\n");
    let id = shop.bench.fire(&nightly_report).await.unwrap();
    shop.bench.drain().await.unwrap();
    assert_eq!(shop.bench.result::<u64>(&id).await.unwrap(), 1_999);
}

#[tokio::test]
async fn a_day_ends_as_it_is_printed() {
    let shop = Shop::open().await;
    let day = day::submit(shop.bench.client(), &shop.services, 20).await.unwrap();
    shop.bench.drain_scheduled().await.unwrap();
    let sorry = shop.bench.client().task::<()>("order-9/sorry".parse().unwrap());
    assert_eq!(sorry.status().await.unwrap(), Status::Completed);
    assert_eq!(day.orders.len(), 20);
    let shipped = shop.effects()["shipped"];
    assert_eq!((shipped, shop.effects()["charged"], shop.effects()["closed"]), (18, 18, 20));
}

#[test]
fn the_guide_shows_what_the_files_contain() {
    let package = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let guide = std::fs::read_to_string(package.join("../docs/guides/shop.md")).unwrap();
    let files = std::fs::read_dir(package.join("examples/shop")).unwrap();
    let files: String = files.map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap()).collect();
    let blocks = guide.split("```rust,ignore\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    for block in blocks {
        assert!(files.contains(block), "no file contains this:\n{block}");
    }
}
