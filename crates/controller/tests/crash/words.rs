//! Recovery of memory that no cache of this device wrote: it is refused, or gives some device that works; nothing panics.

use crate::media::Sabotage;
use crate::oracle::{Operation, Subject};
use crate::setup::Setup;
use coflash_base::seed::{RngExt, Stream};
use coflash_base::{Lpn, Seed};
use coflash_controller::nvm::{Epoch, Label, Layout};

/// A device whose flash is full and whose memory is in use.
fn used(stream: &mut Stream, seed: u64) -> (Setup, Subject) {
    let setup = Setup::draw(seed as usize, stream);
    let mut subject = Subject::new(&setup, Sabotage::None);
    subject.fill();
    for _ in 0..100 {
        subject.apply(Operation::draw(stream, setup.layout.logical_pages));
    }
    subject.media.restart_by_lot(stream);
    (setup, subject)
}

/// A label that may be right or wrong for where it will stand.
fn draw_label(stream: &mut Stream, pages: u32, committed: u32) -> u64 {
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

/// Recovers from `words`; whether that was not refused. What comes back must work.
fn survives(subject: &Subject, words: Vec<u64>, stream: &mut Stream) -> bool {
    let mut subject = subject.clone();
    subject.media.set_words(words);
    let accepted = subject.adopt().is_ok();
    for _ in 0..if accepted { 50 } else { 0 } {
        subject.apply(Operation::draw(stream, subject.pages()));
        subject.check();
    }
    accepted
}

#[test]
fn noise_is_refused() {
    for seed in 0..2000 {
        let mut stream = Seed(seed).stream("words");
        let (_, subject) = used(&mut stream, seed);
        let noise = subject.media.words().iter().map(|_| stream.random()).collect();
        assert!(!survives(&subject, noise, &mut stream), "seed {seed}");
    }
}

#[test]
fn labels_put_together_at_random_do_no_harm() {
    let (mut accepted, mut refused) = (0, 0);
    for seed in 0..2000 {
        let mut stream = Seed(seed).stream("words");
        let (setup, subject) = used(&mut stream, seed);
        let Layout { slots, deletions, logical_pages } = setup.layout;
        let mut words = subject.media.words();
        let committed = if stream.random() { words[0] as u32 } else { Epoch::MAX.0 };
        words[0] = u64::from(committed);
        let share = stream.random_range(1..8_u32);
        for word in &mut words[1..=(slots + deletions) as usize] {
            if stream.random_range(0..share) == 0 {
                *word = draw_label(&mut stream, logical_pages, committed);
            }
        }
        let survives = survives(&subject, words, &mut stream);
        *(if survives { &mut accepted } else { &mut refused }) += 1;
    }
    assert!(accepted > 200 && refused > 200, "{accepted} accepted, {refused} refused");
}

#[test]
fn one_flipped_bit_does_no_harm() {
    for seed in 0..2000 {
        let mut stream = Seed(seed).stream("words");
        let (_, subject) = used(&mut stream, seed);
        let mut words = subject.media.words();
        let word = stream.random_range(0..words.len());
        words[word] ^= 1 << stream.random_range(0..64);
        survives(&subject, words, &mut stream);
    }
}

/// Each kind of wrong word is refused by its name.
#[test]
fn what_no_cache_wrote_is_named() {
    let setup = Setup::new(7, 3, 5, 2, coflash_ftl::Trigger::Write);
    let mut subject = Subject::new(&setup, Sabotage::None);
    subject.fill();
    subject.media.restart(|_| true);
    let (layout, committed) = (setup.layout, subject.media.words()[0] as u32);
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
        let mut words = wrong.media.words();
        words[word] = value;
        wrong.media.set_words(words);
        assert_eq!(wrong.adopt(), Err(format!("cache: {problem}")), "word {word} is {value:#x}");
    }
    let count = subject.media.words().len();
    let mut short = subject.clone();
    short.media.set_words(vec![0; count - 1]);
    assert_eq!(short.adopt(), Err(format!("cache: {} words were given; {count} are expected", count - 1)));
}
