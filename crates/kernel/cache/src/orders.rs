//! The eviction orders of a cache: one for all pages, or one for clean and one for dirty pages.

use crate::evict::Eviction;
use coflash_base::Save;
use std::slice;

/// The eviction orders of clean and dirty pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Save)]
pub enum Orders {
    /// One for clean and one for dirty pages.
    Own,
    /// One for all pages.
    Common,
}

/// The eviction policies of a cache: [`Eviction`], or a [`PolicyPair`].
pub trait Policies: Clone {
    /// The eviction orders of clean and dirty pages.
    fn orders(&self) -> Orders;

    /// The policy of number 0; of number 1 that of dirty pages with an order of their own.
    fn policy(&mut self, number: usize) -> &mut Eviction;

    /// All policies.
    fn all(&self) -> &[Eviction];
}

impl Policies for Eviction {
    #[inline(always)]
    fn orders(&self) -> Orders {
        Orders::Common
    }

    #[inline(always)]
    fn policy(&mut self, _: usize) -> &mut Self {
        self
    }

    #[inline(always)]
    fn all(&self) -> &[Self] {
        slice::from_ref(self)
    }
}

/// The policies of clean and of dirty pages. With a common order only the first is used.
#[derive(Clone, Save)]
#[save(in_place)]
pub struct PolicyPair {
    pub(crate) policies: [Eviction; 2],
    pub(crate) orders: Orders,
}

impl Policies for PolicyPair {
    #[inline]
    fn orders(&self) -> Orders {
        self.orders
    }

    #[inline]
    fn policy(&mut self, number: usize) -> &mut Eviction {
        &mut self.policies[number]
    }

    #[inline]
    fn all(&self) -> &[Eviction] {
        &self.policies
    }
}
