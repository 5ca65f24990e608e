//! The door and the lines of a bulk submit, without a connection around them, for the fuzz targets.

use super::{
    bulk::{Lines, prepare},
    door::{self, Names},
    guard::{Knock, SITE, text},
    operations::Operations,
    principal::Principal,
    problem,
    problem::Problem,
    routes,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Uri, header};
use relaymesh_agents::Agents;
use relaymesh_runtime::{
    driver::Caller,
    settings::Settings,
    token::{Grant, Scope},
};
use std::{
    net::{IpAddr, Ipv4Addr},
    sync::LazyLock,
};

/// A name besides its own under which the daemon of [`door()`] may be asked.
pub const ADDED: &str = "relay.example";

static OPERATIONS: LazyLock<Operations> = LazyLock::new(|| Operations::of(&routes::document()));

/// What the door has heard, and how it decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heard {
    /// `Host`, or the authority of the request.
    pub host: Option<String>,
    /// Every `Origin`.
    pub origins: Vec<String>,
    /// Every `Sec-Fetch-Site`.
    pub sites: Vec<String>,
    /// How it was asked.
    pub method: String,
    /// The form of the body.
    pub media: Option<String>,
    /// The token, if one was shown.
    pub token: Option<String>,
    /// The problem's document for whoever may not pass.
    pub decided: Result<Let, String>,
}

/// What may pass so far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Let {
    /// The route as the reference writes it.
    pub route: String,
    /// Whether it changes something.
    pub is_write: bool,
    /// Whether it is a write that came as a GET.
    pub is_by_get: bool,
    /// Whether everybody may, whoever they are.
    pub is_open: bool,
}

/// How a daemon on loopback without TLS decides about a request: a method and a path on the first line, a header on each other. `None`: it is
/// no request. `takes_get` is whether writes by GET are taken.
pub fn door(request: &[u8], takes_get: bool) -> Option<Heard> {
    let mut lines = request.split(|byte| *byte == b'\n');
    let mut first = lines.next()?.splitn(2, |byte| *byte == b' ');
    let mut made = Request::new(());
    *made.method_mut() = Method::from_bytes(first.next()?).ok()?;
    *made.uri_mut() = Uri::try_from(first.next()?).ok()?;
    for line in lines {
        let at = line.iter().position(|byte| *byte == b':')?;
        let (name, value) = (HeaderName::from_bytes(&line[..at]).ok()?, line[at + 1..].trim_ascii());
        made.headers_mut().append(name, HeaderValue::from_bytes(value).ok()?);
    }
    let names = Names { is_tls: false, address: IpAddr::V4(Ipv4Addr::LOCALHOST), added: vec![ADDED.to_owned()] };
    let decided = Knock { names: &names, operations: &OPERATIONS, takes_get }.hear(&made);
    let decided = decided.and_then(|passed| passed.check(&made).map(|()| passed));
    let headers = made.headers();
    let authority = made.uri().authority().map(|authority| authority.as_str().to_owned());
    Some(Heard {
        host: authority.or_else(|| text(headers, &header::HOST).map(str::to_owned)),
        origins: all(headers, &header::ORIGIN),
        sites: all(headers, &SITE),
        method: made.method().to_string(),
        media: door::media(text(headers, &header::CONTENT_TYPE)),
        token: door::bearer(text(headers, &header::AUTHORIZATION)).map(str::to_owned),
        decided: decided.map_err(|problem| said(&problem)).map(|passed| Let {
            route: passed.route.path.clone(),
            is_write: passed.is_write,
            is_by_get: passed.compat,
            is_open: passed.operation.scopes.is_none(),
        }),
    })
}

fn all(headers: &HeaderMap, name: &HeaderName) -> Vec<String> {
    headers.get_all(name).iter().map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned()).collect()
}

fn said(problem: &Problem) -> String {
    problem::to_json(problem.error()).to_string()
}

/// What a bulk submit in these parts comes to, line by line: the fingerprint of what is submitted and how many steps it has, or the document of a
/// problem. No line may be longer than `line_bytes_max`.
pub fn bulk(parts: &[&[u8]], line_bytes_max: usize) -> Vec<Result<(String, usize), String>> {
    let (Ok(author), Ok(source)) = ("fuzz".parse(), "http".parse()) else { return Vec::new() };
    let grant = Grant { scope: Scope::Rw, namespaces: None, agent: None };
    let principal = Principal { caller: Caller::new(author, source), grant, bound: None };
    let (agents, settings) = (Agents::default(), Settings::default());
    let mut lines = Lines::new(line_bytes_max);
    let mut answers = Vec::new();
    let mut parts = parts.iter();
    while !lines.is_over {
        match parts.next() {
            Some(part) => lines.put(part),
            None => lines.is_over = true,
        }
        while let Some(line) = lines.next() {
            let answer = line.and_then(|line| prepare(&line, &principal, &agents, &settings));
            let answer = answer.map(|submit| (submit.schedule.fingerprint.to_string(), submit.schedule.steps.len()));
            answers.push(answer.map_err(|error| problem::to_json(&error).to_string()));
        }
    }
    answers
}
