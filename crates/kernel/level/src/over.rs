//! The methods that levels over another level share.

/// Write the accessors of a level with the field `below`.
macro_rules! level_over {
    () => {
        /// The level below.
        #[must_use]
        pub fn below(&self) -> &L {
            &self.below
        }

        /// Convert into the level below.
        #[must_use]
        pub fn into_below(self) -> L {
            self.below
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

/// Write the accessors of a cache with the fields `below`, `cache`, `scheme` and `metadata`, in the memory of a field.
macro_rules! cache_over_level {
    ($scheme:ty, $($memory:ident).+) => {
        crate::over::level_over!();

        /// The cached pages.
        #[must_use]
        pub fn cache(&self) -> &Cache {
            &self.cache
        }

        /// The metadata in non-volatile memory.
        pub(crate) fn metadata(&self) -> &Metadata {
            &self.metadata
        }

        /// The scheme.
        #[must_use]
        pub fn scheme(&self) -> &$scheme {
            &self.scheme
        }

        /// Borrow the level below, and the media with this cache as GC's hook.
        #[inline(always)]
        fn descend<'s, M: Media>(
            &'s mut self,
            media: &'s mut M,
            start: M::When,
        ) -> (&'s mut L, Io<'s, M, CacheHook<'s, $scheme>>) {
            let memory = self.$($memory).+;
            let Self { below, cache, scheme, metadata, .. } = self;
            let hook = CacheHook { scheme, cache, metadata, memory };
            (below, Io { media, hook, start })
        }

        #[inline(always)]
        fn place(&self, slot: SlotId) -> Slot {
            Slot { memory: self.$($memory).+, number: slot.get() }
        }

        #[inline(always)]
        fn cached(&self, slot: SlotId) -> Cached {
            Cached { lpn: self.cache.page_of(slot), slot }
        }
    };
}

/// Write what a cache with the fields of [`cache_over_level`] passes on as a [`Level`](crate::Level).
macro_rules! cache_passes_on {
    () => {
        #[inline(always)]
        fn look_ahead(&self, lpn: Lpn, ahead: Ahead) {
            self.cache.look_ahead(lpn, ahead);
            self.below.look_ahead(lpn, ahead);
        }

        #[inline]
        fn begin<H: GcHook>(&mut self, command: &Command, io: &mut Io<'_, M, H>) -> M::When {
            self.metadata.begin();
            let (below, mut inner) = self.descend(&mut *io.media, io.start);
            below.begin(&command.page_by_page(), &mut inner)
        }

        fn elsewhere(&self, page: Lpn) -> Option<crate::Elsewhere> {
            let (newer, same) = (crate::Elsewhere::Newer, crate::Elsewhere::Same);
            let here = self.cache.lookup(page).map(|slot| if self.cache.is_dirty(slot) { newer } else { same });
            here.or_else(|| self.below.elsewhere(page))
        }

        fn told<H: GcHook>(&mut self, tag: u32, at: Time, io: &mut Io<'_, M, H>) -> Result<(), M::Error> {
            let (below, mut inner) = self.descend(&mut *io.media, io.start);
            below.told(tag, at, &mut inner)
        }

        fn work_idle<H: GcHook>(&mut self, die: DieId, io: &mut Io<'_, M, H>) -> Result<bool, M::Error> {
            let (below, mut inner) = self.descend(&mut *io.media, io.start);
            below.work_idle(die, &mut inner)
        }

        crate::forward_level!(below_dispatch: numbers);
    };
}

pub(crate) use {below_dispatch, cache_over_level, cache_passes_on, level_over};
