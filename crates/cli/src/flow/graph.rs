//! Pictures of a flow: for a terminal, for documents, and as an image.

mod svg;

use clap::ValueEnum;
use relaymesh_core::task::spec::{Schedule, StepSpec};
use std::fmt::Write as _;

/// What to draw it as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Lines for a terminal
    Text,
    /// For Markdown pages
    Mermaid,
    /// For Graphviz
    Dot,
    /// A picture
    Svg,
}

/// The flow, drawn.
pub(crate) fn draw(schedule: &Schedule, format: Format) -> String {
    match format {
        Format::Text => text(schedule),
        Format::Mermaid => mermaid(schedule),
        Format::Dot => dot(schedule),
        Format::Svg => svg::draw(schedule),
    }
}

/// The column of each step: the length of the longest path to it. A compensation is in the column of the step it undoes.
fn ranks(steps: &[StepSpec]) -> Vec<usize> {
    let mut ranks = vec![0; steps.len()];
    // The graph has no circles, so the ranks are right after as many rounds as there are steps, and mostly after two.
    for _ in 0..steps.len() {
        let mut changed = false;
        for (index, step) in steps.iter().enumerate() {
            let beside = step.compensates.map(|of| ranks[usize::from(of)]);
            let after = step.depends_on.iter().map(|of| ranks[usize::from(*of)] + 1).max();
            let rank = beside.or(after).unwrap_or(0);
            changed |= ranks[index] != rank;
            ranks[index] = rank;
        }
        if !changed {
            break;
        }
    }
    ranks
}

/// What is special about a step, in a few words.
fn notes(step: &StepSpec, steps: &[StepSpec]) -> Vec<String> {
    let mut notes = Vec::new();
    notes.extend(step.when().map(|when| format!("when {}", inner(when))));
    notes.extend(step.foreach().map(|list| format!("for each of {}", inner(list))));
    notes.extend(step.approve.as_ref().map(|ask| format!("asks: {}", ask.text)));
    notes.extend(step.compensates.map(|of| format!("undoes {}", steps[usize::from(of)].name)));
    notes.into_iter().map(|note| super::beginning(&note)).collect()
}

/// An expression without its braces.
fn inner(text: &str) -> &str {
    let text = text.trim();
    text.strip_prefix("${{").and_then(|rest| rest.strip_suffix("}}")).map_or(text, str::trim)
}

fn text(schedule: &Schedule) -> String {
    let steps = &schedule.steps;
    let ranks = ranks(steps);
    let mut order: Vec<usize> = (0..steps.len()).collect();
    order.sort_by_key(|index| (ranks[*index], steps[*index].compensates.is_some(), *index));
    let width = |of: fn(&StepSpec) -> &str| steps.iter().map(|step| of(step).len()).max().unwrap_or(0);
    let (names, agents) = (width(|step| step.name.as_str()), width(|step| step.agent.as_str()));
    let mut drawn = String::new();
    let mut before = None;
    for index in order {
        let step = &steps[index];
        let mut about: Vec<String> = Vec::new();
        if !step.depends_on.is_empty() {
            let after: Vec<&str> = step.depends_on.iter().map(|of| steps[usize::from(*of)].name.as_str()).collect();
            about.push(format!("after {}", after.join(", ")));
        }
        about.extend(notes(step, steps));
        let rank = if before == Some(ranks[index]) { String::new() } else { (ranks[index] + 1).to_string() };
        before = Some(ranks[index]);
        let (name, agent) = (step.name.as_str(), step.agent.as_str());
        let line = format!("{rank:>4}  {name:names$}  {agent:agents$}  {}", about.join("; "));
        let _ = writeln!(drawn, "{}", line.trim_end());
    }
    drawn.trim_end().to_owned()
}

fn mermaid(schedule: &Schedule) -> String {
    let steps = &schedule.steps;
    let mut drawn = "flowchart LR\n".to_owned();
    for (index, step) in steps.iter().enumerate() {
        let label =
            label(step, steps, "<br/>", |text| text.replace('&', "&amp;").replace('"', "&quot;").replace('<', "&lt;"));
        let (open, close) = if step.when().is_some() { ("{{", "}}") } else { ("[", "]") };
        let _ = writeln!(drawn, "  s{index}{open}\"{label}\"{close}");
    }
    for (index, step) in steps.iter().enumerate() {
        for of in &step.depends_on {
            let _ = writeln!(drawn, "  s{of} --> s{index}");
        }
        if let Some(of) = step.compensates {
            let _ = writeln!(drawn, "  s{of} -. undone by .-> s{index}");
        }
    }
    drawn.trim_end().to_owned()
}

fn dot(schedule: &Schedule) -> String {
    let steps = &schedule.steps;
    let escaped = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"");
    let mut drawn = format!("digraph \"{}\" {{\n  rankdir=LR;\n  node [shape=box, style=rounded];\n", schedule.name);
    for (index, step) in steps.iter().enumerate() {
        let _ = writeln!(drawn, "  s{index} [label=\"{}\"];", label(step, steps, "\\n", escaped));
    }
    for (index, step) in steps.iter().enumerate() {
        for of in &step.depends_on {
            let _ = writeln!(drawn, "  s{of} -> s{index};");
        }
        if let Some(of) = step.compensates {
            let _ = writeln!(drawn, "  s{of} -> s{index} [style=dashed, label=\"undone by\"];");
        }
    }
    drawn + "}"
}

fn label(step: &StepSpec, steps: &[StepSpec], line: &str, escaped: impl Fn(&str) -> String) -> String {
    let lines = [step.name.to_string(), format!("({})", step.agent)].into_iter().chain(notes(step, steps));
    lines.map(|line| escaped(&line.replace(['\n', '\r'], " "))).collect::<Vec<_>>().join(line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use relaymesh_core::task::request::Request;
    use serde_json::json;

    fn drawn(format: Format) -> String {
        let request: Request = serde_json::from_value(json!({ "name": "review", "steps": [
            { "id": "find", "agent": "grep", "compensate": "undo" },
            { "id": "fix", "agent": "codex", "foreach": "${{ steps.find.result }}", "input": "${{ item }}" },
            { "id": "ask", "agent": "echo", "depends_on": ["fix"], "when": "length(steps.fix.result) > 1", "approve": "Ship <it> \"now\"?" },
            { "id": "undo", "agent": "echo" },
        ]}))
        .unwrap();
        draw(&request.prepare(&"default".parse().unwrap(), None, 1).unwrap().schedule, format)
    }

    #[test]
    fn a_flow_can_be_read_in_a_terminal() {
        insta::assert_snapshot!(drawn(Format::Text), @r#"
           1  find  grep
              undo  echo   undoes find
           2  fix   codex  after find; for each of steps.find.result
           3  ask   echo   after fix; when length(steps.fix.result) > 1; asks: Ship <it> "now"?
        "#);
    }

    #[test]
    fn a_flow_can_be_put_into_a_page() {
        insta::assert_snapshot!(drawn(Format::Mermaid), @r#"
        flowchart LR
          s0["find<br/>(grep)"]
          s1["fix<br/>(codex)<br/>for each of steps.find.result"]
          s2{{"ask<br/>(echo)<br/>when length(steps.fix.result) > 1<br/>asks: Ship &lt;it> &quot;now&quot;?"}}
          s3["undo<br/>(echo)<br/>undoes find"]
          s0 --> s1
          s1 --> s2
          s0 -. undone by .-> s3
        "#);
    }

    #[test]
    fn a_flow_can_be_given_to_graphviz() {
        insta::assert_snapshot!(drawn(Format::Dot), @r#"
        digraph "review" {
          rankdir=LR;
          node [shape=box, style=rounded];
          s0 [label="find\n(grep)"];
          s1 [label="fix\n(codex)\nfor each of steps.find.result"];
          s2 [label="ask\n(echo)\nwhen length(steps.fix.result) > 1\nasks: Ship <it> \"now\"?"];
          s3 [label="undo\n(echo)\nundoes find"];
          s0 -> s1;
          s1 -> s2;
          s0 -> s3 [style=dashed, label="undone by"];
        }
        "#);
    }

    #[test]
    fn a_picture_is_well_formed_and_holds_every_step_and_edge() {
        let svg = drawn(Format::Svg);
        assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>"));
        assert_eq!(svg.matches("<rect class=\"step").count(), 4);
        assert_eq!(svg.matches("<path").count() - svg.matches("<path d=\"M0 0L8 4L0 8z\"").count(), 3);
        assert!(svg.contains("Ship &lt;it&gt; &quot;now&quot;?") && !svg.contains("Ship <it>"));
        let opened = ["svg", "g", "text", "defs", "marker", "style"];
        for tag in opened {
            let (open, close) = (
                svg.matches(&format!("<{tag} ")).count() + svg.matches(&format!("<{tag}>")).count(),
                svg.matches(&format!("</{tag}>")).count(),
            );
            assert_eq!(open, close, "{tag}");
        }
    }
}
