//! A day of the shop: some of everything.

use jobbers_worker::{Handle, RunHandle, prelude::*};

use crate::{
    card,
    images::{Graymap, Picture, scale},
    import::{Imported, import},
    inventory::{Supplier, count_stock},
    orders::{End, Order, take},
    report::nightly_report,
    services::Services,
};

/// How long a day may take.
const DAY: Duration = Duration::from_secs(600);
/// An order of so many is too large for its card.
const DECLINED: usize = 10;
/// There is a new picture, a list of a supplier and a catalogue with so many orders each.
const PER_PICTURE: usize = 10;
const PER_LIST: usize = 100;

/// What was submitted.
pub(crate) struct Day {
    pub(crate) orders: Vec<RunHandle<End>>,
    pictures: Vec<Handle<Vec<PathBuf>>>,
    lists: Vec<Handle<u64>>,
    imports: Vec<Handle<String>>,
}

/// The nth order of a day.
fn order(n: usize) -> Order {
    let cents = if n % DECLINED == DECLINED - 1 { card::LIMIT + 1 } else { 1_999 };
    let server = ["shop", "flaky", "shop", "shop"][n % 4];
    let webhook = (!n.is_multiple_of(5)).then(|| format!("https://{server}.example/orders"));
    Order { id: n.to_string(), customer: format!("customer{}@example.org", n % 7), cents, webhook }
}

/// Submits a day with so many orders.
pub(crate) async fn submit(
    client: &Client,
    services: &Services,
    orders: usize,
) -> Result<Day, Box<dyn std::error::Error>> {
    let shades = (0..64 * 48).map(|place| u8::try_from(place % 256)).collect::<Result<_, _>>()?;
    std::fs::write(services.file("pictures/new.pgm"), Graymap { width: 64, height: 48, shades }.write())?;
    let rows: Vec<String> =
        (0..120).map(|n| if n == 70 { "a comment".to_owned() } else { format!("{n};250") }).collect();
    std::fs::write(services.file("catalogue"), rows.join("\n"))?;

    let mut day = Day { orders: Vec::new(), pictures: Vec::new(), lists: Vec::new(), imports: Vec::new() };
    for n in 0..orders {
        day.orders.push(take(client, &order(n)).await?);
        if n.is_multiple_of(PER_PICTURE) {
            let picture = Picture { file: "pictures/new.pgm".into(), widths: vec![8, 32] };
            day.pictures.push(scale.with(picture).id(format!("picture-{n}")).submit(client).await?);
        }
        if n.is_multiple_of(PER_LIST) {
            let supplier = Supplier { name: format!("supplier{n}"), pages: 20 };
            day.lists.push(count_stock.with(supplier).id(format!("list-{n}")).submit(client).await?);
            day.imports.push(import.with("catalogue".into()).id(format!("import-{n}")).submit(client).await?);
        }
    }
    Ok(day)
}

impl Day {
    /// Waits until all is done, and has the report made. Returns a sentence about it.
    pub(crate) async fn end(&self, client: &Client) -> Result<String, Box<dyn std::error::Error>> {
        let mut shipped = 0;
        for order in &self.orders {
            match order.result(DAY).await? {
                End::Shipped => shipped += 1,
                End::Cancelled => client.task::<()>(format!("{}/sorry", order.id).parse()?).wait(DAY).await?,
            }
        }
        let (mut pictures, mut items, mut catalogue) = (0, 0, Imported::default());
        for picture in &self.pictures {
            pictures += picture.result(DAY).await?.len();
        }
        for list in &self.lists {
            items += list.result(DAY).await?;
        }
        for imported in &self.imports {
            catalogue = client.task(imported.result(DAY).await?.parse()?).wait(DAY).await?;
        }
        let cents = nightly_report.delay(client, NoParameters).await?.result(DAY).await?;
        let (orders, Imported { products, wrong, .. }) = (self.orders.len(), catalogue);
        Ok(format!(
            "{orders} orders, {shipped} shipped, {cents} cents; {pictures} pictures; {items} items in stock; \
             {products} products, wrong lines {wrong:?}"
        ))
    }
}
