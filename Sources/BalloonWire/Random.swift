internal import COpenSSL

/// Returns `count` bytes of OpenSSL's generator, fit for keys.
package func randomBytes(_ count: Int) -> [UInt8] {
    unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
        // RAND_bytes takes a C int; keys and identifiers are far below it. It fails only without entropy,
        // and nothing that needs a key may go on then.
        let status = unsafe RAND_bytes(buffer.baseAddress, Int32(count))
        precondition(status == 1, "the random generator failed")
        initialized = count
    }
}
