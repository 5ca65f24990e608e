//! `relaymesh metrics`

use crate::{args::Context, error::Error, exit::Exit, output};
use relaymesh_api::metrics::Form;

const EXAMPLES: &str = "\
Examples:
  relaymesh metrics                                          every metric, in Prometheus' form
  relaymesh metrics | promtool check metrics
  relaymesh metrics > /var/lib/node_exporter/relaymesh.prom  for the textfile collector of node_exporter";

/// What operators watch over time: counters, gauges and histograms of the daemon
///
/// In the form that Prometheus reads. Counters begin at 0 with the daemon. docs/how-to/metrics.md says what each of them means.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// In OpenMetrics' form
    #[arg(long)]
    openmetrics: bool,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Exit, Error> {
    let form = if args.openmetrics { Form::OpenMetrics } else { Form::Prometheus };
    output::text(context, "metrics", &context.client().metrics(form)?);
    Ok(Exit::Done)
}
