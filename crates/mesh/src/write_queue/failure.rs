//! Which failures are outages. The list of the source, and the reading where it is silent (D12).

use serde::{Deserialize, Serialize};
use std::fmt;

/// How an attempt to write failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Failure {
    /// An answer with this status.
    Http(u16),
    /// No answer in time.
    Timeout,
    /// The caller gave up, or the connection was ended on purpose.
    Aborted,
    /// Nobody listens there.
    ConnectionRefused,
    /// The name is not known.
    NameNotFound,
    /// The connection broke.
    ConnectionReset,
    /// Any other failure of the network.
    Network,
    /// The two ends could not agree on a secure connection.
    Tls,
    /// Too few of those who have to agree did, in time.
    QuorumTimeout,
    /// It was not tried: the circuit to the target is open.
    CircuitOpen,
}

/// Whether to try again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The target or the way to it is out of order: queue, and try again.
    Outage,
    /// Retryable by our reading; the row says so.
    OutageByReading(Note),
    /// It would be refused again.
    Refused,
}

/// Why a failure that the source does not list is taken for an outage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Note {
    /// 408: the target did not get the request in time.
    RequestTimeout,
    /// 425: the target does not want to risk a repeat.
    TooEarly,
    /// 429: the target has enough.
    TooManyRequests,
    /// 500: the target broke; whether before or after it wrote, nobody knows.
    ServerError,
    /// A certificate that has run out or is being changed.
    Tls,
}

impl Failure {
    /// Whether to try again.
    ///
    /// ```text
    ///  502 503 504, timeout, abort, connection and network errors      outage, as the source says
    ///  a quorum that did not answer in time, an open circuit           outage: the same things, noticed by us
    ///  408 425 429 500, TLS                                            outage by reading, with a note (D12)
    ///  400 401 403 404 409 422                                         refused, as the source says
    ///  every other status                                              refused: only outages queue
    /// ```
    pub fn verdict(self) -> Verdict {
        match self {
            Self::Http(502..=504)
            | Self::Timeout
            | Self::Aborted
            | Self::ConnectionRefused
            | Self::NameNotFound
            | Self::ConnectionReset
            | Self::Network
            | Self::QuorumTimeout
            | Self::CircuitOpen => Verdict::Outage,
            Self::Http(408) => Verdict::OutageByReading(Note::RequestTimeout),
            Self::Http(425) => Verdict::OutageByReading(Note::TooEarly),
            Self::Http(429) => Verdict::OutageByReading(Note::TooManyRequests),
            Self::Http(500) => Verdict::OutageByReading(Note::ServerError),
            Self::Tls => Verdict::OutageByReading(Note::Tls),
            Self::Http(_) => Verdict::Refused,
        }
    }

    /// Whether the write may have taken effect all the same (D13). False only where the target cannot have seen it, or says
    /// that it did nothing.
    pub fn is_indeterminate(self) -> bool {
        match self {
            Self::Timeout | Self::Aborted | Self::ConnectionReset | Self::Network | Self::QuorumTimeout => true,
            Self::Http(500 | 502..=504) => true,
            Self::ConnectionRefused | Self::NameNotFound | Self::Tls | Self::CircuitOpen | Self::Http(_) => false,
        }
    }
}

impl Verdict {
    /// Whether the write waits in the queue.
    pub fn is_outage(self) -> bool {
        match self {
            Self::Outage | Self::OutageByReading(_) => true,
            Self::Refused => false,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Http(status) => write!(f, "answered {status}")?,
            Self::Timeout => f.write_str("no answer in time")?,
            Self::Aborted => f.write_str("aborted")?,
            Self::ConnectionRefused => f.write_str("connection refused")?,
            Self::NameNotFound => f.write_str("name not found")?,
            Self::ConnectionReset => f.write_str("connection reset")?,
            Self::Network => f.write_str("network error")?,
            Self::Tls => f.write_str("no secure connection")?,
            Self::QuorumTimeout => f.write_str("no quorum in time")?,
            Self::CircuitOpen => f.write_str("circuit open")?,
        }
        match self.verdict() {
            Verdict::OutageByReading(_) => f.write_str(" (not listed as an outage; tried again by our reading)"),
            Verdict::Outage | Verdict::Refused => Ok(()),
        }
    }
}
