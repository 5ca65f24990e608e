//! The fields of the contract, and what newer versions add to them.

use super::*;
use serde_json::Value;

#[test]
fn f1_a2_every_field_of_the_contract_is_there_by_its_name() {
    let bytes = sealed(|header| {
        header.state = State::Committed;
        header.committed_at = Some(stamp(2_000));
        header.precondition = Some(Precondition { expected_base_revision: Some(4), expected_lease_epoch: Some(7) });
    })
    .unwrap();
    let length = u32::from_be_bytes(bytes[64..68].try_into().unwrap()) as usize;
    let value: Value = serde_json::from_slice(&bytes[68..68 + length]).unwrap();
    let text = |field: &str| value[field].as_str().unwrap().to_owned();
    assert_eq!((text("protocol"), text("version")), ("fusion.shared-mesh".into(), "1.0".into()));
    assert_eq!(
        (text("recordId"), text("entityType"), text("entityId")),
        ("rec-1".into(), "task".into(), "tsk-1".into())
    );
    assert_eq!((text("originNodeId"), &value["originSeq"]), (node(1).to_string(), &99.into()));
    assert_eq!((text("writeClass"), &value["leaseEpoch"]), ("strong".into(), &7.into()));
    assert_eq!(text("fenceToken"), format!("7:{}:99", node(1)));
    assert_eq!((text("intentId"), text("state")), ("int-1".into(), "committed".into()));
    assert_eq!((text("createdAt"), text("committedAt")), (stamp(1_000).to_string(), stamp(2_000).to_string()));
    assert_eq!(value["precondition"], serde_json::json!({ "expectedBaseRevision": 4, "expectedLeaseEpoch": 7 }));
    let recipient = serde_json::json!({ "kind": "direct", "agent_fp": fingerprint(US).to_string() });
    assert_eq!((&value["recipient"], &value["sequence"]), (&recipient, &3.into()));
    assert_eq!((text("nonce").len(), text("payload_cid")), (48, Hash::blake3(&[b"payload"]).to_string()));
    assert_eq!(text("sender"), signer(SENDER).public_key().to_string());
    assert_eq!(value.as_object().unwrap().len(), 21, "and nothing else");
    let envelope = open(&bytes, expected()).unwrap();
    assert_eq!((envelope.payload(), envelope.as_bytes()), (&b"payload"[..], &bytes[..]));
    assert_eq!(envelope.header().precondition.unwrap().expected_base_revision, Some(4));
}

#[test]
fn f1_what_a_newer_minor_version_adds_is_accepted_and_kept() {
    let more = |text: String| {
        let text = text.replace(r#""version":"1.0""#, r#""version":"1.7","weight":[1,2]"#);
        text.replace(r#""kind":"direct""#, r#""kind":"direct","lane":3"#)
    };
    let bytes = rewritten(more);
    let envelope = open(&bytes, expected()).unwrap();
    assert_eq!(envelope.header().version, Version { major: 1, minor: 7 });
    assert_eq!(envelope.unknown_fields(), ["weight"]);
    let handed_on = envelope.as_bytes().to_vec();
    assert_eq!(open(&handed_on, expected()).unwrap(), envelope, "the bytes are kept, so the signature holds");
    let mut changed = handed_on;
    let at = changed.windows(5).position(|window| window == b"[1,2]").unwrap();
    changed[at + 1] = b'9';
    assert!(matches!(open(&changed, expected()), Err(Error::Signature(_))), "what is not known is signed as well");
}

#[test]
fn f1_another_major_version_and_another_protocol_are_refused_by_name() {
    for (found, version) in [("2.0", (2, 0)), ("0.9", (0, 9)), ("10.0", (10, 0))] {
        let bytes = rewritten(|text| text.replace(r#""version":"1.0""#, &format!(r#""version":"{found}""#)));
        let error = open(&bytes, expected()).unwrap_err();
        assert_eq!(error, Error::Major { found: Version { major: version.0, minor: version.1 } });
        assert!(error.to_string().contains(found) && error.to_string().contains("1.0"), "{error}");
    }
    // Nothing else has to be understood for it.
    let alien = br#"{"protocol":"fusion.shared-mesh","version":"2.0"}"#;
    let bytes = seal::sealed(&signer(SENDER), alien, b"");
    assert!(matches!(open(&bytes, expected()), Err(Error::Major { .. })));
    for found in ["1", "1.", ".0", "1.0.0", "01.0", "1.00", "a.b", "-1.0", "1.4294967296", ""] {
        let bytes = rewritten(|text| text.replace(r#""version":"1.0""#, &format!(r#""version":"{found}""#)));
        assert_eq!(open(&bytes, expected()), Err(Error::Version { found: found.to_owned() }));
    }
    let bytes = rewritten(|text| text.replace("fusion.shared-mesh", "fusion.other"));
    assert_eq!(open(&bytes, expected()), Err(Error::Protocol { found: "fusion.other".to_owned() }));
}

#[test]
fn whoever_it_is_not_for_and_whoever_did_not_sign_it_are_told_apart() {
    let bytes = sealed(|_| {}).unwrap();
    let other = Expected { recipient: fingerprint(9), carrier: None };
    assert_eq!(open(&bytes, other), Err(Error::Recipient { found: fingerprint(US) }));
    let carried = |number: u8| Expected { carrier: Some(signer(number).public_key()), ..expected() };
    assert!(open(&bytes, carried(SENDER)).is_ok());
    assert_eq!(open(&bytes, carried(3)), Err(Error::Carrier { found: signer(SENDER).public_key() }));
    let text =
        rewritten(|text| text.replace(&signer(SENDER).public_key().to_string(), &signer(3).public_key().to_string()));
    assert!(matches!(open(&text, expected()), Err(Error::Signature(_))), "signed in another's name");
}

#[test]
fn fields_that_do_not_fit_each_other_are_neither_sealed_nor_opened() {
    let fence = |epoch| FenceToken { epoch, coordinator: node(1), sequence: 99 };
    type Change = Box<dyn Fn(&mut Header)>;
    let table: Vec<(Change, Error)> = vec![
        (Box::new(move |header| header.fence_token = fence(6)), Error::Fence),
        (Box::new(|header| header.sequence = 0), Error::Zero { field: "sequence" }),
        (Box::new(|header| header.origin_seq = 0), Error::Zero { field: "originSeq" }),
        (
            Box::new(|header| header.state = State::Committed),
            Error::CommittedAt { state: State::Committed, has_time: false },
        ),
        (
            Box::new(|header| header.committed_at = Some(stamp(2))),
            Error::CommittedAt { state: State::Intent, has_time: true },
        ),
        (Box::new(|header| header.write_class = WriteClass::Local), Error::WriteClass { class: WriteClass::Local }),
        (
            Box::new(|header| (header.entity_type, header.write_class) = (EntityType::AgentRuntime, WriteClass::Local)),
            Error::WriteClass { class: WriteClass::Local },
        ),
        (
            Box::new(|header| header.entity_type = EntityType::AuditEvent),
            Error::WriteClass { class: WriteClass::Strong },
        ),
        (Box::new(|header| header.protocol = "x".to_owned()), Error::Protocol { found: "x".to_owned() }),
        (Box::new(|header| header.version.major = 2), Error::Major { found: Version { major: 2, minor: 0 } }),
    ];
    for (index, (change, error)) in table.into_iter().enumerate() {
        assert_eq!(sealed(change), Err(error), "case {index}");
    }
    assert!(matches!(sealed(|header| header.sequence = 1 << 53), Err(Error::Damaged { .. })), "no JSON number");
}
