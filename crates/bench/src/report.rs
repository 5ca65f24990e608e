//! The report: figures, and whether they reach the goals.

use serde_json::{Value, json};

/// Share of the reference's rate that the driver is to reach, by callers.
const SHARE_GOALS: [(usize, f64); 2] = [(64, 0.35), (256, 0.6)];
/// What a task may cost among a million others, compared with among ten thousand.
const GROWTH_MAX: f64 = 1.3;
const MEMORY_MB_MAX: f64 = 64.0;

#[derive(Default)]
pub(crate) struct Report {
    pub(crate) reference: Vec<f64>,
    pub(crate) one_row: Value,
    pub(crate) callers: Vec<(usize, Value)>,
    pub(crate) growth: Option<Value>,
}

struct Goal {
    what: String,
    found: f64,
    bound: f64,
    holds: bool,
}

impl Report {
    pub(crate) fn print(&self, json: bool) {
        if json {
            println!("{}", self.to_json());
        } else {
            println!("{}", self.to_text());
        }
    }

    fn reference_rate(&self) -> f64 {
        let mut rates = self.reference.clone();
        rates.sort_by(f64::total_cmp);
        rates.get(rates.len() / 2).copied().unwrap_or(f64::NAN)
    }

    fn goals(&self) -> Vec<Goal> {
        let at_least = |what: String, found: f64, bound: f64| Goal { what, found, bound, holds: found >= bound };
        let at_most = |what: String, found: f64, bound: f64| Goal { what, found, bound, holds: found <= bound };
        let mut goals = Vec::new();
        for (callers, figures) in &self.callers {
            let share = number(figures, "tasks_per_s") / self.reference_rate();
            if let Some((_, bound)) = SHARE_GOALS.iter().find(|(of, _)| of == callers) {
                goals.push(at_least(format!("share of the reference, {callers} callers"), share, *bound));
            }
            if *callers == 1 {
                let (p50, p99) = (number(&self.one_row, "p50_ms"), number(&self.one_row, "p99_ms"));
                goals.push(at_most("a lone task, p50 in ms".to_owned(), number(figures, "p50_ms"), 2.0 * p50 + 0.3));
                goals.push(at_most("a lone task, p99 in ms".to_owned(), number(figures, "p99_ms"), 3.0 * p99 + 1.0));
            }
            goals.push(at_most(
                format!("memory in MB, {callers} callers"),
                number(figures, "memory_mb"),
                MEMORY_MB_MAX,
            ));
        }
        if let Some(growth) = &self.growth {
            goals.push(at_most(
                "cost of a task among many, to that among few".to_owned(),
                number(growth, "ratio"),
                GROWTH_MAX,
            ));
            goals.push(at_most("memory in MB, after all tasks".to_owned(), number(growth, "memory_mb"), MEMORY_MB_MAX));
        }
        goals
    }

    fn to_json(&self) -> Value {
        let callers: Vec<Value> = self
            .callers
            .iter()
            .map(|(callers, figures)| {
                let share = number(figures, "tasks_per_s") / self.reference_rate();
                json!({ "callers": callers, "share": share, "figures": figures })
            })
            .collect();
        let goals: Vec<Value> = self
            .goals()
            .iter()
            .map(|goal| json!({ "goal": goal.what, "found": goal.found, "bound": goal.bound, "holds": goal.holds }))
            .collect();
        json!({
            "reference_tasks_per_s": self.reference_rate(), "reference_runs": self.reference,
            "one_row_commit": self.one_row, "callers": callers, "growth": self.growth, "goals": goals,
        })
    }

    fn to_text(&self) -> String {
        let reference = self.reference_rate();
        let mut rows =
            vec![["", "tasks/s", "of the reference", "p50 ms", "p99 ms", "memory MB"].map(str::to_owned).to_vec()];
        let runs: Vec<String> = self.reference.iter().map(|rate| format!("{rate:.0}")).collect();
        rows.push(vec!["reference, batches of 256".to_owned(), format!("{reference:.0}"), "1.00".to_owned()]);
        for (callers, figures) in &self.callers {
            let rate = number(figures, "tasks_per_s");
            rows.push(vec![
                format!("{callers} callers"),
                format!("{rate:.0}"),
                format!("{:.2}", rate / reference),
                format!("{:.2}", number(figures, "p50_ms")),
                format!("{:.2}", number(figures, "p99_ms")),
                format!("{:.0}", number(figures, "memory_mb")),
            ]);
        }
        let mut text = relaymesh_daemon::text::table(&rows);
        text += &format!("\n\nreference runs: {} tasks/s\n", runs.join(", "));
        let (p50, p99) = (number(&self.one_row, "p50_ms"), number(&self.one_row, "p99_ms"));
        text += &format!("one row, one synced commit: p50 {p50:.2} ms, p99 {p99:.2} ms\n");
        if let Some(growth) = &self.growth {
            text += &format!(
                "after {} tasks: {:.1} µs a task, {:.1} µs in a young store at the same time, memory {:.0} MB\n",
                number(growth, "tasks"),
                number(growth, "many_us_per_task"),
                number(growth, "few_us_per_task"),
                number(growth, "memory_mb"),
            );
        }
        text += "\n";
        let goals = self.goals();
        let rows: Vec<Vec<String>> = goals
            .iter()
            .map(|goal| {
                let word = if goal.holds { "reached" } else { "MISSED" };
                vec![
                    word.to_owned(),
                    goal.what.clone(),
                    format!("{:.2}", goal.found),
                    format!("goal {:.2}", goal.bound),
                ]
            })
            .collect();
        text + &relaymesh_daemon::text::table(&rows)
    }
}

fn number(figures: &Value, name: &str) -> f64 {
    figures[name].as_f64().unwrap_or(f64::NAN)
}
