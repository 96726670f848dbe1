//! The methods that levels over another level share.

/// Write the accessors of a level with the field `below`.
macro_rules! level_over {
    () => {
        /// The level below.
        #[must_use]
        pub fn below(&self) -> &L {
            &self.below
        }

        /// Mutable access to the level below, past this one. For warming up.
        pub fn below_mut(&mut self) -> &mut L {
            &mut self.below
        }
    };
}

/// Evaluate an expression for the level in the field `below`.
macro_rules! below_dispatch {
    ($self:expr, $below:pat => $call:expr) => {{
        let Self { below: $below, .. } = $self;
        $call
    }};
}

pub(crate) use {below_dispatch, level_over};
