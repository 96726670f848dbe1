//! The candidates of a pool, kept in two ways that several policies share: as a set to draw from, and in the order in
//! which they were sealed.

const NONE: u32 = u32::MAX;

/// Candidates without an order: a draw, an insertion and a removal each take constant time.
#[derive(Clone, Debug)]
pub(super) struct SealedSet {
    members: Vec<u32>,
    position: Vec<u32>,
}

impl SealedSet {
    pub(super) fn new(blocks: u32) -> Self {
        Self { members: Vec::with_capacity(blocks as usize), position: vec![NONE; blocks as usize] }
    }

    pub(super) fn insert(&mut self, block: u32) {
        self.position[block as usize] = self.members.len() as u32;
        self.members.push(block);
    }

    pub(super) fn remove(&mut self, block: u32) {
        let at = std::mem::replace(&mut self.position[block as usize], NONE);
        self.members.swap_remove(at as usize);
        if let Some(&moved) = self.members.get(at as usize) {
            self.position[moved as usize] = at;
        }
    }

    pub(super) fn members(&self) -> &[u32] {
        &self.members
    }

    pub(super) fn heap_bytes(&self) -> usize {
        (self.members.capacity() + self.position.capacity()) * size_of::<u32>()
    }
}

/// Candidates in the order in which they were sealed: an intrusive list, the oldest first.
#[derive(Clone, Debug)]
pub(super) struct SealOrder {
    next: Vec<u32>,
    previous: Vec<u32>,
    oldest: u32,
    newest: u32,
}

impl SealOrder {
    pub(super) fn new(blocks: u32) -> Self {
        Self {
            next: vec![NONE; blocks as usize],
            previous: vec![NONE; blocks as usize],
            oldest: NONE,
            newest: NONE,
        }
    }

    pub(super) fn push(&mut self, block: u32) {
        self.next[block as usize] = NONE;
        self.previous[block as usize] = self.newest;
        match self.newest {
            NONE => self.oldest = block,
            newest => self.next[newest as usize] = block,
        }
        self.newest = block;
    }

    pub(super) fn remove(&mut self, block: u32) {
        let (previous, next) = (self.previous[block as usize], self.next[block as usize]);
        match previous {
            NONE => self.oldest = next,
            previous => self.next[previous as usize] = next,
        }
        match next {
            NONE => self.newest = previous,
            next => self.previous[next as usize] = previous,
        }
    }

    /// From the oldest to the newest.
    pub(super) fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        let follow = |block: u32| Some(block).filter(|&block| block != NONE);
        std::iter::successors(follow(self.oldest), move |&block| follow(self.next[block as usize]))
    }

    pub(super) fn heap_bytes(&self) -> usize {
        (self.next.capacity() + self.previous.capacity()) * size_of::<u32>()
    }
}
