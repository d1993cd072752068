//! The machine this process runs on.

/// The host name, as other machines on the network may know it; `None` if the system does not report one.
#[must_use]
pub fn name() -> Option<String> {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").ok()?;
    Some(name.trim().to_owned()).filter(|name| !name.is_empty())
}
