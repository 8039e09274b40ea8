internal import BalloonPOSIX
internal import CCurl

/// Lets one transfer connect to addresses of the public internet only, where libcurl reads and writes it.
@safe final class AddressGate {
    // libcurl's callbacks write to it, so that it must not move.
    let pointer: UnsafeMutablePointer<balloon_curl_gate>

    init() {
        unsafe pointer = .allocate(capacity: 1)
        unsafe pointer.initialize(
            to: balloon_curl_gate(
                is_allowed: { address in
                    guard let address = unsafe address else { return 0 }
                    // The shim hands over 16 bytes that live for the call.
                    return isPublicAddress(unsafe Span(_unsafeStart: address, count: 16)) ? 1 : 0
                }, has_refused: 0, has_allowed: 0))
    }

    deinit { unsafe pointer.deallocate() }

    /// Whether there was an address, and none that may be connected to.
    var hasRefusedAll: Bool { unsafe pointer.pointee.has_refused != 0 && pointer.pointee.has_allowed == 0 }
}

/// Whether the environment names a proxy for `https`, by the variables that libcurl reads.
let hasSecureProxy: Bool = {
    let variables = ProcessEnvironment.variables()
    return ["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"].contains {
        !(variables[$0] ?? "").isEmpty
    }
}()
