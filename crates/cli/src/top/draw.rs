//! The screen. Colour is shown with a word, never instead of it.

use super::{
    seen::{Agent, Running, Seen},
    want::Want,
};
use crate::{output, time};
use ratatui::{
    Frame,
    layout::{Constraint, Layout, Rect},
    style::{Color, Modifier, Style},
    text::{Line, Span},
    widgets::{Block, Borders, Cell, Clear, Paragraph, Row, Sparkline, Table},
};

const HELP: &str = "
 q, Esc      quit
 ?           show or hide this help
 up, down    scroll the steps; also PageUp, PageDown, Home, End
 f           filter by step name, task id or namespace;
             Enter keeps the filter, Esc clears it

 running     steps that a worker holds, longest running first
 lanes       ready: can run now; later: waiting for a retry;
             oldest: how long the oldest one has been waiting
 tasks/s     tasks that ended, over the last two minutes";

/// Draws it all. What is scrolled too far comes back.
pub(super) fn draw(frame: &mut Frame<'_>, seen: &Seen, want: &mut Want, has_colour: bool) {
    let paint = Paint(has_colour);
    let agents: Vec<&Agent> = seen.agents.iter().filter(|agent| want.has_agent(agent)).collect();
    let most = usize::from(frame.area().height / 3).max(4);
    let agents_height = u16::try_from((agents.len() + 2).min(most)).unwrap_or(4);
    let heights = [
        Constraint::Length(2),
        Constraint::Length(6),
        Constraint::Length(agents_height),
        Constraint::Min(3),
        Constraint::Length(1),
        Constraint::Length(1),
    ];
    let [top, middle, people, list, alert, keys] = Layout::vertical(heights).areas(frame.area());
    frame.render_widget(Paragraph::new(head(seen, paint)), top);
    let [left, right] = Layout::horizontal([Constraint::Length(41), Constraint::Min(10)]).areas(middle);
    lanes(frame, left, seen);
    curve(frame, right, seen, paint);
    agents_table(frame, people, &agents, seen.now_ms, paint);
    steps(frame, list, seen, want);
    frame.render_widget(Paragraph::new(alerts(seen, paint)), alert);
    frame.render_widget(Paragraph::new(foot(want)), keys);
    if want.has_help {
        help(frame);
    }
}

#[derive(Clone, Copy)]
struct Paint(bool);

impl Paint {
    fn with(self, colour: Color) -> Style {
        if self.0 { Style::new().fg(colour) } else { Style::new().add_modifier(Modifier::BOLD) }
    }
}

fn head(seen: &Seen, paint: Paint) -> Vec<Line<'static>> {
    let bold = Style::new().add_modifier(Modifier::BOLD);
    let first = match &seen.daemon {
        Some(Ok(status)) => {
            let up = time::span(seen.now_ms.saturating_sub(status.started_ms));
            let health = status.health();
            let (word, colour) = match (health.is_ready, health.reasons.is_empty()) {
                (true, true) => ("ready", Color::Green),
                (true, false) => ("ready, with a warning", Color::Yellow),
                (false, _) => ("NOT READY", Color::Red),
            };
            let daemon = format!(" {} · pid {} · up {up} · ", status.version, status.pid);
            vec![Span::styled("RelayMesh", bold), daemon.into(), Span::styled(word, paint.with(colour))]
        }
        Some(Err(why)) => {
            let why = format!(" · {}", output::short(why, 120));
            vec![Span::styled("RelayMesh · ", bold), Span::styled("NO DAEMON", paint.with(Color::Red)), why.into()]
        }
        None => vec![Span::styled("RelayMesh", bold)],
    };
    let gauges = &seen.gauges;
    let pos = seen.daemon.as_ref().and_then(|status| status.as_ref().ok()).map_or(0, |status| status.pos);
    let second = format!(
        "{} steps running in {} tasks · {} approvals · {} messages wait · {pos} ops",
        gauges.leased_steps, gauges.active_tasks, gauges.approvals, gauges.messages_waiting,
    );
    vec![Line::from(first), Line::from(second)]
}

fn lanes(frame: &mut Frame<'_>, area: Rect, seen: &Seen) {
    let rows = ["high", "normal", "low"].iter().zip(&seen.gauges.lanes).map(|(name, lane)| {
        let oldest = lane.oldest_ms.map_or("-".to_owned(), |since| time::span(seen.now_ms.saturating_sub(since)));
        Row::new([(*name).to_owned(), lane.ready.to_string(), lane.later.to_string(), oldest])
    });
    let widths = [Constraint::Length(8), Constraint::Length(9), Constraint::Length(8), Constraint::Min(8)];
    let table = Table::new(rows, widths).header(Row::new(["lane", "ready", "later", "oldest"]).style(dim()));
    frame.render_widget(table.block(titled("queues".to_owned())), area);
}

fn curve(frame: &mut Frame<'_>, area: Rect, seen: &Seen, paint: Paint) {
    let width = usize::from(area.width.saturating_sub(2));
    let from = seen.throughput.len().saturating_sub(width);
    let (now, most) =
        (seen.throughput.last().copied().unwrap_or(0), seen.throughput.iter().max().copied().unwrap_or(0));
    let spark = Sparkline::default().data(&seen.throughput[from..]).style(paint.with(Color::Cyan));
    frame.render_widget(spark.block(titled(format!("tasks/s: {now} now, {most} at most"))), area);
}

fn agents_table(frame: &mut Frame<'_>, area: Rect, agents: &[&Agent], now_ms: u64, paint: Paint) {
    let rows = agents.iter().map(|agent| {
        let limit = agent.limit.map_or("-".to_owned(), |limit| limit.to_string());
        let is_full = agent.limit.is_some_and(|limit| agent.running >= limit);
        let state = match &agent.held {
            Some((until_ms, why)) => {
                let left = time::span(until_ms.saturating_sub(now_ms));
                Cell::from(format!("held for {left}: {}", output::short(why, 80))).style(paint.with(Color::Yellow))
            }
            None if is_full => Cell::from("full"),
            None => Cell::from(""),
        };
        Row::new([Cell::from(output::clean(&agent.name)), Cell::from(format!("{}/{limit}", agent.running)), state])
    });
    let widths = [Constraint::Length(24), Constraint::Length(9), Constraint::Min(10)];
    let table = Table::new(rows, widths).header(Row::new(["agent", "running", "state"]).style(dim()));
    frame.render_widget(table.block(titled(format!("agents: {}", agents.len()))), area);
}

fn steps(frame: &mut Frame<'_>, area: Rect, seen: &Seen, want: &mut Want) {
    let found: Vec<&Running> = seen.running.iter().filter(|step| want.has_step(step)).collect();
    let height = usize::from(area.height.saturating_sub(2)).max(1);
    want.scroll = want.scroll.min(found.len().saturating_sub(height));
    let rows = found.iter().skip(want.scroll).take(height).map(|step| {
        let since = time::span(seen.now_ms.saturating_sub(step.since_ms));
        let what = format!("{}/{}", step.name, step.step);
        Row::new([
            step.task.clone(),
            output::clean(&what),
            output::clean(&step.agent),
            format!("#{}", step.attempt),
            since,
        ])
    });
    let widths = [
        Constraint::Length(30),
        Constraint::Fill(2),
        Constraint::Fill(1),
        Constraint::Length(4),
        Constraint::Length(9),
    ];
    let table = Table::new(rows, widths).header(Row::new(["task", "step", "agent", "try", "since"]).style(dim()));
    let more = found.len().saturating_sub(want.scroll + height);
    let more = if more > 0 { format!(", {more} more below") } else { String::new() };
    frame.render_widget(table.block(titled(format!("running: {}{more}", found.len()))), area);
}

fn alerts(seen: &Seen, paint: Paint) -> Line<'static> {
    let of_daemon = seen.daemon.as_ref().and_then(|status| status.as_ref().ok()).and_then(|status| {
        let health = status.health();
        health.reasons.first().map(|reason| format!("{}: {}", reason.trouble.as_str(), reason.detail))
    });
    match seen.problem.clone().map(|problem| format!("cannot read: {problem}")).or(of_daemon) {
        Some(words) => Line::styled(format!("! {}", output::short(&words, 200)), paint.with(Color::Yellow)),
        None => Line::styled("no alerts", dim()),
    }
}

fn foot(want: &Want) -> Line<'static> {
    let filter = match (want.is_typing, want.filter.is_empty()) {
        (true, _) => format!("   filter: {}_", want.filter),
        (false, false) => format!("   filter: {} (Esc clears it)", want.filter),
        (false, true) => String::new(),
    };
    Line::styled(format!("q quit   ? help   up/down scroll   f filter{filter}"), dim())
}

fn help(frame: &mut Frame<'_>) {
    let area = frame.area();
    let (width, height) = (72.min(area.width), 14.min(area.height));
    let place = Rect { x: (area.width - width) / 2, y: (area.height - height) / 2, width, height };
    frame.render_widget(Clear, place);
    frame.render_widget(Paragraph::new(HELP).block(Block::bordered().title(" keys ")), place);
}

fn titled(title: String) -> Block<'static> {
    Block::new().borders(Borders::TOP).title(format!(" {title} "))
}

fn dim() -> Style {
    Style::new().add_modifier(Modifier::DIM)
}
