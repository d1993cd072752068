//! The attributes of a declared schedule, and their expansion.

use jobbers_terms::schedule::{Slots, Timing};
use proc_macro2::TokenStream;
use quote::quote;
use syn::{Error, LitStr, Result};

/// The attributes `cron` and `time_zone`.
#[derive(Debug, Default)]
pub(crate) struct CronAttributes {
    /// When the task is submitted.
    pub(crate) expression: Option<LitStr>,
    /// By the clock of which zone.
    pub(crate) time_zone: Option<LitStr>,
}

impl CronAttributes {
    fn time_zone(&self) -> String {
        self.time_zone.as_ref().map_or_else(|| "UTC".to_owned(), LitStr::value)
    }

    /// The code added to the task, if it declares a schedule.
    pub(crate) fn write(&self) -> Option<TokenStream> {
        let (expression, time_zone) = (self.expression.as_ref()?, self.time_zone());
        Some(quote!(.cron(#expression, #time_zone)))
    }
}

/// Checks the attributes together, as the manager checks a schedule that is put.
pub(crate) fn check(said: &CronAttributes) -> Result<()> {
    let Some(expression) = &said.expression else {
        return match &said.time_zone {
            Some(zone) => Err(Error::new(zone.span(), "`time_zone` needs `cron`, whose clock it says")),
            None => Ok(()),
        };
    };
    let timing = Timing::Cron { expression: expression.value(), time_zone: said.time_zone() };
    Slots::of(&timing).map(drop).map_err(|error| {
        let at = said.time_zone.as_ref().filter(|_| error.field == "time_zone").unwrap_or(expression);
        Error::new(at.span(), format!("`{}` {}", error.field, error.rule))
    })
}
