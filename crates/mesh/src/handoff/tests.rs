//! Every question there is.

use super::*;
use Health::{Alive, Dead, Suspect, Unknown};
use Policy::{Block, ReassignAnyHealthy, ReassignToLocal};

fn every() -> impl Iterator<Item = Question> {
    let healths = [Alive, Suspect, Dead, Unknown];
    let flags = [false, true];
    let policies = [Block, ReassignToLocal, ReassignAnyHealthy];
    policies.into_iter().flat_map(move |policy| {
        healths.into_iter().flat_map(move |owner| {
            healths.into_iter().flat_map(move |local| {
                flags.into_iter().flat_map(move |owner_is_local| {
                    flags.map(|others_healthy| Question { policy, owner, owner_is_local, local, others_healthy })
                })
            })
        })
    })
}

#[test]
fn f14_every_line_of_the_table() {
    let question =
        |policy, owner, local, others_healthy| Question { policy, owner, owner_is_local: false, local, others_healthy };
    let park = Decision::Park;
    for (asked, expected) in [
        (question(ReassignAnyHealthy, Alive, Alive, true), park(Reason::OwnerAlive)),
        (question(ReassignToLocal, Suspect, Alive, true), park(Reason::OwnerSuspect)),
        (question(Block, Dead, Alive, true), park(Reason::HandoffBlockedByPolicy)),
        (question(ReassignToLocal, Dead, Alive, true), Decision::ReassignLocal),
        (question(ReassignToLocal, Unknown, Alive, false), Decision::ReassignLocal),
        (question(ReassignToLocal, Dead, Suspect, true), park(Reason::LocalNotAlive)),
        (question(ReassignAnyHealthy, Dead, Alive, true), Decision::ReassignAny),
        (question(ReassignAnyHealthy, Dead, Suspect, true), Decision::ReassignAny),
        (question(ReassignAnyHealthy, Dead, Alive, false), Decision::ReassignLocal),
        (question(ReassignAnyHealthy, Dead, Dead, false), park(Reason::LocalNotAlive)),
    ] {
        assert_eq!(decide(asked), expected, "{asked:?}");
    }
}

#[test]
fn d27_whatever_is_asked_an_owner_that_lives_parks_and_a_node_in_doubt_takes_nothing() {
    assert_eq!(every().count(), 3 * 4 * 4 * 2 * 2);
    for asked in every() {
        let decision = decide(asked);
        let elsewhere = !asked.owner_is_local;
        if elsewhere && asked.owner == Alive {
            assert_eq!(decision, Decision::Park(Reason::OwnerAlive), "{asked:?}");
        }
        if elsewhere && (asked.owner == Suspect || asked.policy == Block) {
            assert!(matches!(decision, Decision::Park(_)), "{asked:?}");
        }
        if asked.local != Alive {
            assert_ne!(decision, Decision::ReassignLocal, "{asked:?}");
        }
        if decision == Decision::ReassignAny {
            assert!(asked.others_healthy && asked.policy == ReassignAnyHealthy, "{asked:?}");
        }
    }
}

#[test]
fn d27_the_setting_and_the_decision_have_their_own_words() {
    for (text, policy) in [
        ("block", Block),
        ("park", Block),
        ("reassign-to-local", ReassignToLocal),
        ("reassign-any-healthy", ReassignAnyHealthy),
    ] {
        assert_eq!(text.parse(), Ok(policy));
        assert_eq!(serde_json::from_str::<Policy>(&format!("\"{text}\"")).unwrap(), policy);
    }
    assert_eq!(Policy::default(), ReassignToLocal);
    assert!("reassign-any".parse::<Policy>().is_err());
    let decisions = [Decision::Park(Reason::OwnerAlive), Decision::ReassignLocal, Decision::ReassignAny];
    assert_eq!(decisions.map(|decision| decision.to_string()), ["park", "reassign-local", "reassign-any"]);
}
