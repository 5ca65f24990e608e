//! What D25 promises, and that nothing is told on the way.

use super::*;
use crate::register::Register;
use rand_core::{CryptoRng, Rng, TryCryptoRng, TryRng};
use rand_pcg::{Pcg64Mcg, rand_core::SeedableRng as _};
use relaymesh_bus::{
    contract::samples::{SENDER, US, header, signer},
    envelope::{self, Envelope, Expected, Header},
    sign::Signer,
    write_class::{EntityType, Order, class_of},
};
use relaymesh_core::{
    hlc::Hlc,
    id::{NamespaceId, NodeId, PlanId, RepositoryId, TaskId, ThreadId},
    op::{Scope, WriteClass},
};
use std::{collections::BTreeMap, convert::Infallible};

const KEY: &str = "sk-canary-1";
const ACCESS: &str = "canary-access-2";
const REFRESH: &str = "canary-refresh-3";
const SECRETS: [&str; 3] = [KEY, ACCESS, REFRESH];
const ENTRY: &str = "an entry of payload.providerAuth is neither api_key nor oauth";

/// Good enough for tests, and the same every time.
struct Drawn(Pcg64Mcg);

impl TryRng for Drawn {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok(self.0.next_u32())
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(self.0.next_u64())
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        self.0.fill_bytes(bytes);
        Ok(())
    }
}

impl TryCryptoRng for Drawn {}

fn rng() -> impl CryptoRng {
    Drawn(Pcg64Mcg::seed_from_u64(7))
}

fn secret(text: &str) -> Secret {
    Secret::new(text.to_owned())
}

fn snapshot() -> Snapshot {
    let oauth = Entry::Oauth {
        access_token: secret(ACCESS),
        refresh_token: secret(REFRESH),
        expires: 1_760_000_000_000,
        account_id: Some("account".to_owned()),
    };
    let entries = [("openai", Entry::ApiKey { key: secret(KEY) }), ("anthropic", oauth)];
    let provider_auth = entries.map(|(name, entry)| (name.parse().unwrap(), entry)).into_iter().collect();
    Snapshot { exported_at: Hlc { wall_ms: 5, logical: 0, node: NodeId::new(1, 1) }, provider_auth }
}

fn expected(own: &Signer) -> Expected {
    Expected { recipient: own.public_key().fingerprint(), carrier: None }
}

fn sent(from: &Signer, to: &Signer) -> Vec<u8> {
    seal(from, &to.public_key(), &header(), &snapshot(), &mut rng()).unwrap()
}

fn opened(bytes: &[u8], own: &Signer) -> Envelope {
    envelope::open(bytes, expected(own)).unwrap()
}

/// An envelope about auth material with any payload at all.
fn carrying(from: &Signer, to: &Signer, payload: &[u8]) -> Envelope {
    let sample = opened(&sent(from, to), to).header().clone();
    opened(&envelope::seal(from, &sample, payload).unwrap(), to)
}

fn tells(text: &[u8]) -> bool {
    SECRETS.iter().any(|secret| text.windows(secret.len()).any(|window| window == secret.as_bytes()))
}

#[test]
fn d25_a_snapshot_arrives_signed_and_sealed_for_one_node() {
    let (sender, us) = (signer(SENDER), signer(US));
    let bytes = sent(&sender, &us);
    assert!(!tells(&bytes), "whoever carries it reads nothing");
    let envelope = opened(&bytes, &us);
    assert_eq!(open(&us, &envelope), Ok(snapshot()));
    let Header { entity_type, write_class, sender: from, .. } = envelope.header();
    assert_eq!((*entity_type, *write_class), (EntityType::AuthMaterial, WriteClass::Queued));
    assert_eq!(*from, sender.public_key());
}

#[test]
fn d25_nobody_else_can_open_it_or_send_it_on_as_its_own() {
    let (sender, us, thief) = (signer(SENDER), signer(US), signer(9));
    let envelope = opened(&sent(&sender, &us), &us);
    assert_eq!(open(&thief, &envelope), Err(Error::Sealed(relaymesh_bus::sign::NotSealed)));
    // The same payload in an envelope of the thief's.
    let stolen = carrying(&thief, &us, envelope.payload());
    assert_eq!(open(&us, &stolen), Err(Error::Sealed(relaymesh_bus::sign::NotSealed)));
}

#[test]
fn d25_every_byte_of_what_is_sealed_counts() {
    let (sender, us) = (signer(SENDER), signer(US));
    let payload = opened(&sent(&sender, &us), &us).payload().to_vec();
    for at in 0..payload.len() {
        let mut changed = payload.clone();
        changed[at] ^= 1;
        assert!(open(&us, &carrying(&sender, &us, &changed)).is_err(), "byte {at}");
        assert!(open(&us, &carrying(&sender, &us, &payload[..at])).is_err(), "cut at {at}");
    }
    let again =
        seal(&sender, &us.public_key(), &header(), &snapshot(), &mut Drawn(Pcg64Mcg::seed_from_u64(8))).unwrap();
    assert_ne!(opened(&again, &us).payload(), payload, "the same credentials do not look the same twice");
}

#[test]
fn d25_what_is_sealed_for_something_else_is_no_auth_material() {
    let (sender, us) = (signer(SENDER), signer(US));
    let bound = [sender.public_key().0, us.public_key().0].concat();
    let json = snapshot().to_json().unwrap();
    let other = us.public_key().seal(b"relaymesh/other/v1", &bound, &json, &mut rng()).unwrap();
    assert!(matches!(open(&us, &carrying(&sender, &us, &other)), Err(Error::Sealed(_))));
    let task = envelope::seal(&sender, &header(), &other).unwrap();
    assert_eq!(open(&us, &opened(&task, &us)), Err(Error::Other { found: EntityType::Task }));
}

#[test]
fn d25_the_log_has_no_place_for_it() {
    let scopes = [
        Scope::Task(TaskId::new(1, 1)),
        Scope::Thread(ThreadId::new(1, 1)),
        Scope::Repository(RepositoryId::new(1, 1)),
        Scope::Log,
        Scope::Namespace(NamespaceId::new(1, 1)),
        Scope::Plan(PlanId::new(1, 1)),
    ];
    let registers = Register::ALL.map(Scope::Register);
    for scope in scopes.iter().chain(&registers) {
        assert_ne!(EntityType::of_scope(scope), EntityType::AuthMaterial, "{scope}");
    }
    for order in [Order::Direct, Order::Feed, Order::Quorum] {
        assert_eq!(class_of(EntityType::AuthMaterial, order), WriteClass::Queued);
    }
}

#[test]
fn names_are_shown_and_nothing_else() {
    let shown = format!("{:?} {:?}", snapshot(), snapshot().provider_auth);
    assert!(shown.contains("openai") && shown.contains("anthropic"));
    assert!(!tells(shown.as_bytes()), "{shown}");
    assert_eq!(snapshot().providers().collect::<Vec<_>>(), ["anthropic", "openai"]);
}

#[test]
fn a_snapshot_is_json_as_the_source_has_it() {
    let json = String::from_utf8(snapshot().to_json().unwrap().to_vec()).unwrap();
    let (before, after) = json.split_once("\"checksum\":\"").unwrap();
    let (checksum, rest) = after.split_once("\",").unwrap();
    let rest = format!("{before}{rest}");
    assert_eq!(checksum, relaymesh_core::hash::Hash::sha256(rest.as_bytes()).to_string());
    let entries = r#"{"anthropic":{"accessToken":"canary-access-2","accountId":"account","expires":1760000000000,"refreshToken":"canary-refresh-3","type":"oauth"},"openai":{"key":"sk-canary-1","type":"api_key"}}"#;
    let stamp = snapshot().exported_at;
    assert_eq!(rest, format!(r#"{{"exportedAt":"{stamp}","payload":{{"providerAuth":{entries}}},"version":1}}"#));
}

#[test]
fn what_is_no_snapshot_is_refused_for_a_reason_that_tells_nothing() {
    let good = String::from_utf8(snapshot().to_json().unwrap().to_vec()).unwrap();
    let with_checksum = |text: String| {
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        let mut rest = value.clone();
        rest.as_object_mut().unwrap().remove("checksum");
        let sum = relaymesh_core::hash::Hash::sha256(&relaymesh_core::canonical::to_vec(&rest).unwrap()).to_string();
        let mut whole = value;
        whole["checksum"] = sum.into();
        whole.to_string()
    };
    let cases: [(String, Error); 8] = [
        (good.replace(KEY, "sk-other"), Error::Checksum),
        (with_checksum(good.replace("\"version\":1", "\"version\":2")), Error::Version),
        (with_checksum(good.replace("\"api_key\"", "\"password\"")), Error::Damaged { what: ENTRY }),
        (with_checksum(good.replace("\"sk-canary-1\"", "[\"sk-canary-1\"]")), Error::Damaged { what: ENTRY }),
        (
            with_checksum(good.replace("providerAuth", "other")),
            Error::Damaged { what: "it has no payload.providerAuth" },
        ),
        (with_checksum(good.replace("5.0@", "yesterday@")), Error::Damaged { what: "exportedAt is no stamp" }),
        ("[]".to_owned(), Error::Damaged { what: "it is no object" }),
        (format!("{good}x"), Error::Damaged { what: "it is no JSON that can be relied on" }),
    ];
    for (text, error) in cases {
        let found = Snapshot::from_json(text.as_bytes());
        assert_eq!(found, Err(error.clone()));
        assert!(!tells(error.to_string().as_bytes()));
    }
    let more = with_checksum(good.replace("\"version\":1", "\"version\":1,\"more\":[1]"));
    assert_eq!(Snapshot::from_json(more.as_bytes()), Ok(snapshot()), "what a newer one adds is left out");
}

#[test]
fn bounds_are_kept_on_both_sides() {
    let long = |entries: usize, bytes: usize| {
        let entry = Entry::ApiKey { key: secret(&"k".repeat(bytes)) };
        let all: BTreeMap<_, _> = (0..entries).map(|n| (format!("p{n}").parse().unwrap(), entry.clone())).collect();
        Snapshot { provider_auth: all, ..snapshot() }
    };
    assert!(long(PROVIDERS_MAX, 1).to_json().is_ok());
    assert_eq!(long(PROVIDERS_MAX + 1, 1).to_json().unwrap_err(), Error::Providers { found: PROVIDERS_MAX + 1 });
    assert!(matches!(long(1, SNAPSHOT_BYTES_MAX).to_json(), Err(Error::Size { .. })));
    assert!(matches!(Snapshot::from_json(&vec![b' '; SNAPSHOT_BYTES_MAX + 1]), Err(Error::Size { .. })));
    let weak = relaymesh_bus::sign::PublicKey([0; 32]);
    assert!(matches!(seal(&signer(SENDER), &weak, &header(), &snapshot(), &mut rng()), Err(Error::Key(_))));
}
