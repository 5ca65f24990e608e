//! Laws over random chains. The world is small (few kinds, few moments), so that whether a child exceeds its parent can be
//! asked of every deed there is, and not only of the rules that are to be tested.

use super::{super::attenuate::attenuates, world::*};
use crate::capability::*;
use proptest::{collection::vec, option, prelude::*};
use std::collections::BTreeSet;

const KINDS: [&str; 5] = ["a", "a.b", "a.b.c", "ab", "b"];
const TEXTS: [&str; 3] = ["x", "y", "z"];
const RESOURCES: [Resource; 4] = [Resource::Ops, Resource::Job, Resource::Evidence, Resource::Mesh];
const MOMENTS: u64 = 6;

fn texts() -> impl Strategy<Value = Option<BTreeSet<String>>> {
    option::weighted(0.3, vec(proptest::sample::select(&TEXTS[..]), 0..3))
        .prop_map(|list| list.map(|list| list.into_iter().map(str::to_owned).collect()))
}

fn caveats() -> impl Strategy<Value = Caveats> {
    let kind_prefix = option::weighted(0.4, proptest::sample::select(&KINDS[..]).prop_map(kind));
    let range =
        (0..MOMENTS, 1..MOMENTS).prop_map(|(start_ms, length)| TimeRange { start_ms, end_ms: start_ms + length });
    let rule = prop_oneof![
        Just(Sanitize::StripGeo),
        Just(Sanitize::RedactParticipants),
        (1..3_u32).prop_map(Sanitize::TruncateContent)
    ];
    let sanitize = vec(rule, 0..3).prop_map(|rules| {
        let mut rules: BTreeSet<Sanitize> = rules.into_iter().collect();
        if rules.contains(&Sanitize::TruncateContent(1)) {
            rules.remove(&Sanitize::TruncateContent(2));
        }
        rules
    });
    (texts(), texts(), kind_prefix, option::weighted(0.3, range), sanitize, any::<bool>()).prop_map(
        |(source_types, predicates, kind_prefix, time_range, sanitize, audit_inference)| Caveats {
            source_types,
            predicates,
            kind_prefix,
            time_range,
            sanitize,
            audit_inference,
        },
    )
}

fn atts() -> impl Strategy<Value = Vec<Att>> {
    let one = (proptest::sample::select(&RESOURCES[..]), proptest::sample::select(&Action::ALL[..]), caveats());
    let one = one.prop_filter_map("there is such a deed", |(resource, action, caveats)| {
        resource.has(action).then_some(Att { resource, action, caveats })
    });
    vec(one, 1..4)
}

fn delegation() -> impl Strategy<Value = Delegation> {
    (atts(), 0..3_u64, option::of(3..MOMENTS), 0..4_u8).prop_map(|(att, nbf, exp, depth)| Delegation {
        att,
        nbf,
        exp,
        depth,
        ..plain(0, None)
    })
}

/// How a child takes away: which grants it keeps, and what it adds to the caveats.
type Less = (Vec<(prop::sample::Index, Caveats)>, u64, u64);

fn less() -> impl Strategy<Value = Less> {
    (vec((any::<prop::sample::Index>(), caveats()), 1..3), 0..2_u64, 0..2_u64)
}

/// The parent with something taken away, put together from scratch and not by the rules that are to be tested.
fn lessened(parent: &Delegation, (keep, later, earlier): &Less) -> Delegation {
    let both = |own: &Option<BTreeSet<String>>, more: &Option<BTreeSet<String>>| match (own, more) {
        (Some(own), Some(more)) => Some(own.intersection(more).cloned().collect()),
        (Some(one), None) | (None, Some(one)) => Some(one.clone()),
        (None, None) => None,
    };
    let narrow = |own: &Caveats, more: &Caveats| {
        let mut caveats = own.clone();
        caveats.source_types = both(&own.source_types, &more.source_types);
        caveats.predicates = both(&own.predicates, &more.predicates);
        caveats.kind_prefix = match (&own.kind_prefix, &more.kind_prefix) {
            (Some(own), Some(more)) => Some(format!("{own}.{more}").parse().unwrap()),
            (Some(one), None) | (None, Some(one)) => Some(one.clone()),
            (None, None) => None,
        };
        caveats.time_range = own.time_range.or(more.time_range);
        let cut = |rule: &&Sanitize| matches!(rule, Sanitize::TruncateContent(_));
        if own.sanitize.iter().find(cut).is_none() {
            caveats.sanitize.extend(&more.sanitize);
        }
        caveats.audit_inference |= more.audit_inference;
        caveats
    };
    let mut child = parent.clone();
    child.att = keep
        .iter()
        .map(|(index, more)| {
            let att = index.get(&parent.att);
            Att { caveats: narrow(&att.caveats, more), ..att.clone() }
        })
        .collect();
    child.att.sort_by_key(|att| serde_json::to_string(att).unwrap());
    child.att.dedup();
    child.nbf = parent.nbf + later;
    child.exp = parent.exp.map(|exp| (exp - earlier).max(child.nbf + 1));
    child.depth = parent.depth.saturating_sub(1);
    child
}

/// The child with one thing taken from another delegation: most chains that exceed do so in one thing alone.
fn bent(child: &Delegation, other: &Delegation, which: u8) -> Delegation {
    let mut bent = child.clone();
    let (own, theirs) = (&mut bent.att[0], &other.att[0]);
    match which {
        0 => bent.exp = None,
        1 => bent.exp = other.exp,
        2 => bent.nbf = other.nbf,
        3 => own.caveats.source_types.clone_from(&theirs.caveats.source_types),
        4 => own.caveats.predicates.clone_from(&theirs.caveats.predicates),
        5 => own.caveats.kind_prefix.clone_from(&theirs.caveats.kind_prefix),
        6 => own.caveats.time_range = theirs.caveats.time_range,
        7 => own.caveats.sanitize.clone_from(&theirs.caveats.sanitize),
        8 => own.action = theirs.action,
        _ => own.resource = theirs.resource,
    }
    bent
}

/// Every deed of the small world.
fn deeds(mut judge: impl FnMut(&Deed<'_>)) {
    let kinds: Vec<Option<Kind>> = KINDS.into_iter().map(|text| Some(kind(text))).chain([None]).collect();
    for resource in [Resource::Job, Resource::Evidence, Resource::Mesh, Resource::Claim] {
        for action in Action::ALL.into_iter().filter(|action| resource.has(*action)) {
            for kind in &kinds {
                for text in TEXTS.into_iter().map(Some).chain([None]) {
                    for time in 0..=MOMENTS {
                        let deed = Deed::new(resource, action, at(time));
                        judge(&Deed { kind: kind.as_ref(), source_type: text, predicate: Some("x"), ..deed });
                    }
                }
            }
        }
    }
}

/// Whether a delegation by itself admits a deed, and with which rules at the least.
fn admitted(delegation: &Delegation, deed: &Deed<'_>) -> Option<usize> {
    let time = deed.at.wall_ms;
    let now = delegation.nbf <= time && delegation.exp.is_none_or(|exp| time < exp);
    let about = |att: &&Att| att.action == deed.action && att.resource.covers(deed.resource);
    let fits = delegation.att.iter().filter(about).filter(|att| now && att.caveats.admit(deed).is_ok());
    fits.map(|att| att.caveats.sanitize.len()).min()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn what_attenuates_admits_nothing_that_its_parent_does_not(
        one in delegation(), other in delegation(), less in less(), bends in vec(0..10_u8, 4),
    ) {
        let one = Delegation { depth: 6, ..one };
        let child = lessened(&one, &less);
        let mut children: Vec<Delegation> = bends.iter().map(|which| bent(&child, &other, *which)).collect();
        children.extend([child, other]);
        for child in children {
            if attenuates(&child, &one).is_err() {
                continue;
            }
            deeds(|deed| {
                let (of_child, of_parent) = (admitted(&child, deed), admitted(&one, deed));
                assert!(of_child.is_none() || of_parent.is_some(), "{child:?}\n{one:?}\n{deed:?}");
                assert!(of_child != Some(0) || of_parent == Some(0), "whole for the child and changed for the parent");
            });
        }
    }

    #[test]
    fn attenuation_is_an_order(a in delegation(), to_b in less(), to_c in less(), other in delegation()) {
        let b = lessened(&a, &to_b);
        let c = lessened(&b, &to_c);
        prop_assert!(attenuates(&a, &a).is_err(), "the depth has to shrink");
        for (x, y, z) in [(&a, &b, &c), (&a, &b, &other), (&other, &b, &c)] {
            if attenuates(y, x).is_ok() && attenuates(z, y).is_ok() {
                prop_assert_eq!(attenuates(z, x), Ok(()));
            }
        }
    }

    #[test]
    fn taking_away_is_always_allowed_while_depth_lasts(a in delegation(), less in less()) {
        let child = lessened(&a, &less);
        let expected = if a.depth == 0 { Err(Exceeds::Depth) } else { Ok(()) };
        // The end may have been moved behind the parent's to keep a moment between the ends.
        prop_assume!(a.exp.is_none_or(|exp| child.exp <= Some(exp)));
        prop_assert_eq!(attenuates(&child, &a), expected);
    }

    #[test]
    fn a_chain_that_counts_admits_nothing_that_a_beginning_of_it_does_not(
        first in delegation(), steps in vec(less(), 0..4), strangers in vec(delegation(), 0..2),
        cut in option::of((0..4_usize, 0..MOMENTS)),
    ) {
        let mut links: Vec<Link> = Vec::new();
        let mut parts = vec![Delegation { depth: 6, ..first }];
        for step in &steps {
            parts.push(lessened(parts.last().unwrap(), step));
        }
        parts.extend(strangers);
        for (number, part) in (0_u8..).zip(&parts) {
            let mut part = Delegation { iss: key(number), aud: key(number + 1), ..part.clone() };
            part.prf = links.last().map(Link::cid).into_iter().collect();
            part.att.sort_by_key(|att| serde_json::to_string(att).unwrap());
            part.att.dedup();
            let Ok(link) = Link::issue(&relaymesh_bus::contract::samples::signer(number), &part) else { break };
            links.push(link);
        }
        let mut revoked = Revocations::default();
        if let Some((link, time)) = cut.and_then(|(index, time)| Some((links.get(index)?, time))) {
            revoked.record(link.cid(), link.delegation().iss, at(time));
        }
        let verified: Vec<Authority> = (1..=links.len())
            .map_while(|length| Chain::new(links[..length].to_vec()).ok()?.verify(root()).ok())
            .collect();
        prop_assert!(!verified.is_empty());
        for pair in verified.windows(2) {
            deeds(|deed| {
                let below = pair[1].admit(&revoked, deed).is_ok();
                assert!(!below || pair[0].admit(&revoked, deed).is_ok(), "{deed:?}");
            });
        }
    }
}
