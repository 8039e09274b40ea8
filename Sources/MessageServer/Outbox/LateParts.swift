/// A message that is complete with the parts added at sending, or the reason why it can never be sent.
enum LateParts: Sendable {
    case message([UInt8])
    case refused(reason: String)
}

/// The reason why a message without its parts waits in the outbox and is sent later.
struct PartsMissing: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
