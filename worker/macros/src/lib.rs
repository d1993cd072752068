//! `#[task]`: turns a function into a task that workers find and clients submit.
//!
//! It checks the attributes while the program is compiled: names, durations and bounds are those of `jobbers_terms`,
//! so the macro, the HTTP API and the stores agree. It decides nothing about running a task; the expansion is a
//! `jobbers_worker::TaskFn`, which is where to read on.
//!
//! Start at [`macro@task`], then `attributes`, `signature`, `expansion`.

use proc_macro::TokenStream;

mod attributes;
mod cron;
mod defaults;
mod errors;
mod expansion;
mod remote;
mod signature;
mod uniqueness;

/// Makes a task of a function.
///
/// ```ignore
/// #[task(name = "resize", max_retries = 5, retry_delay = "10s", backoff = "exponential_jitter", timeout = "2m")]
/// async fn resize(ctx: Context, job: Resize) -> Result<Resized, TaskError> { /* … */ }
/// ```
///
/// The function becomes a `static` of the same name, a `TaskFn<Resize, Resized>`: `resize.delay(&client, job)` submits
/// it, `resize.call(ctx, job)` runs the plain function. Arguments may be left out, and be in any order: one whose type is called
/// `Context` is the context, `State<T>` is a value that the program gave to `Worker::state`, `Labels` and `Fence` are the labels of
/// its submission and the number of its claim, and the other one is the parameters. A worker without such a value does not start. The answer is a `Result`; its error may be anything that turns into a `TaskError`.
///
/// | attribute | default | |
/// |---|---|---|
/// | `name = "…"` | the function's name | what submissions call it |
/// | `version = 1` | 1 | which version of that name this is |
/// | `max_retries = 3` | 3 | retries after the first attempt, 0 to 1,000 |
/// | `retry_delay = "10s"` | 1 s | base delay before a retry; `0s` retries at once |
/// | `backoff = "…"` | `exponential_jitter` | `constant`, `linear`, `exponential`, `exponential_jitter` |
/// | `backoff = my_function` | | a function `fn(u32, &AttemptFailure) -> Duration` of the failed attempt's number, 1 for the first, and its failure |
/// | `max_retry_delay = "1h"` | 1 h | upper bound of a computed delay |
/// | `retry_for = "2d"` | none | no retry begins later than this after the submission; without `max_retries`, in its place |
/// | `retry_on = [std::io::Error, "…"]` | all | the only errors that are retried: types, and words given to `.kind("…")` |
/// | `fatal_on = [std::io::Error, "…"]` | none | errors that are never retried |
/// | `fatal_if = is_declined` | none | a function `fn(&E) -> bool`: errors of type `E` that are never retried |
/// | `timeout = "2m"` | none | longest one attempt may run |
/// | `expires_in = "10m"` | none | how late a first attempt may begin; what the typed client and the task's own schedule submit |
/// | `max_heartbeat_interval = "30s"` | none | longest silence between two heartbeats |
/// | `on_stall = "…"` | `stall` | what an overdue heartbeat means: `stall`, `retry`, `fail` |
/// | `on_shutdown = "…"` | `finish` | what a stopping worker does with it: `finish`, `requeue`, `fail` |
/// | `dead_letter = "…"` | `save` | `save` keeps it in the dead-letter store when it fails for good, `none` does not |
/// | `max_crashes = 3` | 3 | lost leases until it counts as poison, 1 to 100; carried by submissions, as `dead_letter` is for poison |
/// | `unique` | | there is to be one at a time with the same parameters; another submission is refused |
/// | `unique_by = "…"`, `unique_by = ["…", "…"]` | | the same, of these fields of the parameters, such as `customer` or `customer.id` |
/// | `unique_for = "10m"` | without end | for how long at most that holds, from the submission on |
/// | `unique_while = ["…"]` | until it is over | in which statuses |
/// | `on_duplicate = "…"` | `reject` | what is done about another: `reject`, `return`, `replace`, `keep_last` |
/// | `cron = "0 2 * * *"` | | declares a schedule: workers with the task create it when they start. Of a task without parameters |
/// | `time_zone = "…"` | `UTC` | whose clock that expression is by: a name of the IANA database |
/// | `queue = "mail"` | `default` | the queue of what the typed client and its own schedule submit, where no routing rule applies |
/// | `priority = 7` | 5 | 0 to 9: what the typed client submits, unless the submission says otherwise |
/// | `labels = ["team=billing"]` | | likewise: labels, each where the submission has none of that name |
/// | `concurrency_key = "customer"` | | likewise: the value of this field of the parameters |
/// | `sensitive` | | readers don't see its parameters, result, checkpoint and messages, unless they have the scope `tasks:reveal` |
/// | `crate = "…"` | `::jobbers_worker` | the path of this library, where it is renamed or re-exported |
/// | `blocking` | | the function is synchronous and runs on threads of its own, as many as there are cores |
/// | `remote` | | the function has no body: another program runs the task, and this one submits it |
/// | `unlisted` | | workers do not find it by themselves; give it to `Worker::task` |
///
/// Durations are written `500ms`, `10s`, `5m`, `2h`, `1d`; a bare number is seconds.
#[proc_macro_attribute]
pub fn task(attributes: TokenStream, function: TokenStream) -> TokenStream {
    expansion::expand(attributes.into(), &function.into()).into()
}
