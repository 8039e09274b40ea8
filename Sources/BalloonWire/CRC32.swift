internal import BalloonJSON
internal import CZlib

/// The CRC-32 of gzip and PNG: detects accidental damage, not manipulation.
package enum CRC32 {
    /// Returns the checksum of `bytes`; if these continue earlier bytes, `previous` is the checksum of those.
    @specialized(where Bytes == ArraySlice<UInt8>)
    package static func checksum<Bytes: Collection<UInt8>>(of bytes: Bytes, after previous: UInt32 = 0)
        -> UInt32
    {
        // For a NULL pointer, zlib would return the initial value instead of `previous`.
        guard !bytes.isEmpty else { return previous }
        let checksum = bytes.withSpan { bytes in
            unsafe bytes.withUnsafeBufferPointer { buffer in
                unsafe crc32_z(UInt(previous), buffer.baseAddress, buffer.count)
            }
        }
        return UInt32(truncatingIfNeeded: checksum)
    }
}
