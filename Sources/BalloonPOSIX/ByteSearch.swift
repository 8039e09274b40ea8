import CLinux
import Glibc

extension [UInt8] {
    /// The position of the first `byte` at or after `start`, found at memory speed; nil when there is none.
    @inline(__always)
    package func firstPosition(of byte: UInt8, from start: Int) -> Int? {
        precondition(start >= 0 && start <= count)
        // Sound: memchr looks at start..<count, which lies inside the array's storage.
        return unsafe withUnsafeBytes { buffer in
            guard let base = buffer.baseAddress,
                let found = unsafe memchr(base + start, Int32(byte), buffer.count - start)
            else { return nil }
            return unsafe found - UnsafeMutableRawPointer(mutating: base)
        }
    }

    /// The position of the last `byte` before `end`, found at memory speed; nil when there is none.
    @inline(__always)
    package func lastPosition(of byte: UInt8, before end: Int) -> Int? {
        precondition(end >= 0 && end <= count)
        // Sound: memrchr looks at 0..<end, which lies inside the array's storage.
        return unsafe withUnsafeBytes { buffer in
            guard let base = buffer.baseAddress, let found = unsafe memrchr(base, Int32(byte), end) else {
                return nil
            }
            return unsafe found - UnsafeMutableRawPointer(mutating: base)
        }
    }

    /// Turns every `byte` at or after `start` into `replacement`.
    package mutating func replace(_ byte: UInt8, with replacement: UInt8, from start: Int) {
        var position = start
        while let found = firstPosition(of: byte, from: position) {
            self[found] = replacement
            position = found + 1
        }
    }
}
