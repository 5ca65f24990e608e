//! Errors about `agents.toml` that quote nothing of what stands in it.
//!
//! People paste keys where a list belongs, and what is wrong with the file is shown by `status`, stands in the daemon's log and is sent to
//! every token that may read. So an error names fields, lines and what is expected, and never a value.

use toml::{Table, Value};

/// What stands for a value.
const LEFT_OUT: &str = "…";
/// A value that is shorter may be a word of ours.
const VALUE_BYTES_MIN: usize = 8;

/// The message without values of its file.
pub(super) fn unquoted(message: &str, text: &str) -> String {
    let mut message = without_found(message);
    let table = text.parse::<Table>().unwrap_or_default();
    let mut values = Vec::new();
    let mut waiting: Vec<&Value> = table.values().collect();
    while let Some(value) = waiting.pop() {
        match value {
            Value::String(text) if !text.is_empty() => values.push(text.as_str()),
            Value::Array(items) => waiting.extend(items),
            Value::Table(fields) => waiting.extend(fields.values()),
            Value::String(_) | Value::Integer(_) | Value::Float(_) | Value::Boolean(_) | Value::Datetime(_) => {}
        }
    }
    values.sort_by_key(|value| std::cmp::Reverse(value.len()));
    // Names of fields and kinds are ours, and may be values too.
    let is_ours = |value: &str| {
        value.len() < VALUE_BYTES_MIN && value.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
    };
    for value in values.into_iter().filter(|value| !is_ours(value)) {
        for quote in ["`", "\""] {
            message = message.replace(&format!("{quote}{value}{quote}"), &format!("{quote}{LEFT_OUT}{quote}"));
        }
        if value.len() >= VALUE_BYTES_MIN {
            message = message.replace(value, LEFT_OUT);
        }
    }
    message
}

/// The parser's words about a value of the wrong type or an unknown word, without the value.
fn without_found(message: &str) -> String {
    let Some((found, expected)) = message.rsplit_once(", expected ") else { return message.to_owned() };
    for kind in ["invalid type: ", "invalid value: "] {
        if let Some(at) = found.find(kind) {
            let found_type = found[at + kind.len()..].split(['`', '"']).next().unwrap_or_default().trim_end();
            return format!("{}{kind}{found_type}, expected {expected}", &found[..at]);
        }
    }
    match found.find("unknown variant `") {
        Some(at) => format!("{}unknown word, expected {expected}", &found[..at]),
        None => message.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use crate::config::Agents;
    use std::path::Path;

    #[test]
    fn a_value_that_stands_in_the_wrong_place_is_not_told() {
        let secret = "sk-proj-4f9A\\\"`x`, expected q";
        let plain = "sk-proj-4f9A";
        for entry in [
            "env = \"SECRET\"",
            "command = \"SECRET\"",
            "set = \"SECRET\"",
            "secrets = \"SECRET\"",
            "secrets = { A = \"SECRET\" }",
            "concurrency = \"SECRET\"",
            "confine = \"SECRET\"",
            "confirm = \"SECRET\"",
            "kind = \"SECRET\"",
            "tool = \"SECRET\"",
            "timeout = \"SECRET\"",
            "result = \"SECRET\"",
            "retry = \"SECRET\"",
            "retry = { base_backoff = \"SECRET\" }",
            "limits = \"SECRET\"",
            "labels = [\"SECRET\"]",
            "budget = \"SECRET\"",
            "audit = \"SECRET\"",
            "cli = \"SECRET\"",
            "provider = \"SECRET\"",
            "input_secrets = [\"SECRET\"]",
            "inbox = \"SECRET\"",
            "env = [\"SECRET\"]",
            "writable = [\"~SECRET\"]",
            "folder = \"SECRET\"",
            "url = \"SECRET\"",
            "url = \"https://user:SECRET@example.org/\"",
            "key = \"SECRET\"",
            "headers = { Authorization = \"SECRET\" }",
            "headers = { \"x\" = \"SECRET\\n\" }",
            "grace_ms = \"SECRET",
            "env = SECRET",
        ] {
            for value in [secret, plain] {
                let text = format!("[agents.a]\n{}\n", entry.replace("SECRET", value));
                let Err(error) = Agents::parse(&text, Path::new("/nowhere")) else { continue };
                assert!(!error.message.contains("4f9A"), "{entry}: {}", error.message);
                assert!(!error.message.is_empty() && error.place.is_some(), "{entry}");
            }
        }
        let error = Agents::parse("[agents.a]\nenv = 123456789\n", Path::new("/nowhere")).unwrap_err();
        assert_eq!(error.message, "invalid type: integer, expected a sequence");
    }
}
