//! Add: something more is planned. A mission begins the plan.

use super::{
    ITEMS_MAX,
    apply::{At, Refusal},
    spec::{self, ItemKind, NewItem},
    state::{Item, Plan, PlanRows},
    table::Status,
};
use crate::{id::PlanId, op::Header};
use std::collections::BTreeMap;

pub(super) fn add(
    rows: &mut Option<PlanRows>,
    id: PlanId,
    header: &Header,
    item: &NewItem,
    at: At<'_>,
) -> Result<(), Refusal> {
    match rows {
        Some(rows) => add_to(rows, item, at),
        None => {
            *rows = Some(begin(id, header, item, at)?);
            Ok(())
        }
    }
}

fn begin(id: PlanId, header: &Header, item: &NewItem, at: At<'_>) -> Result<PlanRows, Refusal> {
    if item.kind != ItemKind::Mission {
        return Err(Refusal::NoPlan);
    }
    if let Some(parent) = item.parent {
        return Err(Refusal::NoItem { item: parent });
    }
    spec::check(item.kind, &item.title, &item.notes, item.task)?;
    let plan = Plan {
        rev: 0,
        id,
        namespace: header.namespace.clone(),
        mission: item.id,
        author: header.author.clone(),
        created_ms: at.now_ms,
        updated_ms: at.now_ms,
        head: header.hlc,
    };
    Ok(PlanRows { plan, items: BTreeMap::from([(item.id, fresh(item, at))]) })
}

fn add_to(rows: &mut PlanRows, item: &NewItem, at: At<'_>) -> Result<(), Refusal> {
    if let Some(there) = rows.items.get(&item.id) {
        return Err(Refusal::ItemExists { item: item.id, found: there.status });
    }
    if item.kind == ItemKind::Mission {
        return Err(Refusal::SecondMission { mission: rows.plan.mission });
    }
    let parent = item.parent.ok_or(Refusal::NoParent { kind: item.kind })?;
    rows.room_in(item.kind, parent)?;
    spec::check(item.kind, &item.title, &item.notes, item.task)?;
    let count = rows.items.len();
    if count >= ITEMS_MAX {
        return Err(Refusal::Full { count });
    }
    rows.items.insert(item.id, fresh(item, at));
    Ok(())
}

fn fresh(item: &NewItem, at: At<'_>) -> Item {
    Item {
        rev: 1,
        by: at.op,
        id: item.id,
        kind: item.kind,
        parent: item.parent,
        place: item.place,
        title: item.title.clone(),
        notes: item.notes.clone(),
        status: Status::Planned,
        task: item.task,
        author: at.author.clone(),
        created_ms: at.now_ms,
        updated_ms: at.now_ms,
    }
}
