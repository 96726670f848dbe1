//! Compressed files, recognised by their first bytes and never by their name.
//!
//! Every decoder reads a chain of members (`cat a.gz b.gz`), because rotated traces are joined that way. An early end
//! or foreign bytes after the last member are errors: half a trace would give a wrong result. Zeros after a member of gzip
//! or bzip2 are no data: tapes and block devices pad files with them, and `gzip -d` is silent about them.

use crate::input::Input;
use bzip2::bufread::BzDecoder;
use flate2::bufread::GzDecoder;
use std::io::{self, BufRead, BufReader, Cursor, Read};

/// How a file is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compression {
    Plain,
    Gzip,
    Zstd,
    Bzip2,
    Xz,
}

/// The longest magic number (xz).
const MAGIC_BYTES_MAX: u64 = 6;

/// Upper limit of a decoder's memory, as a power of two: usual files need 8 to 128 MiB, `zstd --long=30` 1 GiB.
const MEMORY_BYTES_MAX_LOG: u32 = 30;

impl Compression {
    /// The compression of a file that begins with `head`.
    pub(crate) fn detect(head: &[u8]) -> Self {
        // A zstd file may also begin with a skippable frame (pzstd and the seekable format write them).
        let skippable = head.len() >= 4 && head[0] & 0xf0 == 0x50 && head[1..4] == [0x2a, 0x4d, 0x18];
        match head {
            [0x1f, 0x8b, ..] => Self::Gzip,
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Self::Zstd,
            _ if skippable => Self::Zstd,
            [b'B', b'Z', b'h', b'1'..=b'9', ..] => Self::Bzip2,
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Self::Xz,
            _ => Self::Plain,
        }
    }

    /// The message for a file of this compression that cannot be read.
    pub(crate) fn explain(self, error: &io::Error) -> String {
        let name = match self {
            Self::Plain => return format!("cannot be read: {error}"),
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
            Self::Bzip2 => "bzip2",
            Self::Xz => "xz",
        };
        if error.kind() == io::ErrorKind::UnexpectedEof {
            format!("the {name} data ends early: the file is truncated ({error})")
        } else {
            format!("the {name} data is damaged, or followed by bytes that are not {name} ({error})")
        }
    }
}

/// Detect the compression of `input` and decompress it.
pub(crate) fn decompress(mut input: Input) -> io::Result<(Compression, Input)> {
    let mut head = Vec::new();
    input.by_ref().take(MAGIC_BYTES_MAX).read_to_end(&mut head)?;
    let compression = Compression::detect(&head);
    // Chained, not rewound: a pipe cannot seek.
    let whole = Cursor::new(head).chain(input);
    let plain: Input = match compression {
        Compression::Plain => Box::new(whole),
        Compression::Gzip => Box::new(Members::new(whole, GzDecoder::new, GzDecoder::into_inner)),
        Compression::Zstd => {
            let mut decoder = zstd::stream::read::Decoder::new(whole)?;
            decoder.window_log_max(MEMORY_BYTES_MAX_LOG)?;
            Box::new(decoder)
        }
        Compression::Bzip2 => Box::new(Members::new(whole, BzDecoder::new, BzDecoder::into_inner)),
        Compression::Xz => {
            let stream = liblzma::stream::Stream::new_stream_decoder(
                1 << MEMORY_BYTES_MAX_LOG,
                liblzma::stream::CONCATENATED,
            )?;
            Box::new(liblzma::read::XzDecoder::new_stream(whole, stream))
        }
    };
    Ok((compression, plain))
}

type Whole = io::Chain<Cursor<Vec<u8>>, Input>;
type Packed = BufReader<Whole>;

/// The members of a file, decoded one after another.
struct Members<D> {
    decoder: Option<D>,
    /// The input between two members.
    between: Option<Packed>,
    open: fn(Packed) -> D,
    close: fn(D) -> Packed,
}

impl<D: Read> Members<D> {
    fn new(input: Whole, open: fn(Packed) -> D, close: fn(D) -> Packed) -> Self {
        Self { decoder: Some(open(BufReader::new(input))), between: None, open, close }
    }

    /// Go on to the next member; returns false at the end.
    fn next(&mut self) -> io::Result<bool> {
        self.between = self.decoder.take().map(self.close).or(self.between.take());
        while let Some(rest) = &mut self.between {
            let ahead = rest.fill_buf()?;
            let zeros = ahead.iter().take_while(|byte| **byte == 0).count();
            if ahead.is_empty() {
                return Ok(false);
            }
            if zeros == 0 {
                self.decoder = self.between.take().map(self.open);
                return Ok(true);
            }
            rest.consume(zeros);
        }
        Ok(false)
    }
}

impl<D: Read> Read for Members<D> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let got = self.decoder.as_mut().map_or(Ok(0), |decoder| decoder.read(buffer))?;
            if got > 0 || buffer.is_empty() || !self.next()? {
                return Ok(got);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::Write;

    const ALL: [Compression; 4] = [Compression::Gzip, Compression::Zstd, Compression::Bzip2, Compression::Xz];

    fn compress(compression: Compression, data: &[u8]) -> Vec<u8> {
        match compression {
            Compression::Plain => data.to_vec(),
            Compression::Gzip => {
                let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
                encoder.write_all(data).unwrap();
                encoder.finish().unwrap()
            }
            Compression::Zstd => zstd::encode_all(data, 1).unwrap(),
            Compression::Bzip2 => {
                let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
                encoder.write_all(data).unwrap();
                encoder.finish().unwrap()
            }
            Compression::Xz => {
                let mut encoder = liblzma::write::XzEncoder::new(Vec::new(), 0);
                encoder.write_all(data).unwrap();
                encoder.finish().unwrap()
            }
        }
    }

    fn expand(data: Vec<u8>) -> Result<(Compression, Vec<u8>), String> {
        let (compression, mut plain) =
            decompress(Box::new(Cursor::new(data))).map_err(|e| Compression::Plain.explain(&e))?;
        let mut out = Vec::new();
        plain.read_to_end(&mut out).map_err(|e| compression.explain(&e))?;
        Ok((compression, out))
    }

    /// Long and irregular enough for several blocks of output.
    fn sample() -> Vec<u8> {
        (0..40_000_u64).flat_map(|i| format!("{} {}\n", i * 7919, i.pow(3) % 1013).into_bytes()).collect()
    }

    #[test]
    fn what_is_compressed_reads_back() {
        for compression in ALL.into_iter().chain([Compression::Plain]) {
            for data in [Vec::new(), b"x".to_vec(), sample()] {
                assert_eq!(expand(compress(compression, &data)), Ok((compression, data)));
            }
        }
    }

    #[test]
    fn members_that_follow_each_other_are_one_file() {
        for compression in ALL {
            let joined = [compress(compression, b"one\n"), compress(compression, b"two\n")].concat();
            assert_eq!(expand(joined), Ok((compression, b"one\ntwo\n".to_vec())));
        }
    }

    #[test]
    fn zeros_behind_a_member_are_no_data() {
        for compression in [Compression::Gzip, Compression::Bzip2] {
            let padded = [compress(compression, b"one\n"), vec![0; 9000]].concat();
            assert_eq!(expand(padded.clone()), Ok((compression, b"one\n".to_vec())));
            let more = [padded, compress(compression, b"two\n")].concat();
            assert_eq!(expand(more), Ok((compression, b"one\ntwo\n".to_vec())));
        }
    }

    #[test]
    fn a_truncated_file_is_refused() {
        for compression in ALL {
            let whole = compress(compression, &sample());
            // Cut within the header, in the middle, and within the last checksum.
            for kept in [7, whole.len() / 2, whole.len() - 1] {
                let error = expand(whole[..kept].to_vec()).unwrap_err();
                assert!(error.contains("truncated"), "{compression:?} {kept}: {error}");
            }
        }
    }

    #[test]
    fn foreign_bytes_at_the_end_are_refused() {
        for compression in ALL {
            let joined = [compress(compression, &sample()), b"not compressed at all".to_vec()].concat();
            let error = expand(joined).unwrap_err();
            assert!(error.contains("followed by bytes that are not"), "{compression:?}: {error}");
        }
    }

    #[test]
    fn a_flipped_bit_is_refused() {
        for compression in ALL {
            let mut data = compress(compression, &sample());
            let middle = data.len() / 2;
            data[middle] ^= 0x10;
            // zstd checks its content only where the writer asked for a checksum.
            assert!(compression == Compression::Zstd || expand(data).is_err(), "{compression:?}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_panic(kind in 0..4_usize, tail: Vec<u8>) {
            let heads: [&[u8]; 4] =
                [&[0x1f, 0x8b, 8], &[0x28, 0xb5, 0x2f, 0xfd], b"BZh9", &[0xfd, b'7', b'z', b'X', b'Z', 0]];
            let _ = expand([heads[kind].to_vec(), tail].concat());
        }
    }
}
