import CLinux
import Glibc

/// A system call that failed: the call's name and its `errno`.
package struct SystemError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The `errno` that the call left, for example `ENOSPC`.
    package let code: Int32
    /// The call, for example `fdatasync`, with what it was called for where that helps: `bind 127.0.0.1:80`.
    package let call: String

    /// Makes an error from the call's name and the current `errno`.
    package init(_ call: String, code: Int32 = errno) {
        self.call = call
        self.code = code
    }

    /// `fdatasync: No space left on device (28)`.
    package var description: String {
        var text = [CChar](repeating: 0, count: 128)
        // Sound: strerror_r writes at most `count` bytes and ends them with a NUL.
        let status = unsafe strerror_r(code, &text, text.count)
        let message =
            status == 0
            ? String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
            : "unknown error"
        return "\(call): \(message) (\(code))"
    }
}

extension SystemError {
    /// A file has more bytes than the caller takes (`EFBIG`).
    package static let fileTooLarge = SystemError("read", code: EFBIG)

    /// Whether the call would have had to wait (`EAGAIN`).
    package var wouldBlock: Bool { code == EAGAIN || code == EWOULDBLOCK }

    /// Whether nothing is at the path (`ENOENT`).
    package var isMissing: Bool { code == ENOENT }

    /// Whether something is at the path already (`EEXIST`).
    package var isExisting: Bool { code == EEXIST }

    /// Whether there is no room left (`ENOSPC`, `EDQUOT`).
    package var isFull: Bool { code == ENOSPC || code == EDQUOT }

    /// Whether a file cannot be read however often it is tried: the disk has lost it, or it is a folder (`EIO`, `EISDIR`).
    package var isUnreadable: Bool { code == EIO || code == EISDIR }

    /// Whether mode, owner or attributes of this file or its folder forbid it (`EACCES`, `EPERM`).
    package var isForbidden: Bool { code == EACCES || code == EPERM }

    /// Whether the same call may succeed in a moment, though nobody sees to anything (`EIO`, `EMFILE`, `ENFILE`, `ENOMEM`).
    package var mayPass: Bool { [EIO, EMFILE, ENFILE, ENOMEM].contains(code) }

    /// Whether every other write fails as well until somebody sees to the disk (`ENOSPC`, `EDQUOT`, `EROFS`).
    package var isDiskWide: Bool { code == ENOSPC || code == EDQUOT || code == EROFS }
}

/// Runs `call` until it is not interrupted by a signal; a negative result is thrown as a ``SystemError``.
@inline(__always)
package func uninterrupted<Result: SignedInteger>(
    _ name: @autoclosure () -> String, _ call: () -> Result
) throws(SystemError) -> Result {
    while true {
        let result = call()
        if result >= 0 { return result }
        if errno != EINTR { throw SystemError(name()) }
    }
}
