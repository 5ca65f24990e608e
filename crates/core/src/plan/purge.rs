//! Purge: a plan that is over is forgotten (D33).

use super::{apply::Refusal, state::PlanRows};

/// Whether the plan may be forgotten: its mission is done or dropped, and then nothing below it is open.
pub(super) fn check(rows: &PlanRows) -> Result<(), Refusal> {
    match rows.items.get(&rows.plan.mission) {
        Some(mission) if mission.status.is_open() => Err(Refusal::NotOver { found: mission.status }),
        Some(_) => Ok(()),
        None => Err(Refusal::NoItem { item: rows.plan.mission }),
    }
}
