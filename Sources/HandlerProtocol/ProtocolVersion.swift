/// The protocol between the server and a handler that is another program: `balloon-handler/1`.
package enum ProtocolVersion {
    /// The version that both sides must name.
    package static let current = "1"
    /// The longest line of either side, its line feed not counted.
    package static let maximumLineBytes = 1 << 20
    /// A message longer than this is given as a file.
    package static let maximumInlineBytes = 64 << 10
    /// How many replies one answer may have.
    package static let maximumReplies = 32
}
