//! Trace context (R30): one trace a task, and a span for everything that takes time in it.
//!
//! ```text
//!  whoever asked ── submit ── task ── step ── attempt ── whatever the agent does
//! ```
//!
//! The id of a trace stands on the log. The ids of spans do not: each is worked out from what the span is about. So an agent that outlives
//! the daemon, the daemon that comes after it and every other node name the same span without having to agree on it, and a span that is
//! sent twice is one span.
//!
//! Whether a trace is kept follows from its id alone, for the same reason. What the caller says about that is not asked: the word would
//! have to be kept, and those who come later could not know it.

use crate::id::{MessageId, StepId, TaskId};
use serde::{Deserialize, Serialize};
use std::{fmt, num::NonZeroU64, str::FromStr};

/// Of how many traces the kept ones are told.
pub const PER_MILLE: u64 = 1_000;

/// The id of a span: 16 hexadecimal digits, not all of them 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SpanId(NonZeroU64);

impl SpanId {
    /// That a task was asked for.
    pub fn of_submit(task: TaskId) -> Self {
        Self::of(b"submit", &[&task.to_bytes()])
    }

    /// A task from its beginning to its end.
    pub fn of_task(task: TaskId) -> Self {
        Self::of(b"task", &[&task.to_bytes()])
    }

    /// A step with all its attempts.
    pub fn of_step(step: StepId) -> Self {
        Self::of(b"step", &[&step.task.to_bytes(), &step.index.to_be_bytes()])
    }

    /// One attempt, by its fence.
    pub fn of_attempt(step: StepId, epoch: u32) -> Self {
        Self::of(b"attempt", &[&step.task.to_bytes(), &step.index.to_be_bytes(), &epoch.to_be_bytes()])
    }

    /// A message.
    pub fn of_message(message: MessageId) -> Self {
        Self::of(b"message", &[&message.to_bytes()])
    }

    /// As bytes, in the order in which they are written.
    pub fn to_bytes(self) -> [u8; 8] {
        self.0.get().to_be_bytes()
    }

    fn of(what: &[u8], parts: &[&[u8]]) -> Self {
        let mut hasher = blake3::Hasher::new_derive_key("relaymesh span id v1");
        hasher.update(what);
        for part in parts {
            hasher.update(part);
        }
        let mut id = [0; 8];
        hasher.finalize_xof().fill(&mut id);
        Self(NonZeroU64::new(u64::from_be_bytes(id)).unwrap_or(NonZeroU64::MIN))
    }
}

impl fmt::Display for SpanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// Where somebody stands in a trace, as W3C's `traceparent` says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Context {
    /// The trace.
    #[serde(with = "crate::hex128")]
    pub trace_id: u128,
    /// The span that it happens in.
    pub span: SpanId,
    /// Whether whoever said so keeps the trace.
    pub is_sampled: bool,
}

impl Context {
    /// Where an attempt of this trace stands.
    pub fn of_attempt(step: StepId, epoch: u32, trace_id: u128, per_mille: u64) -> Self {
        Self { trace_id, span: SpanId::of_attempt(step, epoch), is_sampled: is_sampled(trace_id, per_mille) }
    }
}

impl fmt::Display for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "00-{:032x}-{}-{:02x}", self.trace_id, self.span, u8::from(self.is_sampled))
    }
}

/// The text is no `traceparent`. Whoever gets one goes on without.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a traceparent is 00-<32 hexadecimal digits>-<16>-<2>, in lower case and neither id 0")]
pub struct NoContext;

impl FromStr for Context {
    type Err = NoContext;

    /// Of a later version, what this one knows is read, as the standard has it.
    fn from_str(text: &str) -> Result<Self, NoContext> {
        let bytes = text.as_bytes();
        let version = hex(bytes.get(..2).ok_or(NoContext)?)?;
        let ends = match version {
            0 => bytes.len() == LEN,
            0xff => false,
            _ => bytes.len() == LEN || bytes.get(LEN) == Some(&b'-'),
        };
        if !ends || [bytes[2], bytes[35], bytes[52]] != *b"---" {
            return Err(NoContext);
        }
        let trace_id = hex(&bytes[3..35])?;
        let span = u64::try_from(hex(&bytes[36..52])?).ok().and_then(NonZeroU64::new).ok_or(NoContext)?;
        let flags = hex(&bytes[53..LEN])?;
        if trace_id == 0 {
            return Err(NoContext);
        }
        Ok(Self { trace_id, span: SpanId(span), is_sampled: flags & 1 == 1 })
    }
}

/// The length of a `traceparent` of the version that this is.
const LEN: usize = 55;

fn hex(digits: &[u8]) -> Result<u128, NoContext> {
    digits.iter().try_fold(0, |sum, digit| {
        let value = match digit {
            b'0'..=b'9' => digit - b'0',
            b'a'..=b'f' => digit - b'a' + 10,
            _ => return Err(NoContext),
        };
        Ok(sum << 4 | u128::from(value))
    })
}

/// Whether this trace is among the `per_mille` of all that are kept. The lower half of an id is random wherever it was made.
pub fn is_sampled(trace_id: u128, per_mille: u64) -> bool {
    let low = u128::from(trace_id as u64);
    low * u128::from(PER_MILLE) < u128::from(per_mille) << 64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SAMPLE: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    #[test]
    fn r30_a_context_is_read_as_the_standard_says() {
        let context: Context = SAMPLE.parse().unwrap();
        assert_eq!(context.trace_id, 0x0af7_6519_16cd_43dd_8448_eb21_1c80_319c);
        assert_eq!((context.span.to_string().as_str(), context.is_sampled), ("b7ad6b7169203331", true));
        assert_eq!(context.to_string(), SAMPLE);
        let later = [format!("cc{}", &SAMPLE[2..]), format!("01{}-what-comes-later", &SAMPLE[2..])];
        assert!(later.iter().all(|text| text.parse::<Context>().is_ok()));
        let bad = [
            String::new(),
            "00".into(),
            SAMPLE.to_uppercase(),
            format!("{SAMPLE}-more"),
            format!("{SAMPLE} "),
            format!("ff{}", &SAMPLE[2..]),
            format!("01{}.more", &SAMPLE[2..]),
            SAMPLE.replace('-', "_"),
            SAMPLE.replace("0af7651916cd43dd8448eb211c80319c", &"0".repeat(32)),
            SAMPLE.replace("b7ad6b7169203331", &"0".repeat(16)),
            SAMPLE.replace("0af7", "0ag7"),
            SAMPLE[..54].into(),
            "é".repeat(28),
        ];
        for text in bad {
            assert_eq!(text.parse::<Context>(), Err(NoContext), "{text}");
        }
    }

    #[test]
    fn spans_of_different_things_are_different() {
        let task = TaskId::new(1, 2);
        let step = |index| StepId { task, index };
        let all = [
            SpanId::of_submit(task),
            SpanId::of_task(task),
            SpanId::of_step(step(0)),
            SpanId::of_step(step(1)),
            SpanId::of_attempt(step(0), 1),
            SpanId::of_attempt(step(0), 2),
            SpanId::of_attempt(step(1), 1),
            SpanId::of_message(MessageId::from_bytes(task.to_bytes())),
        ];
        let different: std::collections::BTreeSet<SpanId> = all.into_iter().collect();
        assert_eq!(different.len(), all.len());
        // For ever: a trace goes on over an upgrade.
        assert_eq!(SpanId::of_attempt(step(0), 1).to_string(), "881d5eea7d51143b");
    }

    #[test]
    fn all_of_them_none_of_them_or_the_share_that_is_asked_for() {
        let ids = (0..10_000u128).map(|number| number.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835));
        let kept = |per_mille| ids.clone().filter(|id| is_sampled(*id, per_mille)).count();
        assert_eq!((kept(0), kept(PER_MILLE)), (0, 10_000));
        assert!((2_300..2_700).contains(&kept(250)), "{}", kept(250));
        assert!(is_sampled(u128::MAX, PER_MILLE) && !is_sampled(0, 0));
    }

    proptest! {
        #[test]
        fn whatever_is_read_is_written_alike(text in "(00-[0-9a-f]{32}-[0-9a-f]{16}-0[01])|.{0,70}") {
            if let Ok(context) = text.parse::<Context>()
                && text.starts_with("00")
            {
                prop_assert_eq!(context.to_string(), text);
            }
        }
    }
}
