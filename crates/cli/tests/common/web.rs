//! A client of the HTTP API that does exactly what it is told, so that a test can send what no library would.

use super::house::House;
use serde_json::Value;
use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    time::Duration,
};

/// Longer than any answer takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// Where the API is, and the token that requests have.
#[derive(Clone)]
pub(crate) struct Web {
    /// `127.0.0.1:PORT`.
    pub(crate) host: String,
    pub(crate) token: Option<String>,
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Got {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Web {
    /// That of a house whose daemon runs, with its first token.
    pub(crate) fn of(house: &House) -> Self {
        let endpoint = std::fs::read_to_string(house.0.root().join("daemon.json")).unwrap();
        let endpoint: Value = serde_json::from_str(&endpoint).unwrap();
        let host = endpoint["http"].as_str().unwrap().split_once("://").unwrap().1.to_owned();
        house.0.until("the first token is there", |mesh| mesh.root().join("http-token").exists());
        let token = std::fs::read_to_string(house.0.root().join("http-token")).unwrap().trim().to_owned();
        Self { host, token: Some(token) }
    }

    /// The same with another token.
    pub(crate) fn with(&self, token: &str) -> Self {
        Self { token: Some(token.to_owned()), ..self.clone() }
    }

    pub(crate) fn get(&self, path: &str) -> Got {
        self.send("GET", path, &[], None)
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Got {
        self.send("POST", path, &[("Content-Type", "application/json")], Some(&body.to_string()))
    }

    /// One request on a connection of its own. A header that is given counts more than the usual one; an empty one takes it away.
    pub(crate) fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: Option<&str>) -> Got {
        self.try_send(method, path, headers, body).unwrap()
    }

    /// The same; nothing if there was no place for it.
    pub(crate) fn try_send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&str>,
    ) -> Option<Got> {
        let mut stream = self.connect();
        stream.write_all(self.request(method, path, headers, body).as_bytes()).ok()?;
        read(&mut BufReader::new(stream))
    }

    pub(crate) fn request(&self, method: &str, path: &str, headers: &[(&str, &str)], body: Option<&str>) -> String {
        let given =
            |name: &str| headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| *value);
        let base = if path.split('?').next() == Some("/metrics") { "" } else { "/api/v1" };
        let mut lines = vec![format!("{method} {base}{path} HTTP/1.1")];
        let bearer = self.token.as_ref().map(|token| format!("Bearer {token}"));
        let length = body.map(|body| body.len().to_string());
        let usual = [
            ("Host", Some(self.host.clone())),
            ("Authorization", bearer),
            ("Content-Length", length),
            ("Connection", Some("close".to_owned())),
        ];
        let usual = usual.into_iter().filter(|(name, _)| given(name).is_none());
        lines.extend(usual.filter_map(|(name, value)| Some(format!("{name}: {}", value?))));
        lines.extend(
            headers.iter().filter(|(_, value)| !value.is_empty()).map(|(name, value)| format!("{name}: {value}")),
        );
        format!("{}\r\n\r\n{}", lines.join("\r\n"), body.unwrap_or_default())
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.host).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    /// Events after a position, as they come.
    pub(crate) fn events(&self, query: &str, last: Option<u64>) -> Events {
        let mut stream = self.connect();
        let last = last.map(|last| last.to_string()).unwrap_or_default();
        let request = self.request("GET", &format!("/events{query}"), &[("Last-Event-ID", &last)], None);
        stream.write_all(request.as_bytes()).unwrap();
        let mut reader = BufReader::new(stream);
        let (status, _) = head(&mut reader).unwrap();
        assert_eq!(status, 200);
        Events { reader }
    }
}

impl Got {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    pub(crate) fn lines(&self) -> Vec<Value> {
        self.body.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// The body of an answer that must be of this status.
    pub(crate) fn expect(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", self.body);
        self.json()
    }
}

/// A stream of events.
pub(crate) struct Events {
    reader: BufReader<TcpStream>,
}

impl Events {
    /// The next event: its position, its kind and its data; `None` when the stream has ended.
    pub(crate) fn next(&mut self) -> Option<(u64, String, Value)> {
        let (mut id, mut kind) = (0, String::new());
        loop {
            let mut line = String::new();
            if self.reader.read_line(&mut line).ok()? == 0 {
                return None;
            }
            let line = line.trim_end();
            if let Some(text) = line.strip_prefix("id: ") {
                id = text.parse().unwrap();
            } else if let Some(text) = line.strip_prefix("event: ") {
                text.clone_into(&mut kind);
            } else if let Some(text) = line.strip_prefix("data: ") {
                return Some((id, kind, serde_json::from_str(text).unwrap()));
            }
        }
    }
}

fn head(reader: &mut BufReader<TcpStream>) -> Option<(u16, Vec<(String, String)>)> {
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let status = line.split(' ').nth(1)?.parse().ok()?;
    let mut headers = Vec::new();
    loop {
        line.clear();
        reader.read_line(&mut line).ok()?;
        match line.trim_end().split_once(": ") {
            Some((name, value)) => headers.push((name.to_owned(), value.to_owned())),
            None => return Some((status, headers)),
        }
    }
}

/// The answer that comes; `None` when the connection ends without one.
pub(crate) fn read(reader: &mut BufReader<TcpStream>) -> Option<Got> {
    let (status, headers) = head(reader)?;
    let found = |wanted: &str| {
        headers.iter().find(|(name, _)| name.eq_ignore_ascii_case(wanted)).map(|(_, value)| value.as_str())
    };
    let mut body = Vec::new();
    if found("transfer-encoding") == Some("chunked") {
        while let Some(part) = chunk(reader) {
            body.extend(part);
        }
    } else {
        let length: u64 = found("content-length").and_then(|text| text.parse().ok()).unwrap_or(0);
        reader.take(length).read_to_end(&mut body).ok()?;
    }
    Some(Got { status, headers, body: String::from_utf8_lossy(&body).into_owned() })
}

/// The next part of a body that comes in parts; `None` at its end, or when it is cut off.
pub(crate) fn chunk(reader: &mut BufReader<TcpStream>) -> Option<Vec<u8>> {
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let length = usize::from_str_radix(line.trim_end(), 16).ok()?;
    let mut part = vec![0; length + 2];
    reader.read_exact(&mut part).ok()?;
    part.truncate(length);
    (length > 0).then_some(part)
}
