/// The method names of the protocol.
package enum Method {
    /// Server to handler, first: the business and its configuration.
    package static let initialize = "initialize"
    /// Server to handler: an event.
    package static let event = "event"
    /// Server to handler: the App Store's question before a cancellation.
    package static let retention = "retention"
    /// Server to handler: a callback of a payment, or a reversal.
    package static let payment = "payment"
    /// Server to handler, a notification: the server no longer waits for the answer to that event, question or payment.
    package static let cancel = "cancel"
    /// Server to handler: a request for a sign of life.
    package static let ping = "ping"
    /// Server to handler, last: finish the calls in flight; standard input closes next.
    package static let shutdown = "shutdown"
    /// Handler to server, at any time: a message that answers no event.
    package static let reply = "reply"
    /// Handler to server, at any time: the end of a payment request that is not paid.
    package static let withdrawPayment = "withdrawPayment"
    /// Handler to server, a notification: a line for the log.
    package static let log = "log"
}
