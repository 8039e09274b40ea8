internal import BalloonJSON
internal import CZlib

/// The CRC-32 of gzip and PNG: detects accidental damage, not manipulation.
package enum CRC32 {
    /// Computes the checksum of `bytes`, or continues after bytes with the checksum `previous`.
    package static func checksum(of bytes: some Collection<UInt8>, after previous: UInt32 = 0) -> UInt32 {
        // zlib interprets a NULL pointer as a request for the initial value.
        guard !bytes.isEmpty else { return previous }
        let checksum = bytes.withSpan { bytes in
            unsafe bytes.withUnsafeBufferPointer { buffer in
                unsafe crc32_z(UInt(previous), buffer.baseAddress, buffer.count)
            }
        }
        return UInt32(truncatingIfNeeded: checksum)
    }
}
