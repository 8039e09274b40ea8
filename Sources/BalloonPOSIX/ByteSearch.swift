import CLinux
import Glibc

extension [UInt8] {
    /// Returns the position of the first `byte` at or after `start`, found with `memchr`; nil when there is
    /// none.
    @inline(__always)
    package func firstPosition(of byte: UInt8, from start: Int) -> Int? {
        firstPosition(of: byte, in: start..<Swift.max(start, count))
    }

    /// Returns the position of the first `byte` in `range`, found with `memchr`; nil when there is none.
    @inline(__always)
    package func firstPosition(of byte: UInt8, in range: Range<Int>) -> Int? {
        precondition(range.lowerBound >= 0 && range.upperBound <= count)
        // Sound: memchr reads the range, which lies inside the array's storage.
        return unsafe withUnsafeBytes { buffer in
            guard let base = buffer.baseAddress,
                let found = unsafe memchr(base + range.lowerBound, Int32(byte), range.count)
            else { return nil }
            return unsafe found - UnsafeMutableRawPointer(mutating: base)
        }
    }

    /// Returns the position of the last `byte` before `end`, found with `memrchr`; nil when there is none.
    @inline(__always)
    package func lastPosition(of byte: UInt8, before end: Int) -> Int? {
        precondition(end >= 0 && end <= count)
        // Sound: memrchr reads 0..<end, which lies inside the array's storage.
        return unsafe withUnsafeBytes { buffer in
            guard let base = buffer.baseAddress, let found = unsafe memrchr(base, Int32(byte), end) else {
                return nil
            }
            return unsafe found - UnsafeMutableRawPointer(mutating: base)
        }
    }

    /// Replaces every `byte` at or after `start` with `replacement`.
    package mutating func replace(_ byte: UInt8, with replacement: UInt8, from start: Int) {
        var position = start
        while let found = firstPosition(of: byte, from: position) {
            self[found] = replacement
            position = found + 1
        }
    }
}

extension ArraySlice<UInt8> {
    /// Returns the position of the first occurrence of `text`, found with `memmem`; nil when there is none.
    package func firstPosition(of text: [UInt8]) -> Int? {
        // Sound: memmem reads the slice and the text, both of which live during the call.
        unsafe withUnsafeBytes { buffer in
            unsafe text.withUnsafeBytes { text in
                guard let base = buffer.baseAddress,
                    let found = unsafe memmem(base, buffer.count, text.baseAddress, text.count)
                else { return nil }
                return unsafe startIndex + (found - UnsafeMutableRawPointer(mutating: base))
            }
        }
    }
}
