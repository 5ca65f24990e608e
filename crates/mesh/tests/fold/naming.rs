//! What authors say about a namespace, and who has made it whatever they say.

use crate::{
    author::{Author, START_MS, name, namespace},
    history::Move,
    reference::{arrive, permutations},
};
use relaymesh_core::{
    kernel::{Refusal, Rows},
    namespace,
    op::{Body, Op},
};
use relaymesh_mesh::{fold::NoEffect, rows};

/// Mostly that it is there; sometimes that it is to go, which is never so.
pub(crate) fn body(one: Move) -> Body {
    if one.pick.is_multiple_of(5) { Body::PurgeScope {} } else { create(&one.pick.to_string()) }
}

fn create(about: &str) -> Body {
    Body::Namespace(namespace::Body::CreateNamespace { about: about.to_owned() })
}

#[test]
fn of_two_concurrent_creations_the_earlier_counts_whichever_arrives_first() {
    let (mut one, mut other) = (Author::new(1), Author::new(2));
    let late = other.say(namespace(), START_MS + 6, create("the other one"));
    let early = one.say(namespace(), START_MS + 5, create("the first one"));
    let purge = one.say(namespace(), START_MS + 9, Body::PurgeScope {});
    for order in permutations(&[early, late.clone(), purge.clone()]) {
        let fold = arrive(order);
        let row = fold.rows(namespace()).and_then(rows::Rows::node).and_then(Rows::namespace).expect("it is there");
        assert_eq!((row.about.as_str(), row.created_ms), ("the first one", START_MS + 5));
        let why = |op: &Op| fold.no_effect(namespace(), op.header.op_id).cloned();
        let refused = |refusal| Some(NoEffect::Refused(rows::Refusal::Node(Refusal::Namespace(refusal))));
        let exists = namespace::Refusal::Exists { created_ms: START_MS + 5, author: name("author") };
        assert_eq!((why(&late), why(&purge)), (refused(exists), refused(namespace::Refusal::NeverPurged)));
    }
}
