//! How long flowcharts take to read: here, as `common` itself reads no clock.

use std::time::{Duration, Instant};

use jobbers_common::workflow::mermaid::read;

#[test]
#[ignore = "long: measures how long 280 texts take"]
fn no_text_is_read_in_more_than_linear_time() {
    // Quadratic work takes minutes for any of these.
    let repeated = [
        "#",
        "#a",
        "%",
        "%%",
        "\n",
        " ",
        "\"",
        "`",
        "'",
        "a ",
        "a;",
        "a&",
        "-",
        ".",
        "-.",
        "=",
        "~",
        ":",
        "x--",
        "[",
        "(",
        "{",
        "@",
        "@{",
        "|",
        ",",
        "a=1,",
        "b=[",
        "direction ",
        "direction\n",
        "end ",
        "class ",
        "style a",
        "click ",
        "accTitle ",
    ];
    for start in ["", "a[\"t(x='", "a[\"t(", "a -- ", "a -. ", "a e@-->|", "subgraph ", "a@{ label: \""] {
        for piece in repeated {
            let text = format!("flowchart TD\n{start}{}", piece.repeat(200_000 / piece.len()));
            let begun = Instant::now();
            read(&text).ok();
            let taken = begun.elapsed();
            assert!(taken < Duration::from_secs(5), "{start}{piece}: {taken:?}");
        }
    }
}
