internal import BalloonPOSIX
internal import CCurl

/// A check that restricts one transfer to public internet addresses; libcurl's callbacks use its storage.
@safe final class AddressGate {
    // libcurl's callbacks write to this storage, so it must not move.
    let pointer: UnsafeMutablePointer<balloon_curl_gate>

    init() {
        unsafe pointer = .allocate(capacity: 1)
        unsafe pointer.initialize(
            to: balloon_curl_gate(
                is_allowed: { address in
                    guard let address = unsafe address else { return 0 }
                    // Sound: the C shim passes 16 bytes that are valid during the call.
                    return isPublicAddress(unsafe Span(_unsafeStart: address, count: 16)) ? 1 : 0
                }, has_refused: 0, has_allowed: 0))
    }

    deinit { unsafe pointer.deallocate() }

    /// Whether the name lookup found addresses and the gate refused all of them.
    var hasRefusedAll: Bool { unsafe pointer.pointee.has_refused != 0 && pointer.pointee.has_allowed == 0 }
}

/// Whether the environment configures a proxy for `https`, in the variables that libcurl reads.
let hasSecureProxy: Bool = {
    let variables = ProcessEnvironment.variables()
    return ["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"].contains {
        !(variables[$0] ?? "").isEmpty
    }
}()
