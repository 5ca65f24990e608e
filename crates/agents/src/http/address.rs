//! Which addresses an agent may be reached at.
//!
//! A url from a file can point anywhere, and a name can be made to point anywhere later: at the machine itself, at the network behind it, at the
//! address where a cloud hands out the machine's own credentials. So it is not the name that is looked at but each address that it comes to, when it
//! is connected to. What is not known to be public is refused; loopback and private networks are let in by name.

use serde::Deserialize;
use std::{
    collections::BTreeSet,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
};
use url::{Host, Url};

/// Addresses that are refused unless they are let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Range {
    /// This machine.
    Loopback,
    /// The networks behind it.
    Private,
}

/// Those that are let in.
pub type Allowed = BTreeSet<Range>;

/// Who can reach an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// Anybody's.
    Public,
    /// In one of these.
    Within(Range),
    /// No agent is there, for this reason.
    Never(&'static str),
}

/// An address, or all addresses of a name, may not be reached.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Refused(pub String);

/// Whether this address may be reached; `is_plain`: without encryption.
pub fn vet(address: IpAddr, allowed: &Allowed, is_plain: bool) -> Result<(), Refused> {
    let refused = |why: String| Err(Refused(format!("{address} {why}")));
    match reach(address) {
        Reach::Never(what) => refused(format!("is {what}, which agents cannot use")),
        Reach::Within(range) if !allowed.contains(&range) => {
            let (what, word) = match range {
                Range::Loopback => ("this machine itself", "loopback"),
                Range::Private => ("in a private network", "private"),
            };
            refused(format!("is {what}; to allow it, set `allow = [\"{word}\"]`"))
        }
        Reach::Public if is_plain => refused("is public, and `http://` is not encrypted: use `https://`".into()),
        Reach::Public | Reach::Within(_) => Ok(()),
    }
}

/// The address in the place of a name in a url.
pub fn of(url: &Url) -> Option<IpAddr> {
    match url.host()? {
        Host::Domain(_) => None,
        Host::Ipv4(address) => Some(address.into()),
        Host::Ipv6(address) => Some(address.into()),
    }
}

/// Who can reach this address.
pub fn reach(address: IpAddr) -> Reach {
    match address {
        IpAddr::V4(address) => reach_v4(address),
        IpAddr::V6(address) => reach_v6(address),
    }
}

const METADATA: Reach = Reach::Never("the address of a cloud's metadata server");
const LINK_LOCAL: Reach = Reach::Never("a link-local address");
const RESERVED: Reach = Reach::Never("a reserved address");

fn reach_v4(address: Ipv4Addr) -> Reach {
    match address.octets() {
        // The second is in a private range and the third in a public one.
        [169, 254, 169, 254] | [100, 100, 100, 200] | [168, 63, 129, 16] => METADATA,
        [127, ..] => Reach::Within(Range::Loopback),
        [10, ..] | [172, 16..=31, ..] | [192, 168, ..] | [100, 64..=127, ..] => Reach::Within(Range::Private),
        [169, 254, ..] => LINK_LOCAL,
        [224..=239, ..] => Reach::Never("a multicast address"),
        [0 | 240..=255, ..] | [192, 0, 0 | 2, _] | [192, 88, 99, _] => RESERVED,
        [198, 18 | 19, ..] | [198, 51, 100, _] | [203, 0, 113, _] => RESERVED,
        _ => Reach::Public,
    }
}

fn reach_v6(address: Ipv6Addr) -> Reach {
    let [a, b, c, _, _, _, g, h] = address.segments();
    let last = || reach_v4(Ipv4Addr::from((u32::from(g) << 16) | u32::from(h)));
    if let Some(inner) = address.to_ipv4_mapped() {
        return reach_v4(inner);
    }
    match (a, b) {
        (0, 0) if address == Ipv6Addr::LOCALHOST => Reach::Within(Range::Loopback),
        // Reached through a gateway, they are the addresses within them.
        (0x64, 0xff9b) if address.segments()[2..6] == [0; 4] => last(),
        (0x2002, _) => reach_v4(Ipv4Addr::from((u32::from(b) << 16) | u32::from(c))),
        (0xfd00, 0x0ec2) | (0xfd20, 0x00ce) => METADATA,
        (0xfc00..=0xfdff, _) | (0xfec0..=0xfeff, _) => Reach::Within(Range::Private),
        (0xfe80..=0xfebf, _) => LINK_LOCAL,
        (0xff00..=0xffff, _) => Reach::Never("a multicast address"),
        // Teredo and other protocols' own, documentation.
        (0x2001, 0..=0x01ff) | (0x2001, 0x0db8) | (0x3fff, 0..=0x0fff) => RESERVED,
        (0x2000..=0x3fff, _) => Reach::Public,
        _ => RESERVED,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOOPBACK: Reach = Reach::Within(Range::Loopback);
    const PRIVATE: Reach = Reach::Within(Range::Private);

    #[test]
    fn every_sort_of_address_is_known() {
        let cases: [(&str, Reach); 48] = [
            ("1.1.1.1", Reach::Public),
            ("8.8.8.8", Reach::Public),
            ("172.15.255.255", Reach::Public),
            ("172.32.0.0", Reach::Public),
            ("100.63.255.255", Reach::Public),
            ("100.128.0.0", Reach::Public),
            ("223.255.255.255", Reach::Public),
            ("127.0.0.1", LOOPBACK),
            ("127.255.255.254", LOOPBACK),
            ("10.0.0.1", PRIVATE),
            ("172.16.0.1", PRIVATE),
            ("172.31.255.255", PRIVATE),
            ("192.168.1.1", PRIVATE),
            ("100.64.0.1", PRIVATE),
            ("169.254.169.254", METADATA),
            ("100.100.100.200", METADATA),
            ("168.63.129.16", METADATA),
            ("169.254.0.1", LINK_LOCAL),
            ("0.0.0.0", RESERVED),
            ("0.1.2.3", RESERVED),
            ("192.0.0.1", RESERVED),
            ("192.0.2.1", RESERVED),
            ("192.88.99.1", RESERVED),
            ("198.18.0.1", RESERVED),
            ("198.51.100.7", RESERVED),
            ("203.0.113.9", RESERVED),
            ("240.0.0.1", RESERVED),
            ("255.255.255.255", RESERVED),
            ("224.0.0.1", Reach::Never("a multicast address")),
            ("2606:4700:4700::1111", Reach::Public),
            ("::1", LOOPBACK),
            ("::ffff:127.0.0.1", LOOPBACK),
            ("::ffff:10.1.2.3", PRIVATE),
            ("::ffff:169.254.169.254", METADATA),
            ("::ffff:1.1.1.1", Reach::Public),
            ("64:ff9b::7f00:1", LOOPBACK),
            ("64:ff9b::a9fe:a9fe", METADATA),
            ("64:ff9b::101:101", Reach::Public),
            ("64:ff9b:1::1", RESERVED),
            ("2002:7f00:1::", LOOPBACK),
            ("::127.0.0.1", RESERVED),
            ("::", RESERVED),
            ("fc00::1", PRIVATE),
            ("fd12:3456::1", PRIVATE),
            ("fd00:ec2::254", METADATA),
            ("fe80::1", LINK_LOCAL),
            ("2001:db8::1", RESERVED),
            ("ff02::1", Reach::Never("a multicast address")),
        ];
        for (text, expected) in cases {
            assert_eq!(reach(text.parse().unwrap()), expected, "{text}");
        }
    }

    #[test]
    fn what_is_not_public_is_let_in_by_name_and_plain_text_stays_at_home() {
        let none = Allowed::new();
        let loopback = Allowed::from([Range::Loopback]);
        let both = Allowed::from([Range::Loopback, Range::Private]);
        let cases = [
            ("1.1.1.1", &none, false, ""),
            ("1.1.1.1", &both, true, "use `https://`"),
            ("127.0.0.1", &none, true, "allow = [\"loopback\"]"),
            ("127.0.0.1", &loopback, true, ""),
            ("::ffff:127.0.0.1", &loopback, true, ""),
            ("::ffff:127.0.0.1", &none, false, "allow = [\"loopback\"]"),
            ("10.0.0.1", &loopback, false, "allow = [\"private\"]"),
            ("10.0.0.1", &both, true, ""),
            ("169.254.169.254", &both, false, "metadata server"),
            ("fe80::1", &both, false, "link-local"),
            ("0.0.0.0", &both, true, "reserved"),
        ];
        for (text, allowed, is_plain, words) in cases {
            match vet(text.parse().unwrap(), allowed, is_plain) {
                Ok(()) => assert_eq!(words, "", "{text}"),
                Err(Refused(why)) => assert!(!words.is_empty() && why.contains(words), "{text}: {why}"),
            }
        }
    }
}
