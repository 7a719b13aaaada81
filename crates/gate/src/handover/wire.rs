//! How a gate hands over: parts of bytes and open sockets, over a unix socket.
//!
//! A part is its kind (one byte), its length (four bytes, big-endian) and its bytes. Sockets
//! are passed by `SCM_RIGHTS` (unix(7)) with single bytes between two parts.

use nix::sys::socket::{ControlMessage, ControlMessageOwned, MsgFlags, recvmsg, sendmsg};
use std::io::{self, ErrorKind, IoSlice, IoSliceMut, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use zeroize::Zeroizing;

/// Largest part: a million sessions of 16 bytes take a quarter of it.
const MOST_BYTES: u32 = 64 << 20;
/// Sockets passed at once; the kernel allows 253.
const AT_ONCE: usize = 64;
/// Most sockets: those of 64 addresses on 1,024 cores.
const MOST_SOCKETS: usize = 65_536;

/// Sends a part.
///
/// # Errors
/// The other process has gone or does not read, or the part is too large.
pub fn send(mut stream: &UnixStream, kind: u8, bytes: &[u8]) -> io::Result<()> {
    let length = u32::try_from(bytes.len()).ok().filter(|length| *length <= MOST_BYTES);
    let length = length.ok_or_else(|| io::Error::other("more than can be handed over"))?;
    stream.write_all(&[kind])?;
    stream.write_all(&length.to_be_bytes())?;
    stream.write_all(bytes)
}

/// Receives a part: its kind and its bytes, which are overwritten when they are dropped.
///
/// # Errors
/// The other process has gone or sends nothing, or sends what is no part.
pub fn receive(mut stream: &UnixStream) -> io::Result<(u8, Zeroizing<Vec<u8>>)> {
    let mut head = [0; 5];
    stream.read_exact(&mut head)?;
    let [kind, length @ ..] = head;
    let length = u32::from_be_bytes(length);
    if length > MOST_BYTES {
        return Err(io::Error::new(ErrorKind::InvalidData, "a part is too large"));
    }
    // What was announced may not come: room is made as bytes arrive, of which copies of keys
    // would stay behind; so small parts, which keys are, have their room at once.
    let mut bytes = Zeroizing::new(Vec::with_capacity(length.min(64 << 10) as usize));
    stream.take(length.into()).read_to_end(&mut bytes)?;
    if bytes.len() as u64 != u64::from(length) {
        return Err(ErrorKind::UnexpectedEof.into());
    }
    Ok((kind, bytes))
}

/// Passes sockets; they stay open here too.
///
/// # Errors
/// The other process has gone or does not read.
pub fn pass(stream: &UnixStream, sockets: &[RawFd]) -> io::Result<()> {
    for some in sockets.chunks(AT_ONCE) {
        let control = [ControlMessage::ScmRights(some)];
        let count = [some.len() as u8];
        let bytes = [IoSlice::new(&count)];
        let flags = MsgFlags::MSG_NOSIGNAL;
        sendmsg::<()>(stream.as_raw_fd(), &bytes, &control, flags, None)?;
    }
    Ok(())
}

/// Takes so many sockets that were passed.
///
/// # Errors
/// The other process has gone, sends nothing, or passes another number.
pub fn take(stream: &UnixStream, count: usize) -> io::Result<Vec<OwnedFd>> {
    let invalid = |why: &str| io::Error::new(ErrorKind::InvalidData, why);
    if count > MOST_SOCKETS {
        return Err(invalid("too many sockets"));
    }
    let mut taken = Vec::new();
    while taken.len() < count {
        let mut byte = [0];
        let mut bytes = [IoSliceMut::new(&mut byte)];
        let mut control = nix::cmsg_space!([RawFd; AT_ONCE]);
        let flags = MsgFlags::MSG_CMSG_CLOEXEC;
        let message = recvmsg::<()>(stream.as_raw_fd(), &mut bytes, Some(&mut control), flags)?;
        let (ended, before) = (message.bytes == 0, taken.len());
        for control in message.cmsgs()? {
            if let ControlMessageOwned::ScmRights(some) = control {
                // SAFETY: the kernel has just opened these descriptors for this process, and
                // nothing else knows of them.
                taken.extend(some.into_iter().map(|fd| unsafe { OwnedFd::from_raw_fd(fd) }));
            }
        }
        if ended {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        if taken.len() == before {
            return Err(invalid("no sockets where some were announced"));
        }
    }
    if taken.len() == count { Ok(taken) } else { Err(invalid("more sockets than announced")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn sockets_and_parts_arrive_as_they_were_sent() {
        let (here, there) = UnixStream::pair().unwrap();
        let listeners: Vec<_> =
            (0..AT_ONCE + 3).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
        let sockets: Vec<_> = listeners.iter().map(AsRawFd::as_raw_fd).collect();
        send(&here, 7, b"before").unwrap();
        pass(&here, &sockets).unwrap();
        send(&here, 8, b"").unwrap();
        drop(here);
        assert_eq!(receive(&there).unwrap(), (7, Zeroizing::new(b"before".to_vec())));
        let taken = take(&there, sockets.len()).unwrap();
        for (listener, taken) in listeners.iter().zip(taken) {
            let taken = TcpListener::from(taken);
            assert_eq!(taken.local_addr().unwrap(), listener.local_addr().unwrap());
        }
        assert_eq!(receive(&there).unwrap().0, 8);
        assert_eq!(receive(&there).unwrap_err().kind(), ErrorKind::UnexpectedEof);
    }

    #[test]
    fn what_is_no_part_ends_in_an_error() {
        let read = |bytes: &[u8]| {
            let (mut here, there) = UnixStream::pair().unwrap();
            here.write_all(bytes).unwrap();
            drop(here);
            receive(&there).map_err(|error| error.kind())
        };
        assert_eq!(read(&[1, 0, 0, 0, 2, b'a']), Err(ErrorKind::UnexpectedEof));
        assert_eq!(read(&[1, 0xff, 0, 0, 0]), Err(ErrorKind::InvalidData));
        assert_eq!(read(&[1, 0]), Err(ErrorKind::UnexpectedEof));
    }

    #[test]
    fn sockets_that_do_not_come_end_in_an_error() {
        let (mut here, there) = UnixStream::pair().unwrap();
        here.write_all(&[0]).unwrap();
        assert_eq!(take(&there, 1).unwrap_err().kind(), ErrorKind::InvalidData);
        drop(here);
        assert_eq!(take(&there, 1).unwrap_err().kind(), ErrorKind::UnexpectedEof);
        assert_eq!(take(&there, usize::MAX).unwrap_err().kind(), ErrorKind::InvalidData);
    }
}
