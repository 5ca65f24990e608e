//! Random walks over random graphs. The world checks every step of the way; at the end the task must be able to end.

use super::world::{LEASE_MS, Say, World, step};
use crate::{
    id::LeaseToken,
    op::{CancelMode, ExpireReason, Hold},
    task::{Step, spec::StepSpec},
};
use proptest::{collection::vec, prelude::*};

/// Up to five steps with any earlier steps as dependencies, some of them asking, some with conditions or lists, some with a
/// compensation.
fn graphs() -> impl Strategy<Value = Vec<StepSpec>> {
    vec((any::<u8>(), any::<bool>(), (0..4u8, 0..4u8, 0..4u8), 1..4u32), 1..6).prop_map(|shapes| {
        let mut steps = Vec::new();
        for (index, (mask, _, (ask, when, list), attempts)) in (0u16..).zip(&shapes) {
            let deps: Vec<u16> = (0..index).filter(|of| mask & (1 << of) != 0).collect();
            let one = step(&format!("s{index}")).after(&deps).attempts(*attempts);
            let one = if *when == 0 { one.gated() } else { one };
            let one = if *list == 0 { one.listing() } else { one };
            let deadline_ms = (mask % 2 == 0).then_some(300);
            steps.push(if *ask == 0 { one.asks("ok?", deadline_ms) } else { one });
        }
        let undone = (0u16..).zip(&shapes).filter(|(_, (_, undo, ..))| *undo);
        steps.extend(undone.map(|(of, (.., attempts))| step(&format!("u{of}")).undoes(of).attempts(*attempts)));
        steps
    })
}

fn nudge(world: &mut World, what: u8, pick: usize, gap_ms: u64) {
    world.wait(gap_ms);
    let count = world.rows().steps.len();
    let any = (pick % count) as u16;
    let with = |fits: &dyn Fn(&Step) -> bool| {
        let fitting: Vec<u16> = world.rows().indexed().filter(|(_, step)| fits(step)).map(|(index, _)| index).collect();
        fitting.get(pick % fitting.len().max(1)).copied().unwrap_or(any)
    };
    let running = with(&|step| step.lease.is_some());
    let (claimable, waiting) = (with(&|step| step.is_claimable(world.now_ms + 1)), with(&|step| step.due_ms > 0));
    let step = world.step(running);
    let token = step.lease.as_ref().map_or(LeaseToken::new(1, 1), |lease| lease.token);
    let held = Hold { step: running, epoch: step.epoch, token };
    // Refusals are welcome: the world checks that they change nothing.
    let _ = match what {
        0..=34 => world.claim(claimable).map(|_| ()),
        35..=46 => world.complete(held),
        47..=49 => world.pass(held),
        50 => world.skip(held),
        51..=54 => world.fan_out(held, (pick % 4) as u16),
        55..=62 => world.fail(held, true),
        63..=66 => world.fail(held, false),
        67..=70 => world.give_back(held),
        71..=73 => world.expire(held, ExpireReason::OwnerGone),
        74..=76 => world.expire(held, ExpireReason::DeadlinePassed),
        77..=79 => world.time_out(held),
        80..=84 => world.approve(waiting, "ok?"),
        85 => world.deny(waiting, "ok?"),
        86 => world.cancel(CancelMode::Soft),
        87 => world.cancel(CancelMode::Hard),
        88..=95 => world.redrive(),
        96..=97 => world.say(world.claim_body(running, 1, token, LEASE_MS)),
        _ => world.claim(any).map(|_| ()),
    };
}

/// Says yes to everything and completes whatever there is, until the task ends.
fn finish(world: &mut World) {
    for _ in 0..80 {
        if world.rows().task.status.is_terminal() {
            return;
        }
        world.wait(2000);
        for index in 0..world.rows().steps.len() as u16 {
            let _ = world.approve(index, "ok?");
            let _ = world.claim(index);
            let step = world.step(index);
            if let Some(lease) = &step.lease {
                let held = Hold { step: index, epoch: step.epoch, token: lease.token };
                match (step.is_weighed(), step.spec.foreach().is_some() && step.fan.is_none()) {
                    (true, _) => world.pass(held).unwrap(),
                    (false, true) => world.fan_out(held, 2).unwrap(),
                    (false, false) => world.complete(held).unwrap(),
                }
            }
        }
    }
    panic!("the task cannot end: {:#?}", world.rows());
}

proptest! {
    #[test]
    fn whatever_happens_the_rows_stay_valid_and_the_task_can_be_brought_to_an_end(
        steps in graphs(), moves in vec((0..100u8, 0..1000usize, 0..400u64), 0..60),
    ) {
        let mut world = World::new(steps);
        for (what, pick, gap_ms) in moves {
            nudge(&mut world, what, pick, gap_ms);
        }
        finish(&mut world);
        for _ in 0..3 {
            if world.redrive().is_err() {
                break;
            }
            finish(&mut world);
        }
        prop_assert_eq!(world.ended(), crate::task::Status::Success, "redriven until all is well");
    }
}
