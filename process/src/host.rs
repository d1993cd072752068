//! The machine this process runs on.

/// Its name, as others on its network may know it; `None` where the system does not tell.
#[must_use]
pub fn name() -> Option<String> {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").ok()?;
    Some(name.trim().to_owned()).filter(|name| !name.is_empty())
}
