//! Chains that are refused, each for its own reason.

use super::world::*;
use crate::capability::*;
use relaymesh_bus::{contract::samples::signer, sign};
use relaymesh_core::hash::Hash;

fn verify(links: Vec<Link>) -> Result<Authority, Error> {
    Chain::new(links)?.verify(root())
}

#[test]
fn a_good_chain_of_every_length_counts_and_says_who_has_it() {
    for count in 1..=8 {
        let chain = Chain::new(links(count, |_, _| {})).unwrap();
        assert_eq!(Chain::decode(&chain.encode()).unwrap(), chain);
        let authority = chain.verify(root()).unwrap();
        assert_eq!(authority.holder(), key(count));
        assert_eq!(authority.grants().len(), 5);
    }
}

#[test]
fn a_chain_from_another_root_or_without_its_beginning_is_refused() {
    let all = links(3, |_, _| {});
    let found = key(0);
    assert_eq!(Chain::new(all.clone()).unwrap().verify(key(9)), Err(Error::WrongRoot { found }));
    assert_eq!(verify(all[1..].to_vec()), Err(Error::Proofs { link: 0, found: 1, wanted: 0 }));
    let rootless = links(1, |_, link| (link.iss, link.aud) = (key(5), key(6)));
    assert_eq!(verify(rootless), Err(Error::WrongRoot { found: key(5) }));
}

#[test]
fn links_that_do_not_follow_from_each_other_are_refused() {
    let all = links(3, |_, _| {});
    let stranger = links(2, |number, link| {
        if number == 1 {
            (link.iss, link.aud) = (key(7), key(8));
        }
    });
    assert_eq!(verify(stranger), Err(Error::Audience { link: 1, found: key(7), wanted: key(1) }));
    let skipped = verify(vec![all[0].clone(), all[2].clone()]);
    assert_eq!(skipped, Err(Error::Audience { link: 1, found: key(2), wanted: key(1) }));
    let cites = |prf: Vec<Hash>| {
        links(2, |number, link| {
            if number == 1 {
                link.prf.clone_from(&prf)
            }
        })
    };
    assert_eq!(verify(cites(vec![])), Err(Error::Proofs { link: 1, found: 0, wanted: 1 }));
    assert_eq!(verify(cites(vec![cid(1), cid(2)])), Err(Error::Proofs { link: 1, found: 2, wanted: 1 }));
    assert_eq!(
        verify(cites(vec![cid(1)])),
        Err(Error::Proof { link: 1, found: cid(1), wanted: all[0].cid() }),
        "the same parties, and another grant"
    );
}

#[test]
fn a_chain_that_leads_back_is_refused() {
    let to = |count: u8, last: u8| {
        links(count, |number, link| {
            if number + 1 == count {
                link.aud = key(last)
            }
        })
    };
    assert_eq!(verify(to(1, 0)), Err(Error::Cyclic { link: 0, key: key(0) }));
    assert_eq!(verify(to(3, 1)), Err(Error::Cyclic { link: 2, key: key(1) }));
    assert_eq!(verify(to(3, 0)), Err(Error::Cyclic { link: 2, key: key(0) }));
    let all = links(2, |_, _| {});
    let twice = verify(vec![all[0].clone(), all[1].clone(), all[1].clone()]);
    assert!(matches!(twice, Err(Error::Audience { link: 2, .. })), "{twice:?}");
}

#[test]
fn a_child_that_exceeds_its_parent_is_told_in_what() {
    use Action::{Claim, Read, Schedule, Write};
    let second = |change: fn(&mut Delegation)| {
        verify(links(2, |number, link| {
            link.att = vec![of_kind(Resource::Job, Claim, "cortex.tool"), att(Resource::Evidence, Read)];
            if number == 1 {
                change(link);
            }
        }))
        .err()
    };
    let exceeds = |exceeds| Some(Error::Exceeds { link: 1, exceeds });
    let grant = |resource, action| exceeds(Exceeds::Grant { resource, action });
    type Change = fn(&mut Delegation);
    let table: [(Change, Option<Error>); 13] = [
        (|_| {}, None),
        (|link| link.att.truncate(1), None),
        (|link| link.att = vec![of_kind(Resource::Job, Claim, "cortex.tool.x")], None),
        (|link| link.att = vec![of_kind(Resource::Job, Claim, "cortex")], exceeds(Exceeds::KindPrefix)),
        (|link| link.att = vec![att(Resource::Job, Claim)], exceeds(Exceeds::KindPrefix)),
        (|link| link.att = vec![att(Resource::Job, Schedule)], grant(Resource::Job, Schedule)),
        (|link| link.att = vec![att(Resource::Evidence, Write)], grant(Resource::Evidence, Write)),
        (|link| link.att = vec![att(Resource::Ops, Read)], grant(Resource::Ops, Read)),
        (|link| link.nbf = 999, exceeds(Exceeds::Begins)),
        (|link| link.exp = Some(9_001), exceeds(Exceeds::Ends)),
        (|link| link.exp = None, exceeds(Exceeds::Ends)),
        (|link| link.depth = 10, exceeds(Exceeds::Depth)),
        (|link| (link.nbf, link.exp, link.depth) = (2_000, Some(2_001), 0), None),
    ];
    for (index, (change, expected)) in table.into_iter().enumerate() {
        assert_eq!(second(change), expected, "case {index}");
    }
    let at_the_end = verify(links(2, |_, link| link.depth = 0)).err();
    assert_eq!(at_the_end, exceeds(Exceeds::Depth), "what may not be handed on");
}

#[test]
fn a_signature_of_somebody_else_is_refused_at_its_link() {
    for broken in 0..3 {
        let mut all = links(3, |_, _| {});
        let text = &all[broken].as_bytes()[64..];
        let forged = forge(&signer(19), std::str::from_utf8(text).unwrap());
        all[broken] = Link::decode(&forged).unwrap();
        let refusal = sign::Refusal::Signature;
        // Another signature is another name, so what comes below it does not cite it any more; but it is found first.
        assert_eq!(verify(all), Err(Error::Signature { link: broken, refusal }));
    }
    let mut delegation = plain(0, None);
    delegation.aud = key(3);
    assert!(matches!(Link::issue(&signer(4), &delegation), Err(Error::Damaged { .. })), "not the issuer");
}

#[test]
fn delegations_that_nobody_can_mean_are_not_even_issued() {
    let issue = |change: &dyn Fn(&mut Delegation)| {
        let mut delegation = plain(0, None);
        change(&mut delegation);
        Link::issue(&signer(0), &delegation).err()
    };
    let job = (Resource::Job, Action::Write);
    assert_eq!(issue(&|_| {}), None);
    assert_eq!(issue(&|link| link.att.clear()), Some(Error::Grants { grants: 0, max: ATT_MAX }));
    let twice = Some(Error::Grants { grants: 2, max: ATT_MAX });
    assert_eq!(issue(&|link| link.att = vec![att(Resource::Ops, Action::Read); 2]), twice);
    let many = |count: u32| {
        let caveats = |n| Caveats { sanitize: [Sanitize::TruncateContent(n)].into(), ..Caveats::default() };
        (0..count).map(|n| Att { caveats: caveats(n), ..att(Resource::Ops, Action::Read) }).collect::<Vec<_>>()
    };
    assert_eq!(issue(&|link| link.att = many(32)), None);
    assert_eq!(issue(&|link| link.att = many(33)), Some(Error::Grants { grants: 33, max: ATT_MAX }));
    let no_such = Error::NoSuchDeed { resource: job.0, action: job.1 };
    assert_eq!(issue(&|link| link.att = vec![att(job.0, job.1)]), Some(no_such));
    assert_eq!(issue(&|link| link.exp = Some(1_000)), Some(Error::Window { nbf: 1_000, exp: 1_000 }));
    assert!(matches!(issue(&|link| link.nbf = 1 << 53), Some(Error::Damaged { .. })), "no JSON number");
    let with = |caveats: Caveats| issue(&|link| link.att[0].caveats = caveats.clone());
    let values = |count: usize, length: usize| {
        Some((0..count).map(|n| format!("{n:0>length$}")).collect::<std::collections::BTreeSet<_>>())
    };
    assert_eq!(with(Caveats { predicates: values(64, 100), ..Caveats::default() }), None);
    for caveats in [
        Caveats { predicates: values(65, 3), ..Caveats::default() },
        Caveats { source_types: values(1, 129), ..Caveats::default() },
        Caveats { source_types: Some([String::new()].into()), ..Caveats::default() },
        Caveats { time_range: Some(TimeRange { start_ms: 5, end_ms: 5 }), ..Caveats::default() },
        Caveats { sanitize: [Sanitize::TruncateContent(1), Sanitize::TruncateContent(2)].into(), ..Caveats::default() },
    ] {
        assert!(matches!(with(caveats), Some(Error::Caveat { .. })));
    }
}

#[test]
fn bounds_hold_at_their_edge() {
    assert_eq!(Chain::new(vec![]), Err(Error::Links { links: 0 }));
    assert_eq!(Chain::decode(&[]), Err(Error::Links { links: 0 }));
    assert_eq!(Chain::new(links(9, |_, _| {})), Err(Error::Links { links: 9 }));
    let nine: Vec<u8> =
        links(9, |_, _| {}).into_iter().flat_map(|link| Chain::new(vec![link]).unwrap().encode()).collect();
    assert_eq!(Chain::decode(&nine), Err(Error::Links { links: 9 }));
    let bytes = DELEGATION_BYTES_MAX + 1;
    assert_eq!(Link::decode(&vec![b' '; bytes]), Err(Error::DelegationSize { bytes }));
    let bytes = CHAIN_BYTES_MAX + 1;
    assert_eq!(Chain::decode(&vec![0; bytes]), Err(Error::ChainSize { bytes }));
}
