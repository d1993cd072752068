//! Which names a script uses, and whether something gives them: a name that nothing gives fails when a server runs that line,
//! and not before.
//!
//! It reads a script's tokens and follows its blocks. Functions that nothing calls may use what they like: a script includes
//! whole files, of which it needs some functions. Start reading at [`missing`].

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    mem,
};

use super::ALL;

/// What Redis gives every script.
const GIVEN: &[&str] = &[
    "ARGV",
    "KEYS",
    "cmsgpack",
    "ipairs",
    "math",
    "next",
    "pairs",
    "pcall",
    "redis",
    "select",
    "setmetatable",
    "string",
    "struct",
    "table",
    "tonumber",
    "tostring",
    "type",
    "unpack",
];
const WORDS: &[&str] = &[
    "and", "break", "do", "else", "elseif", "end", "false", "for", "function", "if", "in", "local", "nil", "not", "or",
    "repeat", "return", "then", "true", "until", "while",
];

/// The tokens of a script: names, words, `==`, and single characters; no comments, and a number or a text as `0`.
fn tokens(text: &str) -> Vec<&str> {
    let (mut found, mut rest) = (Vec::new(), text.trim_start_matches(|it| it != '\n'));
    while let Some(first) = rest.chars().next() {
        let is_name = |it: char| it.is_ascii_alphanumeric() || it == '_';
        let (token, length) = match first {
            '-' if rest.starts_with("--") => (None, rest.find('\n').unwrap_or(rest.len())),
            '\'' | '"' => (Some("0"), text_length(rest, first)),
            _ if is_name(first) => {
                let end = rest.find(|it| !is_name(it)).unwrap_or(rest.len());
                (Some(if first.is_ascii_digit() { "0" } else { &rest[..end] }), end)
            }
            '=' | '~' | '<' | '>' if rest[1..].starts_with('=') => (Some(&rest[..2]), 2),
            _ if first.is_whitespace() => (None, first.len_utf8()),
            _ => (Some(&rest[..first.len_utf8()]), first.len_utf8()),
        };
        found.extend(token);
        rest = &rest[length..];
    }
    found
}

/// The length of a text in quotes.
fn text_length(text: &str, quote: char) -> usize {
    let mut is_escaped = false;
    let end = text[1..].find(|it| {
        let is_end = it == quote && !is_escaped;
        is_escaped = it == '\\' && !is_escaped;
        is_end
    });
    end.map_or(text.len(), |end| end + 2)
}

/// A name that was declared; its uses are those of the function that it names, if it names one. 0: the script itself.
type Declared = usize;

/// An open block, or an open bracket.
struct Block<'a> {
    opened_by: &'a str,
    /// The names declared in it; `None` in a bracket.
    names: Option<HashMap<&'a str, Declared>>,
    /// The function whose code it is.
    function: Declared,
}

#[derive(Default)]
struct Names<'a> {
    blocks: Vec<Block<'a>>,
    /// The variables of loops whose `do` is still to come, and how many blocks were open.
    loops: Vec<(usize, Vec<&'a str>)>,
    /// By function.
    uses: Vec<Uses<'a>>,
}

/// What a function uses.
#[derive(Default)]
struct Uses<'a> {
    declared: HashSet<Declared>,
    /// Names that nothing gives.
    missing: BTreeSet<&'a str>,
}

impl<'a> Names<'a> {
    fn function(&self) -> Declared {
        self.blocks.last().map_or(0, |block| block.function)
    }

    fn open(&mut self, opened_by: &'a str, names: Option<&[&'a str]>, function: Declared) {
        self.blocks.push(Block { opened_by, names: names.map(|_| HashMap::new()), function });
        for name in names.unwrap_or_default() {
            self.declare(name);
        }
    }

    fn declare(&mut self, name: &'a str) -> Declared {
        self.uses.push(Uses::default());
        let declared = self.uses.len() - 1;
        if let Some(names) = self.blocks.iter_mut().rev().find_map(|block| block.names.as_mut()) {
            names.insert(name, declared);
        }
        declared
    }

    fn find(&self, name: &str) -> Option<Declared> {
        self.blocks.iter().rev().find_map(|block| block.names.as_ref()?.get(name).copied())
    }

    fn note_use(&mut self, name: &'a str) {
        let (found, function) = (self.find(name), self.function());
        match found {
            Some(declared) => self.uses[function].declared.extend([declared]),
            None if GIVEN.contains(&name) => {}
            None => self.uses[function].missing.extend([name]),
        }
    }

    /// Opens a function whose parameters begin here. Returns the place after them.
    fn open_function(&mut self, tokens: &[&'a str], at: usize, function: Declared) -> usize {
        let end = at + tokens[at..].iter().position(|token| *token == ")").unwrap();
        let parameters: Vec<&str> = tokens[at + 1..end].iter().copied().filter(|token| is_name(token)).collect();
        self.open("function", Some(&parameters), function);
        end + 1
    }

    /// Takes the token at a place, and those that belong to it. Returns the place after them.
    fn take(&mut self, tokens: &[&'a str], at: usize) -> usize {
        let (token, function) = (tokens[at], self.function());
        match token {
            "local" if tokens[at + 1] == "function" => {
                let named = self.declare(tokens[at + 2]);
                return self.open_function(tokens, at + 3, named);
            }
            "local" => {
                let names = tokens[at + 1..].chunks(2).take_while(|pair| is_name(pair[0]));
                let mut count = 0;
                for pair in names {
                    self.declare(pair[0]);
                    count += 1;
                    if pair.get(1) != Some(&",") {
                        break;
                    }
                }
                return at + 2 * count;
            }
            "function" if tokens[at + 1] == "(" => return self.open_function(tokens, at + 1, function),
            "function" => {
                // A name that was declared before.
                let named = self.find(tokens[at + 1]).unwrap_or(function);
                return self.open_function(tokens, at + 2, named);
            }
            "for" => {
                let end = at + tokens[at..].iter().position(|token| matches!(*token, "=" | "in")).unwrap();
                let names = tokens[at + 1..end].iter().copied().filter(|token| is_name(token)).collect();
                self.loops.push((self.blocks.len(), names));
                return end + 1;
            }
            "do" => {
                let is_loop = self.loops.last().is_some_and(|(open, _)| *open == self.blocks.len());
                let names = if is_loop { self.loops.pop().unwrap().1 } else { Vec::new() };
                self.open(token, Some(&names), function);
            }
            "then" | "repeat" => self.open(token, Some(&[]), function),
            "else" => {
                self.blocks.pop();
                self.open(token, Some(&[]), self.function());
            }
            "end" | "until" | "elseif" | ")" | "}" | "]" => drop(self.blocks.pop()),
            "(" | "{" | "[" => self.open(token, None, function),
            _ if is_name(token) => {
                let is_field =
                    at > 0 && matches!(tokens[at - 1], "." | ":") && tokens.get(at.wrapping_sub(2)) != Some(&".");
                let is_key =
                    self.blocks.last().is_some_and(|block| block.opened_by == "{") && tokens.get(at + 1) == Some(&"=");
                if !is_field && !is_key {
                    self.note_use(token);
                }
            }
            _ => {}
        }
        at + 1
    }
}

fn is_name(token: &str) -> bool {
    token.starts_with(|it: char| it.is_ascii_alphabetic() || it == '_') && !WORDS.contains(&token)
}

/// The names that the code of a script uses, or the functions that it calls, and that nothing gives.
fn missing(text: &str) -> BTreeSet<&str> {
    let tokens = tokens(text);
    let mut names = Names { uses: vec![Uses::default()], ..Names::default() };
    names.open("script", Some(&[]), 0);
    let mut at = 0;
    while at < tokens.len() {
        at = names.take(&tokens, at);
    }
    assert_eq!(names.blocks.len(), 1, "every block ends");
    let (mut called, mut open, mut found) = (HashSet::from([0]), vec![0], BTreeSet::new());
    while let Some(function) = open.pop() {
        let Uses { declared, missing } = mem::take(&mut names.uses[function]);
        found.extend(missing);
        open.extend(declared.into_iter().filter(|used| called.insert(*used)));
    }
    found
}

#[test]
fn a_name_that_nothing_gives_is_found() {
    for (text, expected) in [
        ("#!lua\nreturn a", vec!["a"]),
        ("\nlocal a = 1\nreturn a .. b", vec!["b"]),
        ("\nif x then\n local a = 1\nend\nreturn a", vec!["a", "x"]),
        ("\nlocal function f()\n return g()\nend\nreturn f()", vec!["g"]),
        ("\nlocal f\nf = function()\n return g()\nend\nreturn f()", vec!["g"]),
        ("\nlocal f\nfunction f()\n return g()\nend\nreturn f()", vec!["g"]),
        ("\nfor i, one in ipairs(KEYS) do\n redis.call(one, i, other)\nend\nreturn one", vec!["one", "other"]),
        ("\nlocal t = { a = b, ['c'] = d }\nreturn t.e, t:f(g)", vec!["b", "d", "g"]),
        ("\nreturn 'a \\' b' .. \"c\" -- d\n .. e", vec!["e"]),
        ("\nrepeat\n local a = 1\nuntil true\nif 1 == 2 then elseif 2 ~= 3 then else end\nreturn a", vec!["a"]),
    ] {
        assert_eq!(missing(text), BTreeSet::from_iter(expected), "{text}");
    }
    for text in [
        "\nlocal function f()\n return g()\nend\nreturn 1",
        "\nlocal function f(a, ...)\n return function(b)\n  return a + b + select('#', ...)\n end\nend\nreturn f(1)(2)",
        "\nwhile true do\n local a = { 1 }\n if a[1] then break end\nend",
    ] {
        assert_eq!(missing(text), BTreeSet::new(), "{text}");
    }
}

#[test]
fn every_name_that_a_script_uses_is_given_by_it_or_by_what_it_includes() {
    for (file, script, _) in ALL {
        assert_eq!(missing(&script.text), BTreeSet::new(), "{file}");
    }
}
