//! Caveats: what makes a grant smaller. The six names are those of the contract's source, to the letter.
//!
//! ```text
//!  caveat            absent means     a child may          what it asks of a deed
//!  source_types      any source       take some away       the source type is in the list
//!  predicates        any predicate    take some away       the predicate is in the list
//!  kind_prefix       any kind         add labels (D26)     the kind is the prefix or below it
//!  time_range        any time         move both ends in    start ≤ time < end
//!  sanitize          as it is         add rules            nothing; says how content is shown
//!  audit_inference   no duty          take on the duty     nothing; says what inference must leave behind
//! ```
//!
//! A caveat that asks for something which the deed does not have (a kind, where there is none) is not met: what is not
//! known is refused. For the same reason a caveat that this program does not know makes the whole delegation void; to
//! leave it out would make the grant larger than its author meant.

use super::{
    Deed, Kind,
    error::{Error, Exceeds, Missing},
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// The most values in one list of a caveat.
pub const CAVEAT_VALUES_MAX: usize = 64;
/// The longest value in a list of a caveat, in bytes.
pub const CAVEAT_VALUE_BYTES_MAX: usize = 128;

/// What makes a grant smaller. None of them: the grant as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Caveats {
    /// Only what came from these.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_types: Option<BTreeSet<String>>,
    /// Only what says one of these.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub predicates: Option<BTreeSet<String>>,
    /// Only work of this kind or below it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind_prefix: Option<Kind>,
    /// Only what is of this time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_range: Option<TimeRange>,
    /// How content is changed before it is shown.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub sanitize: BTreeSet<Sanitize>,
    /// Whether every inference leaves a snapshot behind.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub audit_inference: bool,
}

/// The names of the caveats that there are.
pub(super) const NAMES: [&str; 6] =
    ["source_types", "predicates", "kind_prefix", "time_range", "sanitize", "audit_inference"];

/// A stretch of time: `start_ms` is in it, `end_ms` is not. In JSON a list of the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "(u64, u64)", into = "(u64, u64)")]
pub struct TimeRange {
    /// The first millisecond.
    pub start_ms: u64,
    /// The first one that is not in it any more.
    pub end_ms: u64,
}

impl From<(u64, u64)> for TimeRange {
    fn from((start_ms, end_ms): (u64, u64)) -> Self {
        Self { start_ms, end_ms }
    }
}

impl From<TimeRange> for (u64, u64) {
    fn from(range: TimeRange) -> Self {
        (range.start_ms, range.end_ms)
    }
}

/// A change that is made to content before it is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Sanitize {
    /// No places.
    StripGeo,
    /// No names of people.
    RedactParticipants,
    /// No more than so many bytes.
    TruncateContent(u32),
    /// Nothing that others added.
    StripCustomMetadata,
}

impl Sanitize {
    /// Whether content that this rule was applied to tells no more than with `other`.
    fn is_at_least(self, other: Self) -> bool {
        match (self, other) {
            (Self::TruncateContent(own), Self::TruncateContent(others)) => own <= others,
            (
                Self::StripGeo | Self::RedactParticipants | Self::StripCustomMetadata | Self::TruncateContent(_),
                Self::StripGeo | Self::RedactParticipants | Self::StripCustomMetadata | Self::TruncateContent(_),
            ) => self == other,
        }
    }
}

impl Caveats {
    /// Whether whatever is admitted with these is admitted with `parent`; if not, what is in the way.
    pub fn narrows(&self, parent: &Self) -> Result<(), Exceeds> {
        let subset = |own: &Option<BTreeSet<String>>, of: &Option<BTreeSet<String>>| match (own, of) {
            (_, None) => true,
            (None, Some(_)) => false,
            (Some(own), Some(of)) => own.is_subset(of),
        };
        let kind = match (&self.kind_prefix, &parent.kind_prefix) {
            (_, None) => true,
            (None, Some(_)) => false,
            (Some(own), Some(of)) => of.reaches(own),
        };
        let time = match (self.time_range, parent.time_range) {
            (_, None) => true,
            (None, Some(_)) => false,
            (Some(own), Some(of)) => of.start_ms <= own.start_ms && own.end_ms <= of.end_ms,
        };
        let kept = |rule: &Sanitize| self.sanitize.iter().any(|own| own.is_at_least(*rule));
        let rules = [
            (subset(&self.source_types, &parent.source_types), Exceeds::SourceTypes),
            (subset(&self.predicates, &parent.predicates), Exceeds::Predicates),
            (kind, Exceeds::KindPrefix),
            (time, Exceeds::TimeRange),
            (parent.sanitize.iter().all(kept), Exceeds::Sanitize),
            (self.audit_inference || !parent.audit_inference, Exceeds::AuditInference),
        ];
        rules.into_iter().find(|(holds, _)| !holds).map_or(Ok(()), |(_, exceeds)| Err(exceeds))
    }

    /// Whether a deed is inside of them; if not, what is missing.
    pub fn admit(&self, deed: &Deed<'_>) -> Result<(), Missing> {
        let one_of = |list: &Option<BTreeSet<String>>, value: Option<&str>| match (list, value) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(list), Some(value)) => list.contains(value),
        };
        let kind = match (&self.kind_prefix, deed.kind) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(prefix), Some(kind)) => prefix.reaches(kind),
        };
        let time = self.time_range.is_none_or(|range| (range.start_ms..range.end_ms).contains(&deed.at.wall_ms));
        let rules = [
            (one_of(&self.source_types, deed.source_type), Missing::SourceTypes),
            (one_of(&self.predicates, deed.predicate), Missing::Predicates),
            (kind, Missing::KindPrefix),
            (time, Missing::TimeRange),
        ];
        rules.into_iter().find(|(holds, _)| !holds).map_or(Ok(()), |(_, missing)| Err(missing))
    }

    /// Whether they can be meant at all.
    pub(super) fn check(&self) -> Result<(), Error> {
        for list in [&self.source_types, &self.predicates].into_iter().flatten() {
            let short = |value: &String| (1..=CAVEAT_VALUE_BYTES_MAX).contains(&value.len());
            if list.len() > CAVEAT_VALUES_MAX || !list.iter().all(short) {
                return Err(Error::Caveat { detail: "a list with too many values, or one of a wrong length" });
            }
        }
        if self.time_range.is_some_and(|range| range.start_ms >= range.end_ms) {
            return Err(Error::Caveat { detail: "a time_range in which there is no time" });
        }
        let cuts = self.sanitize.iter().filter(|rule| matches!(rule, Sanitize::TruncateContent(_)));
        if cuts.count() > 1 {
            return Err(Error::Caveat { detail: "two TruncateContent rules in one sanitize" });
        }
        Ok(())
    }
}
