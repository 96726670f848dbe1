//! When the moments of flash come: operations act at once and end later, one after the other.

use coflash_base::{Duration, Time};

/// Knowledge of the ends of operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moments {
    /// An operation ends as soon as it is issued.
    AtOnce,
    /// It ends at a time that is known then, as with private channels.
    Known,
    /// It ends at a time that is not known then, as with shared channels.
    Unknown,
}

impl Moments {
    pub(crate) fn of(seed: u64) -> Self {
        [Self::AtOnce, Self::Known, Self::Unknown][seed as usize % 3]
    }

    /// Operations that have not ended, at most.
    fn late_max(self) -> u64 {
        if self == Self::AtOnce { 0 } else { 40 }
    }
}

/// The end of an operation, counted through all; or a moment by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum When {
    At(Time),
    Of(usize),
}

/// A moment that was not known when it was asked for.
#[derive(Clone, Copy, Debug)]
struct Moment {
    /// It comes when both of these have come; none while a promise has not been kept.
    with: Option<[When; 2]>,
    /// The job that a promise was kept for.
    job: Option<u32>,
    /// When it was returned: it may be handed on before time passes. None of a promise, or once it was handed on.
    is_fresh: Option<u64>,
}

/// The clock of the test.
#[derive(Clone, Debug)]
pub(crate) struct Ends {
    moments_of: Moments,
    /// The numbers of issued and ended operations.
    issued: Time,
    now: Time,
    /// Counts how often something else has happened.
    epoch: u64,
    moments: Vec<Moment>,
}

impl Ends {
    pub(crate) fn new(moments_of: Moments) -> Self {
        Self { moments_of, issued: Time::ZERO, now: Time::ZERO, epoch: 0, moments: Vec::new() }
    }

    pub(crate) fn now(&self) -> Time {
        self.now
    }

    pub(crate) fn last(&self) -> When {
        When::At(self.issued)
    }

    pub(crate) fn are_to_come(&self) -> bool {
        self.now < self.issued
    }

    /// Something else happens: moments returned before may not be handed on any more.
    pub(crate) fn turn(&mut self) {
        self.epoch += 1;
    }

    /// A number of operations end.
    pub(crate) fn pass(&mut self, operations: u64) {
        self.now = (self.now + Duration { ns: operations }).min(self.issued);
    }

    /// Power on: all operations have ended, and no request waits.
    pub(crate) fn restart(&mut self) {
        self.now = self.issued;
        self.moments.clear();
    }

    /// The end of an operation that has just been carried out.
    pub(crate) fn issue(&mut self, after: When) -> When {
        self.hand_on(after);
        self.issued += Duration { ns: 1 };
        self.now = self.now.max(Time { ns: self.issued.ns.saturating_sub(self.moments_of.late_max()) });
        let end = self.last();
        if self.moments_of == Moments::Unknown {
            self.moment(Some([end, end]), Some(self.epoch))
        } else {
            end
        }
    }

    pub(crate) fn both(&mut self, one: When, other: When) -> When {
        match (self.hand_on(one), self.hand_on(other)) {
            (When::At(one), When::At(other)) => When::At(one.max(other)),
            both => self.moment(Some(both.into()), Some(self.epoch)),
        }
    }

    pub(crate) fn promise(&mut self) -> When {
        self.moment(None, None)
    }

    pub(crate) fn keep(&mut self, promise: When, with: When, job: Option<u32>) {
        let with = self.hand_on(with);
        let When::Of(promise) = promise else { panic!("{promise:?} is no promise") };
        let promise = &mut self.moments[promise];
        assert!(promise.with.is_none(), "a promise is kept once");
        (promise.with, promise.job) = (Some([with, with]), job);
    }

    /// Panics where a moment is handed on twice, or after something else has happened.
    pub(crate) fn hand_on(&mut self, when: When) -> When {
        if let When::Of(moment) = when {
            let moment = &mut self.moments[moment];
            let may_be = moment.with.is_none() || moment.is_fresh.take() == Some(self.epoch);
            assert!(may_be, "{when:?} is handed on too late");
        }
        when
    }

    pub(crate) fn has_come(&self, when: When) -> bool {
        match when {
            When::At(time) => time <= self.now,
            When::Of(moment) => {
                self.moments[moment].with.is_some_and(|with| with.iter().all(|&when| self.has_come(when)))
            }
        }
    }

    /// The jobs that a moment has waited for.
    pub(crate) fn jobs_of(&self, when: When) -> Vec<u32> {
        let When::Of(moment) = when else { return Vec::new() };
        let Moment { with, job, .. } = self.moments[moment];
        let before = with.into_iter().flatten().flat_map(|when| self.jobs_of(when));
        job.into_iter().chain(before).collect()
    }

    fn moment(&mut self, with: Option<[When; 2]>, is_fresh: Option<u64>) -> When {
        self.moments.push(Moment { with, job: None, is_fresh });
        When::Of(self.moments.len() - 1)
    }
}
