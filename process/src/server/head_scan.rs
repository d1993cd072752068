//! Checks whether a request's head declares the length of its body in two ways. The HTTP library does not report this:
//! it ignores `Content-Length` beside `Transfer-Encoding`. A proxy in front may have used the other one.

use memchr::memchr;

const LENGTH: &[u8] = b"content-length:";
const ENCODING: &[u8] = b"transfer-encoding:";

/// The state of scanning one head.
#[derive(Debug, Default)]
pub(super) struct HeadScan {
    /// The beginning of the line being read.
    start: [u8; ENCODING.len()],
    length: usize,
    has_lines: bool,
    has_length: bool,
    has_encoding: bool,
    is_over: bool,
}

impl HeadScan {
    /// Reads on. At the end of the head returns whether it has both; nothing before and after.
    pub(super) fn read(&mut self, bytes: &[u8]) -> Option<bool> {
        let mut rest = bytes;
        while !self.is_over && !rest.is_empty() {
            let Some(end) = memchr(b'\n', rest) else {
                self.keep(rest);
                break;
            };
            let line = &rest[..end];
            rest = &rest[end + 1..];
            let is_last = if self.length == 0 {
                self.end_line(line)
            } else {
                self.keep(line);
                let (start, length) = (self.start, std::mem::take(&mut self.length));
                self.end_line(&start[..length])
            };
            if is_last {
                return Some(self.has_length && self.has_encoding);
            }
        }
        None
    }

    /// Keeps the beginning of a line of which more is to come.
    fn keep(&mut self, part: &[u8]) {
        let taken = part.len().min(self.start.len() - self.length);
        self.start[self.length..self.length + taken].copy_from_slice(&part[..taken]);
        self.length += taken;
    }

    /// Notes a line of which at least the beginning is given; whether it was the last one.
    fn end_line(&mut self, start: &[u8]) -> bool {
        let is_empty = matches!(start, [] | [b'\r']);
        let begins = |name: &[u8]| start.get(..name.len()).is_some_and(|it| it.eq_ignore_ascii_case(name));
        self.has_length |= begins(LENGTH);
        self.has_encoding |= begins(ENCODING);
        // Empty lines may come before a request.
        self.is_over = is_empty && self.has_lines;
        self.has_lines |= !is_empty;
        self.is_over
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOTH: &[u8] =
        b"\r\nPOST / HTTP/1.1\r\nhost: x\r\nContent-Length: 3\r\naccept: */*\r\nTRANSFER-ENCODING: chunked\r\n\r\n0\r\n\r\n";

    #[test]
    fn a_head_with_both_is_recognised_however_it_arrives() {
        for size in 1..BOTH.len() {
            let mut scan = HeadScan::default();
            let seen: Vec<bool> = BOTH.chunks(size).filter_map(|bytes| scan.read(bytes)).collect();
            assert_eq!(seen, [true], "in pieces of {size}");
        }
    }

    #[test]
    fn a_head_with_one_is_not_and_the_body_is_not_looked_at() {
        for head in ["content-length: 40", "transfer-encoding: chunked", "x-content-length: 1\r\ntransfer-encoding: x"]
        {
            let request = format!("POST / HTTP/1.1\r\n{head}\r\n\r\ncontent-length: 1\r\ntransfer-encoding: x\r\n\r\n");
            assert_eq!(HeadScan::default().read(request.as_bytes()), Some(false), "{head}");
        }
        assert_eq!(HeadScan::default().read(b"GET / HTTP/1.1\r\n"), None);
    }
}
