//! An agent that is reached by HTTP.

use super::address::{self, Allowed};
use crate::secret::{HIDDEN, Secret};
use reqwest::header::{HeaderName, HeaderValue};
use serde::Deserialize;
use std::{borrow::Cow, net::IpAddr, time::Duration};
use url::Url;

/// In which words an agent is spoken to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Api {
    /// The input is posted, and the answer is the result.
    #[default]
    Json,
    /// Chat completions, as OpenAI began them and many others have them.
    Chat,
    /// OpenAI's responses.
    Responses,
    /// Anthropic's messages.
    Messages,
}

/// An agent that is reached by HTTP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Http {
    /// Where.
    pub url: Url,
    /// The same exactly as the entry has it: people have approved these words.
    pub text: String,
    /// In which words.
    pub api: Api,
    /// The model, for those that have several.
    pub model: Option<String>,
    /// Headers that everybody may read.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// The header that the key goes into. Its value comes with the attempt.
    pub key_header: Option<HeaderName>,
    /// What the model is told before anything else.
    pub system: Option<String>,
    /// The longest answer.
    pub max_tokens: Option<u64>,
    /// Addresses that may be reached though they are not public.
    pub allow: Allowed,
    /// How long a connection may take.
    pub connect_timeout: Duration,
    /// How long the answer may take to begin, once there is a connection.
    pub first_byte_timeout: Duration,
    /// How long it may stop in the middle.
    pub idle_timeout: Duration,
    /// The longest result.
    pub output_bytes_max: u64,
    /// The most bytes of an answer, with what is around its words.
    pub body_bytes_max: u64,
}

impl Http {
    /// Who serves it, unless the file says otherwise: the host, with its port if that is not the usual one.
    pub fn provider(&self) -> String {
        let host = self.url.host_str().unwrap_or_default();
        self.url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
    }

    /// The url for people and programs that may look: without its query, which may have a key in it.
    pub fn shown_url(&self) -> Cow<'_, str> {
        match self.text.split_once('?') {
            Some((place, _)) => format!("{place}?{HIDDEN}").into(),
            None => self.text.as_str().into(),
        }
    }

    /// Whether it is reached without encryption.
    pub fn is_plain(&self) -> bool {
        self.url.scheme() == "http"
    }

    /// What stands in the url's query, part by part. A server that complains says its url back, and a value there may be a key whose name
    /// nobody knows for one. The name goes with it, so that a date that is part of a url is not hidden wherever a result has it.
    pub(super) fn query_parts(&self) -> impl Iterator<Item = Secret> {
        let parts = self.url.query().unwrap_or_default().split('&');
        parts.filter(|part| part.contains('=')).map(|part| Secret::new(part.to_owned()))
    }

    /// The address, if the url has one in the place of a name.
    pub fn address(&self) -> Option<IpAddr> {
        address::of(&self.url)
    }
}
