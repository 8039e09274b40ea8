import CLinux
import Glibc

extension Descriptor {
    /// Opens a file, pipe or device for reading.
    package static func open(reading path: String) throws(SystemError) -> Descriptor {
        // Sound: the string lives for the call.
        Descriptor(owning: try uninterrupted("open") { unsafe Glibc.open(path, O_RDONLY | O_CLOEXEC) })
    }

    /// Reads to the end; throws `EFBIG` for more than `maximumBytes`.
    package borrowing func readToEnd(maximumBytes: Int) throws(SystemError) -> [UInt8] {
        var bytes: [UInt8] = []
        while true {
            let room = min(65536, maximumBytes - bytes.count + 1)
            if try read(onto: &bytes, maximumBytes: room) == 0 { return bytes }
            guard bytes.count <= maximumBytes else { throw SystemError("read", code: EFBIG) }
        }
    }
}
