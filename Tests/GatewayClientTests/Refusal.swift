@testable import GatewayClient

/// The facts of a refusal, without Apple's words.
struct Refusal: Equatable {
    let call: GatewayCall
    let status: Int

    init(_ call: GatewayCall, _ status: Int) {
        self.call = call
        self.status = status
    }
}

extension GatewayError {
    /// Nil when the error is not a refusal.
    var refusal: Refusal? {
        if case .refused(let call, let status, _) = self { Refusal(call, status) } else { nil }
    }
}
