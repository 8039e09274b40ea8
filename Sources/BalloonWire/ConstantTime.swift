internal import BalloonJSON
internal import COpenSSL

/// Tells whether `left` and `right` are the same bytes, in a time that depends on nothing but their lengths.
package func constantTimeEquals(_ left: some Collection<UInt8>, _ right: some Collection<UInt8>) -> Bool {
    left.withSpan { left in right.withSpan { right in constantTimeEquals(left, right) } }
}

func constantTimeEquals(_ left: Span<UInt8>, _ right: Span<UInt8>) -> Bool {
    guard left.count == right.count else { return false }
    // Both buffers have `left.count` bytes.
    return unsafe left.withUnsafeBufferPointer { left in
        unsafe right.withUnsafeBufferPointer { right in
            unsafe CRYPTO_memcmp(left.baseAddress, right.baseAddress, left.count) == 0
        }
    }
}
