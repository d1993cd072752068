//! The files of a crate do not import each other in circles.
//!
//! A file imports another when a `use`, or a path in its code, leads to an item of that file. `mod child;` is no import, and
//! neither is a parent's `pub use self::child::…`: it only shows under another name what the child has. Code that is
//! compiled for tests alone does not count. Sources are read as text: a path in a macro's expansion is one like others.
//!
//! Start reading at [`Imports::of`].

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    rust::{paths, test_files, tokens, without_tests},
    workspace::{Complaints, files},
};

/// A file as a module: its names from the root of its crate.
type Module = Vec<String>;

/// What the files of one crate import: by file, the imported files with the items that are named.
#[derive(Debug, Default)]
struct Imports(BTreeMap<Module, BTreeMap<Module, BTreeSet<String>>>);

impl Imports {
    /// Reads the sources of a crate, given with their paths below its `src`.
    fn of(sources: &[(&str, &str)]) -> Self {
        // A program beside a library is a crate of its own, which names the library like any other.
        let has_library = sources.iter().any(|(path, _)| *path == "lib.rs");
        let is_part = |path: &str| !(path.starts_with("bin/") || has_library && path == "main.rs");
        let parts = sources.iter().filter(|(path, _)| is_part(path));
        let mut parts: Vec<(Module, Vec<&str>)> = parts.map(|(path, text)| (module_of(path), tokens(text))).collect();
        let below = |module: &Module, name: &str| [module.as_slice(), &[name.to_owned()]].concat();
        let tests = |(module, tokens): &(Module, Vec<&str>)| {
            test_files(tokens).into_iter().map(|it| below(module, it)).collect()
        };
        let tests: Vec<Module> = parts.iter().flat_map::<Vec<Module>, _>(tests).collect();
        parts.retain(|(module, _)| !tests.iter().any(|tests| module.starts_with(tests)));
        let mut imports = Self(parts.iter().map(|(module, _)| (module.clone(), BTreeMap::new())).collect());
        for (module, tokens) in &parts {
            for path in paths(&without_tests(tokens)) {
                let Some((file, item)) = imports.resolve(module, &path.names) else { continue };
                let is_facade = path.is_shown && file.starts_with(module);
                if file != *module && !is_facade {
                    imports.0.entry(module.clone()).or_default().entry(file).or_default().insert(item);
                }
            }
        }
        imports
    }

    /// The file to which a path in `from` leads, and what it names there. `None` for a path to elsewhere.
    fn resolve(&self, from: &Module, names: &[&str]) -> Option<(Module, String)> {
        let mut names = names.iter().copied().peekable();
        let mut file = match *names.peek()? {
            "crate" => Module::new(),
            "self" | "super" => from.clone(),
            // The name of a child, or of another crate.
            child => [from.as_slice(), &[child.to_owned()]].concat(),
        };
        match names.next()? {
            "super" => drop(file.pop()?),
            "crate" | "self" => {}
            _ if self.0.contains_key(&file) => {}
            _ => return None,
        }
        while names.next_if_eq(&"super").is_some() {
            file.pop()?;
        }
        while let Some(name) = names.peek() {
            let deeper = [file.as_slice(), &[(*name).to_owned()]].concat();
            if !self.0.contains_key(&deeper) {
                break;
            }
            (file, _) = (deeper, names.next());
        }
        self.0.contains_key(&file).then(|| (file, names.next().unwrap_or("*").to_owned()))
    }

    /// All files that a file imports, be it through others.
    fn reached_from(&self, start: &Module) -> BTreeSet<&Module> {
        let (mut reached, mut open) = (BTreeSet::new(), vec![start]);
        while let Some(module) = open.pop() {
            for file in self.0.get(module).into_iter().flat_map(BTreeMap::keys) {
                if reached.insert(file) {
                    open.push(file);
                }
            }
        }
        reached
    }

    /// The files of each circle, the largest circle first.
    fn circles(&self) -> Vec<BTreeSet<&Module>> {
        let reached: BTreeMap<&Module, BTreeSet<&Module>> =
            self.0.keys().map(|module| (module, self.reached_from(module))).collect();
        let mut circles: BTreeSet<BTreeSet<&Module>> = BTreeSet::new();
        for (module, files) in &reached {
            circles.insert(files.iter().copied().filter(|file| reached[*file].contains(*module)).collect());
        }
        circles.remove(&BTreeSet::new());
        let mut circles: Vec<_> = circles.into_iter().collect();
        circles.sort_by_key(|circle| std::cmp::Reverse(circle.len()));
        circles
    }

    /// The imports that tie a circle, a line each.
    fn tie(&self, circle: &BTreeSet<&Module>) -> String {
        let imports = circle.iter().flat_map(|from| self.0[*from].iter().map(move |(to, items)| (from, to, items)));
        let within = imports.filter(|(_, to, _)| circle.contains(to));
        let lines = within.map(|(from, to, items)| {
            let items: Vec<&str> = items.iter().map(String::as_str).collect();
            format!("\n    {} imports {} ({})", name_of(from), name_of(to), items.join(", "))
        });
        lines.collect()
    }
}

fn module_of(path: &str) -> Module {
    let mut names: Module = path.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    names.pop_if(|last| ["lib", "main", "mod"].contains(&last.as_str()));
    names
}

fn name_of(module: &Module) -> String {
    if module.is_empty() { "the root".to_owned() } else { module.join("/") }
}

#[test]
fn the_files_of_a_crate_do_not_import_each_other_in_circles() {
    let sources = files(&[".rs"]);
    let mut crates: BTreeMap<&str, Vec<(&str, &str)>> = BTreeMap::new();
    for source in &sources {
        if let Some((of, path)) = source.path.split_once("/src/") {
            crates.entry(of).or_default().push((path, &source.text));
        }
    }
    let mut complaints = Complaints::default();
    for (of, sources) in &crates {
        let imports = Imports::of(sources);
        let circles = imports.circles();
        if circles.is_empty() {
            continue;
        }
        let ties: String =
            circles.iter().map(|circle| format!("\n  {} files:{}", circle.len(), imports.tie(circle))).collect();
        complaints.add(
            of,
            format!("files import each other in circles: move what both sides need to a file below them{ties}"),
        );
    }
    complaints.settle();
}

/// The circles of made-up sources, each as the names of its files.
fn found(sources: &[(&str, &str)]) -> Vec<Vec<String>> {
    Imports::of(sources).circles().iter().map(|circle| circle.iter().map(|module| name_of(module)).collect()).collect()
}

#[test]
fn a_circle_is_found() {
    let (parent, child) = ("mod a;\nmod b;\n", "use super::b::B;\npub struct A(B);\n");
    for other in [
        "use crate::a::A;\npub struct B(Box<A>);\n",
        "pub struct B(Box<super::a::A>);\n",
        "use crate::{\n    a::{self, A},\n    Other,\n};\n",
    ] {
        assert_eq!(found(&[("lib.rs", parent), ("a.rs", child), ("b.rs", other)]), [["a", "b"]], "{other}");
    }
    let through_the_parent = [("lib.rs", "mod a;\nuse a::A;\npub struct Root;"), ("a.rs", "use super::Root;\n")];
    assert_eq!(found(&through_the_parent), [["the root", "a"]]);
}

#[test]
fn what_is_no_import_closes_no_circle() {
    let child = "use super::b::B;\n";
    for other in [
        "",
        "// use crate::a::A;\n/* crate::a::A */\nconst TEXT: &str = \"crate::a::A\";\n",
        "const RAW: &str = r#\"a \" crate::a::A\"#;\nconst MARK: char = '\"';\nfn f<'a>() {} const END: &str = \"\";\n",
        "#[cfg(test)]\nmod tests {\n    use crate::a::A;\n}\n",
        "#[cfg(test)]\nuse crate::a::A;\n",
        "pub(in crate::a) fn f() {}\n",
        "use other::a::A;\n",
    ] {
        assert_eq!(found(&[("lib.rs", ""), ("a.rs", child), ("b.rs", other)]), [[""; 0]; 0], "{other}");
    }
    let facade = [("lib.rs", "mod a;\npub use self::a::A;\npub struct Root;"), ("a.rs", "use crate::Root;\n")];
    assert_eq!(found(&facade), [[""; 0]; 0], "a parent shows what its child has");
    let tests = [("lib.rs", "#[cfg(test)]\nmod checks;\npub fn f() { checks::g() }"), ("checks.rs", "use super::f;")];
    assert_eq!(found(&tests), [[""; 0]; 0], "a file for tests alone");
    let program =
        [("lib.rs", "pub mod run;\n"), ("main.rs", "use x::run;\nfn f() { run::g() }"), ("run.rs", "use crate::f;")];
    assert_eq!(found(&program), [[""; 0]; 0], "a program beside its library");
}
