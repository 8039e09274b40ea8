@testable import GatewayClient

/// The call and the status of a refusal, without Apple's reason.
struct Refusal: Equatable {
    let call: GatewayCall
    let status: Int

    init(_ call: GatewayCall, _ status: Int) {
        self.call = call
        self.status = status
    }
}

extension GatewayError {
    /// The call and the status of a refusal; nil for another error.
    var refusal: Refusal? {
        if case .refused(let call, let status, _) = self { Refusal(call, status) } else { nil }
    }
}
