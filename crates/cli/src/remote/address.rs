//! Where a daemon is. A token is sent there, so it must be where nobody else reads it.

use super::{Query, joined};
use crate::error::{Code, Error};
use reqwest::Url;
use std::{fmt, net::IpAddr};

/// Where a daemon is.
pub(super) struct Address(Url);

impl Address {
    /// `https://HOST[:PORT]`, or `http://` on this machine.
    pub(super) fn parse(text: &str) -> Result<Self, Error> {
        let usage = |why: &str| {
            let shown: String = text.split('@').next_back().unwrap_or_default().chars().take(100).collect();
            Error::new(Code::Usage, format!("`{shown}` is not the URL of a daemon: {why}"))
                .hint("use https://HOST:PORT, or http://127.0.0.1:PORT on this machine")
        };
        let url = Url::parse(text).map_err(|error| usage(&error.to_string()))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(usage("it must begin with https:// or http://"));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(usage(
                "a user name or password in a URL ends up in logs; pass the token by RELAYMESH_TOKEN or --token-file",
            ));
        }
        if !matches!(url.path(), "" | "/") || url.query().is_some() || url.fragment().is_some() {
            return Err(usage("it must end after the host and port"));
        }
        let address = Self(url);
        if address.is_plain() && !address.is_here() {
            let message = format!("{address} is another machine, and http:// would send the token unencrypted");
            return Err(Error::new(Code::InTheClear, message));
        }
        Ok(address)
    }

    /// Whether nothing is encrypted.
    pub(super) fn is_plain(&self) -> bool {
        self.0.scheme() == "http"
    }

    fn is_here(&self) -> bool {
        let host = self.0.host_str().unwrap_or_default();
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        host.eq_ignore_ascii_case("localhost") || bare.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
    }

    /// The URL of this path there.
    pub(super) fn join(&self, path: &[&str], query: &Query<'_>) -> Url {
        joined(&self.0, path, query)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.as_str().trim_end_matches('/'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_goes_nowhere_in_the_clear() {
        let table = [
            ("http://127.0.0.1:8080", None),
            ("http://127.9.9.9", None),
            ("http://[::1]:8080/", None),
            ("http://LocalHost:1", None),
            ("https://relay.example:8443", None),
            ("https://10.0.0.7/", None),
            ("http://relay.example", Some(Code::InTheClear)),
            ("http://10.0.0.7:8080", Some(Code::InTheClear)),
            ("http://0.0.0.0:8080", Some(Code::InTheClear)),
            ("http://localhost.relay.example", Some(Code::InTheClear)),
            ("http://127.0.0.1.relay.example", Some(Code::InTheClear)),
            ("http://127.0.0.1@relay.example", Some(Code::Usage)),
            ("https://user:secret@relay.example", Some(Code::Usage)),
            ("https://relay.example/api", Some(Code::Usage)),
            ("https://relay.example/?token=x", Some(Code::Usage)),
            ("ftp://relay.example", Some(Code::Usage)),
            ("relay.example:8443", Some(Code::Usage)),
            ("", Some(Code::Usage)),
        ];
        for (text, expected) in table {
            let found = Address::parse(text);
            assert_eq!(found.as_ref().err().map(|error| error.code), expected, "{text}");
            assert!(found.err().is_none_or(|error| !error.message.contains("secret")), "{text}");
        }
    }

    #[test]
    fn what_is_in_a_path_stays_in_its_part() {
        let address = Address::parse("https://relay.example:8443/").unwrap();
        let url = address.join(&["api", "v1", "tasks", "../a b?c"], &[("x", Some("1&2".to_owned())), ("y", None)]);
        assert_eq!(url.as_str(), "https://relay.example:8443/api/v1/tasks/..%2Fa%20b%3Fc?x=1%262");
        assert_eq!(address.to_string(), "https://relay.example:8443");
    }
}
