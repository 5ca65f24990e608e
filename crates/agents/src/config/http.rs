//! What an entry says about an agent that is reached by HTTP.
//!
//! ```toml
//! [agents.gpt]
//! url = "https://api.example.com/v1/chat/completions"
//! api = "chat"                  # json (the input is posted as it is), chat, responses, messages
//! model = "gpt-5"
//! key = "openai"                # a secret's name; `key_header` names the header, if it is not the usual one of the api
//! headers = { "x-team" = "a" }
//! secrets = { "x-tenant" = "tenant" }   # headers that are secrets
//! system = "Be brief."
//! max_tokens = 4096
//! allow = ["loopback"]          # or "private": addresses that are refused otherwise
//! first_byte_timeout = "5m"     # connect_timeout, idle_timeout
//! ```

use super::{entry::Entry, result_bytes_max};
use crate::http::{
    Api, Http,
    address::{self, Allowed},
};
use reqwest::header::{HeaderName, HeaderValue};
use std::{collections::BTreeMap, time::Duration};
use url::Url;

const CONNECT: Duration = Duration::from_secs(10);
const FIRST_BYTE: Duration = Duration::from_secs(300);
const IDLE: Duration = Duration::from_secs(120);
/// What comes over the wire is much longer than the words in it: each piece has its wrapping.
const STREAM_BYTES: u64 = 64 << 20;

/// Headers that follow from the request itself.
const OURS: [&str; 14] = [
    "accept",
    "accept-encoding",
    "connection",
    "content-length",
    "content-type",
    "expect",
    "host",
    "idempotency-key",
    "keep-alive",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "user-agent",
];
/// Headers whose value is a secret wherever they occur.
const SECRET: [&str; 6] = ["authorization", "api-key", "cookie", "proxy-authorization", "x-api-key", "x-goog-api-key"];

/// Parts of a query whose value is a key.
const KEYS: [&str; 6] = ["access_token", "api-key", "api_key", "apikey", "key", "token"];

/// The server that this entry describes. The key becomes one of the entry's secrets.
pub(super) fn read(entry: &mut Entry) -> Result<Http, String> {
    let text = entry.url.take().unwrap_or_default();
    let allow = entry.allow.take().unwrap_or_default();
    let api = entry.api.unwrap_or_default();
    let url = read_url(&text, &allow)?;
    check_api(entry, api)?;
    let named = entry.headers.take().unwrap_or_default();
    let headers = read_headers(&named)?;
    let key_header = read_key(entry, &named, api)?;
    let output_bytes_max = result_bytes_max(entry.output_bytes_max);
    let stream_bytes = if api == Api::Json { 0 } else { STREAM_BYTES };
    let milliseconds = |given: Option<u64>, usual| given.map_or(usual, Duration::from_millis);
    Ok(Http {
        url,
        text,
        api,
        model: entry.model.take(),
        headers,
        key_header,
        system: entry.system.take(),
        max_tokens: entry.max_tokens,
        allow,
        connect_timeout: milliseconds(entry.connect_timeout, CONNECT),
        first_byte_timeout: milliseconds(entry.first_byte_timeout, FIRST_BYTE),
        idle_timeout: milliseconds(entry.idle_timeout, IDLE),
        output_bytes_max,
        body_bytes_max: output_bytes_max.max(stream_bytes),
    })
}

fn read_url(text: &str, allow: &Allowed) -> Result<Url, String> {
    let url = Url::parse(text).map_err(|error| format!("`url` is not a valid URL: {error}"))?;
    let is_plain = match url.scheme() {
        "https" => false,
        "http" => true,
        other => return Err(format!("`url` begins with `{other}:`; use `https://` or `http://`")),
    };
    if !url.username().is_empty() || url.password().is_some() {
        return Err("`url` contains a password: store it as a secret and refer to it with `key`".to_owned());
    }
    if url.fragment().is_some() {
        return Err("`url` has a `#` fragment, which is never sent".to_owned());
    }
    if let Some((name, _)) = url.query_pairs().find(|(name, _)| KEYS.contains(&name.to_ascii_lowercase().as_str())) {
        return Err(format!(
            "`url` contains a `{name}`: store it as a secret, and refer to it with `key` and `key_header`"
        ));
    }
    if is_plain && allow.is_empty() {
        let hint = "allow it with `allow = [\"loopback\"]` or `[\"private\"]`, or use `https://`";
        return Err(format!("`http://` is only for this machine and private networks: {hint}"));
    }
    if let Some(address) = address::of(&url) {
        address::vet(address, allow, is_plain).map_err(|refused| format!("`url`: {refused}"))?;
    }
    Ok(url)
}

fn check_api(entry: &Entry, api: Api) -> Result<(), String> {
    if entry.model.as_ref().is_some_and(|model| model.contains('\0')) {
        return Err(super::ZERO_BYTE.to_owned());
    }
    match api {
        Api::Json => {
            let named = [
                ("model", entry.model.is_some()),
                ("system", entry.system.is_some()),
                ("max_tokens", entry.max_tokens.is_some()),
            ];
            match named.into_iter().find(|(_, is_named)| *is_named) {
                Some((name, _)) => Err(format!("`{name}` is only for `api = \"chat\"`, \"responses\" or \"messages\"")),
                None => Ok(()),
            }
        }
        Api::Responses | Api::Messages if entry.model.is_none() => Err("`model` is missing".to_owned()),
        Api::Chat | Api::Responses | Api::Messages if entry.max_tokens == Some(0) => {
            Err("`max_tokens` must be at least 1".to_owned())
        }
        Api::Chat | Api::Responses | Api::Messages => Ok(()),
    }
}

fn header_name(name: &str) -> Result<HeaderName, String> {
    let header: HeaderName = name.parse().map_err(|_| format!("`{name}` is not a valid header name"))?;
    if OURS.contains(&header.as_str()) || header.as_str().starts_with("x-relaymesh-") {
        return Err(format!("the header `{name}` is set by the request itself"));
    }
    Ok(header)
}

fn read_headers(headers: &BTreeMap<String, String>) -> Result<Vec<(HeaderName, HeaderValue)>, String> {
    let read = |(name, value): (&String, &String)| {
        let header = header_name(name)?;
        if SECRET.contains(&header.as_str()) {
            return Err(format!(
                "`{name}` must not be in a file: store it as a secret and refer to it with `key` or `secrets`"
            ));
        }
        let value = value.parse().map_err(|_| format!("the header `{name}` has an invalid value"))?;
        Ok((header, value))
    };
    headers.iter().map(read).collect()
}

/// The key's header, which joins those that are secrets.
fn read_key(entry: &mut Entry, headers: &BTreeMap<String, String>, api: Api) -> Result<Option<HeaderName>, String> {
    for name in entry.secrets.keys() {
        header_name(name)?;
    }
    let Some(key) = entry.key.clone() else {
        return match entry.key_header {
            Some(_) => Err("`key_header` needs a `key`".to_owned()),
            None => Ok(None),
        };
    };
    let usual = match api {
        Api::Messages => "x-api-key",
        Api::Json | Api::Chat | Api::Responses => "authorization",
    };
    let header = header_name(entry.key_header.as_deref().unwrap_or(usual))?;
    let same = |name: &String| name.eq_ignore_ascii_case(header.as_str());
    if entry.secrets.keys().chain(headers.keys()).any(same) {
        return Err(format!("the header `{header}` is set twice: it has the `key`"));
    }
    entry.secrets.insert(header.to_string(), key);
    Ok(Some(header))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Agent, Agents};
    use std::path::Path;

    fn read(text: &str) -> Result<Agent, String> {
        let agents = Agents::parse(&format!("[agents.a]\n{text}\n"), Path::new("/nowhere"));
        agents.map(|agents| agents.get(&"a".parse().unwrap()).unwrap().clone()).map_err(|error| error.message)
    }

    #[test]
    fn an_agent_that_is_reached_by_http_is_read_whole() {
        let agent = read(
            "url = \"https://api.example.com/v1/chat/completions\"\napi = \"chat\"\nmodel = \"m\"\nkey = \"openai\"\nidle_timeout = \"30s\"\n\
             headers = { \"X-Team\" = \"a\" }\nconnect_timeout = 500\nmax_tokens = 10\nsystem = \"s\"",
        )
        .unwrap();
        let http = agent.http().unwrap();
        assert!(agent.terms.llm && http.api == Api::Chat && !http.is_plain());
        assert_eq!((http.provider().as_str(), agent.terms.provider.as_str()), ("api.example.com", "api.example.com"));
        assert_eq!((http.idle_timeout, http.connect_timeout), (Duration::from_secs(30), Duration::from_millis(500)));
        assert_eq!(http.first_byte_timeout, FIRST_BYTE);
        assert_eq!((http.system.as_deref(), http.max_tokens, agent.model()), (Some("s"), Some(10), Some("m")));
        assert_eq!((http.output_bytes_max, http.body_bytes_max), (10 << 20, STREAM_BYTES));
        assert_eq!(agent.terms.secrets["authorization"].as_str(), "openai");
        assert_eq!(http.headers[0].0, "x-team");
        let agent = read("url = \"http://127.0.0.1:8080/x\"\nallow = [\"loopback\"]").unwrap();
        let http = agent.http().unwrap();
        assert!(!agent.terms.llm && http.api == Api::Json && http.is_plain());
        assert_eq!((http.provider().as_str(), http.body_bytes_max), ("127.0.0.1:8080", 10 << 20));
    }

    #[test]
    fn what_is_wrong_is_said() {
        let https = "url = \"https://a.example/x\"\n";
        let cases = [
            ("url = \"nothing\"", "is not a valid URL"),
            ("url = \"ftp://a.example\"", "begins with `ftp:`"),
            ("url = \"https://me:pw@a.example\"", "contains a password"),
            ("url = \"https://a.example/#x\"", "never sent"),
            ("url = \"https://a.example/?v=1&Key=x\"", "contains a `Key`"),
            ("url = \"http://a.example/\"", "allow = [\"loopback\"]"),
            ("url = \"https://127.0.0.1/\"", "allow = [\"loopback\"]"),
            ("url = \"https://2130706433/\"", "allow = [\"loopback\"]"),
            ("url = \"https://0x7f.1/\"", "allow = [\"loopback\"]"),
            ("url = \"https://[::ffff:10.0.0.1]/\"", "allow = [\"private\"]"),
            ("url = \"http://169.254.169.254/latest\"\nallow = [\"private\", \"loopback\"]", "metadata server"),
            ("url = \"http://1.1.1.1/\"\nallow = [\"private\"]", "use `https://`"),
            ("url = \"http://a.example/\"\nallow = [\"everything\"]", "unknown word, expected"),
            (&format!("{https}command = [\"x\"]"), "`command` is only for agents that are processes"),
            (&format!("{https}tool = \"codex\""), "`tool` is only for agents that are processes"),
            (&format!("{https}set = {{ A = \"1\" }}"), "`set` is only for agents that are processes"),
            (&format!("{https}model = \"m\""), "`model` is only for `api"),
            (&format!("{https}api = \"messages\""), "`model` is missing"),
            (&format!("{https}api = \"gopher\""), "unknown word, expected"),
            (&format!("{https}api = \"chat\"\nmax_tokens = 0"), "at least 1"),
            (&format!("{https}headers = {{ Authorization = \"Bearer x\" }}"), "must not be in a file"),
            (&format!("{https}headers = {{ Host = \"b\" }}"), "is set by the request itself"),
            (&format!("{https}headers = {{ \"a b\" = \"b\" }}"), "not a valid header name"),
            (&format!("{https}headers = {{ a = \"b\\nc\" }}"), "has an invalid value"),
            (&format!("{https}key_header = \"x-key\""), "`key_header` needs a `key`"),
            (&format!("{https}key = \"k\"\nsecrets = {{ Authorization = \"b\" }}"), "set twice"),
            (&format!("{https}idle_timeout = \"soon\""), "is not a duration"),
            (&format!("{https}concurrency = 0"), "at least 1"),
            ("command = [\"x\"]\nsystem = \"s\"", "`system` is only for agents with a `url`"),
            ("command = [\"x\"]\nallow = [\"private\"]", "`allow` is only for agents with a `url`"),
        ];
        for (text, words) in cases {
            let error = read(text).unwrap_err();
            assert!(error.contains(words), "{text}: {error}");
        }
    }
}
