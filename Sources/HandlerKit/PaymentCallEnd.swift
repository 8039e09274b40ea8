/// How a call that charges ended without a usable answer.
package enum PaymentCallEnd: Sendable {
    /// The handler was provably not called.
    case neverLeft
    /// The end of the handler's work was seen: it threw, answered with an error, or its process ended.
    ///
    /// Its request to the payment provider may still charge.
    case seen
    /// The connection broke, or what answered was not the handler, which may still work.
    case unseen
    /// The handler answered with JSON that breaks the rules.
    case misanswered

    /// The end in words, for a log.
    package var words: String {
        switch self {
        case .neverLeft: "it was not called"
        case .seen: "its call failed"
        case .unseen: "its call was interrupted"
        case .misanswered: "its answer breaks the rules"
        }
    }
}

/// An error of a call that charges, which says how the call ended.
///
/// Any other error of such a call is the handler's own, and its call has ended.
package protocol PaymentCallError: Error {
    /// How the call ended.
    var callEnd: PaymentCallEnd { get }
}
