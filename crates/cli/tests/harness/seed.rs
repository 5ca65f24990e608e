//! One seed decides a whole torture run.

/// SplitMix64: small, and the same for ever.
#[derive(Debug, Clone)]
pub(crate) struct Seed(u64);

impl Seed {
    /// The seed of this run, told so that the run can be repeated. Each test mixes in its own name.
    pub(crate) fn of(test: &str) -> Self {
        let given = std::env::var("RELAYMESH_TORTURE_SEED").ok().and_then(|text| text.parse().ok());
        let seed: u64 = given.unwrap_or(1);
        println!("{test}: RELAYMESH_TORTURE_SEED={seed}");
        test.bytes().fold(Self(seed), |seed, byte| Self(seed.0.rotate_left(5) ^ u64::from(byte)))
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next() % end.max(1)
    }
}

/// Whether a short run was asked for.
pub(crate) fn is_quick() -> bool {
    std::env::var_os("RELAYMESH_TORTURE_QUICK").is_some_and(|value| value == "1")
}
