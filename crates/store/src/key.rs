//! Integer row keys. A task's key is the arrival number of the op that submitted it; the keys of its steps and of the
//! content that an op carried follow from such numbers, so nothing has to be looked up to find a row.

use serde::{Deserialize, Serialize};

/// Bits for the place of a step in its task, or of a piece of content in its op.
const PLACE_BITS: u32 = 12;
const PLACE_MAX: u64 = (1 << PLACE_BITS) - 1;

macro_rules! keys {
    ($($(#[$doc:meta])* $name:ident($number:ident);)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub struct $name(u64);

        impl $name {
            /// The key of `place` under this number.
            pub const fn new($number: u64, place: u16) -> Self {
                assert!((place as u64) <= PLACE_MAX, "a place has 12 bits");
                Self($number << PLACE_BITS | place as u64)
            }

            /// The key with this number, as it stands in a table.
            pub const fn from_raw(raw: u64) -> Self {
                Self(raw)
            }

            /// The number that stands in a table.
            pub const fn raw(self) -> u64 {
                self.0
            }

            /// The first part.
            pub const fn $number(self) -> u64 {
                self.0 >> PLACE_BITS
            }

            /// The second part.
            pub const fn place(self) -> u16 {
                (self.0 & PLACE_MAX) as u16
            }
        }
    )*};
}

keys! {
    /// The row of a step: its task's key and its place.
    StepKey(task);
    /// Content: the arrival number of the op that carried it and its place there (an input: the step's place; a result: 0).
    ContentKey(pos);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_come_back_and_order_is_by_task_then_place() {
        let key = StepKey::new(77, 4095);
        assert_eq!((key.task(), key.place()), (77, 4095));
        assert_eq!(StepKey::from_raw(key.raw()), key);
        assert!(StepKey::new(77, 4095) < StepKey::new(78, 0));
    }
}
