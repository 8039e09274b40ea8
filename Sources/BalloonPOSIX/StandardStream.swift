import CLinux
import Dispatch
import Glibc
import Synchronization

/// Where the process writes by convention; every call goes out at once.
package enum StandardStream: Int32, Sendable {
    /// Data that was asked for.
    case output = 1
    /// All the rest.
    case error = 2

    /// Why something could not be written, since the process began; nil when all of it was.
    package var failure: SystemError? { Self.failures.withLock { $0[self] } }

    private static let failures = Mutex<[StandardStream: SystemError]>([:])

    /// Writes all of `text`; what cannot be written is lost, and ``failure`` tells why.
    package func write(_ text: String) { write(Array(text.utf8)) }

    /// Writes all of `bytes`; what cannot be written is lost, and ``failure`` tells why.
    package func write(_ bytes: [UInt8]) {
        var offset = 0
        while offset < bytes.count {
            // Sound: the range offset..<count lies inside the array's storage.
            let count = unsafe bytes.withUnsafeBytes { buffer in
                unsafe Glibc.write(
                    rawValue, buffer.baseAddress.map { unsafe $0 + offset }, buffer.count - offset)
            }
            if count < 0, errno != EINTR {
                let error = SystemError("write")
                // The first one is the one to tell.
                return Self.failures.withLock { $0[self] = $0[self] ?? error }
            }
            offset += max(0, count)
        }
    }

    /// Whether a person reads it.
    package var isTerminal: Bool { isatty(rawValue) == 1 }
}

extension StandardStream {
    /// Takes standard output for ourselves: what anybody else writes there goes to standard error from now on.
    package static func takeOutput() throws(SystemError) -> Descriptor {
        let own = Descriptor(owning: try uninterrupted("fcntl") { fcntl(1, F_DUPFD_CLOEXEC, 3) })
        _ = try uninterrupted("dup2") { dup2(2, 1) }
        return own
    }

    /// Reads standard input on a thread of its own; `take` gets bytes as they come, at the end none.
    package static func readInput(_ take: @escaping @Sendable ([UInt8]) -> Void) {
        DispatchQueue(label: "balloon.stdin").async {
            let input = Descriptor(owning: 0)
            var bytes: [UInt8] = []
            // An input that fails is one that has ended.
            while (try? input.read(onto: &bytes, maximumBytes: 65536)) ?? 0 > 0 {
                take(bytes)
                bytes = []
            }
            take([])
            _ = input.release()
        }
    }
}
