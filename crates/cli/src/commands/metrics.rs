//! `relaymesh metrics`

use crate::{args::Context, error::Error, exit::Exit, output};
use relaymesh_api::metrics::Form;

const EXAMPLES: &str = "\
Examples:
  relaymesh metrics                                          Prometheus text format
  relaymesh metrics | promtool check metrics
  relaymesh metrics > /var/lib/node_exporter/relaymesh.prom  for node_exporter";

/// Print the metrics of the daemon
///
/// Prints the Prometheus text format. Counters start at 0 with the daemon. docs/how-to/metrics.md describes each
/// metric.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Use the OpenMetrics format
    #[arg(long)]
    openmetrics: bool,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Exit, Error> {
    let form = if args.openmetrics { Form::OpenMetrics } else { Form::Prometheus };
    output::text(context, "metrics", &context.client().metrics(form)?);
    Ok(Exit::Done)
}
