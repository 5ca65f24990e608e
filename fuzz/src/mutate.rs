//! Inputs that are nearly right: a seeded generator bends valid ones. The same seed gives the same inputs everywhere.

/// The longest input that is made.
pub const INPUT_BYTES_MAX: usize = 32 * 1024;

/// What parsers stumble over, in texts and in bytes.
pub const WORDS: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"",
    "\\",
    "\\u0000",
    "\\ud800",
    "\\udc00",
    "null",
    "true",
    "0",
    "-0",
    "-",
    "1e400",
    "1e-400",
    "1e21",
    "9007199254740991",
    "9007199254740993",
    "18446744073709551616",
    "0.1",
    "e",
    "+",
    ".inf",
    ".nan",
    "~",
    "0x",
    "1_0",
    "\n",
    "\r",
    "\t",
    "  ",
    "\u{feff}",
    "\u{85}",
    "\u{2028}",
    "é",
    "😀",
    "- ",
    "? ",
    ": ",
    "&a ",
    "*a",
    "!!str ",
    "!<x> ",
    "<<: ",
    "| ",
    ">-\n",
    "#",
    "%YAML 1.2\n",
    "---\n",
    "...\n",
    "`",
    " at line ",
    "line 9",
    "column 9999999999999",
    "name",
    "steps",
    "id",
    "agent",
    "echo",
    "input",
    "depends_on",
    "retry",
    "max_attempts",
    "base_backoff_ms",
    "timeout_ms",
    "compensate",
    "approve",
    "text",
    "priority",
    "tsk_",
    "nod_",
    "stp_",
    "_",
    ".",
    "@",
    "\0",
    "\u{1}",
    "\u{7f}",
];

/// A small generator (SplitMix64): good enough to bend bytes, and the same everywhere.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// The generator with this seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `end`, which is not 0.
    pub fn below(&mut self, end: usize) -> usize {
        (self.number() % end.max(1) as u64) as usize
    }

    fn range(&mut self, len: usize) -> std::ops::Range<usize> {
        let start = self.below(len + 1);
        start..start + self.below((len - start).min(64) + 1)
    }
}

/// One of the inputs, bent in one to four places.
pub fn mutated(inputs: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut bytes = inputs[random.below(inputs.len())].clone();
    for _ in 0..=random.below(4) {
        bend(&mut bytes, inputs, random);
    }
    bytes.truncate(INPUT_BYTES_MAX);
    bytes
}

fn bend(bytes: &mut Vec<u8>, inputs: &[Vec<u8>], random: &mut Random) {
    let at = random.below(bytes.len() + 1);
    let part = random.range(bytes.len());
    match random.below(10) {
        0 | 1 => flip(bytes, random),
        2 => bytes.truncate(at),
        3 => drop(bytes.drain(part)),
        4 => bytes.insert(at, random.number() as u8),
        5 | 6 => {
            let word = WORDS[random.below(WORDS.len())];
            bytes.splice(at..at, word.bytes());
        }
        // A varint or a fixed number at its edge.
        7 => {
            let edge = [[0; 10], [0xff; 10], [0x80; 10], *b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"][random.below(4)];
            bytes.splice(at..at, edge[..1 + random.below(10)].iter().copied());
        }
        // A part again and again: nesting, long texts, many items.
        8 => {
            let part = bytes[part].to_vec();
            let times = 1 << random.below(11);
            let repeated = part.repeat(times.min(INPUT_BYTES_MAX / part.len().max(1)));
            bytes.splice(at..at, repeated);
        }
        _ => {
            let other = &inputs[random.below(inputs.len())];
            let part = random.range(other.len());
            bytes.splice(at..at, other[part].iter().copied());
        }
    }
}

fn flip(bytes: &mut [u8], random: &mut Random) {
    if !bytes.is_empty() {
        let at = random.below(bytes.len());
        bytes[at] ^= 1 << random.below(8);
    }
}
