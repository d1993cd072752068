//! Removes the secrets of keys from text that leaves a program.

use std::borrow::Cow;

use super::{ID_LENGTH, KEY_PREFIX};

/// What is shown in place of a secret.
const HIDDEN: &str = "[secret]";

/// The text without the secrets of keys in it: of `jb_<id>_<secret>` the part after the id is replaced. Text without a key
/// is not copied.
#[must_use]
pub fn redact(text: &str) -> Cow<'_, str> {
    let mut shown = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(KEY_PREFIX) {
        let after_prefix = at + KEY_PREFIX.len();
        let Some(begin) = secret_in(&rest[after_prefix..]).map(|begin| after_prefix + begin) else {
            shown.push_str(&rest[..after_prefix]);
            rest = &rest[after_prefix..];
            continue;
        };
        shown.push_str(&rest[..begin]);
        shown.push_str(HIDDEN);
        let end = rest[begin..].find(|c: char| !c.is_ascii_alphanumeric()).map_or(rest.len(), |end| begin + end);
        rest = &rest[end..];
    }
    if shown.is_empty() {
        return Cow::Borrowed(text);
    }
    shown.push_str(rest);
    Cow::Owned(shown)
}

/// Where the secret begins in what follows the prefix, if that is the rest of a key, whole or cut off.
fn secret_in(rest: &str) -> Option<usize> {
    let (id, after) = rest.split_at_checked(ID_LENGTH)?;
    let is_id = id.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let begins_secret = after.strip_prefix('_')?.starts_with(|c: char| c.is_ascii_alphanumeric());
    (is_id && begins_secret).then_some(ID_LENGTH + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_secret_is_left_and_other_text_is() {
        let secret = "0123456789abcdefghjkmnpqrstvwxyz0123456789abcdefghjk1234";
        let key = format!("jb_0123456789_{secret}");
        for (text, expected) in [
            (key.clone(), "jb_0123456789_[secret]".to_owned()),
            (format!("Bearer {key}, {key}\n"), "Bearer jb_0123456789_[secret], jb_0123456789_[secret]\n".to_owned()),
            (key.to_uppercase().replace("JB_", "jb_"), "jb_0123456789_[secret]".to_owned()),
            (key[..30].to_owned(), "jb_0123456789_[secret]".to_owned()),
            (format!("jb_jb_0123456789_{secret}é"), "jb_jb_0123456789_[secret]é".to_owned()),
        ] {
            assert_eq!(redact(&text), expected);
        }
        for text in ["", "jb_", "jb_0123456789", "jb_0123456789_", "a job_of_mine", "jb_ä123456789_x", "plain"] {
            assert_eq!(redact(text), text);
        }
        assert!(matches!(redact("a job without one"), Cow::Borrowed(_)));
    }
}
