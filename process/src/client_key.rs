//! Where a program finds the access key that it signs in to managers with: never on its command line, which other users of
//! the machine can read.

use std::{env, fs, path::Path};

/// The variable with a key.
pub const KEY: &str = "JOBBERS_KEY";
/// The variable with the path of a file that holds a key.
pub const KEY_FILE: &str = "JOBBERS_KEY_FILE";

/// The text of the key that the environment gives, if it gives one. An empty variable is as one that is not set.
///
/// # Errors
/// Both variables are set, or the file can't be read.
pub fn of_environment() -> Result<Option<String>, String> {
    choose(|name| env::var(name).ok())
}

/// The text of the key in a file, without the line break at its end.
///
/// # Errors
/// The file can't be read, or is empty.
pub fn of_file(path: &Path) -> Result<String, String> {
    let text = fs::read_to_string(path).map_err(|error| format!("the key file {}: {error}", path.display()))?;
    match text.trim() {
        "" => Err(format!("the key file {} is empty", path.display())),
        key => Ok(key.to_owned()),
    }
}

fn choose(variable: impl Fn(&str) -> Option<String>) -> Result<Option<String>, String> {
    let given = |name| variable(name).filter(|value| !value.trim().is_empty());
    match (given(KEY), given(KEY_FILE)) {
        (Some(_), Some(_)) => Err(format!("{KEY} and {KEY_FILE} are both set: leave one out")),
        (Some(key), None) => Ok(Some(key.trim().to_owned())),
        (None, Some(path)) => of_file(Path::new(&path)).map(Some),
        (None, None) => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(pairs: &[(&str, &str)]) -> Result<Option<String>, String> {
        choose(|name| pairs.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned()))
    }

    #[test]
    fn a_key_comes_from_a_variable_or_from_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::write(&path, text).unwrap();
            path.to_str().unwrap().to_owned()
        };
        let (whole, empty, none) = (file("whole", "jb_b\n"), file("empty", "\n"), folder.path().join("none"));
        assert_eq!(chosen(&[]), Ok(None));
        assert_eq!(chosen(&[(KEY, ""), (KEY_FILE, "")]), Ok(None), "as a compose file gives what is not set");
        assert_eq!(chosen(&[(KEY, " jb_a\n")]), Ok(Some("jb_a".to_owned())));
        assert_eq!(chosen(&[(KEY_FILE, &whole)]), Ok(Some("jb_b".to_owned())));
        for wrong in
            [&[(KEY, "jb_a"), (KEY_FILE, &whole)][..], &[(KEY_FILE, &empty)], &[(KEY_FILE, none.to_str().unwrap())]]
        {
            assert!(!chosen(wrong).unwrap_err().contains("jb_"), "{wrong:?}");
        }
    }
}
