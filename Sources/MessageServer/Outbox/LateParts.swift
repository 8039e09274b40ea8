/// A message that is complete with the parts added at sending, or the reason why it can never be sent.
enum LateParts: Sendable {
    case message([UInt8])
    case refused(reason: String)
}
