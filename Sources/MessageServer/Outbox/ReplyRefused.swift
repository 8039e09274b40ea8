/// The reason why a message can never be sent.
struct ReplyRefused: Error {
    let reason: String

    init(_ reason: String) { self.reason = reason }
}

/// The reason why a message without its parts waits in the outbox and is sent later.
struct PartsMissing: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
