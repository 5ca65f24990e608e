//! What happens there, as it happens: server-sent events, read one by one.

use super::{Query, Remote};
use crate::error::Error;
use reqwest::{Method, Response};
use std::time::Duration;

/// The longest event that is read.
const EVENT_BYTES_MAX: usize = 4 << 20;

/// What becomes durable there, from a position on.
pub(crate) struct Events<'a> {
    remote: &'a Remote,
    response: Response,
    rest: Vec<u8>,
}

/// What came.
#[derive(Debug, PartialEq)]
enum Came {
    /// An event.
    Event,
    /// Nothing for so long, but a sign of life perhaps.
    Nothing,
    /// The end: the daemon goes away, or the token is good no longer.
    End,
}

impl Remote {
    /// Follows what becomes durable there, from now on unless `after` is in the query.
    pub(crate) fn events(&self, query: &Query<'_>) -> Result<Events<'_>, Error> {
        let request = self.request(Method::GET, &["events"], query);
        let response = self.runtime.block_on(self.begin(request, false))?;
        Ok(Events { remote: self, response, rest: Vec::new() })
    }
}

impl Events<'_> {
    /// Waits for an event, at most so long, and takes those with it that have come already. `false`: there will be none.
    pub(crate) fn rings(&mut self, at_most: Option<Duration>) -> bool {
        let mut came = self.next(at_most);
        while came == Came::Event {
            came = self.next(Some(Duration::ZERO));
        }
        came != Came::End
    }

    fn next(&mut self, at_most: Option<Duration>) -> Came {
        loop {
            match event(&mut self.rest) {
                Some(Some(_)) => return Came::Event,
                Some(None) => continue, // a heartbeat
                None => {}
            }
            let response = &mut self.response;
            let part = self.remote.runtime.block_on(async {
                match at_most {
                    None => Some(response.chunk().await),
                    Some(at_most) => tokio::time::timeout(at_most, response.chunk()).await.ok(),
                }
            });
            match part {
                None => return Came::Nothing,
                Some(Ok(Some(part))) if self.rest.len() + part.len() <= EVENT_BYTES_MAX => {
                    self.rest.extend_from_slice(&part);
                }
                // Whatever it was, whoever follows comes again with where it was.
                Some(Ok(_) | Err(_)) => return Came::End,
            }
        }
    }
}

/// Takes the first whole event: its data, or `None` if it has none.
fn event(rest: &mut Vec<u8>) -> Option<Option<Vec<u8>>> {
    let end = rest.windows(2).position(|two| two == b"\n\n")?;
    let whole: Vec<u8> = rest.drain(..end + 2).collect();
    let data = whole.split(|byte| *byte == b'\n').find_map(|line| line.strip_prefix(b"data: "));
    Some(data.map(<[u8]>::to_vec))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_taken_as_they_are_whole() {
        let mut rest = b"retry: 1000\n\n:\n\nid: 7\nevent: A\ndata: {\"pos\":7}\n\nid: 8\nda".to_vec();
        assert_eq!(event(&mut rest), Some(None));
        assert_eq!(event(&mut rest), Some(None));
        assert_eq!(event(&mut rest), Some(Some(b"{\"pos\":7}".to_vec())));
        assert_eq!(event(&mut rest), None);
        rest.extend_from_slice(b"ta: 1\n\n");
        assert_eq!(event(&mut rest), Some(Some(b"1".to_vec())));
        assert!(rest.is_empty());
    }
}
