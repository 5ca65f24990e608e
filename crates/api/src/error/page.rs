//! The sections of the page of errors, which is part of the program.

use super::{Code, Kind};

/// The whole page.
pub(super) const TEXT: &str = include_str!("../../../../docs/reference/errors.md");

/// What is known about a code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explained {
    /// The code.
    pub code: Code,
    /// What it means.
    pub means: String,
    /// What it changed.
    pub changed: String,
    /// What to do about it.
    pub advice: String,
}

impl Code {
    /// The code that a person means: by its number, with or without `RM`, or by its name.
    pub fn meant(text: &str) -> Option<Self> {
        let upper = text.trim().to_ascii_uppercase();
        let digits = upper.strip_prefix("RM").unwrap_or(&upper);
        let named = || Self::parse(&text.trim().to_ascii_lowercase().replace('-', "_"));
        Self::ALL.iter().copied().find(|code| code.number()[2..] == format!("{digits:0>4}")).or_else(named)
    }

    /// What its section says.
    pub fn explained(self) -> Explained {
        let heading = format!("## {}\n", self.as_str());
        let section = TEXT.split_once(&heading).map_or("", |(_, rest)| rest);
        let section = section.split("\n## ").next().unwrap_or_default();
        let part = |name: &str| {
            let text = section.split_once(&format!("- **{name}:**")).map_or("", |(_, rest)| rest);
            let text = text.split("\n- **").next().unwrap_or_default();
            plain(&text.split_whitespace().collect::<Vec<_>>().join(" "))
        };
        Explained { code: self, means: part("Means"), changed: part("Changed"), advice: part("Do") }
    }
}

impl Explained {
    /// What its exit code means.
    pub fn kind(&self) -> Kind {
        self.code.kind()
    }
}

/// Without the addresses of links: `[text](address)` is `text`.
fn plain(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('[') {
        let link = after.split_once("](").and_then(|(text, after)| Some((text, after.split_once(')')?.1)));
        let Some((text, after)) = link else { break };
        out.push_str(before);
        out.push_str(text);
        rest = after;
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_explained() {
        for code in Code::ALL {
            let Explained { means, changed, advice, .. } = code.explained();
            for text in [&means, &changed, &advice] {
                assert!(
                    !text.is_empty() && !text.contains("**") && !text.contains("]("),
                    "{}: {text:?}",
                    code.as_str()
                );
            }
        }
    }

    #[test]
    fn a_code_is_meant_by_number_or_name() {
        for text in ["RM0008", "rm0008", "8", "0008", "no_root", "NO-ROOT"] {
            assert_eq!(Code::meant(text), Some(Code::NoRoot), "{text}");
        }
        for text in ["", "RM", "0", "RM9999", "no_rot", "-1", "00008"] {
            assert_eq!(Code::meant(text), None, "{text}");
        }
    }

    #[test]
    fn links_lose_their_addresses() {
        assert_eq!(plain("see [a](b) and [c](d), [e]"), "see a and c, [e]");
    }
}
