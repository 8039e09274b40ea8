/// The method names of the protocol.
package enum Method {
    /// The first call from the server to the handler: the business and its configuration.
    package static let initialize = "initialize"
    /// A call from the server to the handler: an event.
    package static let event = "event"
    /// A call from the server to the handler: the App Store's question before a cancellation.
    package static let retention = "retention"
    /// A call from the server to the handler: a payment callback, or a reversal.
    package static let payment = "payment"
    /// A notification from the server to the handler: the server no longer waits for an answer to an event or
    /// payment.
    package static let cancel = "cancel"
    /// A call from the server to the handler, which must answer to show that it works.
    package static let ping = "ping"
    /// The last call from the server to the handler: finish the calls in flight; standard input closes next.
    package static let shutdown = "shutdown"
    /// A call from the handler to the server, at any time: a message that answers no event.
    package static let reply = "reply"
    /// A call from the handler to the server, at any time: the end of a payment request that is not paid.
    package static let withdrawPayment = "withdrawPayment"
    /// A notification from the handler to the server: a line for the log.
    package static let log = "log"
}
