internal import COpenSSL

/// Returns `count` random bytes from OpenSSL, suitable for keys.
package func randomBytes(_ count: Int) -> [UInt8] {
    unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
        // RAND_bytes takes a C int, which is enough for keys and identifiers. The call fails only without
        // entropy; a program that needs keys must then not continue.
        let status = unsafe RAND_bytes(buffer.baseAddress, Int32(count))
        precondition(status == 1, "the random generator failed")
        initialized = count
    }
}
