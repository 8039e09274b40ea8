import CLinux
import Glibc

/// A system call that failed: the call's name and its `errno`.
package struct SystemError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The `errno` of the call, for example `ENOSPC`.
    package let code: Int32
    /// The call, for example `fdatasync`, with its argument where that helps: `bind 127.0.0.1:80`.
    package let call: String

    /// Creates an error from the call's name and the current `errno`.
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
            ? String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(truncatingIfNeeded:)), as: UTF8.self)
            : "unknown error"
        return "\(call): \(message) (\(code))"
    }
}

extension SystemError {
    /// A file exceeds the caller's size limit (`EFBIG`).
    package static let fileTooLarge = SystemError("read", code: EFBIG)

    /// Whether the call would have blocked (`EAGAIN`).
    package var wouldBlock: Bool { code == EAGAIN || code == EWOULDBLOCK }

    /// Whether nothing exists at the path (`ENOENT`).
    package var isMissing: Bool { code == ENOENT }

    /// Returns the result of `body`; nil when nothing exists at its path.
    package static func unlessMissing<Value>(
        _ body: () throws(SystemError) -> Value
    ) throws(SystemError) -> Value? {
        do throws(SystemError) { return try body() } catch {
            guard error.isMissing else { throw error }
            return nil
        }
    }

    /// Whether something exists at the path already (`EEXIST`).
    package var isExisting: Bool { code == EEXIST }

    /// Whether the reader of a pipe or socket has closed it (`EPIPE`).
    package var isBrokenPipe: Bool { code == EPIPE }

    /// Whether the disk or quota is full (`ENOSPC`, `EDQUOT`).
    package var isFull: Bool { code == ENOSPC || code == EDQUOT }

    /// Whether a file is permanently unreadable: the disk lost it, or it is a folder (`EIO`, `EISDIR`).
    package var isUnreadable: Bool { code == EIO || code == EISDIR }

    /// Whether mode, owner or attributes of the file or its folder forbid the access (`EACCES`, `EPERM`).
    package var isForbidden: Bool { code == EACCES || code == EPERM }

    /// Whether the failure may be temporary, so that the same call may succeed later (`EIO`, `EMFILE`,
    /// `ENFILE`, `ENOMEM`).
    package var mayPass: Bool { [EIO, EMFILE, ENFILE, ENOMEM].contains(code) }

    /// A change that a ``DurableCopy`` does not keep in time (`ENOTCONN`).
    package static let notKept = SystemError("the store's database does not answer", code: ENOTCONN)

    /// Whether every other write fails too, until an operator corrects the disk (`ENOSPC`, `EDQUOT`, `EROFS`) or a
    /// ``DurableCopy`` answers again (`ENOTCONN`).
    package var isDiskWide: Bool { [ENOSPC, EDQUOT, EROFS, ENOTCONN].contains(code) }
}

/// Repeats `call` while a signal interrupts it; throws a negative result as a ``SystemError``.
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
