//! The command line.

use clap::{Parser, Subcommand};

use crate::commands::{
    audit, bench, boards, demo, ready, registry,
    settings::{apply, keys, queues, roles, routes, schedules, workflow},
    shell::{complete, completions, man},
    stores::{doctor, export, import, outbox},
    tasks::{
        active, cancel, delete, depend, dlq, explain, list, reschedule, resubmit, scheduled, signal, status, submit,
    },
    top, up, workers,
};

const AFTER_HELP: &str = "\
Exit codes:
  0   done, and the answer is yes
  1   done, and the answer is no: refused, not found, failed, not verified
  2   the command line makes no sense
  64  the configuration makes no sense, or the store is of another version
  66  a file that the command line names can't be read
  69  the manager or the store can't be reached
  70  a defect of the manager
  74  standard output can't be written to
  75  stopped at the drain deadline or by a second signal; work was given back
  76  a worker stopped because too many of its threads were held by tasks that do not end
  124 a wait ended before its task did

Start with:
  jobbers demo       the whole system on your own files, in one command
  jobbers up         manager, worker and cleaner in one process
  jobbers submit echo hello=world --wait

`manager`, `worker` and `cleaner` are also programs of these names.";

/// Runs background work: the whole system in one process, and a client for the terminal
#[derive(Debug, Parser)]
#[command(name = "jobbers", version, after_help = AFTER_HELP, arg_required_else_help = true, max_term_width = 100)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What can be done.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Start manager, worker and cleaner in one process
    Up(up::Args),
    /// Start a manager: it accepts tasks over HTTP, routes them to queues, and shows their status
    Manager(Box<jobbers_manager::config::Args>),
    /// Start a worker with the stock tasks: it leases tasks from the store, runs them, and settles them
    Worker(Box<jobbers_worker::config::Args>),
    /// Start a cleaner: it deletes finished tasks and old dead letters, once or at an interval
    Cleaner(Box<jobbers_cleaner::Args>),
    /// Count the words of a folder's files with the whole system, and check the result
    Demo(demo::Args),
    /// Submit tasks
    Submit(submit::Args),
    /// Show all that is known of a task
    Status(status::Args),
    /// Say why a task does not run now
    Explain(explain::Args),
    /// List tasks
    List(list::Args),
    /// List the tasks that run now
    Active(active::Args),
    /// List the tasks that wait for their time
    Scheduled(scheduled::Args),
    /// Cancel tasks, by id or by filter
    Cancel(cancel::Args),
    /// Run scheduled tasks now, or at another time
    Reschedule(reschedule::Args),
    /// Send a signal to a task that waits for it, such as an approval
    Signal(signal::Args),
    /// Make a task that has not started wait for further tasks
    Depend(depend::Args),
    /// Delete tasks, with those that depend only on them
    Delete(delete::Args),
    /// Send tasks again that are over and did not complete
    Resubmit(resubmit::Args),
    /// Look at dead letters: what failed for good, and why; send it again, or delete it
    Dlq(dlq::Args),
    /// Show who changed what
    Audit(audit::Args),
    /// Say whether a manager, a worker or a cleaner can do its work
    Ready(ready::Args),
    /// Examine a store: whether everything in it agrees, and holds what it promises
    Doctor(doctor::Args),
    /// Write all that a store holds as a journal, for a backup or for another engine
    Export(export::Args),
    /// Store what a journal holds
    Import(import::Args),
    /// List access keys, which clients of managers sign in with; create, rotate and revoke them
    #[command(alias = "key")]
    Keys(keys::Args),
    /// Make queues, roles, routes and schedules what a file says
    Apply(apply::Args),
    /// List queues, and steer them
    #[command(alias = "queue")]
    Queues(queues::Args),
    /// List roles, which are the queues that workers serve, and change them
    #[command(alias = "role")]
    Roles(roles::Args),
    /// List the rules by which tasks find their queues, and change them
    #[command(alias = "route")]
    Routes(routes::Args),
    /// List schedules, which start tasks and workflows by cron or at an interval, and change them
    #[command(alias = "schedule")]
    Schedules(schedules::Args),
    /// Submit workflows, which are graphs of tasks; look at them, cancel them and run them again
    #[command(alias = "workflows")]
    Workflow(workflow::Args),
    /// List boards, where clients of MassTasker and TaskStore keep tasks; look at their tasks, delete and release them
    #[command(alias = "board")]
    Boards(boards::Args),
    /// List the tasks that live workers can run
    Registry(registry::Args),
    /// List the workers that are alive
    Workers(workers::Args),
    /// Watch queues, workers and failures as they change
    Top(top::Args),
    /// Measure this machine, beside what the bare store does in the same run
    Bench(bench::Args),
    /// The manager and the cleaner that `bench` measures; it starts them by itself
    #[cfg(feature = "bench")]
    #[command(hide = true)]
    BenchServices(crate::bench::BenchServicesArgs),
    /// The worker that `bench` measures; it starts it by itself
    #[cfg(feature = "bench")]
    #[command(hide = true)]
    BenchWorker(crate::bench::BenchWorkerArgs),
    /// What fits at the cursor; the scripts of `completions` call it
    #[command(hide = true)]
    Complete(complete::Args),
    /// Print completions for a shell
    Completions(completions::Args),
    /// Print the table for submissions in your own database's transactions
    Outbox(outbox::Args),
    /// Write the manual as man pages
    Man(man::Args),
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    /// The arguments of commands that are refused beside one that may come from the environment, where it is set for other
    /// commands too. A cleaner's say what is deleted: it refuses what is not clear.
    fn refused_beside_variables(command: &clap::Command) -> Vec<String> {
        let ours = command.get_arguments().filter(|argument| {
            let conflicts = command.get_arg_conflicts_with(argument);
            conflicts.iter().any(|other| other.get_env().is_some())
        });
        let ours = ours.map(|argument| format!("{} {}", command.get_name(), argument.get_id()));
        let below = command.get_subcommands().filter(|below| below.get_name() != "cleaner");
        ours.chain(below.flat_map(refused_beside_variables)).collect()
    }

    #[test]
    fn no_flag_is_refused_for_what_the_environment_has() {
        let mut command = Cli::command();
        command.build();
        assert_eq!(refused_beside_variables(&command), [""; 0]);
        let flag = || clap::Arg::new("flag").long("flag").conflicts_with("other");
        let other = clap::Arg::new("other").long("other").env("OTHER");
        assert_eq!(refused_beside_variables(&clap::Command::new("one").arg(flag()).arg(other)), ["one flag"]);
    }
}
