//! Admission: by table, and by random histories against the plain rule.

use super::*;
use crate::{
    contract::samples::signer,
    envelope::{
        Envelope, Nonce, open, seal,
        tests::{expected, header},
    },
};
use proptest::{collection::vec, prelude::*};
use std::collections::{BTreeMap, BTreeSet};

/// An envelope of this sender that was really sealed and opened.
fn envelope(sender: u8, epoch: u64, sequence: u64, nonce: u64) -> Envelope {
    let mut bytes = [0; 24];
    bytes[..8].copy_from_slice(&nonce.to_be_bytes());
    let mut header = header();
    (header.sender_epoch, header.sequence, header.nonce) = (epoch, sequence, Nonce(bytes));
    open(&seal(&signer(sender), &header, b"x").unwrap(), expected()).unwrap()
}

fn arrival(sender: u8, epoch: u64, sequence: u64, nonce: u64) -> Arrival {
    Arrival::of(&envelope(sender, epoch, sequence, nonce))
}

fn admit(inbox: &mut Inbox, arrival: &Arrival) -> Result<(), Refusal> {
    let before = inbox.clone();
    let admitted = inbox.admit(arrival);
    inbox.validate().unwrap();
    assert!(admitted.is_ok() || *inbox == before, "a refusal changed something");
    admitted.map(drop)
}

#[test]
fn d15_d17_each_case_of_the_table() {
    let table = [
        ((1, 5, 1, 1), Ok(())),
        ((1, 5, 1, 1), Err(Refusal::Replay)),
        ((1, 5, 2, 1), Err(Refusal::Replay)),
        ((1, 5, 1, 2), Err(Refusal::BadSequence { wanted: 2, found: 1 })),
        ((1, 5, 9, 2), Ok(())),
        ((1, 5, 8, 3), Err(Refusal::BadSequence { wanted: 10, found: 8 })),
        ((2, 1, 1, 1), Ok(())),
        ((1, 6, 1, 4), Ok(())),
        ((1, 5, 10, 5), Err(Refusal::StaleEpoch { newest: 6, found: 5 })),
        ((1, 6, 1, 5), Err(Refusal::BadSequence { wanted: 2, found: 1 })),
        ((1, 6, 2, 1), Err(Refusal::Replay)),
        ((1, 6, 2, 5), Ok(())),
        ((3, 0, 1, 1), Err(Refusal::TooManyPeers { peers: 2 })),
    ];
    let mut inbox = Inbox::new(Limits { nonces_max: 100, peers_max: 2 });
    for ((sender, epoch, sequence, nonce), expected) in table {
        let arrival = arrival(sender, epoch, sequence, nonce);
        assert_eq!(admit(&mut inbox, &arrival), expected, "{sender} {epoch} {sequence} {nonce}");
    }
    assert_eq!(inbox.high_water(&signer(1).public_key().fingerprint()), Some(Mark { epoch: 6, sequence: 2 }));
    assert_eq!(inbox.high_water(&signer(3).public_key().fingerprint()), None);
}

#[test]
fn a3_with_one_sender_it_is_a_queue_of_so_many() {
    let mut inbox = Inbox::new(Limits { nonces_max: 4, peers_max: 8 });
    let all: Vec<Arrival> = (1..=6).map(|number| arrival(1, 0, number, number)).collect();
    all.iter().for_each(|arrival| admit(&mut inbox, arrival).unwrap());
    let seen: Vec<bool> = all.iter().map(|arrival| inbox.has_seen(&arrival.peer(), &arrival.nonce())).collect();
    assert_eq!(seen, [false, false, true, true, true, true]);
    assert_eq!(admit(&mut inbox, &all[0]), Err(Refusal::BadSequence { wanted: 7, found: 1 }), "the mark still knows");
}

#[test]
fn who_sends_a_lot_pushes_out_nobodys_nonces_but_its_own() {
    let mut inbox = Inbox::new(Limits { nonces_max: 8, peers_max: 8 });
    let quiet: Vec<Arrival> = [2, 3].into_iter().flat_map(|who| (1..=2).map(move |n| arrival(who, 0, n, n))).collect();
    quiet.iter().for_each(|arrival| admit(&mut inbox, arrival).unwrap());
    for number in 1..=40 {
        admit(&mut inbox, &arrival(1, 0, number, number)).unwrap();
    }
    assert_eq!(inbox.nonces(), 8);
    assert!(quiet.iter().all(|arrival| inbox.has_seen(&arrival.peer(), &arrival.nonce())));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// Whatever comes in whatever order: nothing is admitted twice, what one sender's admissions say only grows, and with
    /// room for all nonces the answer is that of the plain rule.
    #[test]
    fn nothing_is_admitted_twice_and_marks_only_grow(
        history in vec((1..4_u8, 0..3_u64, 1..6_u64, 0..8_u64), 1..60), nonces_max in 1..20_usize,
    ) {
        let mut inbox = Inbox::new(Limits { nonces_max, peers_max: 2 });
        let mut admitted: BTreeSet<(u8, u64, u64)> = BTreeSet::new();
        let mut marks: BTreeMap<u8, Mark> = BTreeMap::new();
        for (sender, epoch, sequence, nonce) in history {
            let arrival = arrival(sender, epoch, sequence, nonce);
            let result = admit(&mut inbox, &arrival);
            if result.is_ok() {
                prop_assert!(admitted.insert((sender, epoch, sequence)), "twice");
                prop_assert!(marks.insert(sender, arrival.mark()).is_none_or(|mark| mark < arrival.mark()));
            } else if marks.len() < 2 || marks.contains_key(&sender) {
                let fresh = marks.get(&sender).is_none_or(|mark| *mark < arrival.mark());
                prop_assert!(!fresh || result == Err(Refusal::Replay), "refused for no reason");
            }
        }
        prop_assert!(marks.len() <= 2);
    }

    /// What each admission says it changed, kept row by row, is the whole inbox: after any history it is restored from that.
    #[test]
    fn what_admissions_say_is_all_there_is(
        history in vec((1..4_u8, 0..2_u64, 1..9_u64, 0..30_u64), 1..40), nonces_max in 1..6_usize,
    ) {
        let limits = Limits { nonces_max, peers_max: 2 };
        let mut inbox = Inbox::new(limits);
        let (mut marks, mut nonces) = (BTreeMap::new(), BTreeMap::new());
        for (sender, epoch, sequence, nonce) in history {
            let Ok(said) = inbox.admit(&arrival(sender, epoch, sequence, nonce)) else { continue };
            marks.insert(said.peer, said.mark);
            nonces.insert(said.number, (said.peer, said.nonce));
            said.forgotten.iter().for_each(|number| assert!(nonces.remove(number).is_some(), "forgotten twice"));
            let kept = nonces.iter().map(|(number, (peer, nonce))| (*number, *peer, *nonce));
            prop_assert_eq!(Inbox::restore(limits, marks.clone(), kept), Ok(inbox.clone()));
        }
    }
}

#[test]
fn with_less_room_than_before_the_next_admission_forgets_what_is_too_much() {
    let admitted = |number| arrival(1, 0, number, number);
    let peer = admitted(1).peer();
    let nonces = (0..5).map(|number| (number, peer, admitted(number + 1).nonce()));
    let mark = Mark { epoch: 0, sequence: 5 };
    let mut inbox = Inbox::restore(Limits { nonces_max: 2, peers_max: 1 }, [(peer, mark)], nonces).unwrap();
    assert_eq!(inbox.admit(&admitted(5)), Err(Refusal::Replay), "nothing is forgotten before there is something new");
    assert_eq!(inbox.admit(&admitted(6)).unwrap().forgotten, [0, 1, 2, 3]);
    inbox.validate().unwrap();
}

#[test]
fn what_was_never_written_is_not_restored() {
    let (one, other) = (arrival(1, 0, 1, 1), arrival(2, 0, 1, 2));
    let restore = |nonces: &[(u64, &Arrival)]| {
        let nonces = nonces.iter().map(|(number, of)| (*number, of.peer(), of.nonce()));
        Inbox::restore(Limits::default(), [(one.peer(), one.mark())], nonces).map(|inbox| inbox.nonces())
    };
    assert_eq!(restore(&[(7, &one)]), Ok(1));
    assert_eq!(restore(&[(7, &one), (8, &one)]), Err(Unfit { number: 8 }), "twice");
    assert_eq!(restore(&[(7, &other)]), Err(Unfit { number: 7 }), "of a sender without a mark");
}
