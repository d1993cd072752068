//! Letters with a meaning, in records, arguments and answers.

/// A letter, or a few, with a meaning.
pub(super) struct LayoutCode {
    pub(super) group: &'static str,
    pub(super) name: &'static str,
    pub(super) letters: &'static str,
}

macro_rules! codes {
    ($($group:ident { $($name:ident $letters:literal)* })*) => {
        /// All letters, by their group.
        pub(super) const CODES: &[LayoutCode] =
            &[$($(LayoutCode { group: stringify!($group), name: stringify!($name), letters: $letters }),*),*];
    };
}

codes! {
    state {
        waiting "0" scheduled "1" submitted "2" started "3" completed "4" failed "5" cancelled "6" aborted "7"
        dropped "8" stalled "9" fresh "N" cancelling "K"
    }
    size { small "S" large "L" }
    remains { marked ">" }
    by { worker "S" cancelling "K" store "N" }
    span { kept "T" }
    outcome {
        completed "c" retry "r" failed "f" stalled "s" aborted "a" unknown "u" cancelled "x" released "l"
        unstarted "n"
    }
    failure { crash "c" fatal "f" expired "o" }
    flag { yes "1" no "0" }
    batches { left "n" }
    leases {
        sentinel "#################################################################"
        batch "##################################################"
    }
    linked { no "0" yes "1" spontaneous "2" }
    start { after "a" at "t" }
    conflict { fail "f" skip "s" replace "r" }
    duplicate { reject "j" answer "t" replace "p" keep_last "k" }
    submitted {
        created "c" scheduled "d" replaced "r" replaced_scheduled "p" existing "e" refused "x" held "h" updated "u"
        body_differs "b" started "s" full "f" heavy "g" rate "q"
    }
    whole { created "C" replaced "R" existing "E" updated "U" }
    settled { lost "-" over "=" over_by_cancel "#" written "w" }
    mark { needs_record "R" }
    extended { done "e" cancelling "c" lost "l" }
    cancelled { done "d" requested "r" unknown "u" }
    rescheduled { done "d" now "n" unknown "u" }
    deleted { done "d" running "r" unknown "u" }
    gone { deleted "d" cascade "c" waited "w" }
    resubmitted { done "d" already "a" live "l" moved "m" unknown "u" queue "q" held "h" }
    restored { done "d" already "a" conflict "c" queue "q" held "h" }
    gate { key "k" task "t" suspect "!" unknown "?" }
    suspicion { none "0" }
    fire { start "s" cancel "c" hold "h" }
    run_kind { task "t" workflow "w" }
    run_state { submitting "0" }
    board_call { commit "c" creation "n" deletion "d" take "t" }
    board_said {
        done "d" already "a" conflict "x" twice "w" many "m" bytes "b" found "f" none "n" missing "r" late "l"
    }
    pick_kind { revision "r" group "g" labels "l" }
    when_kind { at "a" span "i" }
    signal_state { waiting "0" received "1" timed_out "2" unneeded "3" }
    on_timeout { abort "0" run "1" }
    signalled { done "d" late "l" unknown_signal "n" unknown_task "u" kept "k" too_many "m" }
    policy { abort_successors "0" run_with_failures "1" run_on_error "2" }
}
