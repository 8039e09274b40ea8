internal import BalloonJSON
internal import CZlib

/// The CRC-32 of gzip and PNG: against accidents, not against people.
package enum CRC32 {
    /// Computes the checksum of `bytes`, or of `bytes` after those whose checksum is `previous`.
    package static func checksum(of bytes: some Collection<UInt8>, after previous: UInt32 = 0) -> UInt32 {
        // zlib takes a NULL pointer for a request of the initial value.
        guard !bytes.isEmpty else { return previous }
        let checksum = bytes.withSpan { bytes in
            unsafe bytes.withUnsafeBufferPointer { buffer in
                unsafe crc32_z(UInt(previous), buffer.baseAddress, buffer.count)
            }
        }
        return UInt32(truncatingIfNeeded: checksum)
    }
}
