//! Shares of namespaces: a backlog of one makes no other wait for all of it, in the window, beside it and in the store.

use super::{Rig, done, name, submit_of};
use crate::driver::{Answer, Command, Config, Until};
use relaymesh_core::{
    id::RequestId,
    lanes::Weights,
    task::{request::Request as Asked, spec::IdempotencyKey},
};

/// A node with these namespaces, one slot, and a window that is small beside what is submitted.
fn rig(namespaces: &[&str], weights: &[(&str, u32)]) -> Rig {
    let namespace_weights: Weights = weights.iter().map(|(text, weight)| (name(text), *weight)).collect();
    let mut rig = Rig::with(Config { queue_capacity: 40, slots: 1, namespace_weights, ..Config::default() });
    for namespace in namespaces {
        rig.call(Command::CreateNamespace { name: name(namespace), about: String::new() }).unwrap();
    }
    rig
}

fn submit(rig: &mut Rig, namespace: &str, agent: &str, numbers: std::ops::Range<u64>) {
    let mut answers = Vec::new();
    for number in numbers {
        let key = IdempotencyKey::RequestId(RequestId::new(number, 1));
        let asked = Asked::single(name(agent), None).prepare(&name(namespace), Some(key), 1).unwrap();
        answers.push(rig.send(Command::Submit(submit_of(name(namespace), asked, Until::Accepted))));
        if number % 50 == 0 {
            rig.settle();
        }
    }
    rig.settle();
    assert!(answers.iter().all(|answer| matches!(answer.try_recv(), Ok(Ok(Answer::Accepted { merged: false, .. })))));
}

/// The namespaces of the next attempts, one letter each, in the order in which they begin.
fn order(rig: &mut Rig, count: usize) -> String {
    let mut order = String::new();
    for _ in 0..count {
        let Some(work) = rig.levers.lock().unwrap().begun.pop_front() else { break };
        order.push_str(&work.namespace.as_str()[..1]);
        rig.finish(work.hold, done("1"));
    }
    order
}

fn count(order: &str, letter: char) -> usize {
    order.chars().filter(|found| *found == letter).count()
}

#[test]
fn one_task_of_a_small_namespace_does_not_wait_behind_a_backlog() {
    for agent in ["hold", "narrow"] {
        let mut rig = rig(&["big", "small"], &[]);
        submit(&mut rig, "big", agent, 0..600);
        assert_eq!(count(&order(&mut rig, 20), 's'), 0);
        submit(&mut rig, "small", agent, 1_000..1_001);
        // One slot is taken, the next turn may be the big one's; and two places are taken where there are two.
        let order = order(&mut rig, 5);
        assert!(order.contains('s'), "{agent}: {order}");
    }
}

#[test]
fn namespaces_with_backlogs_share_by_their_weights_to_the_end() {
    for agent in ["hold", "narrow"] {
        let mut rig = rig(&["a", "b", "c"], &[("b", 2)]);
        submit(&mut rig, "a", agent, 0..600);
        submit(&mut rig, "b", agent, 1_000..1_600);
        submit(&mut rig, "c", agent, 2_000..2_020);
        let first = order(&mut rig, 80);
        let shares = ['a', 'b', 'c'].map(|letter| count(&first, letter));
        assert!(
            shares.iter().zip([20, 40, 20]).all(|(got, due)| got.abs_diff(due) <= 4),
            "{agent}: {shares:?} {first}"
        );
        let then = order(&mut rig, 300);
        assert!(count(&then, 'b').abs_diff(200) <= 8, "{agent}: {then}");
        let rest = order(&mut rig, 2_000);
        assert_eq!(first.len() + then.len() + rest.len(), 1_220, "{agent}: nothing is lost");
        assert_eq!((rig.engine.live(), rig.engine.sizes().window), (0, 0), "{agent}");
    }
}

#[test]
fn shares_are_found_again_after_a_restart_and_a_roll_back() {
    for agent in ["hold", "narrow"] {
        let mut rig = rig(&["big", "small"], &[]);
        submit(&mut rig, "big", agent, 0..600);
        submit(&mut rig, "small", agent, 1_000..1_100);
        let mut rig = rig.crash();
        rig.settle();
        rig.pass(60_000);
        let first = order(&mut rig, 60);
        assert!(count(&first, 's') >= 20, "{agent}: {first}");
        let detail = "no room".to_owned();
        rig.disk.fail_next_commit(relaymesh_store::Error::Full { detail }, false);
        assert!(rig.call(Command::CreateNamespace { name: name("third"), about: String::new() }).is_err());
        rig.pass(60_000);
        let then = order(&mut rig, 60);
        assert!(count(&then, 's') >= 20, "{agent}: {then}");
        let mut rest = 0;
        while first.len() + then.len() + rest < 700 {
            let some = order(&mut rig, 1_000).len();
            rest += some;
            rig.pass(60_000);
        }
        assert_eq!(rig.engine.live(), 0, "{agent}");
    }
}

#[test]
fn the_window_has_little_more_than_its_capacity_however_many_namespaces_there_are() {
    let mut rig = rig(&["a", "b", "c"], &[]);
    for (place, namespace) in (0..).zip(["a", "b", "c"]) {
        submit(&mut rig, namespace, "hold", place * 1_000..place * 1_000 + 200);
        assert!(rig.engine.sizes().window <= 40 + 3 * 16, "{}", rig.engine.sizes().window);
    }
}
