//! The outbox in a real Postgres and a real MariaDB: what a transaction commits becomes a task, once.

use std::{sync::Arc, time::Duration};

use jobbers_test_support::{mariadb_server::MariaDbServer, postgres_server::PostgresServer, wait::until};
use jobbers_worker::{
    Client, Shutdown, TaskId,
    outbox::{self, Moved, OutboxError, OutboxTable, Relay, RelayError, Row},
    policy::Status,
    stock,
};
use serde_json::json;

use crate::{engines::Kind, stack::Stack};

on_both_engines!(
    what_a_transaction_commits_becomes_one_task,
    a_row_that_can_not_be_submitted_says_why_and_keeps_none_back,
    two_relays_move_each_row_once_though_the_database_crashes,
);

/// Long enough for a relay that waits fifteen seconds after errors.
const LONG: Duration = Duration::from_secs(60);
/// More than two steps of a relay.
const ROWS: usize = 1_200;
/// All that a statement could stumble over.
const CUSTOMER: &str = "O'Neill; \\'-- \"ü🦀\"";

/// A database for which `jobbers outbox create` prints a statement.
#[derive(Debug)]
enum Server {
    Postgres(PostgresServer),
    MariaDb(MariaDbServer),
}

impl Server {
    fn each() -> [Self; 2] {
        [Self::Postgres(PostgresServer::start()), Self::MariaDb(MariaDbServer::start())]
    }

    /// Runs a script in which `:'name'` is the value of a variable.
    fn run(&self, script: &str, variables: &[(&str, &str)]) -> Result<String, String> {
        match self {
            Self::Postgres(server) => server.run(script, variables),
            Self::MariaDb(server) => {
                let named = |script: String, (name, _): &(&str, &str)| {
                    script.replace(&format!(":'{name}'"), &format!("@{name}"))
                };
                server.run(&variables.iter().fold(script.to_owned(), named), variables)
            }
        }
    }

    const fn table(&self) -> &'static str {
        match self {
            Self::Postgres(_) => outbox::POSTGRES,
            Self::MariaDb(_) => outbox::MYSQL,
        }
    }

    /// Deletes the rows of a JSON list of ids.
    const fn delete(&self) -> &'static str {
        match self {
            Self::Postgres(_) => "DELETE FROM jobbers_outbox WHERE id IN (SELECT json_array_elements_text(:'ids'));",
            Self::MariaDb(_) => {
                "DELETE FROM jobbers_outbox WHERE id IN
                 (SELECT id FROM JSON_TABLE(:'ids', '$[*]' COLUMNS (id varchar(255) PATH '$')) AS ids);"
            }
        }
    }

    /// A script that stores these rows.
    fn fill(&self, rows: impl Iterator<Item = Row>) -> String {
        match self {
            Self::Postgres(_) => {
                let lines = rows.map(|row| format!("{}\t{}\n", row.id, row.submission.replace('\\', "\\\\")));
                format!("COPY jobbers_outbox (id, submission) FROM STDIN;\n{}\\.\n", lines.collect::<String>())
            }
            Self::MariaDb(_) => {
                let literal = |text: &str| text.replace('\\', "\\\\").replace('\'', "\\'");
                let rows = rows.map(|row| format!("('{}', '{}')", row.id, literal(&row.submission)));
                let rows: Vec<String> = rows.collect();
                format!("INSERT INTO jobbers_outbox (id, submission) VALUES {};", rows.join(",\n"))
            }
        }
    }

    fn crash_and_resume(&self) {
        match self {
            Self::Postgres(server) => {
                server.crash();
                server.resume();
            }
            Self::MariaDb(server) => {
                server.crash();
                server.resume();
            }
        }
    }
}

/// A shop's database.
#[derive(Clone)]
struct Orders(Arc<Server>);

impl Orders {
    fn new(server: Server) -> Self {
        server.run(server.table(), &[]).unwrap();
        server.run("CREATE TABLE orders (id varchar(255) PRIMARY KEY)", &[]).unwrap();
        Self(Arc::new(server))
    }

    async fn run(&self, script: &str, variables: &[(&str, &str)]) -> Result<String, OutboxError> {
        let (server, script) = (Arc::clone(&self.0), script.to_owned());
        let variables: Vec<(String, String)> =
            variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let run = tokio::task::spawn_blocking(move || {
            let variables: Vec<(&str, &str)> =
                variables.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
            server.run(&script, &variables)
        });
        Ok(run.await??)
    }

    /// Takes an order, with the row of its task, in one transaction that ends like this.
    async fn take(&self, row: &Row, end: &str) {
        let script = format!(
            "BEGIN; INSERT INTO orders VALUES (:'id');
             INSERT INTO jobbers_outbox (id, submission) VALUES (:'id', :'submission'); {end}"
        );
        self.run(&script, &[("id", &row.id), ("submission", &row.submission)]).await.unwrap();
    }

    async fn count(&self, table: &str) -> usize {
        self.run(&format!("SELECT count(*) FROM {table}"), &[]).await.unwrap().trim().parse().unwrap()
    }
}

impl OutboxTable for Orders {
    async fn oldest(&self, limit: usize) -> Result<Vec<Row>, OutboxError> {
        let oldest =
            format!("SELECT id, submission FROM jobbers_outbox WHERE problem IS NULL ORDER BY place LIMIT {limit};");
        let rows = self.run(&oldest, &[]).await?;
        let row = |line: &str| {
            let (id, submission) = line.split_once('\t').ok_or("two columns")?;
            Ok(Row { id: id.to_owned(), submission: submission.to_owned() })
        };
        rows.lines().map(row).collect()
    }

    async fn remove(&self, ids: &[String]) -> Result<(), OutboxError> {
        self.run(self.0.delete(), &[("ids", &json!(ids).to_string())]).await.map(drop)
    }

    async fn refuse(&self, id: &str, problem: &str) -> Result<(), OutboxError> {
        let update = "UPDATE jobbers_outbox SET problem = :'problem' WHERE id = :'id';";
        self.run(update, &[("id", id), ("problem", problem)]).await.map(drop)
    }
}

/// A table whose relay dies before it removes what it submitted.
struct Killed(Orders);

impl OutboxTable for Killed {
    async fn oldest(&self, limit: usize) -> Result<Vec<Row>, OutboxError> {
        self.0.oldest(limit).await
    }

    async fn remove(&self, _: &[String]) -> Result<(), OutboxError> {
        Err("the relay was killed".into())
    }

    async fn refuse(&self, id: &str, problem: &str) -> Result<(), OutboxError> {
        self.0.refuse(id, problem).await
    }
}

/// The row of a task that does nothing.
fn row(client: &Client, id: &str) -> Row {
    let sleep = stock::Sleep { seconds: Duration::ZERO, heartbeat_every: None, ignore_cancel: false };
    stock::sleep.with(sleep).id(id).label("customer", CUSTOMER).to_row(client).unwrap()
}

async fn statuses(client: &Client, ids: &[&str]) -> Vec<Option<Status>> {
    let ids: Vec<TaskId> = ids.iter().map(|id| id.parse().unwrap()).collect();
    client.statuses(&ids).await.unwrap()
}

async fn what_a_transaction_commits_becomes_one_task(kind: Kind) {
    for server in Server::each() {
        let (stack, orders) = (Stack::on(kind).await, Orders::new(server));
        let client = Client::open(stack.url()).await.unwrap();
        // The last of them loses its connection.
        for (id, end) in [("committed", "COMMIT;"), ("rolled-back", "ROLLBACK;"), ("cut-off", "")] {
            orders.take(&row(&client, id), end).await;
        }
        assert_eq!((orders.count("orders").await, orders.count("jobbers_outbox").await), (1, 1));
        let killed = Relay::new(Killed(orders.clone()), client.clone()).move_some().await;
        assert!(matches!(killed, Err(RelayError::Outbox(_))), "{killed:?}");
        assert_eq!(orders.count("jobbers_outbox").await, 1, "it is still there");

        let relay = Relay::new(orders.clone(), client.clone());
        let moved = relay.move_some().await.unwrap();
        assert_eq!((moved.stored, moved.refused, orders.count("jobbers_outbox").await), (1, 0, 0));
        assert_eq!(relay.move_some().await.unwrap(), Moved::default());
        let stored = statuses(&client, &["committed", "rolled-back", "cut-off"]).await;
        assert_eq!(stored, [Some(Status::Submitted), None, None]);
        let manager = stack.manager().await;
        let task = manager.api.task("committed").await;
        assert_eq!(task["labels"]["customer"], CUSTOMER, "{task}");
        assert_eq!(manager.api.get("/queues/default").await.ok()["accepted"], 1);
    }
}

async fn a_row_that_can_not_be_submitted_says_why_and_keeps_none_back(kind: Kind) {
    for server in Server::each() {
        let (stack, orders) = (Stack::on(kind).await, Orders::new(server));
        let client = Client::open(stack.url()).await.unwrap();
        let lost =
            Row { submission: row(&client, "lost").submission.replace("sleep", "sl eep"), ..row(&client, "lost") };
        // What the error repeats of it is too long for the column, and has what Postgres does not take.
        let large = format!("{{\"task\": \"{}\\u0000\"}}", "ü".repeat(40_000));
        let altered = Row { submission: large, ..row(&client, "altered") };
        for row in [lost, altered, row(&client, "sound")] {
            orders.take(&row, "COMMIT;").await;
        }
        let moved = Relay::new(orders.clone(), client.clone()).move_some().await.unwrap();
        assert_eq!((moved.stored, moved.refused), (1, 2));
        assert_eq!(statuses(&client, &["lost", "altered", "sound"]).await, [None, None, Some(Status::Submitted)]);
        let left = orders.run("SELECT id, problem FROM jobbers_outbox ORDER BY place", &[]).await.unwrap();
        let left: Vec<&str> = left.lines().collect();
        assert!(left.len() == 2 && left[0].starts_with("lost\t") && left[0].contains("sl eep"), "{left:?}");
        assert!(left[1].starts_with("altered\t") && left[1].contains("can't be read"), "{left:?}");
    }
}

async fn two_relays_move_each_row_once_though_the_database_crashes(kind: Kind) {
    for server in Server::each() {
        let (stack, orders) = (Stack::on(kind).await, Orders::new(server));
        let client = Client::open(stack.url()).await.unwrap();
        let rows = (0..ROWS).map(|n| row(&client, &n.to_string()));
        orders.run(&orders.0.fill(rows), &[]).await.unwrap();

        let shutdown = Shutdown::new();
        let every = Duration::from_millis(50);
        let relay = || Relay::new(orders.clone(), client.clone()).every(every).run(shutdown.clone());
        let relays = [tokio::spawn(relay()), tokio::spawn(relay())];
        until(LONG, "some rows are moved", async || (orders.count("jobbers_outbox").await < ROWS).then_some(())).await;
        let server = Arc::clone(&orders.0);
        tokio::task::spawn_blocking(move || server.crash_and_resume()).await.unwrap();
        until(LONG, "all rows are moved", async || (orders.count("jobbers_outbox").await == 0).then_some(())).await;
        shutdown.drain.cancel();
        for relay in relays {
            relay.await.unwrap();
        }
        let manager = stack.manager().await;
        let queue = manager.api.get("/queues/default").await.ok();
        assert_eq!((&queue["accepted"], &queue["tasks"]["submitted"]), (&json!(ROWS), &json!(ROWS)), "{queue}");
    }
}
