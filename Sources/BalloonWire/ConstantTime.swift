internal import BalloonJSON
internal import COpenSSL

/// Compares `left` and `right` in a time that depends only on their lengths.
package func constantTimeEquals(_ left: some Collection<UInt8>, _ right: some Collection<UInt8>) -> Bool {
    left.withSpan { left in right.withSpan { right in constantTimeEquals(left, right) } }
}

func constantTimeEquals(_ left: Span<UInt8>, _ right: Span<UInt8>) -> Bool {
    guard left.count == right.count else { return false }
    // Sound: the call reads `left.count` bytes of both buffers, which have that length.
    return unsafe left.withUnsafeBufferPointer { left in
        unsafe right.withUnsafeBufferPointer { right in
            unsafe CRYPTO_memcmp(left.baseAddress, right.baseAddress, left.count) == 0
        }
    }
}
