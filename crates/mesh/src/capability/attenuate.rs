//! Attenuation: a child never exceeds its parent.
//!
//! Each thing that the child grants has to lie within one thing that the parent grants. Putting two things of the parent
//! together to cover one of the child would be right, too, and is not done: what is simple to say is simple to check.

use super::{
    delegation::{Att, Delegation},
    error::Exceeds,
};

/// Whether the child is within the parent; if not, in what it is not.
pub(super) fn attenuates(child: &Delegation, parent: &Delegation) -> Result<(), Exceeds> {
    if child.depth >= parent.depth {
        return Err(Exceeds::Depth);
    }
    if child.nbf < parent.nbf {
        return Err(Exceeds::Begins);
    }
    match (child.exp, parent.exp) {
        (_, None) => {}
        (Some(child), Some(parent)) if child <= parent => {}
        (Some(_) | None, Some(_)) => return Err(Exceeds::Ends),
    }
    child.att.iter().try_for_each(|att| within(att, &parent.att))
}

/// Whether one grant is within one of these; the answer is about the last one that came near.
fn within(child: &Att, parents: &[Att]) -> Result<(), Exceeds> {
    let mut nearest = Err(Exceeds::Grant { resource: child.resource, action: child.action });
    for parent in parents {
        if parent.action == child.action && parent.resource.covers(child.resource) {
            nearest = child.caveats.narrows(&parent.caveats);
            if nearest.is_ok() {
                break;
            }
        }
    }
    nearest
}
