//! The door: one function in front of every route.

use super::{
    bulk::UnderWay,
    desk::Desk,
    door::{self, Coming, Names},
    events::Feed,
    keys::{Holder, Keys},
    operations::{Operation, Operations, Route},
    principal::Principal,
    problem::Problem,
    query,
    rate::Rate,
    serve::Peer,
    unread::Unread,
    uploads::Uploads,
    waits::{Room, Waits},
};
use crate::error::{Code, Error};
use axum::{
    body::Body,
    extract::{Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, Method, header},
    middleware::Next,
    response::{IntoResponse as _, Response},
};
use relaymesh_core::{op::Via, trace};
use relaymesh_runtime::{
    driver::Caller,
    token::{Bound, Grant},
};
use std::{
    net::IpAddr,
    sync::{Arc, atomic::Ordering::Relaxed},
    time::{Duration, Instant},
};

/// How long an answer may take to begin. A wait that is asked for is shorter.
const HANDLER_PATIENCE: Duration = Duration::from_secs(90);

/// The end of the path by which an attempt is finished: its token is good there after its end too, so that a word whose answer was lost can be repeated. Another
/// word than the last one is refused by the fence.
const FINISH: &str = "/steps/{step}/finish";

/// Where a browser says that the page is from which it sends a request.
pub(super) const SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// What every request may need.
pub(super) struct House {
    pub(super) desk: Arc<Desk>,
    pub(super) keys: Keys,
    pub(super) operations: Operations,
    pub(super) rate: Rate,
    pub(super) waits: Waits,
    pub(super) room: Room,
    pub(super) under_way: UnderWay,
    pub(super) unread: Unread,
    pub(super) uploads: Arc<Uploads>,
    pub(super) feed: Feed,
    pub(super) address: IpAddr,
    pub(super) is_tls: bool,
}

/// Lets a request in, or refuses it. Every answer gets the same headers.
pub(super) async fn guard(State(house): State<Arc<House>>, request: Request, next: Next) -> Response {
    let is_tls = house.is_tls;
    let mut response = match admit(&house, request).await {
        Ok((request, compat)) => {
            let is_write = !matches!(*request.method(), Method::GET | Method::HEAD);
            let answered = tokio::time::timeout(HANDLER_PATIENCE, next.run(request)).await;
            let mut response = answered
                .unwrap_or_else(|_| Problem::from(Error::new(Code::Busy, "the answer took too long")).into_response());
            response = house.unread.admit(response, is_write).await;
            if compat {
                let note = "299 - \"writes by GET are deprecated: use POST\"";
                response.headers_mut().insert(header::WARNING, HeaderValue::from_static(note));
                response.headers_mut().insert("deprecation", HeaderValue::from_static("true"));
            }
            response
        }
        Err(problem) => problem.into_response(),
    };
    close(response.headers_mut(), is_tls);
    response
}

/// Headers that keep browsers from using an answer for anything but showing it.
fn close(headers: &mut HeaderMap, is_tls: bool) {
    const ALWAYS: [(HeaderName, &str); 5] = [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CONTENT_SECURITY_POLICY, "default-src 'none'; frame-ancestors 'none'; sandbox"),
        (header::CACHE_CONTROL, "no-store"),
    ];
    for (name, value) in ALWAYS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    for name in ["cross-origin-resource-policy", "cross-origin-opener-policy"] {
        headers.insert(name, HeaderValue::from_static("same-origin"));
    }
    if is_tls {
        headers.insert(header::STRICT_TRANSPORT_SECURITY, HeaderValue::from_static("max-age=31536000"));
    }
}

/// The request with who asks; and whether it is a write that came as a GET.
async fn admit(house: &Arc<House>, mut request: Request) -> Result<(Request, bool), Problem> {
    let settings = house.desk.settings();
    let added = settings.http_hosts.split(',').filter(|host| !host.is_empty()).map(str::to_owned).collect();
    let names = Names { is_tls: house.is_tls, address: house.address, added };
    let knocked = Knock { names: &names, operations: &house.operations, takes_get: settings.http_get_writes };
    let passed = knocked.hear(&request)?;
    let Passed { route, operation, compat, is_write } = passed;
    let via = Arc::new(via(&request, &route.path));
    if let Some(scopes) = &operation.scopes {
        let repeats = route.path.ends_with(FINISH);
        let principal = who(house, request.headers(), is_write.then(|| Arc::clone(&via)), repeats).await?;
        if !principal.grant.scope.suffices(scopes) {
            let wanted: Vec<&str> = scopes.iter().map(|scope| scope.as_str()).collect();
            let message =
                format!("this needs the scope {}; the token has {}", wanted.join(" or "), principal.grant.scope);
            return Err(Error::new(Code::Forbidden, message).into());
        }
        passed.check(&request)?;
        if is_write {
            within_rate(house, &principal, settings.http_writes_per_second)?;
        }
        if compat {
            let about = [("route", route.path.as_str())];
            house.desk.note(&principal.caller, "web.write.get_compat", None, &about).await?;
            house.desk.counts.web_write_get_compat.fetch_add(1, Relaxed);
        }
        request.extensions_mut().insert(principal);
    } else {
        passed.check(&request)?;
    }
    request.extensions_mut().insert(via);
    if compat {
        *request.method_mut() = Method::POST;
        let json = HeaderValue::from_static("application/json");
        request.headers_mut().entry(header::CONTENT_TYPE).or_insert(json);
    }
    Ok((request, compat))
}

/// What is decided by what a request says, before anybody is asked who it is.
pub(super) struct Knock<'a> {
    pub(super) names: &'a Names,
    pub(super) operations: &'a Operations,
    /// Whether writes by GET are taken.
    pub(super) takes_get: bool,
}

/// What a request that may pass so far is for.
pub(super) struct Passed<'a> {
    pub(super) route: &'a Route,
    pub(super) operation: &'a Operation,
    /// Whether it is a write that came as a GET.
    pub(super) compat: bool,
    pub(super) is_write: bool,
}

impl Passed<'_> {
    /// Whether the request has the form that the operation takes: of its body, and of its query string. A caller that nobody knows is told
    /// that first.
    pub(super) fn check<B>(&self, request: &axum::http::Request<B>) -> Result<(), Problem> {
        if self.is_write {
            check_media(request.headers(), self.operation, self.compat)?;
        }
        query::check(request.uri(), &self.operation.query)
    }
}

impl<'a> Knock<'a> {
    pub(super) fn hear<B>(&self, request: &axum::http::Request<B>) -> Result<Passed<'a>, Problem> {
        let headers = request.headers();
        let authority = request.uri().authority().map(axum::http::uri::Authority::as_str);
        let coming = Coming {
            host: authority.or(text(headers, &header::HOST)),
            origin: text(headers, &header::ORIGIN),
            fetch_site: text(headers, &SITE),
        };
        // A header that stands twice means two things to two readers.
        let doubled = [header::HOST, header::ORIGIN, header::AUTHORIZATION, header::CONTENT_TYPE, SITE];
        if let Some(name) = doubled.iter().find(|name| headers.get_all(*name).iter().count() > 1) {
            return Err(Error::new(Code::Usage, format!("the header `{name}` occurs twice")).into());
        }
        self.names.check(&coming)?;
        let no_route = || Error::new(Code::NoRoute, "there is no such route");
        let route = self.operations.route(request.uri().path()).ok_or_else(no_route)?;
        let by_get = (*request.method() == Method::GET && self.takes_get).then(|| route.find(&Method::POST)).flatten();
        let (operation, compat) = match (route.find(request.method()), by_get) {
            (Some(operation), _) => (operation, false),
            (None, Some(write)) => (write, true),
            (None, None) => {
                let message = format!("this route allows {}", route.allowed());
                return Err(Problem::from(Error::new(Code::WrongMethod, message)).allow(route.allowed()));
            }
        };
        if compat {
            let own = coming.origin.zip(coming.host).is_some_and(|(origin, host)| self.names.is_own(origin, host));
            if !own {
                let message = "a write by GET needs an `Origin` of this daemon";
                return Err(Error::new(Code::ForeignPage, message).into());
            }
        }
        let is_write = compat || !matches!(*request.method(), Method::GET | Method::HEAD);
        Ok(Passed { route, operation, compat, is_write })
    }
}

/// The rate limit: refuses writes with `Retry-After` (R24).
fn within_rate(house: &House, principal: &Principal, per_second: u64) -> Result<(), Problem> {
    house.rate.take(&principal.caller.author, per_second, Instant::now()).map_err(|seconds| {
        house.desk.counts.web_write_rate_limited.fetch_add(1, Relaxed);
        let message = format!("this token sent more than {per_second} writes per second");
        Problem::from(Error::new(Code::TooMany, message)).retry_after(seconds)
    })
}

/// A body that a form or an image of some page could send is never taken.
fn check_media(headers: &HeaderMap, operation: &Operation, compat: bool) -> Result<(), Error> {
    let found = door::media(text(headers, &header::CONTENT_TYPE));
    match found {
        Some(found) if operation.media.contains(&found) => Ok(()),
        None if compat => Ok(()),
        found => {
            // Headers are long if somebody likes, and a refusal is not.
            let found =
                found.map_or_else(|| "it has no `Content-Type`".to_owned(), |found| format!("it is `{found:.100}`"));
            let wanted = operation.media.join(" or ");
            Err(Error::new(Code::WrongMedia, format!("the body must be {wanted}, but {found}")))
        }
    }
}

/// Who asks where nobody must say so; `None` if they show no token that is good.
pub(super) async fn known(house: &Arc<House>, headers: &HeaderMap) -> Option<Principal> {
    who(house, headers, None, false).await.ok()
}

/// Who shows which token.
async fn who(
    house: &Arc<House>,
    headers: &HeaderMap,
    via: Option<Arc<Via>>,
    takes_ended: bool,
) -> Result<Principal, Error> {
    let unknown = || Error::new(Code::NotAuthenticated, "a valid token is required");
    let asked_in = traceparent(headers);
    let token = door::bearer(text(headers, &header::AUTHORIZATION)).ok_or_else(unknown)?;
    let name = |text: &str| text.parse().map_err(|error| Error::new(Code::Internal, format!("{error}")));
    let caller = |author| Ok::<_, Error>(Caller { author, source: name("http")?, via, asked_in });
    match house.keys.find(token, house.keys.now_ms())?.ok_or_else(unknown)? {
        Holder::Named(found) => Ok(Principal { caller: caller(found.name)?, grant: found.grant, bound: None }),
        Holder::Attempt(bound) => {
            let task = bound.step.task;
            let rows = house.desk.readers.read(move |reader| Ok(reader.task(task)?)).await?;
            let is_good = match &rows {
                Some(rows) => bound.is_live(rows) || (takes_ended && bound.has_been(rows)),
                None => false,
            };
            if !is_good {
                if rows.is_none() {
                    house.keys.forget(token);
                }
                return Err(unknown());
            }
            let namespaces = Some(vec![bound.namespace.clone()]);
            let grant = Grant { scope: Bound::SCOPE, namespaces, agent: Some(bound.agent.clone()) };
            Ok(Principal { caller: caller(bound.agent.clone())?, grant, bound: Some(bound) })
        }
    }
}

/// How the request came in. All but the first three are somebody's word (D8).
fn via(request: &Request<Body>, route: &str) -> Via {
    let said = |name: &HeaderName| text(request.headers(), name).map(str::to_owned);
    let peer = request.extensions().get::<Peer>().map_or_else(String::new, |peer| peer.0.to_string());
    Via {
        method: request.method().to_string(),
        route: route.to_owned(),
        remote_addr: peer,
        user_agent: said(&header::USER_AGENT),
        x_forwarded_for: said(&HeaderName::from_static("x-forwarded-for")),
        origin: said(&header::ORIGIN),
        referer: said(&header::REFERER).as_deref().map(door::page),
    }
    .shortened()
}

/// Where in a trace the caller asks. One that cannot be read, or stands twice, is as good as none: so the standard has it.
fn traceparent(headers: &HeaderMap) -> Option<trace::Context> {
    let mut all = headers.get_all("traceparent").iter();
    let one = all.next().filter(|_| all.next().is_none())?;
    one.to_str().ok()?.parse().ok()
}

pub(super) fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name).map(|value| value.to_str().unwrap_or("\u{fffd}"))
}
