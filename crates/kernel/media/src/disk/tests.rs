use super::*;
use coflash_base::seed::RngExt;
use coflash_base::{Bytes, Seed};

fn constant() -> DiskConfig {
    DiskConfig::Constant(ConstantConfig {
        read_positioning: Duration { ns: 4000 },
        write_positioning: Duration { ns: 5000 },
        bandwidth_per_s: Bytes { count: SECTOR_BYTES * 1_000_000_000 / 10 },
        capacity: Bytes { count: 1000 * SECTOR_BYTES },
    })
}

fn read(first: u64, sectors: u64) -> DiskTransfer {
    DiskTransfer { direction: Direction::Read, first, sectors }
}

fn write(first: u64, sectors: u64) -> DiskTransfer {
    DiskTransfer { direction: Direction::Write, first, sectors }
}

fn at(ns: u64) -> Time {
    Time { ns }
}

impl Disk {
    /// Advance time to `until` and append the transfers answered on the way.
    fn advance(&mut self, until: Time, answered: &mut Vec<Answered>) {
        while self.next_event().is_some_and(|at| at <= until) {
            answered.extend(self.step());
        }
    }
}

/// The tags in the order of service, for transfers that all arrive at once while the disk serves one at
/// `busy`.
fn order(scheduler: Scheduler, busy: u64, transfers: &[DiskTransfer]) -> Vec<u32> {
    let mut disk = Disk::new(&constant(), scheduler);
    disk.submit(read(busy, 1), u32::MAX, Time::ZERO);
    for (tag, transfer) in (0..).zip(transfers) {
        disk.submit(*transfer, tag, Time::ZERO);
    }
    let mut answered = Vec::new();
    disk.advance(at(u64::MAX), &mut answered);
    assert_eq!(answered.remove(0).tag, u32::MAX);
    answered.iter().map(|answered| answered.tag).collect()
}

#[test]
fn a_constant_disk_serves_one_after_the_other() {
    let mut disk = Disk::new(&constant(), Scheduler::Fcfs);
    disk.submit(read(0, 2), 7, at(100));
    disk.submit(write(8, 1), 8, at(100));
    assert_eq!(disk.next_event(), Some(at(4120)));
    assert_eq!(disk.queued(), 2);
    let mut answered = Vec::new();
    disk.advance(at(4119), &mut answered);
    assert_eq!(answered, []);
    disk.advance(at(4120), &mut answered);
    let service = |ns| Duration { ns };
    assert_eq!(answered, [Answered { tag: 7, at: at(4120), service: service(4020) }]);
    assert_eq!(disk.step(), Some(Answered { tag: 8, at: at(4120 + 5010), service: service(5010) }));
    assert_eq!((disk.step(), disk.next_event(), disk.busy_ns()), (None, None, 4020 + 5010));
}

#[test]
fn schedulers_serve_in_their_orders() {
    let transfers = [read(900, 1), read(520, 1), read(100, 1), read(490, 1), read(600, 1)];
    assert_eq!(order(Scheduler::Fcfs, 500, &transfers), [0, 1, 2, 3, 4]);
    assert_eq!(order(Scheduler::Sstf, 500, &transfers), [3, 1, 4, 0, 2]);
    assert_eq!(order(Scheduler::Elevator, 500, &transfers), [1, 4, 0, 3, 2]);
}

#[test]
fn none_overtakes_one_it_conflicts_with() {
    let transfers = [write(900, 4), read(500, 1), read(901, 1), write(499, 1), read(100, 401), write(903, 2)];
    for scheduler in [Scheduler::Fcfs, Scheduler::Sstf, Scheduler::Elevator] {
        let order = order(scheduler, 500, &transfers);
        let place = |tag: usize| order.iter().position(|&served| served == tag as u32).unwrap();
        for (later, transfer) in transfers.iter().enumerate() {
            for (earlier, before) in transfers[..later].iter().enumerate() {
                let kept = place(earlier) < place(later) || !conflict(before, transfer);
                assert!(kept, "{scheduler:?}: {later} overtook {earlier} in {order:?}");
            }
        }
    }
}

fn conflict(one: &DiskTransfer, other: &DiskTransfer) -> bool {
    let writes = one.direction == Direction::Write || other.direction == Direction::Write;
    writes && one.first < other.end() && other.first < one.end()
}

/// The choice among waiting transfers by its definition: those that may go are compared with one another.
struct Definition {
    scheduler: Scheduler,
    waiting: Vec<(u32, DiskTransfer)>,
    arm: u64,
    upward: bool,
}

impl Definition {
    fn serve(&mut self) -> u32 {
        let Self { scheduler, waiting, arm, upward } = self;
        let may_go = |&at: &usize| !waiting[..at].iter().any(|(_, one)| conflict(one, &waiting[at].1));
        let free: Vec<_> = (0..waiting.len()).filter(may_go).collect();
        let distance = |&at: &usize| waiting[at].1.first.abs_diff(*arm);
        let ahead = |at: &&usize| {
            if *upward { waiting[**at].1.first >= *arm } else { waiting[**at].1.first <= *arm }
        };
        let next = match scheduler {
            Scheduler::Fcfs => 0,
            Scheduler::Sstf => *free.iter().min_by_key(|at| distance(at)).unwrap(),
            Scheduler::Elevator => {
                let before = free.iter().filter(ahead).min_by_key(|at| distance(at));
                let turns = before.is_none() && waiting.len() > 1;
                let next = *before.or(free.iter().min_by_key(|at| distance(at))).unwrap();
                *upward ^= turns;
                next
            }
        };
        let (tag, transfer) = waiting.remove(next);
        *arm = transfer.end() - 1;
        tag
    }
}

#[test]
fn schedulers_choose_by_their_definitions() {
    for (seed, scheduler) in (0..60).zip([Scheduler::Fcfs, Scheduler::Sstf, Scheduler::Elevator].repeat(20)) {
        let mut disk = Disk::new(&constant(), scheduler);
        let mut expected = Definition { scheduler, waiting: Vec::new(), arm: 0, upward: true };
        let mut stream = Seed(seed).stream("disk");
        let (space, longest) = ([30, 300][seed as usize % 2], [2, 25][seed as usize / 2 % 2]);
        let (mut answered, mut order, mut under_way) = (Vec::new(), Vec::new(), false);
        for tag in 0..600 {
            let sectors = stream.random_range(1..=longest);
            let first = stream.random_range(0..=space - sectors);
            let transfer =
                if stream.random_range(0..3) == 0 { write(first, sectors) } else { read(first, sectors) };
            let now = disk.next_event().unwrap_or(Time::ZERO);
            disk.submit(transfer, tag, now);
            expected.waiting.push((tag, transfer));
            if !std::mem::replace(&mut under_way, true) {
                order.push(expected.serve());
            }
            // The queue grows, and comes down to nothing from time to time.
            for _ in 0..if tag % 100 == 99 { 1000 } else { stream.random_range(0..3) / 2 } {
                answered.extend(disk.step());
                under_way = !expected.waiting.is_empty();
                if under_way {
                    order.push(expected.serve());
                }
            }
        }
        let tags: Vec<_> = answered.iter().map(|answered| answered.tag).collect();
        assert_eq!(tags, order, "{scheduler:?}, seed {seed}");
    }
}

#[test]
fn disks_in_a_row_and_striped_hold_each_page_once() {
    let config = DisksConfig { count: 3, model: constant(), ..DisksConfig::default() };
    let striped = ArrayLayout::Striped { stripe: Bytes { count: 4096 } };
    for placement in [ArrayLayout::Volumes, striped] {
        let mut disks = Disks::new(&DisksConfig { placement, ..config.clone() }, 1024).unwrap();
        let mut places: Vec<_> = (0..disks.pages()).map(|page| disks.locate(page)).collect();
        for (page, &(disk, at, run)) in places.iter().enumerate() {
            for next in 1..run {
                let expected = (disk, at + next, run - next);
                assert_eq!(places[page + next as usize], expected, "{placement:?}: a run is a run");
            }
        }
        places.sort_unstable();
        places.dedup_by_key(|&mut (disk, at, _)| (disk, at));
        assert_eq!(places.len() as u64, disks.pages(), "{placement:?}");
        // A request over three stripes is done with its last part.
        let late = disks.pages() - 12;
        disks.submit(Direction::Write, late, 12, 5, at(7));
        let mut last = None;
        while disks.next_event().is_some() {
            let answered = disks.step();
            assert!(last.is_none() || answered.is_none(), "told once");
            last = last.or(answered);
        }
        let parts = if placement == striped { 3 } else { 1 };
        // On disks side by side, parts of the same size end together.
        let alone = 7 + 5000 + 10 * 24 / parts;
        let service = Duration { ns: parts * 5000 + 10 * 24 };
        assert_eq!(last, Some(Answered { tag: 5, at: at(alone), service }), "{placement:?}");
        assert_eq!(
            *disks.counters(),
            DiskCounters { disk_write_transfers: parts, disk_writes_pages: 12, ..DiskCounters::default() }
        );
        assert_eq!(disks.next_event(), None);
    }
}

#[test]
fn disks_that_make_no_sense_are_refused() {
    let refused = |config: DisksConfig| Disks::new(&config, 4096).err().map(|misfit| misfit.key);
    assert_eq!(refused(DisksConfig { count: 0, ..DisksConfig::default() }), Some("count".to_owned()));
    let odd = Bytes { count: 5000 };
    let striped = DisksConfig { placement: ArrayLayout::Striped { stripe: odd }, ..DisksConfig::default() };
    assert_eq!(refused(striped), Some("placement.stripe".to_owned()));
}

#[test]
fn sectors_follow_one_another_on_the_platter() {
    let layout = atlas10k::parameters().layout;
    // The drive has 17,938,986 sectors; the rest, a sixth of a percent, are its spares.
    assert_eq!(layout.sectors, 17_969_010);
    let mut before = layout.address(0);
    let mut checked = 0;
    for sector in 1..layout.sectors {
        let address = layout.address(sector);
        if address.index == 0 {
            let next_track = (address.cylinder, address.head) == (before.cylinder, before.head + 1)
                || (address.cylinder, address.head) == (before.cylinder + 1, 0);
            assert!(next_track, "{before:?} is followed by {address:?}");
            checked += 1;
        } else {
            assert_eq!(
                (address.cylinder, address.head, address.index),
                (before.cylinder, before.head, before.index + 1)
            );
        }
        before = address;
    }
    assert_eq!(checked, 10_042 * 6 - 1);
}

#[test]
fn a_switch_is_over_when_the_next_track_begins() {
    for drive in [atlas10k::parameters(), zoned().parameters()] {
        for zone in &drive.layout.zones {
            let sector_ns = drive.rotation_ns / u64::from(zone.track_sectors);
            assert!(u64::from(zone.track_skew) * sector_ns >= drive.head_switch_ns, "{zone:?}");
            assert!(u64::from(zone.cylinder_skew) * sector_ns >= drive.seeks.ns(1), "{zone:?}");
        }
    }
}

#[test]
fn seeks_grow_with_their_distance() {
    let drive = atlas10k::parameters();
    let ns: Vec<_> = (0..10_042).map(|cylinders| drive.seeks.ns(cylinders)).collect();
    assert!(ns.is_sorted());
    assert_eq!((ns[0], ns[1], ns[10_021]), (0, 1_245_000, 10_828_000));
}

/// A drive with twice the rate on its outermost tracks.
fn zoned() -> Drive {
    let mb = |count: u64| Bytes { count: count * 1_000_000 };
    Drive::DataSheet(DataSheet {
        rpm: 7200,
        rates_per_s: [100, 85, 70, 50].map(mb).to_vec(),
        capacity: mb(10_000),
        ..DataSheet::default()
    })
}

fn drive(write_cache: bool, read_ahead: bool) -> Mechanical {
    DiskModel::new(&MechanicalConfig { drive: Drive::Atlas10k, write_cache, read_ahead })
}

#[test]
fn what_was_read_ahead_is_answered_from_the_buffer() {
    let (mut with, mut without) = (drive(true, true), drive(true, false));
    let parameters = atlas10k::parameters();
    let bus = |sectors| parameters.read_overhead_ns + sectors * parameters.bus_sector_ns;
    let later = at(50_000_000);
    for disk in [&mut with, &mut without] {
        disk.serve(&read(1_000_000, 8), Time::ZERO);
    }
    assert_eq!(with.serve(&read(1_000_008, 8), later).since(later).ns, bus(8));
    assert!(without.serve(&read(1_000_008, 8), later).since(later).ns > bus(8));
    // Past the end of the segment it is not.
    let later = at(100_000_000);
    assert!(with.serve(&read(1_000_008 + parameters.segment_sectors, 8), later).since(later).ns > bus(8));
}

#[test]
fn a_buffer_never_answers_with_what_was_overwritten() {
    let mut buffer = buffer::Buffer::new(4);
    buffer.read(100, 200, Time::ZERO, 10);
    assert_eq!(buffer.hit(100, 110, at(500)), Some(at(500)));
    assert_eq!(buffer.hit(140, 160, at(500)), Some(at(600)), "the head is not there yet");
    assert_eq!(buffer.hit(160, 170, at(500)), None, "too far ahead to wait");
    buffer.stop(at(550));
    assert_eq!(buffer.hit(140, 160, at(900)), None, "reading ahead was stopped");
    buffer.write(110, 112, at(900));
    assert_eq!(buffer.hit(100, 105, at(900)), None, "the segment that was overwritten in part is gone");
    assert_eq!(buffer.hit(110, 112, at(900)), Some(at(900)), "what was written is there");
}

#[test]
fn a_write_is_answered_early_only_by_a_write_cache() {
    let (mut with, mut without) = (drive(true, true), drive(false, true));
    let early = with.serve(&write(9_000_000, 8), Time::ZERO);
    let parameters = atlas10k::parameters();
    assert_eq!(early.ns, parameters.write_overhead_ns + 8 * parameters.bus_sector_ns);
    let late = without.serve(&write(9_000_000, 8), Time::ZERO);
    assert!(late > early);
    // The next write finds the buffer taken until the first is on the platter.
    let next = with.serve(&write(0, 8), early);
    assert_eq!(next, late + Duration { ns: early.ns });
}

#[test]
fn random_reads_take_seek_and_half_a_turn() {
    let mut disk = drive(true, true);
    let mut stream = Seed(1).stream("disk");
    let (mut now, mut total_ns) = (Time::ZERO, 0);
    for _ in 0..20_000 {
        let first = stream.random_range(0..disk.sectors() - 8);
        let done = disk.serve(&read(first, 8), now);
        total_ns += done.since(now).ns;
        now = done + Duration { ns: stream.random_range(0..20_000_000) };
    }
    let mean_ms = total_ns as f64 / 20_000.0 / 1e6;
    // A third of the stroke is about 5.3 ms away, half a turn is 3 ms, eight sectors take 0.8 ms on the bus.
    assert!((mean_ms - 9.1).abs() < 0.4, "{mean_ms} ms");
}

/// The mean service time of transfers of eight sectors anywhere, and that of a MiB after MiB from `first` on.
fn times_ms(drive: &Drive, direction: Direction, first: u64) -> (f64, f64) {
    let config = MechanicalConfig { drive: drive.clone(), write_cache: false, read_ahead: false };
    let mut disk: Mechanical = DiskModel::new(&config);
    let sectors = disk.sectors();
    let mut stream = Seed(1).stream("disk");
    let mut mean_ms = |transfers: &mut dyn Iterator<Item = DiskTransfer>| {
        let (mut now, mut count, mut total_ns) = (Time::ZERO, 0, 0);
        for transfer in transfers {
            let done = disk.serve(&transfer, now);
            (count, total_ns) = (count + 1, total_ns + done.since(now).ns);
            now = done;
        }
        total_ns as f64 / f64::from(count) / 1e6
    };
    let anywhere = mean_ms(&mut (0..30_000).map(|_| {
        let first = stream.random_range(0..sectors - 8);
        DiskTransfer { direction, first, sectors: 8 }
    }));
    let in_order =
        mean_ms(&mut (0..200).map(|at| DiskTransfer { direction, first: first + at * 2048, sectors: 2048 }));
    (anywhere, in_order)
}

#[test]
fn a_drive_keeps_its_data_sheet() {
    let iv = Drive::Atlas10kIv;
    assert_eq!(iv, serde_json::from_str("\"atlas10k-iv\"").unwrap());
    let near =
        |value: f64, expected: f64| assert!((value / expected - 1.0).abs() < 0.01, "{value}, {expected}");
    // Seek, half a turn of 6 ms, eight sectors at 72 MB/s.
    let (read_ms, _) = times_ms(&iv, Direction::Read, 0);
    near(read_ms, 4.4 + 3.0 + 0.057);
    let (write_ms, _) = times_ms(&iv, Direction::Write, 0);
    near(write_ms, 4.9 + 3.0 + 0.057);
    let costs = drive_costs(&iv);
    assert_eq!((costs.read_positioning.ns, costs.write_positioning.ns), (7_400_000, 7_900_000));
    assert!((costs.bandwidth_bytes_per_s as f64 / 72e6 - 1.0).abs() < 1e-3);
    // A MiB in order: 73 KiB a track at the media rate of the zone, a turn of 8.33 ms, and a switch after each track.
    let zoned = zoned();
    for (first, rate) in [(0, 100e6), (zoned.parameters().layout.sectors - 300 * 2048, 50e6)] {
        let (_, in_order_ms) = times_ms(&zoned, Direction::Read, first);
        let tracks = 1_048_576.0 / (rate / 120.0);
        let media_ms = 1_048_576.0 / rate * 1e3;
        assert!(in_order_ms > media_ms, "{in_order_ms} ms");
        // Between two transfers the platter turns on: without read-ahead the next sector has just passed.
        assert!(in_order_ms < media_ms + tracks * 0.45 + 8.4 + 0.1, "{in_order_ms} ms for {media_ms}");
    }
    let (read_ms, _) = times_ms(&zoned, Direction::Read, 0);
    near(read_ms, 4.4 + 8.333 / 2.0 + 0.057);
}

fn drive_costs(drive: &Drive) -> DiskCosts {
    let config = MechanicalConfig { drive: drive.clone(), ..MechanicalConfig::default() };
    DiskConfig::Mechanical(config).build().costs(4096)
}

#[test]
fn a_data_sheet_that_makes_no_sense_is_refused() {
    let sheets = [
        (DataSheet { rpm: 0, ..DataSheet::default() }, "rpm"),
        (DataSheet { read_seek: Duration::ZERO, ..DataSheet::default() }, "read_seek"),
        (DataSheet { write_seek: Duration { ns: 4_399_999 }, ..DataSheet::default() }, "write_seek"),
        (DataSheet { rates_per_s: vec![Bytes { count: 0 }], ..DataSheet::default() }, "rates_per_s"),
        (DataSheet { rates_per_s: Vec::new(), ..DataSheet::default() }, "rates_per_s"),
    ];
    for (sheet, key) in sheets {
        let config = MechanicalConfig { drive: Drive::DataSheet(sheet), ..MechanicalConfig::default() };
        let model = DiskConfig::Mechanical(config);
        let _ = model.build();
        let refused = Disks::new(&DisksConfig { model, ..DisksConfig::default() }, 4096).err();
        let misfit = refused.expect(key);
        assert!(misfit.key == "model.drive" && misfit.to_string().contains(key), "{misfit}");
    }
}
