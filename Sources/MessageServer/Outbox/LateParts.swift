/// A message ready to send with the parts that are added when it is sent, or the reason why it never can be sent.
enum LateParts: Sendable {
    case message([UInt8])
    case refused(reason: String)
}
