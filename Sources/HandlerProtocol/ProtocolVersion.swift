/// The protocol between the server and a handler that is another program: `balloon-handler/1`.
package enum ProtocolVersion {
    /// The version that both sides must support.
    package static let current = "1"
    /// The maximum bytes of a line in either direction, without its line feed.
    package static let maximumLineBytes = 1 << 20
    /// The maximum bytes of a message inside a line; a longer message is passed as a file.
    package static let maximumInlineBytes = 64 << 10
    /// The maximum number of replies in one answer.
    package static let maximumReplies = 32
}
