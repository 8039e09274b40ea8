import CLinux
import Glibc

/// Where the process writes by convention; every call goes out at once.
package enum StandardStream: Int32, Sendable {
    /// Data that was asked for.
    case output = 1
    /// All the rest.
    case error = 2

    /// Writes all of `text`; what cannot be written is lost, since there is nowhere left to say so.
    package func write(_ text: String) { write(Array(text.utf8)) }

    /// Writes all of `bytes`.
    package func write(_ bytes: [UInt8]) {
        var offset = 0
        while offset < bytes.count {
            // Sound: the range offset..<count lies inside the array's storage.
            let count = unsafe bytes.withUnsafeBytes { buffer in
                unsafe Glibc.write(
                    rawValue, buffer.baseAddress.map { unsafe $0 + offset }, buffer.count - offset)
            }
            if count < 0, errno != EINTR { return }
            offset += max(0, count)
        }
    }

    /// Whether a person reads it.
    package var isTerminal: Bool { isatty(rawValue) == 1 }
}
