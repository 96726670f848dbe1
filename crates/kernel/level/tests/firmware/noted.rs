//! A listener that describes every operation on memory and flash.

use crate::support::{Call, Tap, Then, lpn, name};
use coflash_base::Lpn;
use coflash_level::nvm::{Epoch, Label, Layout};
use coflash_media::{Access, Place};
use coflash_testing::{Image, ImageError};

/// Words of memory, and a description of the operations on them, on slots and on flash.
pub(crate) struct Noted {
    pub(crate) words: Vec<u64>,
    pub(crate) layout: Layout,
    pub(crate) log: Vec<String>,
}

impl Noted {
    pub(crate) fn new(layout: Layout) -> Self {
        Self { words: vec![0; layout.words() as usize], layout, log: Vec::new() }
    }

    fn label(&self, word: u32) -> Label {
        Label::decode(self.words[word as usize]).expect("a label")
    }

    /// The page that a label names.
    fn page(&self, word: u32) -> String {
        match self.label(word) {
            Label::Free => "nothing".to_owned(),
            Label::Clean(page) | Label::Data(page, _) | Label::Deleted(page, _) => name(page),
        }
    }

    fn note(&mut self, what: &str, page: &str) {
        self.log.push(format!("{what} {page}"));
    }

    fn note_data(&mut self, slot: u32) {
        let has_label = slot < self.layout.slots;
        let page = if has_label { self.page(self.layout.slot(slot)) } else { "nothing".to_owned() };
        self.note("data", &page);
    }

    pub(crate) fn is_deleted(&self, page: Lpn) -> bool {
        (0..self.layout.deletions).any(
            |entry| matches!(self.label(self.layout.deletion(entry)), Label::Deleted(of, _) if of == page),
        )
    }

    fn store(&mut self, word: u32, value: u64) {
        let layout = self.layout;
        let (first_deletion, first_absence) = (layout.deletion(0), layout.absence(lpn(0)).0);
        let is_label = (1..first_absence).contains(&word);
        let before = if is_label { self.page(word) } else { String::new() };
        let old = std::mem::replace(&mut self.words[word as usize], value);
        if word == Layout::COMMITTED {
            assert_eq!(value, old + 1, "one epoch after the other");
            self.log.push("commit".to_owned());
        } else if word >= first_absence {
            for bit in (0..64).filter(|bit| (old ^ value) >> bit & 1 == 1) {
                let what = if value >> bit & 1 == 1 { "absent" } else { "present" };
                self.note(what, &name(lpn((word - first_absence) * 64 + bit)));
            }
        } else {
            let (page, committed) = (self.page(word), Epoch(self.words[0] as u32));
            match self.label(word) {
                Label::Free if word < first_deletion => self.note("free", &before),
                Label::Free => self.note("forget", &before),
                Label::Clean(_) => self.note("clean", &page),
                Label::Data(_, epoch) if epoch <= committed => self.note("committed", &page),
                Label::Data(_, epoch) => {
                    assert_eq!(epoch, committed.next(), "the epoch to be committed next");
                    self.note("uncommitted", &page);
                }
                Label::Deleted(_, epoch) => {
                    assert_eq!(epoch, committed.next(), "the epoch to be committed next");
                    self.note("delete", &page);
                }
            }
        }
    }
}

impl Tap<Image> for Noted {
    fn hear(&mut self, call: Call, image: &mut Image) -> Then<ImageError> {
        let named = |page: Option<Lpn>| name(page.expect("a page of data"));
        match call {
            Call::Read(page, to, _) => {
                self.note("read", &named(image.owner(page)));
                if let Place::Slot(slot) = to {
                    self.note_data(slot.number);
                }
            }
            Call::Program(_, oob, ..) => self.note("program", &named(oob.lpn)),
            Call::Copy(_, _, oob, _) => self.note("copy", &named(oob.lpn)),
            Call::Erase(..) => self.log.push("erase".to_owned()),
            Call::Access(_, Access::Read { .. }) => {}
            Call::Access(slot, _) => self.note_data(slot.number),
            Call::Store(word, value) => self.store(word, value),
            Call::Fence => self.log.push("fence".to_owned()),
        }
        Then::Goes
    }
}
