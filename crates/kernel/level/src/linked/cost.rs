//! The cost of crossing the link.

use coflash_base::seed::{RandomStream, RngExt};
use coflash_base::{Duration, Save, Seed, Time};

/// A direction of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    ToDevice,
    ToHost,
}

/// The cost of a message.
#[derive(Clone, Debug, Save)]
pub struct LinkCost {
    /// The fixed cost: a command and its completion.
    pub per_message: Duration,
    /// The cost per byte.
    pub ns_per_byte: f64,
    /// Whether the data of requests crosses one after another.
    pub is_shared: bool,
    /// Of a shared link: when the data of earlier requests has crossed, in each direction.
    free_at: [Time; 2],
    /// The largest random delay of a message, so that one may overtake another, and its random stream.
    jitter: Option<(Duration, RandomStream)>,
}

impl LinkCost {
    /// Create a cost without jitter.
    #[must_use]
    pub fn new(per_message: Duration, ns_per_byte: f64) -> Self {
        Self { per_message, ns_per_byte, is_shared: false, free_at: [Time::ZERO; 2], jitter: None }
    }

    /// Add a random delay of up to `jitter` to each message, drawn from the stream of this name.
    #[must_use]
    pub fn with_jitter(self, jitter: Duration, seed: Seed, stream: &str) -> Self {
        let jitter = (jitter > Duration::ZERO).then(|| (jitter, seed.stream(stream)));
        Self { jitter, ..self }
    }

    /// The time of `bytes` bytes, without the fixed cost.
    #[inline]
    #[must_use]
    pub fn bytes(&self, bytes: u64) -> Duration {
        if self.ns_per_byte == 0.0 {
            return Duration::ZERO;
        }
        Duration { ns: (bytes as f64 * self.ns_per_byte).round() as u64 }
    }

    /// Take the next turn on a shared link, for data of this length in time; returns the wait for it.
    ///
    /// A read takes its turn when it is issued: its end is not known then. Where not even the present is known, there is no wait.
    #[inline]
    pub(crate) fn turn(&mut self, way: Way, now: Option<Time>, data: Duration) -> Duration {
        let Some(now) = now.filter(|_| self.is_shared) else { return Duration::ZERO };
        let free_at = &mut self.free_at[way as usize];
        let at = now.max(*free_at);
        *free_at = at + data;
        at.since(now)
    }

    /// The time of a message of `bytes` bytes, with jitter.
    pub fn message(&mut self, bytes: u64) -> Duration {
        let longer = match &mut self.jitter {
            Some((most, stream)) => Duration { ns: stream.random_range(0..=most.ns) },
            None => Duration::ZERO,
        };
        self.per_message + self.bytes(bytes) + longer
    }
}
