//! A type's name has one meaning: a reader who met it in one room knows it in the next.
//!
//! Two files may share a name: often the one below names what the one above makes of it, or each engine has its own. A name in
//! more files is an idiom, listed with its meaning. Types for tests alone do not count. Start reading at [`crowded`].

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    rust::{tokens, without_tests},
    workspace::{Complaints, Source, files},
};

/// Most files that declare a type of one name.
const MOST: usize = 2;

/// Names that mean the same in each file below a path: the name, the path, and the meaning. Those files count as one.
const IDIOMS: &[(&str, &str, &str)] = &[
    ("Act", "pages/src/", "the button of a form that was pressed"),
    ("Action", "cli/src/commands/", "the commands below a command"),
    ("Args", "", "the flags of a program or of one of its commands"),
    ("Change", "pages/src/", "what a form of the page changes"),
    ("Config", "", "all settings of a program, or of a store"),
    ("Create", "cli/src/commands/", "the flags of a command `create`"),
    ("Delete", "cli/src/commands/", "the flags of a command `delete`"),
    ("Error", "", "how the calls of a crate fail"),
    ("Heartbeats", "engines/src/", "the heartbeats of the processes that use a store"),
    ("Kind", "", "the kinds of what the file is about"),
    ("List", "cli/src/commands/", "the flags of a command `list`"),
    ("ListParams", "", "what the address of a list says"),
    ("Meters", "", "the instruments of a crate"),
    ("Pair", "law/src/", "an engine and the model, which get the same calls"),
    ("Params", "pages/src/", "what the address of a page says"),
    ("Round", "cli/src/bench", "the figures of one round of a benchmark"),
    ("Row", "", "a row of a table"),
    ("Search", "pages/src/", "the conditions of a page's list"),
    ("Set", "cli/src/commands/", "the flags of a command `set`"),
    ("Settings", "", "the settings of the room that the file is in"),
    ("Size", "cli/src/bench", "how much a benchmark measures"),
    ("TlsFiles", "", "the PEM files that an address or a configuration names, read once"),
];

/// The names of the types and traits that a source declares, without those for tests alone.
fn declared(text: &str) -> BTreeSet<&str> {
    let tokens = tokens(text);
    let pairs = without_tests(&tokens);
    let is_name = |token: &str| token.starts_with(|first: char| first.is_ascii_uppercase());
    let pairs = pairs.windows(2).filter(|pair| matches!(pair[0], "struct" | "enum" | "trait") && is_name(pair[1]));
    pairs.map(|pair| pair[1]).collect()
}

/// The idiom of a name in a file.
fn idiom(name: &str, path: &str) -> Option<&'static (&'static str, &'static str, &'static str)> {
    IDIOMS.iter().find(|(idiom, room, _)| *idiom == name && path.starts_with(room))
}

/// The names in more than [`MOST`] files, each with these files. Those of an idiom count as one.
fn crowded<'a>(sources: impl Iterator<Item = (&'a str, &'a str)>) -> BTreeMap<&'a str, BTreeSet<&'a str>> {
    let mut places: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (path, text) in sources {
        for name in declared(text) {
            places.entry(name).or_default().insert(idiom(name, path).map_or(path, |(_, room, _)| room));
        }
    }
    places.retain(|_, places| places.len() > MOST);
    places
}

/// Whether users or their programs run a source: it is no test, no example, and no benchmark of other systems.
fn is_product(source: &Source) -> bool {
    let is_test = |folder: &str| matches!(folder, "tests" | "tests.rs" | "examples" | "benches");
    !source.path.starts_with("bench/") && !source.path.split('/').any(is_test)
}

#[test]
fn a_name_of_a_type_has_one_meaning() {
    let sources = files(&[".rs"]);
    let product = sources.iter().filter(|source| is_product(source));
    let mut complaints = Complaints::default();
    for (name, places) in crowded(product.map(|source| (source.path.as_str(), source.text.as_str()))) {
        let places: Vec<&str> = places.into_iter().collect();
        complaints.add(
            name,
            format!(
                "names types in {}, {MOST} files are the most: call each what it holds, or list the idiom with its \
                 meaning (tests/tidy/src/names.rs)",
                places.join(", ")
            ),
        );
    }
    complaints.settle();
}

#[test]
fn every_idiom_is_in_use_and_has_a_meaning() {
    let sources = files(&[".rs"]);
    let product = sources.iter().filter(|source| is_product(source));
    let declared: Vec<(&str, BTreeSet<&str>)> =
        product.map(|source| (source.path.as_str(), declared(&source.text))).collect();
    for (name, room, meaning) in IDIOMS {
        let count = declared.iter().filter(|(path, names)| path.starts_with(room) && names.contains(name)).count();
        assert!(count > MOST, "{name} is in {count} files of {room:?}: take it out of IDIOMS");
        assert!(meaning.len() > 10, "{name}: say what it means");
    }
}

#[test]
fn a_name_in_three_files_is_found_and_an_idiom_is_one_of_them() {
    let thrice = [("a/b.rs", "pub(crate) struct Told;"), ("a/c.rs", "enum Told<'a> {}"), ("d/e.rs", "trait Told {}")];
    let found = crowded(thrice.into_iter());
    assert_eq!(found, BTreeMap::from([("Told", BTreeSet::from(["a/b.rs", "a/c.rs", "d/e.rs"]))]));
    assert_eq!(crowded(thrice.into_iter().take(MOST)), BTreeMap::new());
    let for_tests = [("f/g.rs", "#[cfg(test)]\nmod tests { struct Told; }"), ("f/h.rs", "// struct Told;")];
    assert_eq!(crowded(thrice.into_iter().take(MOST).chain(for_tests)), BTreeMap::new());
    let pages = ["pages/src/a.rs", "pages/src/b.rs", "pages/src/c.rs"].map(|path| (path, "struct Change;"));
    assert_eq!(crowded(pages.into_iter()), BTreeMap::new());
    let others = ["cli/src/a.rs", "manager/src/b.rs"].map(|path| (path, "struct Change;"));
    let places = BTreeSet::from(["cli/src/a.rs", "manager/src/b.rs", "pages/src/"]);
    assert_eq!(crowded(pages.into_iter().chain(others)), BTreeMap::from([("Change", places)]));
}
