//! What `agents.toml` says about an agent that is reached by HTTP.
//!
//! ```toml
//! [agents.gpt]
//! url = "https://api.example.com/v1/chat/completions"
//! api = "chat"                  # json (the input is posted as it is), chat, responses, messages
//! model = "gpt-5"
//! key = "openai"                # a secret's name; `key_header` says where it goes, if not where the api has it
//! headers = { "x-team" = "a" }
//! secrets = { "x-tenant" = "tenant" }   # headers that are secrets
//! system = "Be brief."
//! max_tokens = 4096
//! allow = ["loopback"]          # or "private": addresses that are refused otherwise
//! first_byte_timeout = "5m"     # connect_timeout, idle_timeout
//! ```

use super::address::{self, Allowed};
use crate::{config::Script, secret::Secret};
use reqwest::header::{HeaderName, HeaderValue};
use serde::Deserialize;
use std::{collections::BTreeMap, net::IpAddr, time::Duration};
use url::{Host, Url};

/// In which words an agent is spoken to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Api {
    /// The input is posted, and the answer is the result.
    #[default]
    Json,
    /// Chat completions, as OpenAI began them and many others have them.
    Chat,
    /// OpenAI's responses.
    Responses,
    /// Anthropic's messages.
    Messages,
}

/// An agent that is reached by HTTP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Http {
    /// Where.
    pub url: Url,
    /// In which words.
    pub api: Api,
    /// The model, for those that have several.
    pub model: Option<String>,
    /// Headers that everybody may read.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// The header that the key goes into. Its value comes with the attempt.
    pub key_header: Option<HeaderName>,
    /// What the model is told before anything else.
    pub system: Option<String>,
    /// The longest answer.
    pub max_tokens: Option<u64>,
    /// Addresses that may be reached though they are not public.
    pub allow: Allowed,
    /// How long a connection may take.
    pub connect_timeout: Duration,
    /// How long the answer may take to begin, once there is a connection.
    pub first_byte_timeout: Duration,
    /// How long it may stop in the middle.
    pub idle_timeout: Duration,
    /// The most bytes of an answer.
    pub body_bytes_max: u64,
}

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

impl Http {
    /// What the file says, if it is about such an agent. The key becomes one of its secrets.
    pub(crate) fn read(script: &mut Script) -> Result<Option<Self>, String> {
        let Some(url) = script.url.clone() else {
            let named = [
                ("api", script.api.is_some()),
                ("key", script.key.is_some()),
                ("key_header", script.key_header.is_some()),
                ("headers", !script.headers.is_empty()),
                ("system", script.system.is_some()),
                ("max_tokens", script.max_tokens.is_some()),
                ("allow", !script.allow.is_empty()),
                ("connect_timeout", script.connect_timeout.is_some()),
                ("first_byte_timeout", script.first_byte_timeout.is_some()),
                ("idle_timeout", script.idle_timeout.is_some()),
            ];
            return match named.into_iter().find(|(_, is_named)| *is_named) {
                Some((name, _)) => Err(format!("`{name}` is for agents with a `url`")),
                None => Ok(None),
            };
        };
        let processes = [
            ("command", !script.command.is_empty()),
            ("tool", script.tool.is_some()),
            ("args", !script.args.is_empty()),
            ("env", !script.env.is_empty()),
            ("set", !script.set.is_empty()),
        ];
        if let Some((name, _)) = processes.into_iter().find(|(_, is_named)| *is_named) {
            return Err(format!("`{name}` is for agents that are processes, and this one has a `url`"));
        }
        let api = script.api.unwrap_or_default();
        let url = read_url(&url, &script.allow)?;
        check_api(script, api)?;
        let headers = read_headers(&script.headers)?;
        let key_header = read_key(script, api)?;
        let is_model = api != Api::Json;
        script.llm |= is_model;
        let milliseconds = |given: Option<u64>, usual| given.map_or(usual, Duration::from_millis);
        Ok(Some(Self {
            url,
            api,
            model: script.model.clone(),
            headers,
            key_header,
            system: script.system.clone(),
            max_tokens: script.max_tokens,
            allow: script.allow.clone(),
            connect_timeout: milliseconds(script.connect_timeout, CONNECT),
            first_byte_timeout: milliseconds(script.first_byte_timeout, FIRST_BYTE),
            idle_timeout: milliseconds(script.idle_timeout, IDLE),
            body_bytes_max: script.output_bytes_max.max(if is_model { STREAM_BYTES } else { 0 }),
        }))
    }

    /// Who serves it, unless the file says otherwise: the host, with its port if that is not the usual one.
    pub fn provider(&self) -> String {
        let host = self.url.host_str().unwrap_or_default();
        self.url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
    }

    /// Whether it is reached without encryption.
    pub fn is_plain(&self) -> bool {
        self.url.scheme() == "http"
    }

    /// What stands in the url's query, part by part. A server that complains says its url back, and a value there may be a key whose name
    /// nobody knows for one. The name goes with it, so that a date that is part of a url is not hidden wherever a result has it.
    pub(super) fn query_parts(&self) -> impl Iterator<Item = Secret> {
        let parts = self.url.query().unwrap_or_default().split('&');
        parts.filter(|part| part.contains('=')).map(|part| Secret::new(part.to_owned()))
    }

    /// The address, if the url has one in the place of a name.
    pub fn address(&self) -> Option<IpAddr> {
        address_of(&self.url)
    }
}

fn address_of(url: &Url) -> Option<IpAddr> {
    match url.host()? {
        Host::Domain(_) => None,
        Host::Ipv4(address) => Some(address.into()),
        Host::Ipv6(address) => Some(address.into()),
    }
}

fn read_url(text: &str, allow: &Allowed) -> Result<Url, String> {
    let url = Url::parse(text).map_err(|error| format!("`url` is not one: {error}"))?;
    let is_plain = match url.scheme() {
        "https" => false,
        "http" => true,
        other => return Err(format!("`url` begins with `{other}:`; it can be `https://` or `http://`")),
    };
    if !url.username().is_empty() || url.password().is_some() {
        return Err("`url` has a password in it: make it a secret and name it with `key`".to_owned());
    }
    if url.fragment().is_some() {
        return Err("`url` has a `#` part, which is never sent".to_owned());
    }
    if let Some((name, _)) = url.query_pairs().find(|(name, _)| KEYS.contains(&name.to_ascii_lowercase().as_str())) {
        return Err(format!(
            "`url` has a `{name}` in it: make it a secret, and name it with `key` and its `key_header`"
        ));
    }
    if is_plain && allow.is_empty() {
        let hint = "let it in with `allow = [\"loopback\"]` or `[\"private\"]`, or use `https://`";
        return Err(format!("`http://` is for this machine and private networks: {hint}"));
    }
    if let Some(address) = address_of(&url) {
        address::vet(address, allow, is_plain).map_err(|refused| format!("`url`: {refused}"))?;
    }
    Ok(url)
}

fn check_api(script: &Script, api: Api) -> Result<(), String> {
    match api {
        Api::Json => {
            let named = [
                ("model", script.model.is_some()),
                ("system", script.system.is_some()),
                ("max_tokens", script.max_tokens.is_some()),
            ];
            match named.into_iter().find(|(_, is_named)| *is_named) {
                Some((name, _)) => Err(format!("`{name}` is for `api = \"chat\"`, \"responses\" or \"messages\"")),
                None => Ok(()),
            }
        }
        Api::Responses | Api::Messages if script.model.is_none() => Err("`model` is missing".to_owned()),
        Api::Chat | Api::Responses | Api::Messages if script.max_tokens == Some(0) => {
            Err("`max_tokens` is at least 1".to_owned())
        }
        Api::Chat | Api::Responses | Api::Messages => Ok(()),
    }
}

fn header_name(name: &str) -> Result<HeaderName, String> {
    let header: HeaderName = name.parse().map_err(|_| format!("`{name}` is not the name of a header"))?;
    if OURS.contains(&header.as_str()) || header.as_str().starts_with("x-relaymesh-") {
        return Err(format!("the header `{name}` follows from the request and cannot be set"));
    }
    Ok(header)
}

fn read_headers(headers: &BTreeMap<String, String>) -> Result<Vec<(HeaderName, HeaderValue)>, String> {
    let read = |(name, value): (&String, &String)| {
        let header = header_name(name)?;
        if SECRET.contains(&header.as_str()) {
            return Err(format!(
                "`{name}` would stand in a file: make it a secret and name it with `key` or `secrets`"
            ));
        }
        let value = value.parse().map_err(|_| format!("the header `{name}` has a value that cannot be sent"))?;
        Ok((header, value))
    };
    headers.iter().map(read).collect()
}

/// The key's header, which joins those that are secrets.
fn read_key(script: &mut Script, api: Api) -> Result<Option<HeaderName>, String> {
    for name in script.secrets.keys() {
        header_name(name)?;
    }
    let Some(key) = script.key.clone() else {
        return match script.key_header {
            Some(_) => Err("`key_header` says where the `key` goes, and there is none".to_owned()),
            None => Ok(None),
        };
    };
    let usual = match api {
        Api::Messages => "x-api-key",
        Api::Json | Api::Chat | Api::Responses => "authorization",
    };
    let header = header_name(script.key_header.as_deref().unwrap_or(usual))?;
    let same = |name: &String| name.eq_ignore_ascii_case(header.as_str());
    if script.secrets.keys().chain(script.headers.keys()).any(same) {
        return Err(format!("the header `{header}` is set twice: it has the `key`"));
    }
    script.secrets.insert(header.to_string(), key);
    Ok(Some(header))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Agents;
    use std::path::Path;

    fn read(text: &str) -> Result<Script, String> {
        let agents = Agents::parse(&format!("[agents.a]\n{text}\n"), Path::new("/nowhere"));
        agents.map(|agents| agents.get(&"a".parse().unwrap()).unwrap().clone()).map_err(|error| error.message)
    }

    #[test]
    fn an_agent_that_is_reached_by_http_is_read_whole() {
        let script = read(
            "url = \"https://api.example.com/v1/chat/completions\"\napi = \"chat\"\nmodel = \"m\"\nkey = \"openai\"\nidle_timeout = \"30s\"\n\
             headers = { \"X-Team\" = \"a\" }\nconnect_timeout = 500\nmax_tokens = 10\nsystem = \"s\"",
        )
        .unwrap();
        let http = script.http.as_ref().unwrap();
        assert!(script.llm && http.api == Api::Chat && !http.is_plain());
        assert_eq!(http.provider(), "api.example.com");
        assert_eq!((http.idle_timeout, http.connect_timeout), (Duration::from_secs(30), Duration::from_millis(500)));
        assert_eq!(script.secrets["authorization"].as_str(), "openai");
        assert_eq!(http.headers[0].0, "x-team");
        let script = read("url = \"http://127.0.0.1:8080/x\"\nallow = [\"loopback\"]").unwrap();
        let http = script.http.as_ref().unwrap();
        assert!(!script.llm && http.api == Api::Json && http.is_plain());
        assert_eq!((http.provider().as_str(), http.body_bytes_max), ("127.0.0.1:8080", 10 << 20));
    }

    #[test]
    fn what_is_wrong_is_said() {
        let https = "url = \"https://a.example/x\"\n";
        let cases = [
            ("url = \"nothing\"", "is not one"),
            ("url = \"ftp://a.example\"", "begins with `ftp:`"),
            ("url = \"https://me:pw@a.example\"", "has a password in it"),
            ("url = \"https://a.example/#x\"", "never sent"),
            ("url = \"https://a.example/?v=1&Key=x\"", "has a `Key` in it"),
            ("url = \"http://a.example/\"", "allow = [\"loopback\"]"),
            ("url = \"https://127.0.0.1/\"", "allow = [\"loopback\"]"),
            ("url = \"https://2130706433/\"", "allow = [\"loopback\"]"),
            ("url = \"https://0x7f.1/\"", "allow = [\"loopback\"]"),
            ("url = \"https://[::ffff:10.0.0.1]/\"", "allow = [\"private\"]"),
            ("url = \"http://169.254.169.254/latest\"\nallow = [\"private\", \"loopback\"]", "credentials"),
            ("url = \"http://1.1.1.1/\"\nallow = [\"private\"]", "use `https://`"),
            ("url = \"http://a.example/\"\nallow = [\"everything\"]", "unknown variant `everything`"),
            (&format!("{https}command = [\"x\"]"), "`command` is for agents that are processes"),
            (&format!("{https}tool = \"codex\""), "`tool` is for agents that are processes"),
            (&format!("{https}set = {{ A = \"1\" }}"), "`set` is for agents that are processes"),
            (&format!("{https}model = \"m\""), "`model` is for `api"),
            (&format!("{https}api = \"messages\""), "`model` is missing"),
            (&format!("{https}api = \"gopher\""), "unknown variant `gopher`"),
            (&format!("{https}api = \"chat\"\nmax_tokens = 0"), "at least 1"),
            (&format!("{https}headers = {{ Authorization = \"Bearer x\" }}"), "would stand in a file"),
            (&format!("{https}headers = {{ Host = \"b\" }}"), "cannot be set"),
            (&format!("{https}headers = {{ \"a b\" = \"b\" }}"), "not the name of a header"),
            (&format!("{https}headers = {{ a = \"b\\nc\" }}"), "cannot be sent"),
            (&format!("{https}key_header = \"x-key\""), "there is none"),
            (&format!("{https}key = \"k\"\nsecrets = {{ Authorization = \"b\" }}"), "set twice"),
            (&format!("{https}idle_timeout = \"soon\""), "is not a duration"),
            (&format!("{https}concurrency = 0"), "at least 1"),
            ("command = [\"x\"]\nsystem = \"s\"", "`system` is for agents with a `url`"),
            ("command = [\"x\"]\nallow = [\"private\"]", "`allow` is for agents with a `url`"),
        ];
        for (text, words) in cases {
            let error = read(text).unwrap_err();
            assert!(error.contains(words), "{text}: {error}");
        }
    }
}
