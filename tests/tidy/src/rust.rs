//! Reads Rust sources as text: their tokens, and the paths that lead from one file to another.

/// A path in a source.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Path<'a> {
    /// Its names, such as `crate`, `a` and `B`.
    pub(crate) names: Vec<&'a str>,
    /// Whether it is one of a `pub use`, of any visibility.
    pub(crate) is_shown: bool,
}

/// What begins an item for tests alone.
const FOR_TESTS: [&str; 7] = ["#", "[", "cfg", "(", "test", ")", "]"];

/// The tokens of a source: names, `::` and single characters, without comments and literals.
pub(crate) fn tokens(text: &str) -> Vec<&str> {
    let (mut tokens, mut rest) = (Vec::new(), text);
    while let Some(first) = rest.chars().next() {
        let skipped = comment_len(rest).or_else(|| literal_len(rest));
        let mark = if rest.starts_with("::") { 2 } else { first.len_utf8() };
        let (token, after) = rest.split_at(skipped.unwrap_or_else(|| name_len(rest).max(mark)));
        if skipped.is_none() && !first.is_whitespace() {
            tokens.push(token);
        }
        rest = after;
    }
    tokens
}

/// The same without the items for tests alone.
pub(crate) fn without_tests<'a>(tokens: &[&'a str]) -> Vec<&'a str> {
    let (mut kept, mut rest) = (Vec::new(), tokens);
    while let Some(at) = begin_of_tests(rest) {
        kept.extend(&rest[..at]);
        let after = &rest[at + FOR_TESTS.len()..];
        rest = &after[item_len(after)..];
    }
    kept.extend(rest);
    kept
}

/// The names of the files that a source declares for tests alone.
pub(crate) fn test_files<'a>(tokens: &[&'a str]) -> Vec<&'a str> {
    let (mut names, mut rest) = (Vec::new(), tokens);
    while let Some(at) = begin_of_tests(rest) {
        rest = &rest[at + FOR_TESTS.len()..];
        if let [.., "mod", name, ";"] = &rest[..item_len(rest)] {
            names.push(*name);
        }
    }
    names
}

/// The paths of all `use`, and those of more than one name.
pub(crate) fn paths<'a>(tokens: &[&'a str]) -> Vec<Path<'a>> {
    let (mut paths, mut at) = (Vec::new(), 0);
    while at < tokens.len() {
        match &tokens[at..] {
            // A visibility with a path.
            ["pub", "(", "in", rest @ ..] => at += 3 + rest.iter().take_while(|token| **token != ")").count(),
            // No `use<'a>` of a type.
            ["use", first, ..] if *first != "<" => {
                let is_shown = at > 0 && matches!(tokens[at - 1], "pub" | ")");
                at = expand(tokens, at + 1, &[], &mut |names| paths.push(Path { names, is_shown }));
            }
            [first, "::", ..] if name_len(first) > 0 => {
                let names: Vec<&str> = path_at(&tokens[at..]);
                let is_start = at == 0 || tokens[at - 1] != "::";
                at += 2 * names.len() - 1;
                if is_start && names.len() > 1 {
                    paths.push(Path { names, is_shown: false });
                }
            }
            _ => at += 1,
        }
    }
    paths
}

/// The names of the path that begins here.
fn path_at<'a>(tokens: &[&'a str]) -> Vec<&'a str> {
    let more = tokens[1..].chunks_exact(2).take_while(|pair| pair[0] == "::" && name_len(pair[1]) > 0);
    std::iter::once(tokens[0]).chain(more.map(|pair| pair[1])).collect()
}

/// Gives each path of a `use` to `found`, and returns the place after it.
fn expand<'a>(tokens: &[&'a str], mut at: usize, above: &[&'a str], found: &mut impl FnMut(Vec<&'a str>)) -> usize {
    let mut names = above.to_vec();
    while let Some(token) = tokens.get(at) {
        match *token {
            "{" => {
                while !matches!(tokens.get(at), Some(&"}") | None) {
                    at = expand(tokens, at + 1, &names, found);
                }
                return at + 1;
            }
            "," | "}" | ";" => break,
            "as" => at += 1,
            name if name_len(name) > 0 => names.push(name),
            _ => {}
        }
        at += 1;
    }
    if names.len() > above.len() || tokens.get(at.wrapping_sub(1)) == Some(&"*") {
        found(names);
    }
    at
}

fn begin_of_tests(tokens: &[&str]) -> Option<usize> {
    tokens.windows(FOR_TESTS.len()).position(|window| window == FOR_TESTS)
}

/// The tokens of the item that begins here.
fn item_len(tokens: &[&str]) -> usize {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate() {
        match *token {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 && matches!(*token, ";" | "}") {
            return at + 1;
        }
    }
    tokens.len()
}

fn name_len(text: &str) -> usize {
    text.find(|letter: char| !letter.is_alphanumeric() && letter != '_').unwrap_or(text.len())
}

fn comment_len(text: &str) -> Option<usize> {
    let end = if text.starts_with("//") { "\n" } else { text.starts_with("/*").then_some("*/")? };
    Some(text.find(end).map_or(text.len(), |at| at + end.len()))
}

/// The bytes of the string or character that a text begins with.
fn literal_len(text: &str) -> Option<usize> {
    if let Some(len) = raw_len(text) {
        return Some(len);
    }
    if let Some(inside) = text.strip_prefix('"') {
        let mut is_escaped = false;
        let end = inside.find(|letter: char| {
            let is_end = letter == '"' && !is_escaped;
            is_escaped = letter == '\\' && !is_escaped;
            is_end
        });
        return Some(end.map_or(text.len(), |at| at + 2));
    }
    let inside = text.strip_prefix('\'')?;
    let first = inside.chars().next()?;
    if first == '\\' {
        return inside.get(2..)?.find('\'').map(|at| at + 4);
    }
    // Otherwise it is a lifetime.
    inside[first.len_utf8()..].starts_with('\'').then_some(first.len_utf8() + 2)
}

fn raw_len(text: &str) -> Option<usize> {
    let inside = ["r", "br", "cr"].iter().find_map(|prefix| text.strip_prefix(prefix))?;
    let hashes = inside.len() - inside.trim_start_matches('#').len();
    let start = text.len() - inside[hashes..].strip_prefix('"')?.len();
    let end = format!("\"{}", "#".repeat(hashes));
    Some(text[start..].find(&end).map_or(text.len(), |at| start + at + end.len()))
}

#[test]
fn literals_and_comments_are_no_code() {
    let text = r##"a /* b */ "c \" d" 'e' '\'' '"' r#"f " g"# h::i<'j> // k"##;
    assert_eq!(tokens(text), ["a", "h", "::", "i", "<", "'", "j", ">"]);
    assert_eq!(tokens(r#""\\" x"#), ["x"]);
}

#[test]
fn a_use_names_all_of_its_paths() {
    let tokens =
        tokens("pub(crate) use a::{b::{self, C as D}, e::*, f}; fn g() { h::i::<J>::k(L::M) } pub(in n::o) fn p() {}");
    let found: Vec<(String, bool)> = paths(&tokens).into_iter().map(|it| (it.names.join(" "), it.is_shown)).collect();
    let expected = [("a b self", true), ("a b C", true), ("a e", true), ("a f", true), ("h i", false), ("L M", false)];
    assert_eq!(found, expected.map(|(names, is_shown)| (names.to_owned(), is_shown)));
}
