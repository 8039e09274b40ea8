/// The names of the calls, spelled once.
package enum Method {
    /// Server to handler, first: who is asking, and with what configuration.
    package static let initialize = "initialize"
    /// Server to handler: an event.
    package static let event = "event"
    /// Server to handler, not answered: nobody waits for that delivery's answer any more.
    package static let cancel = "cancel"
    /// Server to handler: it asks for a sign of life.
    package static let ping = "ping"
    /// Server to handler, last: end what is under way; standard input closes next.
    package static let shutdown = "shutdown"
    /// Handler to server, at any time: a message that answers no event.
    package static let reply = "reply"
    /// Handler to server, not answered: a line for the log.
    package static let log = "log"
}
