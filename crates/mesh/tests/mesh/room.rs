//! The room of a register: whoever fills what others may use has not touched the owner's.

use crate::author::{
    Author, Linked, START_MS, always, everything, first_hand, give, link, mesh, name, only, root, why,
};
use relaymesh_core::{
    hash::Hash,
    hlc::Hlc,
    op::{Op, Scope},
    register,
};
use relaymesh_mesh::{
    capability::{Action, Chain as Ucan, Resource},
    fold::{Fold, NoEffect},
    mandate::{Registers, Unauthorised},
    register::{OTHERS_SEALS_MAX, OTHERS_WORDS_MAX, Register, SHARE_WORDS_MAX},
};

/// The link of a stranger, by number: there is none of that name.
fn revoke(number: usize) -> register::Body {
    register::Body::RevokeUcan { ucan_cid: Hash::sha256(&number.to_be_bytes()) }
}

/// So many words of one author, which nobody but its own view has heard.
fn fill(author: &mut Author, numbers: std::ops::Range<usize>) -> Vec<Linked> {
    numbers.map(|number| author.word(START_MS + 10, revoke(number))).collect()
}

fn has_no_room(fold: &Fold, linked: &Linked) -> Option<Register> {
    let reason = why(fold, linked)?;
    let NoEffect::Unauthorised(Unauthorised::NoRoom { register, .. }) = reason else { panic!("{reason:?}") };
    Some(register)
}

#[test]
fn a_member_that_fills_its_share_takes_nothing_from_the_owner_or_from_others() {
    let (mut authors, mut known) = mesh(3);
    known.extend(fill(&mut authors[1], 0..SHARE_WORDS_MAX - 1));
    let last = authors[1].word(START_MS + 20, revoke(SHARE_WORDS_MAX));
    let beyond = authors[1].word(START_MS + 21, revoke(SHARE_WORDS_MAX + 1));
    let other = authors[2].word(START_MS + 22, revoke(1));
    let given = authors[0].word(START_MS + 23, give(&first_hand(7, everything())));
    always(&known, &[last.clone(), beyond.clone(), other.clone(), given.clone()], |fold| {
        assert_eq!(has_no_room(fold, &beyond), Some(Register::Delegations));
        for linked in [&last, &other, &given] {
            assert_eq!(why(fold, linked), None);
        }
    });
}

#[test]
fn whomever_a_member_lets_in_shares_its_room() {
    let (mut authors, mut known) = mesh(2);
    let first = link(0, 1, everything(), None);
    let handed = |to: u8| give(&Ucan::new(vec![first.clone(), link(1, to, everything(), Some(&first))]).unwrap());
    let handed = [7, 8, 6].map(|to| authors[1].word(START_MS + 1, handed(to)));
    known.extend(handed);
    known.push(authors[0].word(START_MS + 2, give(&first_hand(6, everything()))));
    known.extend(fill(&mut authors[1], 0..SHARE_WORDS_MAX - 5));
    let (mut puppets, mut member) = ([Author::new(7), Author::new(8)], Author::new(6));
    for puppet in puppets.iter_mut().chain([&mut member]) {
        known.iter().for_each(|linked| puppet.hear(linked, START_MS + 15));
    }
    let [one, two, beyond] = [0, 1, 0].map(|who: usize| {
        let number = SHARE_WORDS_MAX + puppets[who].chain.next_seq() as usize;
        puppets[who].word(START_MS + 20 + who as u64, revoke(number))
    });
    // It was let in by the owner as well: that somebody handed it something first does not tie it to that one's share.
    let own = member.word(START_MS + 30, revoke(5));
    always(&known, &[one.clone(), two.clone(), beyond.clone(), own.clone()], |fold| {
        let refused = [&one, &two, &beyond].into_iter().filter(|linked| has_no_room(fold, linked).is_some()).count();
        assert_eq!(refused, 1, "the two that fit count, whoever says them");
        assert_eq!(why(fold, &own), None);
    });
}

/// An op of this author that is dated so many milliseconds after the start, and is in nobody's fold.
fn op(author: &Author, after_ms: usize, body: register::Body) -> Op {
    let hlc = Hlc { wall_ms: START_MS + after_ms as u64, logical: 0, node: author.node };
    let scope = Scope::Register(body.register());
    Op { pos: 1, header: author.header(scope, hlc), body: body.into() }
}

/// The registers that these words come to, without a fold: there are thousands more to come.
fn registers(known: &[Linked]) -> Registers {
    let mut registers = Registers::new(root());
    for linked in known {
        registers.prepare(&linked.op);
        registers.take(&linked.op);
    }
    registers
}

#[test]
fn all_others_together_leave_half_of_every_register_to_the_owner() {
    let (mut authors, mut known) = mesh(1);
    let count = OTHERS_WORDS_MAX / SHARE_WORDS_MAX;
    let helpers: Vec<Author> = (1..=count as u8 + 1).map(Author::new).collect();
    let right = vec![only(Resource::Mesh, Action::Write, None)];
    known.extend((1..=count as u8 + 1).map(|to| authors[0].word(START_MS, give(&first_hand(to, right.clone())))));
    let mut registers = registers(&known);
    let set = |author: &Author, after_ms: usize| {
        op(author, after_ms, register::Body::SetSetting { name: name("a"), value: Some(after_ms.to_string()) })
    };
    for number in 1..=OTHERS_WORDS_MAX {
        let word = set(&helpers[(number - 1) / SHARE_WORDS_MAX], number);
        assert_eq!(registers.judge(&word, None), Ok(()), "{number}");
        registers.take(&word);
    }
    let (found, max, node) = (OTHERS_WORDS_MAX, OTHERS_WORDS_MAX, helpers[count].node);
    let full = Unauthorised::NoRoom { register: Register::Settings, node, found, max };
    let beyond = set(&helpers[count], OTHERS_WORDS_MAX + 1);
    assert_eq!(registers.judge(&beyond, None), Err(full), "it has said nothing, and there is no room");
    assert_eq!(registers.judge(&set(&authors[0], OTHERS_WORDS_MAX + 2), None), Ok(()));
}

#[test]
fn a_coordinator_that_seals_without_end_leaves_the_owner_room_for_seals() {
    let (mut authors, mut known) = mesh(2);
    let (root, coordinator) = (authors[0].node, authors[1].node);
    known.push(authors[0].word(START_MS, register::Body::DesignateCoordinator { coordinator }));
    let mut registers = registers(&known);
    let seal = |author: &Author, number: usize| {
        let upto = Hlc { wall_ms: START_MS + number as u64, logical: 0, node: author.node };
        op(author, number + 1, author.seal(upto, &known))
    };
    for number in 1..=OTHERS_SEALS_MAX {
        let word = seal(&authors[1], number);
        assert_eq!(registers.judge(&word, None), Ok(()), "{number}");
        registers.take(&word);
    }
    let beyond = registers.judge(&seal(&authors[1], OTHERS_SEALS_MAX + 1), None);
    assert!(matches!(beyond, Err(Unauthorised::NoRoom { register: Register::Seals, .. })), "{beyond:?}");
    registers.take(&op(&authors[0], OTHERS_SEALS_MAX + 3, register::Body::DesignateCoordinator { coordinator: root }));
    let own = seal(&authors[0], OTHERS_SEALS_MAX + 4);
    assert_eq!(registers.judge(&own, None), Ok(()));
    assert!(!registers.has_room(Register::Seals, coordinator, own.header.hlc));
    assert!(registers.has_room(Register::Seals, root, own.header.hlc));
}
