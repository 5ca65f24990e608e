//! Roles follow from the chain (L1).

use super::world::*;
use crate::capability::*;
use std::collections::BTreeSet;

#[test]
fn l1_roles_are_those_of_the_chain_and_a_node_may_have_several() {
    use Role::{Coordinator, Owner, Peer, Worker};
    let read = || vec![att(Resource::Ops, Action::Read)];
    let claim = || vec![of_kind(Resource::Job, Action::Claim, "cortex.tool")];
    let mesh = || vec![att(Resource::Mesh, Action::Write)];
    let small_mesh = || vec![of_kind(Resource::Mesh, Action::Write, "a")];
    type Atts = Vec<Att>;
    let table: [(u8, Atts, bool, &[Role]); 9] = [
        (1, everything(), false, &[Owner, Worker]),
        (1, mesh(), false, &[Owner]),
        (1, small_mesh(), false, &[Peer]),
        (2, mesh(), false, &[Peer]),
        (2, everything(), false, &[Worker]),
        (1, claim(), false, &[Worker]),
        (1, claim(), true, &[Coordinator, Worker]),
        (1, read(), true, &[Coordinator]),
        (1, read(), false, &[Peer]),
    ];
    let none = Revocations::default();
    for (index, (count, atts, named, roles)) in table.into_iter().enumerate() {
        let chain = authority(count, |_, link| link.att.clone_from(&atts));
        let coordinator = if named { Some(chain.holder()) } else { Some(key(15)) };
        let expected: BTreeSet<Role> = roles.iter().copied().collect();
        assert_eq!(chain.roles(&none, coordinator, at(2_000)), Ok(expected), "case {index}");
        let owner = chain.admit_owner(&none, at(2_000));
        assert_eq!(owner, if roles.contains(&Owner) { Ok(()) } else { Err(Refusal::OwnerOnly) }, "case {index}");
    }
}

#[test]
fn with_a_chain_that_does_not_hold_nobody_is_anything() {
    let chain = authority(1, |_, _| {});
    let mut revoked = Revocations::default();
    assert!(chain.roles(&revoked, None, at(999)).is_err());
    assert!(chain.roles(&revoked, None, at(9_000)).is_err());
    revoked.record(chain.links()[0].cid(), root(), at(3_000));
    assert!(chain.roles(&revoked, Some(chain.holder()), at(2_999)).is_ok());
    assert!(chain.roles(&revoked, Some(chain.holder()), at(3_000)).is_err());
    assert!(chain.admit_owner(&revoked, at(3_000)).is_err());
}

#[test]
fn the_owners_key_itself_needs_no_chain() {
    assert_eq!(roles_of_root(root(), None), [Role::Owner, Role::Worker].into());
    assert!(roles_of_root(root(), Some(root())).contains(&Role::Coordinator));
    assert!(!roles_of_root(root(), Some(key(1))).contains(&Role::Coordinator));
}

#[test]
fn inference_is_audited_at_first_hand_and_where_a_grant_says_so() {
    let duty = || Att {
        caveats: Caveats { audit_inference: true, ..Caveats::default() },
        ..att(Resource::Job, Action::Claim)
    };
    let free = || att(Resource::Job, Action::Claim);
    for (count, att, audits) in [(1, free(), true), (1, duty(), true), (2, free(), false), (2, duty(), true)] {
        let chain = authority(count, |_, link| link.att = vec![att.clone()]);
        let deed = Deed::new(Resource::Job, Action::Claim, at(2_000));
        let admitted = chain.admit(&Revocations::default(), &deed).unwrap();
        assert_eq!(chain.audits(admitted), audits);
    }
}
