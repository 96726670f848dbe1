//! Forwarding methods of enums.

/// Generate methods of an enum that call the same method of its variant. A trait with parameters is named after `as`.
///
/// ```ignore
/// impl Victim {
///     coflash_base::forward_to_variant! { victim_dispatch;
///         pub(crate) fn sealed(&mut self, block: u32, cost: u32);
///         pub(crate) fn heap_bytes(&self) -> usize;
///     }
/// }
/// ```
#[macro_export]
macro_rules! forward_to_variant {
    ($dispatch:ident $(as $trait:path)?;) => {};
    (
        $dispatch:ident $(as $trait:path)?;
        $(#[$meta:meta])* $vis:vis fn $name:ident $(<$generic:ident: $bound:ident>)?
            (&mut $self:ident $(, $argument:ident: $ty:ty)* $(,)?) $(-> $result:ty)?;
        $($rest:tt)*
    ) => {
        $(#[$meta])*
        #[inline(always)]
        $vis fn $name $(<$generic: $bound>)? (&mut $self $(, $argument: $ty)*) $(-> $result)? {
            $dispatch!($self, variant => $crate::call_variant!([$($trait)?] $name(variant $(, $argument)*)))
        }
        $crate::forward_to_variant! { $dispatch $(as $trait)?; $($rest)* }
    };
    (
        $dispatch:ident $(as $trait:path)?;
        $(#[$meta:meta])* $vis:vis fn $name:ident $(<$generic:ident: $bound:ident>)?
            (&$self:ident $(, $argument:ident: $ty:ty)* $(,)?) $(-> $result:ty)?;
        $($rest:tt)*
    ) => {
        $(#[$meta])*
        #[inline(always)]
        $vis fn $name $(<$generic: $bound>)? (&$self $(, $argument: $ty)*) $(-> $result)? {
            $dispatch!($self, variant => $crate::call_variant!([$($trait)?] $name(variant $(, $argument)*)))
        }
        $crate::forward_to_variant! { $dispatch $(as $trait)?; $($rest)* }
    };
}

/// The body of a method of [`forward_to_variant!`](crate::forward_to_variant).
#[doc(hidden)]
#[macro_export]
macro_rules! call_variant {
    ([] $name:ident($variant:ident $(, $argument:ident)*)) => {
        $variant.$name($($argument),*)
    };
    ([$trait:path] $name:ident($variant:ident $(, $argument:ident)*)) => {
        <_ as $trait>::$name($variant, $($argument),*)
    };
}
