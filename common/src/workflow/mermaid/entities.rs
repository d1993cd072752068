//! Entities: how Mermaid writes letters that would end a label, such as `#quot;` and `#35;`.

use std::fmt::Write as _;

/// The names that are read, and their letters.
const NAMES: [(&str, char); 6] =
    [("quot", '"'), ("amp", '&'), ("lt", '<'), ("gt", '>'), ("apos", '\''), ("nbsp", '\u{a0}')];

/// The text with letters in the place of its entities. What has not the form of an entity stays. The work grows with the text.
///
/// # Errors
/// An entity that is not known.
pub(super) fn decode(text: &str) -> Result<String, String> {
    let mut decoded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('#') {
        decoded.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        let end = after.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_').unwrap_or(after.len());
        let (name, behind) = after.split_at(end);
        match behind.strip_prefix(';') {
            Some(behind) if !name.is_empty() => {
                decoded.push(letter_of(name)?);
                rest = behind;
            }
            _ => {
                decoded.push('#');
                decoded.push_str(name);
                rest = behind;
            }
        }
    }
    decoded.push_str(rest);
    Ok(decoded)
}

fn letter_of(name: &str) -> Result<char, String> {
    let named = NAMES.into_iter().find(|(known, _)| *known == name).map(|(_, letter)| letter);
    // Browsers show other letters for these numbers.
    let number = name.parse::<u32>().ok().filter(|number| *number > 0 && !(0x80..0xa0).contains(number));
    named.or_else(|| number.and_then(char::from_u32)).ok_or_else(|| {
        let shown: String = name.chars().take(20).collect();
        format!("#{shown}; is not a known character: write the number of one, such as #35; for #")
    })
}

/// Writes as entities what would end a label, and what Mermaid would read as something else or show otherwise.
pub(super) fn encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for (at, letter) in text.char_indices() {
        let is_comment = letter == '%' && text[at + 1..].starts_with('%');
        // A line with the word, a blank and TB or the like sets the direction of the whole chart.
        let is_direction = letter.is_whitespace() && text[..at].ends_with("direction");
        match letter {
            '"' => encoded.push_str("#quot;"),
            '#' | '<' | '>' | '&' | '\n' | '\r' | '\t' => number(&mut encoded, letter),
            _ if is_comment || is_direction => number(&mut encoded, letter),
            _ => encoded.push(letter),
        }
    }
    encoded
}

fn number(encoded: &mut String, letter: char) {
    write!(encoded, "#{};", u32::from(letter)).ok();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_encoded_is_decoded_again() {
        for text in ["", "#", "##;;", "#quot;", "a\"b<c>&\n\r\t%%%", "direction TB", "#35", "ä🦀#", "#x;"] {
            assert_eq!(decode(&encode(text)).as_deref(), Ok(text));
        }
        assert_eq!(encode("direction TB %% \"1\""), "direction#32;TB #37;% #quot;1#quot;");
    }

    #[test]
    fn only_known_entities_are_read() {
        for (text, letters) in [("#lt;#gt;#amp;#apos;#39;", "<>&''"), ("#a b;", "#a b;"), ("#;", "#;"), ("##35;", "##")]
        {
            assert_eq!(decode(text).as_deref(), Ok(letters), "{text}");
        }
        for text in ["#fff;", "#0;", "#128;", "#55296;", "#99999999999;"] {
            assert!(decode(text).unwrap_err().contains("#35; for #"), "{text}");
        }
    }
}
