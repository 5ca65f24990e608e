//! What was used: a journal of sums.

use crate::{columns, commit::Failure, failure};
use relaymesh_core::{budget::Amount, id::TaskId, name::Name};
use relaymesh_store::{Day, Error, Spend};
use rusqlite::{Connection, Row, types::Type};

/// Adds what was used to the sums.
pub(crate) fn write(connection: &Connection, spends: &[Spend]) -> Result<(), Failure> {
    for Spend { day, namespace, agent, task, amount } in spends {
        // A sum that does not fit stays where it is: SQLite would make a float of it.
        let mut add = connection.prepare_cached(
            "INSERT INTO spends (day, namespace, agent, task_id, tokens, turns, wall_ms, cost_micros) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) \
             ON CONFLICT DO UPDATE SET tokens = min(tokens, 9223372036854775807 - ?5) + ?5, \
             turns = min(turns, 9223372036854775807 - ?6) + ?6, \
             wall_ms = min(wall_ms, 9223372036854775807 - ?7) + ?7, \
             cost_micros = min(cost_micros, 9223372036854775807 - ?8) + ?8",
        )?;
        let task = task.to_bytes();
        add.execute((
            day.0,
            namespace.as_str(),
            agent.as_str(),
            &task[..],
            columns::time(amount.tokens),
            columns::time(amount.turns),
            columns::time(amount.wall_ms),
            columns::time(amount.cost_micros),
        ))?;
    }
    Ok(())
}

/// The sums of this day and later ones.
pub(crate) fn since(connection: &Connection, day: Day) -> Result<Vec<Spend>, Error> {
    ask(connection, "day >= ?1", day.0)
}

/// The sums of a task.
pub(crate) fn of_task(connection: &Connection, task: TaskId) -> Result<Vec<Spend>, Error> {
    ask(connection, "task_id = ?1", &task.to_bytes()[..])
}

fn ask(connection: &Connection, which: &str, value: impl rusqlite::ToSql) -> Result<Vec<Spend>, Error> {
    let ask = || {
        let mut statement = connection.prepare_cached(&format!(
            "SELECT tokens, turns, wall_ms, cost_micros, day, namespace, agent, task_id FROM spends WHERE {which} \
             ORDER BY day, namespace, agent, task_id",
        ))?;
        statement.query_map([value], spend)?.collect::<rusqlite::Result<_>>()
    };
    ask().map_err(|error| failure::sqlite("cannot read what was used", &error))
}

fn amount(row: &Row<'_>) -> rusqlite::Result<Amount> {
    Ok(Amount {
        tokens: columns::unsigned(row, 0)?,
        turns: columns::unsigned(row, 1)?,
        wall_ms: columns::unsigned(row, 2)?,
        cost_micros: columns::unsigned(row, 3)?,
    })
}

fn spend(row: &Row<'_>) -> rusqlite::Result<Spend> {
    let name = |column: usize| {
        let text = row.get_ref(column)?.as_str()?;
        text.parse::<Name>()
            .map_err(|error| rusqlite::Error::FromSqlConversionFailure(column, Type::Text, Box::new(error)))
    };
    Ok(Spend {
        day: Day(row.get(4)?),
        namespace: name(5)?,
        agent: name(6)?,
        task: TaskId::from_bytes(row.get(7)?),
        amount: amount(row)?,
    })
}
