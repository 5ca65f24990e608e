//! The bytes of a link: one spelling, nothing unknown, and no byte that could be another one.

use super::world::*;
use crate::capability::*;
use proptest::prelude::*;
use relaymesh_bus::contract::samples::signer;

const NNC: &str = "00000000000000000000000000000000";

/// The canonical text of a root link, with a hole for each thing that a test writes in another way.
fn text(att: &str, rest: &str) -> String {
    format!(
        r#"{{"att":[{att}],"aud":"{}","depth":1,"exp":null,"iss":"{}","nbf":0,"nnc":"{NNC}","prf":[]{rest}}}"#,
        key(1),
        key(0)
    )
}

fn decode(text: &str) -> Result<Link, Error> {
    Link::decode(&forge(&signer(0), text))
}

#[test]
fn golden_bytes() {
    let link = issue(&Delegation {
        att: vec![of_kind(Resource::Job, Action::Claim, "com.example")],
        exp: None,
        nbf: 0,
        depth: 1,
        nnc: Nonce([0; 16]),
        ..plain(0, None)
    });
    let att = r#"{"action":"Claim","caveats":{"kind_prefix":"com.example"},"resource":"Job"}"#;
    assert_eq!(std::str::from_utf8(&link.as_bytes()[64..]).unwrap(), text(att, ""));
    assert_eq!(link.cid().to_string(), "684c5ece79a9d4046de57f0e412d727f4279d393204f2415bb3de5e3330927c1");
}

#[test]
fn what_is_written_in_another_way_or_not_known_is_refused() {
    let good = r#"{"action":"Read","caveats":{},"resource":"Ops"}"#;
    assert!(decode(&text(good, "")).is_ok());
    let with = |caveats: &str| text(&format!(r#"{{"action":"Read","caveats":{caveats},"resource":"Ops"}}"#), "");
    assert!(decode(&with(r#"{"sanitize":["StripGeo",{"TruncateContent":7}],"time_range":[1,2]}"#)).is_ok());
    let not_canonical = [
        format!(" {}", text(good, "")),
        text(good, "").replace(r#""nbf":0"#, r#""nbf":0.0"#),
        text(r#"{"action":"Read","resource":"Ops"}"#, ""),
        text(r#"{"resource":"Ops","action":"Read","caveats":{}}"#, ""),
        with(r#"{"predicates":["b","a"]}"#),
        with(r#"{"predicates":["a","a"]}"#),
        with(r#"{"audit_inference":false}"#),
        with(r#"{"sanitize":[]}"#),
        with(r#"{"sanitize":["RedactParticipants","StripGeo"]}"#),
    ];
    for text in not_canonical {
        assert_eq!(decode(&text), Err(Error::NotCanonical), "{text}");
    }
    let unknown = |field: &str| Err(Error::UnknownField { field: field.to_owned() });
    assert_eq!(decode(&text(good, r#","xyz":1"#)), unknown("xyz"));
    assert_eq!(decode(&text(r#"{"action":"Read","caveats":{},"resource":"Ops","with":1}"#, "")), unknown("with"));
    let caveat = "valid_for_generation".to_owned();
    assert_eq!(decode(&with(r#"{"valid_for_generation":[1]}"#)), Err(Error::UnknownCaveat { caveat }));
    let field = "nbf".to_owned();
    let twice = text(good, "").replace(r#""nbf":0"#, r#""nbf":0,"nbf":0"#);
    assert_eq!(decode(&twice), Err(Error::DuplicateField { field }));
    let grants = text(&format!(r#"{good},{}"#, good.replace("Read", "Claim")), "");
    assert_eq!(decode(&grants), Err(Error::Grants { grants: 2, max: ATT_MAX }), "in another order");
    let damaged = [
        text(r#"{"action":"Read","caveats":{},"resource":"Everything"}"#, ""),
        text(r#"{"action":"Delete","caveats":{},"resource":"Ops"}"#, ""),
        with(r#"{"kind_prefix":"a..b"}"#),
        with(r#"{"sanitize":["StripAll"]}"#),
        text(good, "").replace(NNC, "00"),
        text(good, "").replace(&key(1).to_string(), &key(1).to_string().to_uppercase()),
        text(good, "").replace(r#""depth":1"#, r#""depth":256"#),
        text(good, "").replace(r#""nbf":0"#, r#""nbf":-1"#),
        text(good, "").replace(r#""exp":null,"#, ""),
        "[]".to_owned(),
        String::new(),
    ];
    for text in damaged {
        let refused = decode(&text);
        assert!(matches!(refused, Err(Error::Damaged { .. } | Error::NotCanonical)), "{text} {refused:?}");
    }
}

#[test]
fn every_byte_of_a_chain_counts() {
    let chain = Chain::new(links(3, |_, link| link.att = vec![of_kind(Resource::Job, Action::Claim, "a.b")])).unwrap();
    let bytes = chain.encode();
    assert!(Chain::decode(&bytes).and_then(|chain| chain.verify(root())).is_ok());
    for index in 0..bytes.len() {
        for flip in [0x01, 0x02, 0x10, 0x20, 0x80, 0xff] {
            let mut other = bytes.clone();
            other[index] ^= flip;
            let verified = Chain::decode(&other).and_then(|chain| chain.verify(root()));
            assert!(verified.is_err(), "byte {index} with {flip:#x}");
        }
    }
    for length in 0..bytes.len() {
        // A beginning of the chain is a chain with fewer links, for somebody else; nothing between is anything.
        let shorter = Chain::decode(&bytes[..length]).and_then(|chain| chain.verify(root()));
        assert!(shorter.is_err() || shorter.is_ok_and(|less| less.holder() != key(3)), "{length} bytes");
    }
    let longer = [&bytes[..], &[0]].concat();
    assert!(Chain::decode(&longer).is_err());
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        prop_assert!(Chain::decode(&bytes).is_err());
        prop_assert!(Link::decode(&bytes).is_err());
    }

    #[test]
    fn arbitrary_text_behind_a_good_signature_never_panics(text in ".{0,200}") {
        prop_assert!(decode(&text).is_err());
    }

    #[test]
    fn spliced_chains_never_panic(cut in 0..2_000_usize, from in 0..2_000_usize) {
        let bytes = Chain::new(links(3, |_, _| {})).unwrap().encode();
        let (cut, from) = (cut % bytes.len(), from % bytes.len());
        let spliced = [&bytes[..cut], &bytes[from..]].concat();
        let verified = Chain::decode(&spliced).and_then(|chain| chain.verify(root()));
        prop_assert!(verified.is_err() || spliced == bytes || verified.is_ok_and(|less| less.links().len() < 3));
    }
}
