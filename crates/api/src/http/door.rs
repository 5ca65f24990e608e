//! What may come in at all, as far as headers tell: pure, so that it is a table in the tests.
//!
//! A page of somebody else can make a browser on this machine send requests here: with its own name pointing to loopback (rebinding), by
//! a form, by `fetch`, by an `<img>`. So only known names are served, no page but our own is, and a write needs a form of body and a
//! header that no page can send unasked.

use crate::error::{Code, Error};
use std::net::IpAddr;

/// What a request says about where it comes from and where it means to go.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Coming<'a> {
    /// `Host`, or the authority of the request line.
    pub(super) host: Option<&'a str>,
    /// `Origin`.
    pub(super) origin: Option<&'a str>,
    /// `Sec-Fetch-Site`.
    pub(super) fetch_site: Option<&'a str>,
}

/// The names that are served.
#[derive(Debug, Clone)]
pub(super) struct Names {
    /// Whether there is TLS: pages of ours begin so.
    pub(super) is_tls: bool,
    /// The address that is listened on.
    pub(super) address: IpAddr,
    /// Names that an operator has added.
    pub(super) added: Vec<String>,
}

impl Names {
    /// Whether the request is meant for us, and sent by nobody's page but ours.
    pub(super) fn check(&self, coming: &Coming<'_>) -> Result<(), Error> {
        let host = coming.host.unwrap_or_default();
        if !self.knows(host) {
            // What stands before an `@` is a name and a password.
            let bare = host.rsplit('@').next().unwrap_or_default();
            let shown: String = bare.chars().filter(|c| !c.is_control()).take(100).collect();
            return Err(Error::new(Code::WrongHost, format!("`{shown}` is not a host name of this daemon")));
        }
        let foreign = |what: &str| Err(Error::new(Code::ForeignPage, format!("{what} is not of this daemon")));
        match coming.fetch_site {
            None | Some("same-origin" | "none") => {}
            Some(_) => return foreign("the page that sent the request"),
        }
        match coming.origin {
            None => Ok(()),
            Some(origin) if self.is_own(origin, host) => Ok(()),
            Some(_) => foreign("the origin of the request"),
        }
    }

    /// Whether the origin is the very host that was asked.
    pub(super) fn is_own(&self, origin: &str, host: &str) -> bool {
        let scheme = if self.is_tls { "https://" } else { "http://" };
        origin.strip_prefix(scheme).is_some_and(|rest| rest.eq_ignore_ascii_case(host))
    }

    /// Whether the host is one of ours; the port does not matter.
    fn knows(&self, host: &str) -> bool {
        let Some(name) = without_port(host) else { return false };
        // One pair of brackets around an address of the new kind, and none around others: what one reader mends another may not.
        let six = name.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        let bare = six.unwrap_or(name);
        let address = match six {
            Some(six) => six.parse().map(IpAddr::V6),
            None => name.parse().map(IpAddr::V4),
        };
        if let Ok(address) = address {
            let is_here = address == self.address || (self.address.is_loopback() && address.is_loopback());
            return is_here || self.added.iter().any(|added| added.trim_matches(['[', ']']) == bare);
        }
        let is_local = self.address.is_loopback() && name.eq_ignore_ascii_case("localhost");
        is_local || self.added.iter().any(|added| added.eq_ignore_ascii_case(name))
    }
}

/// The host without its port; `None` when it is no host.
fn without_port(host: &str) -> Option<&str> {
    let is_port = |text: &str| !text.is_empty() && text.len() <= 5 && text.bytes().all(|byte| byte.is_ascii_digit());
    if host.starts_with('[') {
        let end = host.find(']')? + 1;
        let rest = &host[end..];
        let is_right = rest.is_empty() || rest.strip_prefix(':').is_some_and(is_port);
        return is_right.then_some(&host[..end]);
    }
    match host.split_once(':') {
        None => (!host.is_empty()).then_some(host),
        Some((name, port)) => (!name.is_empty() && is_port(port)).then_some(name),
    }
}

/// The token in an `Authorization` header. Only this header counts: what is in a URL is in logs, and what is in a cookie any page sends.
pub(super) fn bearer(header: Option<&str>) -> Option<&str> {
    let (scheme, token) = header?.split_once(' ')?;
    let token = token.trim_matches(' ');
    let is_plain = token.len() <= 256 && token.bytes().all(|byte| byte.is_ascii_graphic());
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty() && is_plain).then_some(token)
}

/// The page that a browser came from, as it is kept: what stands behind `?` or `#` or before an `@` may be somebody's token.
pub(super) fn page(referer: &str) -> String {
    let page = referer.split(['?', '#']).next().unwrap_or_default();
    let Some((scheme, rest)) = page.split_once("://") else { return page.to_owned() };
    let (authority, path) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
    format!("{scheme}://{}{path}", authority.rsplit('@').next().unwrap_or_default())
}

/// The media type of a body without its parameters.
pub(super) fn media(header: Option<&str>) -> Option<String> {
    let kind = header?.split(';').next()?.trim();
    (!kind.is_empty()).then(|| kind.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(address: &str, added: &[&str]) -> Names {
        let added = added.iter().map(|text| (*text).to_owned()).collect();
        Names { is_tls: false, address: address.parse().unwrap(), added }
    }

    #[test]
    fn only_our_own_names_are_served_whatever_the_port() {
        let (local, open) = (names("127.0.0.1", &["relay.example"]), names("10.0.0.7", &["relay.example", "[::1]"]));
        let table = [
            ("127.0.0.1", true, false),
            ("127.0.0.1:8080", true, false),
            ("127.0.0.2:1", true, false),
            ("localhost:8080", true, false),
            ("LOCALHOST", true, false),
            ("[::1]:8080", true, true),
            ("relay.example:443", true, true),
            ("10.0.0.7", false, true),
            ("attacker.example", false, false),
            ("attacker.example:8080", false, false),
            ("localhost.attacker.example", false, false),
            ("127.0.0.1.attacker.example", false, false),
            ("127.0.0.1@attacker.example", false, false),
            ("127.0.0.1:80:80", false, false),
            ("127.0.0.1:", false, false),
            ("127.0.0.1:http", false, false),
            ("[::1", false, false),
            ("[[::1]:1", false, false),
            ("[::1]]", false, false),
            ("[127.0.0.1]", false, false),
            ("127.0.0.1]", false, false),
            ("[127.0.0.1", false, false),
            ("::1", false, false),
            ("[::1]8080", false, false),
            (":8080", false, false),
            ("0.0.0.0", false, false),
            ("", false, false),
        ];
        for (host, at_local, at_open) in table {
            for (names, expected) in [(&local, at_local), (&open, at_open)] {
                let found = names.check(&Coming { host: Some(host), ..Coming::default() });
                assert_eq!(found.is_ok(), expected, "{host} at {}", names.address);
                assert!(found.is_ok() || found.is_err_and(|error| error.code == Code::WrongHost));
            }
        }
        assert!(local.check(&Coming::default()).is_err(), "no host, no answer");
    }

    #[test]
    fn no_page_but_our_own_is_answered() {
        let names = names("127.0.0.1", &[]);
        let host = Some("127.0.0.1:8080");
        let table = [
            (None, None, true),
            (Some("http://127.0.0.1:8080"), Some("same-origin"), true),
            (None, Some("none"), true),
            (Some("http://127.0.0.1:9090"), None, false),
            (Some("http://127.0.0.1"), None, false),
            (Some("https://127.0.0.1:8080"), None, false),
            (Some("http://localhost:8080"), None, false),
            (Some("null"), None, false),
            (Some(""), None, false),
            (None, Some("cross-site"), false),
            (None, Some("same-site"), false),
            (None, Some("anything"), false),
        ];
        for (origin, fetch_site, expected) in table {
            let found = names.check(&Coming { host, origin, fetch_site });
            assert_eq!(found.is_ok(), expected, "{origin:?} {fetch_site:?}");
            assert!(found.is_ok() || found.is_err_and(|error| error.code == Code::ForeignPage));
        }
    }

    #[test]
    fn a_page_is_kept_without_what_may_be_a_token() {
        let table = [
            ("http://127.0.0.1/page", "http://127.0.0.1/page"),
            ("http://127.0.0.1:80/page?token=t#t", "http://127.0.0.1:80/page"),
            ("http://me:pw@127.0.0.1/a@b", "http://127.0.0.1/a@b"),
            ("https://host?a://b@c", "https://host"),
            ("about:client", "about:client"),
            ("", ""),
        ];
        for (referer, kept) in table {
            assert_eq!(page(referer), kept, "{referer}");
        }
    }

    #[test]
    fn a_token_comes_in_its_header_alone() {
        let table = [
            (Some("Bearer rmt_1"), Some("rmt_1")),
            (Some("bearer  rmt_1 "), Some("rmt_1")),
            (Some("Basic rmt_1"), None),
            (Some("Bearer"), None),
            (Some("Bearer "), None),
            (Some("rmt_1"), None),
            (Some("Bearer a b"), None),
            (None, None),
        ];
        for (header, expected) in table {
            assert_eq!(bearer(header), expected, "{header:?}");
        }
        assert_eq!(bearer(Some(&format!("Bearer {}", "a".repeat(257)))), None);
        assert_eq!(media(Some("Application/JSON; charset=utf-8")).as_deref(), Some("application/json"));
        assert_eq!(media(Some(";")), None);
    }
}
