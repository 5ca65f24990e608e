//! Purge: a plan that is over is forgotten (D33).

use super::{
    apply::{Refusal, check_namespace, there},
    state::PlanRows,
};
use crate::op::Header;

/// Forgets the plan, if its mission is over.
pub fn purge(rows: &mut Option<PlanRows>, header: &Header) -> Result<(), Refusal> {
    check_namespace(rows.as_ref(), header)?;
    check(there(rows)?)?;
    *rows = None;
    Ok(())
}

/// Whether the plan may be forgotten: its mission is done or dropped, and then nothing below it is open.
fn check(rows: &PlanRows) -> Result<(), Refusal> {
    match rows.items.get(&rows.plan.mission) {
        Some(mission) if mission.status.is_open() => Err(Refusal::NotOver { found: mission.status }),
        Some(_) => Ok(()),
        None => Err(Refusal::NoItem { item: rows.plan.mission }),
    }
}
