//! Frames: a length and a message.

use crate::error::{Code, Error};
use relaymesh_core::content::CONTENT_BYTES_MAX;
use serde::{Serialize, de::DeserializeOwned};
use std::io::{self, Read};

/// The longest message: a command with the longest content, and some more.
pub(super) const FRAME_BYTES_MAX: usize = CONTENT_BYTES_MAX + (6 << 20);

const LENGTH_BYTES: usize = 4;

/// Appends the message to `out`.
pub(super) fn append<T: Serialize>(message: &T, out: &mut Vec<u8>) -> Result<(), Error> {
    let start = out.len();
    out.extend([0; LENGTH_BYTES]);
    let written = postcard::to_io(message, &mut *out).map(drop);
    let length = out.len() - start - LENGTH_BYTES;
    let failed = match (written, u32::try_from(length)) {
        (Ok(()), Ok(bytes)) if length <= FRAME_BYTES_MAX => {
            out[start..start + LENGTH_BYTES].copy_from_slice(&bytes.to_le_bytes());
            return Ok(());
        }
        (Ok(()), _) => {
            Error::new(Code::TooLong, format!("the message has {length} bytes; the maximum is {FRAME_BYTES_MAX}"))
        }
        (Err(error), _) => Error::new(Code::Internal, format!("cannot encode the message: {error}")),
    };
    out.truncate(start);
    Err(failed)
}

/// The length of the frame that begins like this.
pub(super) fn length(head: [u8; LENGTH_BYTES]) -> io::Result<usize> {
    let length = u32::from_le_bytes(head) as usize;
    if length > FRAME_BYTES_MAX {
        return Err(io::Error::new(io::ErrorKind::InvalidData, format!("a frame of {length} bytes")));
    }
    Ok(length)
}

/// The message in these bytes, which are all of it.
pub(super) fn decode<T: DeserializeOwned>(bytes: &[u8]) -> io::Result<T> {
    let invalid = |error: String| io::Error::new(io::ErrorKind::InvalidData, error);
    let (message, rest) = postcard::take_from_bytes(bytes).map_err(|error| invalid(error.to_string()))?;
    if rest.is_empty() { Ok(message) } else { Err(invalid(format!("{} bytes too many", rest.len()))) }
}

/// Reads one message; `None` when the other end is gone.
pub(super) fn read<T: DeserializeOwned>(from: &mut impl Read, buffer: &mut Vec<u8>) -> io::Result<Option<T>> {
    let mut head = [0; LENGTH_BYTES];
    match from.read_exact(&mut head) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        Err(error) => return Err(error),
    }
    let length = length(head)?;
    buffer.clear();
    from.take(length as u64).read_to_end(buffer)?;
    if buffer.len() < length {
        return Ok(None);
    }
    decode(buffer).map(Some)
}
