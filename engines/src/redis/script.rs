//! The scripts: read from their files, put together with what they include, known to the server by their digest.
//!
//! A script opens with `#!lua` and its flags and says its purpose. A line `-- include …` is replaced by the text of the
//! files of `scripts/lib` it names; it stands in a branch where only that branch needs them.

use std::sync::LazyLock;

/// A script ready to be run.
pub(super) struct Script {
    /// Its whole text.
    pub(super) text: String,
    /// The digest the server knows it by.
    pub(super) sha: String,
}

const LIBRARY: [(&str, &str); 24] = [
    ("base", include_str!("scripts/lib/base.lua")),
    ("numbers", include_str!("scripts/lib/numbers.lua")),
    ("wake", include_str!("scripts/lib/wake.lua")),
    ("sizes", include_str!("scripts/lib/sizes.lua")),
    ("sized", include_str!("scripts/lib/sized.lua")),
    ("awaited", include_str!("scripts/lib/awaited.lua")),
    ("moves", include_str!("scripts/lib/moves.lua")),
    ("tend", include_str!("scripts/lib/tend.lua")),
    ("settle", include_str!("scripts/lib/settle.lua")),
    ("claim", include_str!("scripts/lib/claim.lua")),
    ("replay", include_str!("scripts/lib/replay.lua")),
    ("limits", include_str!("scripts/lib/limits.lua")),
    ("aside", include_str!("scripts/lib/aside.lua")),
    ("gates", include_str!("scripts/lib/gates.lua")),
    ("length", include_str!("scripts/lib/length.lua")),
    ("judge", include_str!("scripts/lib/judge.lua")),
    ("unique", include_str!("scripts/lib/unique.lua")),
    ("duplicates", include_str!("scripts/lib/duplicates.lua")),
    ("withdraw", include_str!("scripts/lib/withdraw.lua")),
    ("view", include_str!("scripts/lib/view.lua")),
    ("over", include_str!("scripts/lib/over.lua")),
    ("remove", include_str!("scripts/lib/remove.lua")),
    ("audit", include_str!("scripts/lib/audit.lua")),
    ("queue", include_str!("scripts/lib/queue.lua")),
];

const INCLUDE: &str = "-- include ";

fn library(name: &str) -> &'static str {
    LIBRARY.iter().find(|(known, _)| *known == name).map_or("", |(_, text)| text)
}

/// Adds a source with all that it includes, and that these include.
fn put_together(source: &str, text: &mut String) {
    for line in source.lines() {
        match line.trim_start().strip_prefix(INCLUDE) {
            Some(names) => names.split(' ').for_each(|name| put_together(library(name), text)),
            None => text.push_str(line),
        }
        text.push('\n');
    }
}

impl Script {
    fn new(source: &str) -> Self {
        let mut text = String::with_capacity(16 * 1024);
        put_together(source, &mut text);
        let sha = redis::Script::new(&text).get_hash().to_owned();
        Self { text, sha }
    }
}

macro_rules! scripts {
    ($($name:ident = $file:literal;)*) => {
        $(pub(super) static $name: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!($file)));)*

        /// Every script and its source, for the tests.
        #[cfg(test)]
        pub(super) const ALL: &[(&str, &LazyLock<Script>, &str)] = &[$(($file, &$name, include_str!($file))),*];
    };
}

scripts! {
    AUDIT = "scripts/audit.lua";
    AWAIT = "scripts/await.lua";
    CANCEL = "scripts/cancel.lua";
    CATALOGUE = "scripts/catalogue.lua";
    CLAIM_DUTY = "scripts/claim_duty.lua";
    CONFIGURE = "scripts/configure.lua";
    CYCLE = "scripts/cycle.lua";
    DEAD_LETTERS = "scripts/dead_letters.lua";
    DEREGISTER = "scripts/deregister.lua";
    DUTY = "scripts/duty.lua";
    EXTEND = "scripts/extend.lua";
    FINISHED = "scripts/finished.lua";
    FORGET_DEAD_LETTERS = "scripts/forget_dead_letters.lua";
    FORGET_RECEIPTS = "scripts/forget_receipts.lua";
    GET = "scripts/get.lua";
    KEEP_CATALOGUE = "scripts/keep_catalogue.lua";
    LIST_LIVE = "scripts/list_live.lua";
    LIST_OVER = "scripts/list_over.lua";
    MOVE = "scripts/move.lua";
    OPEN = "scripts/open.lua";
    PLACE = "scripts/place.lua";
    PROMOTE = "scripts/promote.lua";
    PRUNE = "scripts/prune.lua";
    PURGE = "scripts/purge.lua";
    READ = "scripts/read.lua";
    RECLAIM = "scripts/reclaim.lua";
    REGISTER = "scripts/register.lua";
    RELEASE_DUTY = "scripts/release_duty.lua";
    RENEW_AWAITING = "scripts/renew_awaiting.lua";
    REPAIR = "scripts/repair.lua";
    RESUBMIT = "scripts/resubmit.lua";
    STATS = "scripts/stats.lua";
    SUBMIT = "scripts/submit.lua";
    SWEEP_AWAITED = "scripts/sweep_awaited.lua";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_script_says_what_it_may_and_includes_what_is_there() {
        for (file, script, source) in ALL {
            assert!(source.starts_with("#!lua"), "{file} declares its flags");
            let included = source.lines().filter_map(|line| line.trim_start().strip_prefix(INCLUDE));
            for name in included.flat_map(|names| names.split(' ')) {
                assert!(!library(name).is_empty(), "{file} includes {name}");
            }
            assert!(!script.text.contains(INCLUDE), "{file}: all is put in its place");
        }
    }

    #[test]
    fn what_drains_a_full_server_may_run_on_one_and_what_fills_it_may_not() {
        let flags = |script: &Script| script.text.lines().next().unwrap().to_owned();
        let tends = [&CYCLE, &EXTEND, &CANCEL, &PROMOTE, &RECLAIM, &PRUNE, &PURGE, &REPAIR];
        for script in tends.into_iter().chain([&FORGET_DEAD_LETTERS, &FORGET_RECEIPTS]) {
            assert_eq!(flags(script), "#!lua flags=allow-oom");
        }
        for script in [&SUBMIT, &RESUBMIT, &MOVE] {
            assert_eq!(flags(script), "#!lua");
        }
    }
}
