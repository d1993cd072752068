//! The numbers by which stores keep the values of an enum.

/// Gives an enum the number of each value: its place in the enum and in `ALL`, which must agree.
#[macro_export]
macro_rules! stored_as_number {
    ($name:ident) => {
        impl $name {
            /// The stored number.
            #[must_use]
            pub const fn code(self) -> u8 {
                self as u8
            }

            /// The value of a stored number.
            #[must_use]
            pub fn from_code(code: u8) -> Option<Self> {
                Self::ALL.get(usize::from(code)).copied()
            }
        }
    };
}
