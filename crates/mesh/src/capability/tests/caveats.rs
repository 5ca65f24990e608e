//! Each caveat by itself: what a child may do with it, and what it asks of a deed.

use super::world::*;
use crate::capability::*;
use std::collections::BTreeSet;

fn set(values: &[&str]) -> Option<BTreeSet<String>> {
    Some(values.iter().map(|value| (*value).to_owned()).collect())
}

fn range(start_ms: u64, end_ms: u64) -> Caveats {
    Caveats { time_range: Some(TimeRange { start_ms, end_ms }), ..Caveats::default() }
}

fn rules(rules: &[Sanitize]) -> Caveats {
    Caveats { sanitize: rules.iter().copied().collect(), ..Caveats::default() }
}

#[test]
fn a_child_takes_away_and_never_adds() {
    use Sanitize::{RedactParticipants, StripCustomMetadata, StripGeo, TruncateContent};
    let none = Caveats::default;
    let sources = |values: &[&str]| Caveats { source_types: set(values), ..none() };
    let predicates = |values: &[&str]| Caveats { predicates: set(values), ..none() };
    let audit = |audit_inference| Caveats { audit_inference, ..none() };
    let table = [
        (sources(&["mail", "chat"]), sources(&["mail"]), None),
        (sources(&["mail"]), sources(&["mail", "chat"]), Some(Exceeds::SourceTypes)),
        (sources(&["mail"]), none(), Some(Exceeds::SourceTypes)),
        (sources(&["mail"]), sources(&[]), None),
        (predicates(&["knows", "likes"]), predicates(&["likes"]), None),
        (predicates(&["knows"]), predicates(&["likes"]), Some(Exceeds::Predicates)),
        (predicates(&["knows"]), none(), Some(Exceeds::Predicates)),
        (range(10, 20), range(10, 20), None),
        (range(10, 20), range(12, 15), None),
        (range(10, 20), range(9, 15), Some(Exceeds::TimeRange)),
        (range(10, 20), range(15, 21), Some(Exceeds::TimeRange)),
        (range(10, 20), none(), Some(Exceeds::TimeRange)),
        (rules(&[StripGeo]), rules(&[StripGeo, RedactParticipants]), None),
        (rules(&[StripGeo, StripCustomMetadata]), rules(&[StripGeo]), Some(Exceeds::Sanitize)),
        (rules(&[TruncateContent(100)]), rules(&[TruncateContent(50)]), None),
        (rules(&[TruncateContent(100)]), rules(&[TruncateContent(101)]), Some(Exceeds::Sanitize)),
        (rules(&[StripGeo]), none(), Some(Exceeds::Sanitize)),
        (audit(false), audit(true), None),
        (audit(true), audit(true), None),
        (audit(true), audit(false), Some(Exceeds::AuditInference)),
    ];
    for (parent, child, exceeds) in table {
        assert_eq!(child.narrows(&parent).err(), exceeds, "{parent:?} {child:?}");
        assert_eq!(child.narrows(&none()), Ok(()), "no caveat is narrowed by every one");
    }
}

#[test]
fn a_deed_meets_a_caveat_or_is_told_which_it_does_not_meet() {
    let tool = kind("cortex.tool.search");
    let deed = Deed {
        kind: Some(&tool),
        source_type: Some("mail"),
        predicate: Some("knows"),
        ..Deed::new(Resource::Job, Action::Claim, at(15))
    };
    let bare = Deed::new(Resource::Job, Action::Claim, at(15));
    let none = Caveats::default;
    for (caveats, missing) in [
        (Caveats { source_types: set(&["mail"]), ..none() }, Missing::SourceTypes),
        (Caveats { predicates: set(&["knows"]), ..none() }, Missing::Predicates),
        (Caveats { kind_prefix: Some(kind("cortex.tool")), ..none() }, Missing::KindPrefix),
    ] {
        assert_eq!(caveats.admit(&deed), Ok(()));
        assert_eq!(caveats.admit(&bare), Err(missing), "what is not known is refused");
    }
    let other = Caveats { kind_prefix: Some(kind("cortex.action")), ..none() };
    assert_eq!(other.admit(&deed), Err(Missing::KindPrefix));
    for (start, end, admitted) in [(15, 16, true), (14, 15, false), (16, 99, false), (0, 16, true)] {
        assert_eq!(range(start, end).admit(&deed).is_ok(), admitted, "{start} to {end}");
    }
    assert_eq!(rules(&[Sanitize::StripGeo]).admit(&bare), Ok(()), "a rule is about showing");
    assert_eq!(Caveats { audit_inference: true, ..none() }.admit(&bare), Ok(()), "a duty is about doing");
}

#[test]
fn the_table_of_resources_and_actions_is_that_of_the_source() {
    let pairs = |resource: Resource| Action::ALL.into_iter().filter(|action| resource.has(*action)).count();
    for resource in Resource::ALL {
        let expected = match resource {
            Resource::Ops => 5,
            Resource::Job => 4,
            Resource::Evidence
            | Resource::Entity
            | Resource::Claim
            | Resource::Episode
            | Resource::Artifact
            | Resource::Action
            | Resource::Mesh
            | Resource::UserAssertion
            | Resource::Registration => 2,
        };
        assert_eq!(pairs(resource), expected, "{resource}");
        for other in Resource::ALL {
            assert_eq!(resource.covers(other), resource == Resource::Ops || resource == other);
        }
    }
    assert!(!Resource::Job.has(Action::Write));
    let names: Vec<String> = Resource::ALL.iter().map(ToString::to_string).collect();
    assert_eq!(
        names.join(" "),
        "Ops Evidence Entity Claim Job Episode Artifact Action Mesh UserAssertion Registration"
    );
    let names: Vec<String> = Action::ALL.iter().map(ToString::to_string).collect();
    assert_eq!(names.join(" "), "Read Write Schedule Claim Complete");
}

#[test]
fn l13_content_is_whole_changed_or_withheld_and_nothing_is_shown_with_a_chain_that_is_over() {
    let read = |caveats: Caveats| vec![Att { caveats, ..att(Resource::Evidence, Action::Read) }];
    let deed = Deed { source_type: Some("mail"), ..Deed::new(Resource::Evidence, Action::Write, at(2_000)) };
    let none = Revocations::default();
    let shown = |caveats: Caveats, deed: &Deed<'_>, now| {
        authority(1, |_, link| link.att = read(caveats.clone())).shows(&none, deed, at(now))
    };
    assert_eq!(shown(Caveats::default(), &deed, 3_000), Shown::Whole);
    let geo = rules(&[Sanitize::StripGeo]);
    assert_eq!(shown(geo.clone(), &deed, 3_000), Shown::Sanitized(geo.sanitize));
    let chat = Caveats { source_types: set(&["chat"]), ..Caveats::default() };
    assert_eq!(shown(chat, &deed, 3_000), Shown::Withheld);
    assert_eq!(shown(Caveats::default(), &Deed { resource: Resource::Claim, ..deed }, 3_000), Shown::Withheld);
    assert_eq!(shown(Caveats::default(), &deed, 9_000), Shown::Withheld, "of a good time, and over by now");
    assert_eq!(shown(range(0, 2_000), &deed, 3_000), Shown::Withheld, "of another time");
    let mut revoked = Revocations::default();
    let chain = authority(1, |_, link| link.att = read(Caveats::default()));
    revoked.record(chain.links()[0].cid(), root(), at(2_500));
    assert_eq!(chain.shows(&revoked, &deed, at(2_499)), Shown::Whole);
    assert_eq!(chain.shows(&revoked, &deed, at(2_500)), Shown::Withheld);
}
