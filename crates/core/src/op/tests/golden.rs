//! The bytes and hashes as they are on disks and at peers.
//!
//! These literals never change on their own. If a test fails here, the format has changed, and that is a decision: write
//! a decision record (`docs/decisions/`), give the format, or the kind's body, a new version, keep reading the old one,
//! and add new literals beside these.

use super::samples::{body, bytes_of, header, header_of, node, one_of_each, single_step};
use crate::{
    hash::Hash,
    op::{Body, Chain, Kind, Op},
    task::spec::{IdempotencyKey, Schedule},
};

#[rustfmt::skip]
const GOLDEN: &[(Kind, &str)] = &[
    (Kind::ScheduleJob, "\
        010199c82cc001000000000000000000010199c82cc0000000000000000000000101018180b3c19c33030199c82cc0000000\
        000000000000000105616c69636503636c690764656661756c74000199c82cc0000000000000000000000900000101077265\
        6c65617365010199c82cc000000000000000000000041f58b9145b24d108d7ac38887338b3ea3229833b9c1e418250343f90\
        7bfd1047ef9bafcdf8acd1910103046563686f046563686f0100000144136fa355b3678a1146ad16f7e8649e94fb4fc21fe7\
        7e8310c060f61caaff8a020003e807e0d4030000077075626c697368046563686f0001000000070ae80701b0ea0101085075\
        626c6973683f01e0d40304756e646f046563686f010001000003e807e0d4030000\
    "),
    (Kind::ClaimWork, "\
        010199c82cc002000000000000000000020199c82cc0000000000000000000000101028280b3c19c33030199c82cc0000000\
        000000000000000105616c69636503636c690764656661756c74000199c82cc0000000000000000000000900000201000199\
        c82cc000000000000000000000010199c82cc000000000000000000000020199c82cc00000000000000000000005c0a90780\
        80b3c19c33030199c82cc00000000000000000000001\
    "),
    (Kind::CompleteJob, "\
        010199c82cc003000000000000000000030199c82cc0000000000000000000000101038380b3c19c33030199c82cc0000000\
        000000000000000105616c69636503636c690764656661756c74000199c82cc0000000000000000000000900000301000101\
        99c82cc000000000000000000000054062edaf750fb8074e7e83e0c9028c94e32468a8b6f1614774328ef045150f930b00\
    "),
    (Kind::FailJob, "\
        010199c82cc004000000000000000000040199c82cc0000000000000000000000101048480b3c19c33030199c82cc0000000\
        000000000000000105616c69636503636c690764656661756c74000199c82cc0000000000000000000000900000401000101\
        99c82cc0000000000000000000000501fa010b6578697420636f64652033\
    "),
    (Kind::YieldWork, "\
        010199c82cc005000000000000000000050199c82cc0000000000000000000000101058580b3c19c33030199c82cc0000000\
        000000000000000105616c69636503636c690764656661756c74000199c82cc0000000000000000000000900000501000101\
        99c82cc000000000000000000000050d7368757474696e6720646f776e\
    "),
    (Kind::ExpireWork, "\
        010199c82cc006000000000000000000060199c82cc0000000000000000000000101068680b3c19c33030199c82cc0000000\
        000000000000000105616c69636503636c690764656661756c74000199c82cc0000000000000000000000900000601020301\
        11\
    "),
    (Kind::TimeoutWork, "\
        010199c82cc007000000000000000000070199c82cc0000000000000000000000101078780b3c19c33030199c82cc0000000\
        000000000000000105616c69636503636c690764656661756c74000199c82cc0000000000000000000000900000701020311\
    "),
    (Kind::CancelTask, "\
        010199c82cc008000000000000000000080199c82cc0000000000000000000000101088880b3c19c33030199c82cc0000000\
        000000000000000105616c69636503636c690764656661756c74000199c82cc0000000000000000000000900000801010a6e\
        6f74206e6565646564\
    "),
    (Kind::RedriveTask, "\
        010199c82cc009000000000000000000090199c82cc0000000000000000000000101098980b3c19c33030199c82cc0000000\
        000000000000000105616c69636503636c690764656661756c74000199c82cc00000000000000000000009000009010d6469\
        736b207761732066756c6c\
    "),
    (Kind::ApproveStep, "\
        010199c82cc00a0000000000000000000a0199c82cc00000000000000000000001010a8a80b3c19c33030199c82cc0000000\
        000000000000000105616c69636503636c690764656661756c74000199c82cc0000000000000000000000900000a01018aab\
        9ec1f2d5ba82873fe57f67a4d16beab766e4808b8a05df084ea75abdd77b\
    "),
    (Kind::DenyStep, "\
        010199c82cc00b0000000000000000000b0199c82cc00000000000000000000001010b8b80b3c19c33030199c82cc0000000\
        000000000000000105616c69636503636c690764656661756c74000199c82cc0000000000000000000000900000b01018aab\
        9ec1f2d5ba82873fe57f67a4d16beab766e4808b8a05df084ea75abdd77b09746f6f206561726c79\
    "),
    (Kind::AcquireLock, "\
        010199c82cc00c0000000000000000000c0199c82cc00000000000000000000001010c8c80b3c19c33030199c82cc0000000\
        000000000000000105616c69636503636c690764656661756c7402662327209e5dda163bc54ec048c0180600000c01136769\
        746875622e636f6d2f61636d652f6170700b7372632f2a2a2f2a2e72730101076275696c6465720199c82cc0000000000000\
        00000000010199c82cc00000000000000000000005b0ea010f72656e616d652061206d6f64756c658080b3c19c33030199c8\
        2cc00000000000000000000001\
    "),
    (Kind::RenewLock, "\
        010199c82cc00d0000000000000000000d0199c82cc00000000000000000000001010d8d80b3c19c33030199c82cc0000000\
        000000000000000105616c69636503636c690764656661756c7402662327209e5dda163bc54ec048c0180600000d010199c8\
        2cc00000000000000000000005e807e0a712\
    "),
    (Kind::ReleaseLock, "\
        010199c82cc00e0000000000000000000e0199c82cc00000000000000000000001010e8e80b3c19c33030199c82cc0000000\
        000000000000000105616c69636503636c690764656661756c7402662327209e5dda163bc54ec048c0180600000e010199c8\
        2cc00000000000000000000005e807\
    "),
    (Kind::ExpireLock, "\
        010199c82cc00f0000000000000000000f0199c82cc00000000000000000000001010f8f80b3c19c33030199c82cc0000000\
        000000000000000105616c69636503636c690764656661756c7402662327209e5dda163bc54ec048c0180600000f010199c8\
        2cc00000000000000000000005e807\
    "),
];

/// The head of the chain of node 1, epoch 1, before any op.
const GENESIS: &str = "2e95ed98fb7009ca4b3670911ae0e1d72e2078779eb9f6c0dac232c6a133d33b";
/// Its head after the ops of the task machine above, which were the first.
const HEAD_OF_TASKS: &str = "ef848d04000f0269315fac64a0486d7ce04050e21e2163b223d12ec5f9660ec4";
/// Its head after all ops above.
const HEAD: &str = "8b8917689aa1b8195d5f04dd052cd7e4b6f76f55531bfb76dc9a9175a788da08";

#[test]
fn bytes_of_every_kind_are_as_they_ever_were() {
    assert_eq!(GOLDEN.iter().map(|(kind, _)| *kind).collect::<Vec<_>>(), Kind::ALL);
    for ((kind, expected), (_, bytes)) in GOLDEN.iter().zip(one_of_each()) {
        let found: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(found, *expected, "{kind:?}");
    }
}

#[test]
fn old_bytes_of_every_kind_are_still_read() {
    for (seq, (kind, hex)) in (1u64..).zip(GOLDEN) {
        let op = Op::decode(seq, &from_hex(hex)).unwrap();
        assert_eq!((op.pos, op.header, op.body), (seq, header_of(*kind, seq), body(*kind)));
    }
}

#[test]
fn numbers_of_kinds_are_never_reused() {
    let numbers: Vec<(u16, Kind)> = Kind::ALL.iter().map(|kind| (*kind as u16, *kind)).collect();
    assert_eq!(numbers.first(), Some(&(1, Kind::ScheduleJob)));
    assert!(numbers.contains(&(11, Kind::DenyStep)) && numbers.contains(&(15, Kind::ExpireLock)));
    assert!(numbers.iter().zip(1u16..).all(|((number, _), expected)| *number == expected));
}

#[test]
fn chain_hashes_are_as_they_ever_were() {
    let mut chain = Chain::new(node(1), 1);
    assert_eq!(chain.head.to_string(), GENESIS);
    for kind in Kind::ALL {
        chain.append(&header_of(*kind, chain.next_seq()), &body(*kind));
        if *kind == Kind::DenyStep {
            assert_eq!(chain.head.to_string(), HEAD_OF_TASKS);
        }
    }
    assert_eq!(chain.head.to_string(), HEAD);
}

#[test]
fn ops_of_the_hot_path_are_small() {
    let single = Schedule {
        name: "echo".parse().unwrap(),
        key: IdempotencyKey::Request(Hash::sha256(b"request")),
        fingerprint: Hash::sha256(b"request"),
        trace_id: u128::MAX,
        steps: vec![single_step()],
    };
    // A million ops into the life of a chain, so that the sequence has the length that it will have.
    let len = |body: &Body| bytes_of(&header(1_000_000), body).len();
    assert!(len(&body(Kind::CompleteJob)) <= 170, "complete: {} bytes", len(&body(Kind::CompleteJob)));
    assert!(len(&body(Kind::ClaimWork)) <= 192, "claim: {} bytes", len(&body(Kind::ClaimWork)));
    let schedule = len(&Body::ScheduleJob { schedule: single });
    assert!(schedule <= 256, "schedule: {schedule} bytes");
}

fn from_hex(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex.chars().map(|digit| u8::try_from(digit.to_digit(16).unwrap()).unwrap()).collect();
    digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}
