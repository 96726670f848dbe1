//! The orders of eviction of policies that tell pages used once from others, done the slow way.

use coflash_base::Lpn;
use std::collections::BTreeMap;

/// An order of eviction, as in `Order`.
pub(crate) trait Model {
    fn arriving(&mut self, _: Lpn) {}
    fn insert(&mut self, page: Lpn);
    fn touch(&mut self, page: Lpn);
    fn remove(&mut self, page: Lpn);
    fn victim(&mut self) -> Option<Lpn>;
}

/// The model of a policy with its default parameters.
pub(crate) fn model(name: &str, capacity: usize) -> Box<dyn Model> {
    match name {
        "lfu" => Box::new(Lfu::default()),
        "2q" => Box::new(TwoQ { in_max: capacity / 4, out: Ghosts::of(capacity / 2), ..TwoQ::default() }),
        "arc" => Box::new(Arc { capacity, ..Arc::default() }),
        "w-tinylfu" => {
            let protected_max = capacity.saturating_sub(1) * 8 / 10;
            Box::new(WTinyLfu { capacity, protected_max, ..WTinyLfu::default() })
        }
        "s3-fifo" => {
            let small_max = (capacity / 10).max(1);
            let main_max = capacity.saturating_sub(small_max);
            Box::new(S3Fifo {
                small_max,
                main_max,
                ghosts: Ghosts::of(capacity * 9 / 10),
                ..S3Fifo::default()
            })
        }
        "sieve" => Box::new(Sieve::default()),
        _ => panic!("{name} has no model of its order"),
    }
}

fn take(pages: &mut Vec<Lpn>, page: Lpn) -> bool {
    let at = pages.iter().position(|&other| other == page);
    at.map(|at| pages.remove(at)).is_some()
}

/// The oldest first.
#[derive(Default)]
struct Ghosts {
    pages: Vec<Lpn>,
    most: usize,
    arriving: Option<(Lpn, bool)>,
}

impl Ghosts {
    fn of(most: usize) -> Self {
        Self { most, ..Self::default() }
    }

    fn arriving(&mut self, page: Lpn) -> bool {
        match self.arriving {
            Some((other, was_there)) if other == page => was_there,
            _ => {
                let was_there = take(&mut self.pages, page);
                self.arriving = Some((page, was_there));
                was_there
            }
        }
    }

    fn arrived(&mut self, page: Lpn) -> bool {
        let was_there = self.arriving(page);
        self.arriving = None;
        was_there
    }

    fn remember(&mut self, page: Lpn) {
        self.pages.push(page);
        if self.pages.len() > self.most {
            self.pages.remove(0);
        }
    }
}

/// Uses, and the time of the last one.
#[derive(Default)]
struct Lfu {
    pages: BTreeMap<Lpn, (u32, u32)>,
    now: u32,
}

impl Model for Lfu {
    fn insert(&mut self, page: Lpn) {
        self.now += 1;
        self.pages.insert(page, (1, self.now));
    }

    fn touch(&mut self, page: Lpn) {
        self.now += 1;
        let (uses, last) = self.pages.get_mut(&page).unwrap();
        (*uses, *last) = (*uses + 1, self.now);
    }

    fn remove(&mut self, page: Lpn) {
        self.pages.remove(&page);
    }

    fn victim(&mut self) -> Option<Lpn> {
        self.pages.iter().min_by_key(|(_, used)| **used).map(|(&page, _)| page)
    }
}

/// Next to leave of each first.
#[derive(Default)]
struct TwoQ {
    a1_in: Vec<Lpn>,
    am: Vec<Lpn>,
    in_max: usize,
    out: Ghosts,
    named: Option<Lpn>,
}

impl Model for TwoQ {
    fn arriving(&mut self, page: Lpn) {
        self.out.arriving(page);
    }

    fn insert(&mut self, page: Lpn) {
        if self.out.arrived(page) { &mut self.am } else { &mut self.a1_in }.push(page);
    }

    fn touch(&mut self, page: Lpn) {
        if take(&mut self.am, page) {
            self.am.push(page);
        }
    }

    fn remove(&mut self, page: Lpn) {
        let is_evicted = self.named.take() == Some(page);
        if !take(&mut self.am, page) {
            take(&mut self.a1_in, page);
            if is_evicted {
                self.out.remember(page);
            }
        }
    }

    fn victim(&mut self) -> Option<Lpn> {
        let (oldest, coldest) = (self.a1_in.first(), self.am.first());
        self.named = if self.a1_in.len() > self.in_max { oldest } else { coldest.or(oldest) }.copied();
        self.named
    }
}

/// T1 and T2, B1 and B2; next to leave first.
#[derive(Default)]
struct Arc {
    capacity: usize,
    cached: [Vec<Lpn>; 2],
    ghosts: [Vec<Lpn>; 2],
    target: f64,
    arriving: Option<(Lpn, Option<usize>)>,
    named: Option<Lpn>,
}

impl Arc {
    fn ghost_list_of_arriving(&self) -> Option<usize> {
        self.arriving.and_then(|(_, list)| list)
    }
}

impl Model for Arc {
    fn arriving(&mut self, page: Lpn) {
        if self.arriving.is_some_and(|(other, _)| other == page) {
            return;
        }
        let list = (0..2).find(|&list| self.ghosts[list].contains(&page));
        if let Some(list) = list {
            let step = (self.ghosts[1 - list].len() as f64 / self.ghosts[list].len() as f64).max(1.0);
            let target = if list == 0 { self.target + step } else { self.target - step };
            self.target = target.clamp(0.0, self.capacity as f64);
            take(&mut self.ghosts[list], page);
        }
        self.arriving = Some((page, list));
    }

    fn insert(&mut self, page: Lpn) {
        self.arriving(page);
        let (_, list) = self.arriving.take().unwrap();
        self.cached[usize::from(list.is_some())].push(page);
    }

    fn touch(&mut self, page: Lpn) {
        self.cached.iter_mut().for_each(|list| _ = take(list, page));
        self.cached[1].push(page);
    }

    fn remove(&mut self, page: Lpn) {
        let list = usize::from(self.cached[1].contains(&page));
        let is_full_of_once = self.cached[0].len() + self.ghosts[0].len() >= self.capacity;
        take(&mut self.cached[list], page);
        if self.named.take() != Some(page) {
            return;
        }
        if self.ghost_list_of_arriving().is_none() && is_full_of_once {
            if self.ghosts[0].is_empty() {
                return;
            }
            self.ghosts[0].remove(0);
        }
        if self.ghosts[0].len() + self.ghosts[1].len() == self.capacity {
            let from = usize::from(!self.ghosts[1].is_empty());
            self.ghosts[from].remove(0);
        }
        self.ghosts[list].push(page);
    }

    fn victim(&mut self) -> Option<Lpn> {
        let [once, again] = &self.cached;
        let len = once.len() as f64;
        let from_once = len > self.target || (len >= self.target && self.ghost_list_of_arriving() == Some(1));
        let (first, second) = (once.first(), again.first());
        self.named = if from_once { first.or(second) } else { second.or(first) }.copied();
        self.named
    }
}

/// Next to leave of each list first.
#[derive(Default)]
struct WTinyLfu {
    capacity: usize,
    window: Vec<Lpn>,
    probation: Vec<Lpn>,
    protected: Vec<Lpn>,
    protected_max: usize,
    counts: BTreeMap<Lpn, u32>,
    uses: usize,
}

impl WTinyLfu {
    fn count(&mut self, page: Lpn) {
        let count = self.counts.entry(page).or_default();
        *count = (*count + 1).min(15);
        self.uses += 1;
        if self.uses >= 10 * self.capacity {
            self.uses /= 2;
            self.counts.values_mut().for_each(|count| *count /= 2);
        }
    }
}

impl Model for WTinyLfu {
    fn insert(&mut self, page: Lpn) {
        self.count(page);
        self.window.push(page);
        if self.window.len() > 1 {
            self.probation.push(self.window.remove(0));
        }
    }

    fn touch(&mut self, page: Lpn) {
        self.count(page);
        if take(&mut self.window, page) {
            self.window.push(page);
            return;
        }
        take(&mut self.probation, page);
        take(&mut self.protected, page);
        self.protected.push(page);
        if self.protected.len() > self.protected_max {
            self.probation.push(self.protected.remove(0));
        }
    }

    fn remove(&mut self, page: Lpn) {
        [&mut self.window, &mut self.probation, &mut self.protected]
            .into_iter()
            .for_each(|list| _ = take(list, page));
    }

    fn victim(&mut self) -> Option<Lpn> {
        let candidate = self.window.first().copied();
        let rival = self.probation.first().or(self.protected.first()).copied();
        let (Some(last), Some(other)) = (candidate, rival) else { return candidate.or(rival) };
        if self.counts[&last] > self.counts[&other] { rival } else { candidate }
    }
}

/// Pages and their uses, next to leave first.
#[derive(Default)]
struct S3Fifo {
    small: Vec<(Lpn, u32)>,
    main: Vec<(Lpn, u32)>,
    small_max: usize,
    main_max: usize,
    ghosts: Ghosts,
    has_evicted: bool,
    named: Option<Lpn>,
}

impl Model for S3Fifo {
    fn arriving(&mut self, page: Lpn) {
        self.ghosts.arriving(page);
    }

    fn insert(&mut self, page: Lpn) {
        let overflows = !self.has_evicted && self.small.len() >= self.small_max;
        if self.ghosts.arrived(page) || overflows { &mut self.main } else { &mut self.small }.push((page, 0));
        self.named = None;
    }

    fn touch(&mut self, page: Lpn) {
        self.small.iter_mut().chain(&mut self.main).find(|entry| entry.0 == page).unwrap().1 += 1;
        self.named = None;
    }

    fn remove(&mut self, page: Lpn) {
        let is_evicted = self.named.take() == Some(page);
        self.has_evicted |= is_evicted;
        if is_evicted && self.small.iter().any(|entry| entry.0 == page) {
            self.ghosts.remember(page);
        }
        self.small.retain(|entry| entry.0 != page);
        self.main.retain(|entry| entry.0 != page);
    }

    fn victim(&mut self) -> Option<Lpn> {
        if self.named.is_none() && self.main.len() <= self.main_max {
            while let Some(&(page, uses)) = self.small.first() {
                if uses < 2 {
                    self.named = Some(page);
                    break;
                }
                self.small.remove(0);
                self.main.push((page, 0));
            }
        }
        while self.named.is_none() && !self.main.is_empty() {
            let (page, uses) = self.main[0];
            if uses == 0 {
                self.named = Some(page);
            } else {
                self.main.remove(0);
                self.main.push((page, uses.min(3) - 1));
            }
        }
        self.named
    }
}

/// The oldest page first, and whether it was used; the hand is on a page, or on none.
#[derive(Default)]
struct Sieve {
    pages: Vec<(Lpn, bool)>,
    hand: Option<Lpn>,
}

impl Model for Sieve {
    fn insert(&mut self, page: Lpn) {
        self.pages.push((page, false));
    }

    fn touch(&mut self, page: Lpn) {
        self.pages.iter_mut().find(|entry| entry.0 == page).unwrap().1 = true;
    }

    fn remove(&mut self, page: Lpn) {
        let at = self.pages.iter().position(|entry| entry.0 == page).unwrap();
        if self.hand == Some(page) {
            self.hand = self.pages.get(at + 1).map(|entry| entry.0);
        }
        self.pages.remove(at);
    }

    fn victim(&mut self) -> Option<Lpn> {
        let mut at = self.pages.iter().position(|entry| Some(entry.0) == self.hand).unwrap_or(0);
        loop {
            let (page, used) = self.pages.get_mut(at)?;
            if !std::mem::take(used) {
                self.hand = Some(*page);
                return self.hand;
            }
            at = (at + 1) % self.pages.len();
        }
    }
}
