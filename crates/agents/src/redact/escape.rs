//! The characters that a piece of text may stand for, once what escapes it is taken away.
//!
//! A program prints a secret the way its language does: PHP writes `\/`, Python `\u00e9`, a URL `%2F`, a page `&quot;`, and JSON that stands in
//! JSON has more backslashes. To decode the output once and search in that is the tempting wrong answer: nobody knows how often it was
//! encoded, and text that was not is destroyed by it (`C:\new`). So the output stays as it is, and at each place all readings are tried.
//!
//! Nested escapes need no recursion: with each further round of JSON there are more backslashes before the same character, with each
//! round of percent-encoding more `25` behind the percent sign, and with each round of HTML more `amp;`.

/// Backslashes in a row that are read as one escape: four rounds of JSON.
const BACKSLASHES_MAX: usize = 16;
/// How deep escapes may stand in each other.
const DEPTH_MAX: usize = 8;
/// The longest name or number of an HTML entity.
const ENTITY_BYTES_MAX: usize = 8;

/// One reading of the beginning of a text: the bytes that it stands for, and where the text goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Reading {
    bytes: [u8; 4],
    length: u8,
    pub(super) next: usize,
}

impl Reading {
    pub(super) fn byte(byte: u8, next: usize) -> Self {
        Self { bytes: [byte, 0, 0, 0], length: 1, next }
    }

    fn char(c: char, next: usize) -> Self {
        let mut bytes = [0; 4];
        let length = c.encode_utf8(&mut bytes).len() as u8;
        Self { bytes, length, next }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }
}

/// What could be read.
#[derive(Debug, Default)]
pub(super) struct Readings {
    pub(super) all: Vec<Reading>,
    /// Whether the text ends within an escape, so that there may be more readings once it goes on.
    pub(super) is_cut: bool,
}

/// Whether text that begins with this byte may stand for something else.
pub(super) fn is_special(byte: u8) -> bool {
    matches!(byte, b'\\' | b'%' | b'&' | b'+')
}

/// The text ends where more is needed to know.
struct Cut;

/// All readings of the text at this place, which is within it.
pub(super) fn readings(text: &[u8], at: usize, found: &mut Readings) {
    found.all.clear();
    found.is_cut = false;
    let mut reading = Reading::byte(text[at], at + 1);
    for _ in 0..DEPTH_MAX {
        found.all.push(reading);
        let next = match reading.bytes() {
            [b'\\'] => backslash(text, reading.next, found),
            [b'%'] => percent(text, reading.next),
            [b'&'] => entity(text, reading.next),
            [b'+'] => {
                found.all.push(Reading::byte(b' ', reading.next));
                Ok(None)
            }
            _ => Ok(None),
        };
        match next {
            Ok(Some(next)) => reading = next,
            Ok(None) => return,
            Err(Cut) => {
                found.is_cut = true;
                return;
            }
        }
    }
}

/// What stands behind a percent sign.
fn percent(text: &[u8], at: usize) -> Result<Option<Reading>, Cut> {
    Ok(number(text, at, 2, 16)?.map(|value| Reading::byte(value as u8, at + 2)))
}

/// The end of one backslash, as it is or percent-encoded; none if something else stands there.
fn slash(text: &[u8], at: usize) -> Result<Option<usize>, Cut> {
    match text.get(at) {
        None => Err(Cut),
        Some(b'\\') => Ok(Some(at + 1)),
        Some(b'%') => {
            let mut reading = percent(text, at + 1)?;
            for _ in 0..DEPTH_MAX {
                match reading {
                    Some(percent_sign) if percent_sign.bytes() == b"%" => reading = percent(text, percent_sign.next)?,
                    Some(_) | None => break,
                }
            }
            Ok(reading.filter(|reading| reading.bytes() == b"\\").map(|reading| reading.next))
        }
        Some(_) => Ok(None),
    }
}

/// The end of a run of backslashes, which may be none.
fn slashes(text: &[u8], mut at: usize) -> Result<usize, Cut> {
    for _ in 0..BACKSLASHES_MAX {
        match slash(text, at)? {
            Some(next) => at = next,
            None => break,
        }
    }
    Ok(at)
}

/// The end of this character, which may be escaped itself; none if something else stands there.
fn symbol(text: &[u8], at: usize, wanted: u8) -> Result<Option<usize>, Cut> {
    let at = slashes(text, at)?;
    let mut reading = Reading::byte(*text.get(at).ok_or(Cut)?, at + 1);
    for _ in 0..DEPTH_MAX {
        if reading.bytes() == [wanted] {
            return Ok(Some(reading.next));
        }
        match reading.bytes() {
            b"%" => match percent(text, reading.next)? {
                Some(next) => reading = next,
                None => return Ok(None),
            },
            _ => return Ok(None),
        }
    }
    Ok(None)
}

/// What stands behind a backslash.
fn backslash(text: &[u8], at: usize, found: &mut Readings) -> Result<Option<Reading>, Cut> {
    let (mut end, mut count) = (at, 1);
    while count < BACKSLASHES_MAX {
        let Some(next) = slash(text, end)? else { break };
        (end, count) = (next, count + 1);
        // One backslash after so many rounds of JSON.
        if matches!(count, 2 | 4 | 8 | 16) {
            found.all.push(Reading::byte(b'\\', end));
        }
    }
    let Some(&escaped) = text.get(end) else { return Err(Cut) };
    let next = end + 1;
    let control = |byte| Ok(Some(Reading::byte(byte, next)));
    match escaped {
        b'n' => control(b'\n'),
        b't' => control(b'\t'),
        b'r' => control(b'\r'),
        b'b' => control(8),
        b'f' => control(12),
        b'v' => control(11),
        b'a' => control(7),
        b'e' => control(27),
        b'u' if text.get(next) == Some(&b'{') => braced(text, next + 1),
        b'u' => unicode(text, next),
        b'U' => Ok(number(text, next, 8, 16)?.and_then(char::from_u32).map(|c| Reading::char(c, next + 8))),
        b'x' => Ok(number(text, next, 2, 16)?.map(|value| Reading::byte(value as u8, next + 2))),
        b'0'..=b'3' => {
            let octal = number(text, end, 3, 8)?.and_then(|value| u8::try_from(value).ok());
            Ok(octal.map(|byte| Reading::byte(byte, end + 3)))
        }
        // A run that is longer than any round of JSON makes it.
        b'\\' => Ok(None),
        other if other.is_ascii_alphanumeric() => Ok(None),
        other => Ok(Some(Reading::byte(other, next))),
    }
}

/// Four digits, and four more of the other half if they are the first half of a pair.
fn unicode(text: &[u8], at: usize) -> Result<Option<Reading>, Cut> {
    let Some(first) = number(text, at, 4, 16)? else { return Ok(None) };
    let end = at + 4;
    if !(0xd800..0xdc00).contains(&first) {
        return Ok(char::from_u32(first).map(|c| Reading::char(c, end)));
    }
    let letter = slashes(text, end)?;
    if letter == end || *text.get(letter).ok_or(Cut)? != b'u' {
        return Ok(None);
    }
    let second = number(text, letter + 1, 4, 16)?.filter(|second| (0xdc00..0xe000).contains(second));
    let whole = second.and_then(|second| char::from_u32(0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00)));
    Ok(whole.map(|c| Reading::char(c, letter + 5)))
}

/// Digits in braces, as Rust and JavaScript have them.
fn braced(text: &[u8], at: usize) -> Result<Option<Reading>, Cut> {
    let digits = text[at..].iter().take(7).take_while(|byte| byte.is_ascii_hexdigit()).count();
    let Some(&closing) = text.get(at + digits) else { return Err(Cut) };
    if closing != b'}' || digits == 0 {
        return Ok(None);
    }
    Ok(number(text, at, digits, 16)?.and_then(char::from_u32).map(|c| Reading::char(c, at + digits + 1)))
}

/// What stands behind an ampersand.
fn entity(text: &[u8], at: usize) -> Result<Option<Reading>, Cut> {
    let number_at = symbol(text, at, b'#')?;
    let name_at = number_at.unwrap_or(at);
    let rest = &text[name_at..];
    let length = rest.iter().take(ENTITY_BYTES_MAX).take_while(|byte| byte.is_ascii_alphanumeric()).count();
    let name = &rest[..length];
    let c = match (number_at, name) {
        (None, b"quot") => Some('"'),
        (None, b"apos") => Some('\''),
        (None, b"lt") => Some('<'),
        (None, b"gt") => Some('>'),
        (None, b"amp") => Some('&'),
        (None, b"sol") => Some('/'),
        (None, b"plus") => Some('+'),
        (None, b"equals") => Some('='),
        (Some(_), [b'x' | b'X', digits @ ..]) => code(digits, 16),
        (Some(_), digits) => code(digits, 10),
        (None, _) => None,
    };
    if c.is_none() && rest.len() > length {
        return Ok(None);
    }
    let end = symbol(text, name_at + length, b';')?;
    Ok(c.zip(end).map(|(c, end)| Reading::char(c, end)))
}

fn code(digits: &[u8], radix: u32) -> Option<char> {
    number(digits, 0, digits.len(), radix).ok().flatten().and_then(char::from_u32)
}

/// So many digits; none if something else stands there.
fn number(text: &[u8], at: usize, digits: usize, radix: u32) -> Result<Option<u32>, Cut> {
    let mut value = 0_u32;
    for index in at..at + digits {
        let Some(byte) = text.get(index) else { return Err(Cut) };
        let Some(digit) = char::from(*byte).to_digit(radix) else { return Ok(None) };
        value = value.saturating_mul(radix).saturating_add(digit);
    }
    Ok((digits > 0).then_some(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (Vec<String>, bool) {
        let mut found = Readings::default();
        readings(text.as_bytes(), 0, &mut found);
        let shown = found.all.iter().filter(|reading| reading.next == text.len());
        (shown.map(|reading| String::from_utf8_lossy(reading.bytes()).into_owned()).collect(), found.is_cut)
    }

    #[test]
    fn each_escape_is_read() {
        for (text, expected) in [
            ("a", "a"),
            (r"\/", "/"),
            (r#"\""#, "\""),
            (r#"\\\""#, "\""),
            (r#"\\\\\\\""#, "\""),
            (r"\\", "\\"),
            (r"\\\\", "\\"),
            (r"\u00e9", "é"),
            (r"\\u00E9", "é"),
            (r"\\\\u00e9", "é"),
            (r"\ud83d\ude00", "😀"),
            (r"\\ud83d\\ude00", "😀"),
            (r"\u{1f600}", "😀"),
            (r"\U0001f600", "😀"),
            (r"\x2f", "/"),
            (r"\057", "/"),
            (r"\n", "\n"),
            (r"\$", "$"),
            ("%2f", "/"),
            ("%2F", "/"),
            ("%252F", "/"),
            ("%25252f", "/"),
            ("%25", "%"),
            ("%5C%2F", "/"),
            ("%5Cu00e9", "é"),
            ("%5C%5Cu00e9", "é"),
            (r"\u00252F", "/"),
            ("+", " "),
            ("&quot;", "\""),
            ("&#34;", "\""),
            ("&#x22;", "\""),
            ("&amp;", "&"),
            ("&amp;amp;", "&"),
            ("&amp;quot;", "\""),
            (r"\u0026#34;", "\""),
            ("%26quot;", "\""),
            ("%26%2339%3B", "'"),
            (r"\&\#39\;", "'"),
            ("%5Cud83d%5Cude00", "😀"),
        ] {
            let (readings, _) = read(text);
            assert!(readings.iter().any(|reading| reading == expected), "{text}: {readings:?}");
        }
    }

    #[test]
    fn what_is_cut_is_known_to_be_cut_and_nothing_panics() {
        for whole in [r"\\\u00e9", r"\ud83d\ude00", r"\u{1f600}", "%25252f", "%5Cu00e9", "&amp;#x22;", r"\U0001f600"] {
            for length in 1..whole.len() {
                let mut found = Readings::default();
                readings(&whole.as_bytes()[..length], 0, &mut found);
                let is_whole_one = found.all.iter().any(|reading| reading.next == length);
                assert!(found.is_cut || is_whole_one, "{}", &whole[..length]);
            }
        }
        let mut found = Readings::default();
        for byte in 0..=255 {
            for first in [byte, b'\\', b'%', b'&'] {
                let mut text = [byte; 80];
                text[0] = first;
                for at in 0..text.len() {
                    readings(&text, at, &mut found);
                    assert!(found.all.len() < 48);
                }
            }
        }
    }
}
