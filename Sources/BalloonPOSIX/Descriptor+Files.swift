import CLinux
import Glibc

extension Descriptor {
    /// Opens a file, pipe or device for reading.
    package static func open(reading path: String) throws(SystemError) -> Descriptor {
        // Sound: the string lives for the call.
        Descriptor(owning: try uninterrupted("open") { unsafe Glibc.open(path, O_RDONLY | O_CLOEXEC) })
    }

    /// Opens a regular file with these flags, without blocking; anything else is refused.
    static func open(
        regular path: String, _ flags: Int32, _ mode: UInt32 = 0o600
    ) throws(SystemError) -> Descriptor {
        // Without O_NONBLOCK, opening a named pipe that has no other end would block.
        let flags = flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC
        // Sound: the string lives during the call.
        let opened = Descriptor(owning: try uninterrupted("open") { unsafe Glibc.open(path, flags, mode) })
        switch try FileStatus.read(of: opened.raw).st_mode & S_IFMT {
        case S_IFREG: return opened
        case S_IFDIR: throw SystemError("open", code: EISDIR)
        default: throw SystemError("open (not a regular file)", code: EINVAL)
        }
    }

    /// Reads to the end; throws `EFBIG` for more than `maximumBytes`.
    package borrowing func readToEnd(maximumBytes: Int) throws(SystemError) -> [UInt8] {
        var bytes: [UInt8] = []
        while true {
            let room = min(65536, maximumBytes - bytes.count + 1)
            if try read(onto: &bytes, maximumBytes: room) == 0 { return bytes }
            guard bytes.count <= maximumBytes else { throw .fileTooLarge }
        }
    }
}
