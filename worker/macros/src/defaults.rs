//! What the submissions of a task say unless they say otherwise: its queue, priority, labels and concurrency key.

use jobbers_terms::{
    name::QueueName,
    task::{Priority, label::Label},
};
use proc_macro2::TokenStream;
use quote::quote;
use syn::{Error, LitStr, Result, Type};

use crate::uniqueness::ParameterField;

/// The attributes given so far.
#[derive(Debug, Default)]
pub(crate) struct Defaults {
    pub(crate) queue: Option<QueueName>,
    pub(crate) priority: Option<u8>,
    /// Names and values.
    pub(crate) labels: Vec<(String, String)>,
    pub(crate) concurrency_key: Option<ParameterField>,
    /// Whether what a task holds is hidden from readers. No submission can say otherwise.
    pub(crate) sensitive: bool,
}

pub(crate) fn priority(number: u32) -> std::result::Result<u8, &'static str> {
    let priority = u8::try_from(number).ok().and_then(Priority::new);
    priority.map(Priority::get).ok_or("a priority is 0 to 9")
}

/// `team=billing`.
pub(crate) fn label(text: &LitStr) -> Result<(String, String)> {
    let said = text.value();
    let Some((name, value)) = said.split_once('=') else {
        return Err(Error::new(text.span(), "a label is written name=value: \"team=billing\""));
    };
    Label::new(name, value).map_err(|problem| Error::new(text.span(), problem.to_string()))?;
    Ok((name.to_owned(), value.to_owned()))
}

impl Defaults {
    /// The code added to the task, if anything was said.
    pub(crate) fn write(&self, job: &Type) -> Option<TokenStream> {
        let Self { sensitive, .. } = self;
        let is_said = self.queue.is_some() || self.priority.is_some() || !self.labels.is_empty();
        if !is_said && self.concurrency_key.is_none() && !sensitive {
            return None;
        }
        let queue = match &self.queue {
            Some(queue) => {
                let queue = queue.as_str();
                quote!(::core::option::Option::Some(#queue))
            }
            None => quote!(::core::option::Option::None),
        };
        let priority = match self.priority {
            Some(priority) => quote!(::core::option::Option::Some(#priority)),
            None => quote!(::core::option::Option::None),
        };
        let labels = self.labels.iter().map(|(name, value)| quote!((#name, #value)));
        let key = match &self.concurrency_key {
            Some(field) => {
                let value = field.write_value();
                quote!(::core::option::Option::Some(|job: &#job| {
                    ::jobbers_worker::macro_support::concurrency_key_of(#value)
                }))
            }
            None => quote!(::core::option::Option::None),
        };
        Some(quote!(.defaults(::jobbers_worker::macro_support::Defaults {
            queue: #queue,
            priority: #priority,
            labels: &[#(#labels),*],
            concurrency_key: #key,
            sensitive: #sensitive,
        })))
    }
}
