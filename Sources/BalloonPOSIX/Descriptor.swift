import CLinux
import Glibc

/// An open file descriptor, closed when the value is destroyed.
///
/// Every descriptor of the program is opened with close-on-exec.
package struct Descriptor: ~Copyable, Sendable {
    /// The descriptor's number, valid as long as this value exists.
    package let raw: Int32

    /// Takes ownership of `raw`, which must be open and have no other owner.
    package init(owning raw: Int32) { self.raw = raw }

    deinit { close(raw) }

    /// Returns the number without closing the descriptor; the caller now owns the descriptor.
    package consuming func release() -> Int32 {
        let raw = raw
        discard self
        return raw
    }
}

extension Descriptor {
    /// Reads at most `maximumBytes` and appends them to `bytes`; returns the number of bytes, 0 at the end.
    package borrowing func read(onto bytes: inout [UInt8], maximumBytes: Int) throws(SystemError) -> Int {
        let start = bytes.count
        let raw = raw
        try bytes.append(addingCapacity: maximumBytes) { span throws(SystemError) in
            // Sound: the read stays inside the buffer, and only read bytes count as initialized.
            try unsafe span.withUnsafeMutableBufferPointer { buffer, filled throws(SystemError) in
                filled = try uninterrupted("read") {
                    unsafe Glibc.read(raw, buffer.baseAddress, maximumBytes)
                }
            }
        }
        return bytes.count - start
    }

    /// Reads into `bytes` from `offset` on, at most to its end; returns the number of bytes, 0 at the end of
    /// the file.
    @inline(__always)
    package borrowing func read(into bytes: inout [UInt8], at offset: Int) throws(SystemError) -> Int {
        precondition(offset <= bytes.count)
        let raw = raw
        return try uninterrupted("read") {
            // Sound: the range offset..<count lies inside the array's storage, which the closure may write.
            unsafe bytes.withUnsafeMutableBytes { buffer in
                unsafe Glibc.read(raw, buffer.baseAddress.map { unsafe $0 + offset }, buffer.count - offset)
            }
        }
    }

    /// Writes from `bytes[offset...]`; returns the number of written bytes, possibly fewer.
    @inline(__always)
    package borrowing func write(_ bytes: [UInt8], from offset: Int = 0) throws(SystemError) -> Int {
        precondition(offset <= bytes.count)
        let raw = raw
        return try uninterrupted("write") {
            // Sound: the range offset..<count lies inside the array's storage.
            unsafe bytes.withUnsafeBytes { buffer in
                unsafe Glibc.write(raw, buffer.baseAddress.map { unsafe $0 + offset }, buffer.count - offset)
            }
        }
    }

    /// Writes all of `bytes`, with as many calls as necessary.
    package borrowing func writeAll(_ bytes: [UInt8]) throws(SystemError) {
        var offset = 0
        while offset < bytes.count { offset += try write(bytes, from: offset) }
    }
}
