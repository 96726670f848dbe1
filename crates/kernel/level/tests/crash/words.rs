//! Recovery of memory that no cache of this device wrote: it is refused, or gives some device that works; nothing
//! panics.

use crate::subject::{Sabotage, Subject, draw, setup};
use crate::support::{Named, Setup};
use coflash_base::seed::{RandomStream, RngExt};
use coflash_base::{Lpn, Misfit, Seed};
use coflash_ftl::{CopyAll, GcMode, Io, Trigger};
use coflash_level::nvm::{Epoch, Label, Layout};
use coflash_level::{RecoveryError, Tower};
use coflash_media::{Contents, Untimed};

/// A device with full flash and memory in use.
fn used(stream: &mut RandomStream) -> (Setup, Subject) {
    let setup = draw(stream);
    let mut subject = Subject::full(&setup, Sabotage::None);
    for _ in 0..100 {
        subject.apply_drawn(stream);
    }
    subject.restart_by_lot(stream);
    (setup, subject)
}

/// Recovers devices from damaged words; returns the number of accepted ones. A recovered device must work.
fn survivors(spoil: impl Fn(&Setup, &mut Vec<u64>, &mut RandomStream)) -> u32 {
    let mut accepted = 0;
    for seed in 0..DEVICES {
        let mut stream = Seed(seed).stream("words");
        let (setup, mut subject) = used(&mut stream);
        let _named = Named((seed, &setup));
        let mut words = subject.image().words().to_vec();
        spoil(&setup, &mut words, &mut stream);
        subject.image().set_words(&words);
        if subject.adopt().is_ok() {
            accepted += 1;
            for _ in 0..50 {
                subject.apply_drawn(&mut stream);
                subject.device.assert_invariants();
            }
        }
    }
    accepted
}

const DEVICES: u64 = 2000;

/// A label that may be right or wrong for where it will stand.
fn draw_label(stream: &mut RandomStream, pages: u32, committed: u32) -> u64 {
    let lpn = Lpn::new(stream.random_range(0..pages + pages / 8));
    let epoch = Epoch(committed.saturating_sub(2) + stream.random_range(0..3));
    let label = match stream.random_range(0..8_u32) {
        0..2 => Label::Free,
        2 => Label::Clean(lpn),
        3..7 => Label::Data(lpn, epoch),
        _ => Label::Deleted(lpn, epoch),
    };
    label.encode()
}

#[test]
fn noise_is_refused() {
    let noise = |_: &Setup, words: &mut Vec<u64>, stream: &mut RandomStream| {
        words.iter_mut().for_each(|word| *word = stream.random());
    };
    assert_eq!(survivors(noise), 0);
}

#[test]
fn labels_put_together_at_random_do_no_harm() {
    let accepted = survivors(|setup, words, stream| {
        let Layout { slots, deletions, logical_pages } = setup.layout();
        let committed = if stream.random() { words[0] as u32 } else { Epoch::MAX.0 };
        words[0] = u64::from(committed);
        let share = stream.random_range(1..8_u32);
        for word in &mut words[1..=(slots + deletions) as usize] {
            if stream.random_range(0..share) == 0 {
                *word = draw_label(stream, logical_pages, committed);
            }
        }
    });
    assert!((200..DEVICES as u32 - 200).contains(&accepted), "{accepted} accepted");
}

#[test]
fn one_flipped_bit_does_no_harm() {
    survivors(|_, words, stream| {
        let word = stream.random_range(0..words.len());
        words[word] ^= 1 << stream.random_range(0..64);
    });
}

/// Each kind of wrong word is refused by its name.
#[test]
fn what_no_cache_wrote_is_named() {
    let setup = setup(3, 3, 5, 2, Trigger::Write, GcMode::Foreground);
    let mut subject = Subject::full(&setup, Sabotage::None);
    subject.image().restart(|_| true);
    let (layout, intact) = (setup.layout(), subject.image().words().to_vec());
    let committed = intact[0] as u32;
    let deletion = layout.deletion(0) as usize;
    let slot = layout.slot(1) as usize;
    let (x, beyond) = (Lpn::new(0), Lpn::new(layout.logical_pages));
    let future = Epoch(committed + 2);
    let no_label = |word: usize| format!("word {word} is no label of this device");
    let (absence, bit) = layout.absence(beyond);
    for (word, value, problem) in [
        (0, u64::from(Epoch::MAX.0) + 1, "the committed epoch is none".to_owned()),
        (0, 1 << 32, "the committed epoch is none".to_owned()),
        (slot, 4, no_label(slot)),
        (slot, Label::Deleted(x, Epoch(1)).encode(), no_label(slot)),
        (slot, Label::Clean(beyond).encode(), no_label(slot)),
        (slot, Label::Data(beyond, Epoch(1)).encode(), no_label(slot)),
        (slot, Label::Data(x, future).encode(), no_label(slot)),
        (deletion, Label::Clean(x).encode(), no_label(deletion)),
        (deletion, Label::Data(x, Epoch(1)).encode(), no_label(deletion)),
        (deletion, Label::Deleted(beyond, Epoch(1)).encode(), no_label(deletion)),
        (deletion, Label::Deleted(x, future).encode(), no_label(deletion)),
        (absence as usize, bit, "a page is noted as absent that this device does not have".to_owned()),
    ] {
        let mut wrong = subject.clone();
        let mut words = intact.clone();
        words[word] = value;
        wrong.image().set_words(&words);
        assert_eq!(wrong.adopt(), Err(format!("cache: {problem}")), "word {word} is {value:#x}");
    }
    let (count, contents) = (intact.len(), Contents { words: intact[1..].to_vec(), ..Contents::default() });
    let io = &mut Io { media: &mut Untimed, hook: CopyAll, start: () };
    let short = Tower::recover(setup.stack_config(), &contents, io).err();
    let problem = format!("{} words were given; {count} are expected", count - 1);
    assert_eq!(short, Some(RecoveryError::Misfit(Misfit::new("cache", problem))));
}
