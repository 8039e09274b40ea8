/// A problem in a handler binding, for the operator to correct.
package enum BindingError: Error, Hashable, Sendable, CustomStringConvertible {
    /// `exec` is not a list of texts that begins with a program.
    case commandExpected
    /// The server has no file descriptors left to watch child processes: raise its limit.
    case descriptorsExhausted
    /// `environment` is not an object of texts.
    case environmentExpected
    /// `events` is not a list of kinds.
    case eventsExpected
    /// `payments` is not a list of callbacks.
    case paymentsExpected
    /// `http` has no `url` of the form `https://…`, `http://…` or `unix:PATH[:/REQUEST/PATH]`.
    case addressExpected
    /// `secret` is not `{"env": NAME}`, `{"file": PATH}`, or a list of at most two of them.
    case secretExpected
    /// The secret is missing, or is not Base64 of 24 to 64 bytes, with or without the prefix `whsec_`.
    case secretUnusable

    /// The problem as a phrase for the operator.
    package var description: String {
        switch self {
        case .commandExpected: "\"exec\" must be a list of texts, the program first"
        case .descriptorsExhausted: "the server has no file descriptors left"
        case .environmentExpected: "\"environment\" must be an object of texts"
        case .eventsExpected: "\"events\" must be a list of event kinds"
        case .paymentsExpected:
            "\"payments\" must be a list of paymentGateway paymentMethodUpdate shippingContactUpdate "
                + "shippingMethodUpdate orderTracking"
        case .addressExpected: "\"http\" needs \"url\": \"https://…\", or http://… or unix:PATH"
        case .secretExpected: "\"secret\" must be {\"env\": NAME} or {\"file\": PATH}, or a list of two"
        case .secretUnusable: "the secret is missing, or not Base64 of 24 to 64 bytes"
        }
    }
}
