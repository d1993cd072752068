//! The fields of a form while it is answered: the page that says why it was refused shows what was typed.

use axum::{
    body::Body,
    extract::Request,
    middleware::Next,
    response::{IntoResponse, Response},
};

use super::{
    ask::{pairs, read_form},
    token::TOKEN_FIELD,
};

/// The field with the name of the button that was pressed.
const ACT: &str = "act";
/// What forms carry besides what is typed into them.
const CARRIED: [&str; 5] = ["id", "shown", "signal", "sure", "tag"];

tokio::task_local! {
    /// The fields of the form that is being answered.
    static FIELDS: Vec<(String, String)>;
}

/// Notes what was typed while a form is answered.
pub(crate) async fn around(request: Request, next: Next) -> Response {
    if request.method().is_safe() {
        return next.run(request).await;
    }
    let (parts, body) = request.into_parts();
    let body = match read_form(body).await {
        Ok(body) => body,
        Err(refusal) => return refusal.into_response(),
    };
    // What is no form is refused by who reads it.
    let fields = pairs(&body).unwrap_or_default();
    FIELDS.scope(fields, next.run(Request::from_parts(parts, Body::from(body)))).await
}

/// A form that was sent.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct SentForm {
    /// The button that was pressed.
    pub(crate) act: Option<String>,
    /// Names and values of what was typed, and of what the form carries besides.
    pub(crate) typed: Vec<(String, String)>,
    pub(crate) carried: Vec<(String, String)>,
}

/// The form that is being answered; none if nothing was typed into it.
pub(crate) fn sent() -> Option<SentForm> {
    FIELDS.try_with(|fields| read(fields)).ok().flatten()
}

fn read(fields: &[(String, String)]) -> Option<SentForm> {
    let mut form = SentForm::default();
    for (name, value) in fields {
        match name.as_str() {
            TOKEN_FIELD => {}
            ACT => form.act = Some(value.clone()),
            carried if CARRIED.contains(&carried) => form.carried.push((name.clone(), value.clone())),
            _ => form.typed.push((name.clone(), value.clone())),
        }
    }
    form.typed.iter().any(|(_, value)| !value.trim().is_empty()).then_some(form)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of forms that show themselves again, and of signing in.
    const OTHERS: [&str; 4] = ["name", "version", "from", "back"];

    #[test]
    fn each_hidden_field_is_carried_and_no_other() {
        let mut hidden = std::collections::BTreeSet::new();
        let mut folders = vec![std::path::PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/src"))];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|it| it == "rs") {
                    let text = std::fs::read_to_string(path).unwrap();
                    let fields = text.split("type=\"hidden\" name=\"").skip(1);
                    hidden.extend(fields.filter_map(|rest| Some(rest.split_once('"')?.0.to_owned())));
                }
            }
        }
        hidden.retain(|field| !OTHERS.contains(&field.as_str()));
        assert_eq!(hidden.iter().map(String::as_str).collect::<Vec<_>>(), CARRIED);
    }

    #[test]
    fn a_button_alone_was_not_typed() {
        let field = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let pressed = [field("act", "pause"), field("tag", "1"), field("csrf", "x"), field("delay", " ")];
        assert_eq!(read(&pressed), None);
        let typed = [field("act", "edit"), field("tag", "1"), field("csrf", "x"), field("cron", "* *")];
        let (act, typed_fields) = (Some("edit".to_owned()), vec![field("cron", "* *")]);
        assert_eq!(read(&typed), Some(SentForm { act, typed: typed_fields, carried: vec![field("tag", "1")] }));
    }
}
