import BalloonJSON
import BalloonPOSIX
package import RetentionMessages

/// The last known states of an app's messages and images in one environment.
///
/// `DATA/retention/SLUG/ENVIRONMENT.json`:
///
/// ```json
/// {"format": 1, "messages": {"a1b2c3d4-…": "APPROVED"}, "images": {"…": "PENDING"}}
/// ```
package struct RetentionStates: Sendable, Equatable {
    /// The states of the messages.
    package var messages: [RetentionID: RetentionState]
    /// The states of the images.
    package var images: [RetentionID: RetentionState]

    /// Creates states.
    package init(messages: [RetentionID: RetentionState] = [:], images: [RetentionID: RetentionState] = [:]) {
        self.messages = messages
        self.images = images
    }

    /// The maximum bytes of a file: 4,000 entries have 300 KB.
    private static let maximumBytes = 1 << 20

    /// The path of the file in the data directory.
    package static func path(
        dataDirectory: String, slug: String, _ environment: RetentionEnvironment
    ) -> String {
        "\(dataDirectory)/retention/\(slug)/\(environment.name).json"
    }

    /// Whether the App Store can show a message: the message and all its images are approved.
    package func isApproved(_ message: RetentionFolder.Message) -> Bool {
        messages[message.id] == .approved && message.content.images.allSatisfy { images[$0] == .approved }
    }

    /// Reads a file; nil when it does not exist.
    ///
    /// Throws `RetentionFileError` when it cannot be read or has another format.
    package static func read(_ path: String) throws(RetentionFileError) -> RetentionStates? {
        guard let root = try RetentionFile.read(path, maximumBytes: maximumBytes)?.root else { return nil }
        return RetentionStates(messages: read(root["messages"]), images: read(root["images"]))
    }

    private static func read(_ value: JSONValue?) -> [RetentionID: RetentionState] {
        var states: [RetentionID: RetentionState] = [:]
        guard let value else { return states }
        for (name, state) in value.members {
            // Skip an entry with an unknown state, so that it does not count as approved.
            guard let id = RetentionID(name), let state = state.string.flatMap(RetentionState.init(rawValue:))
            else { continue }
            states[id] = state
        }
        return states
    }

    /// Replaces the file durably, and creates its folder if that is missing.
    package func write(to path: String) throws(RetentionFileError) {
        try RetentionFile.write(to: path) { writer in
            for (name, states) in [("messages", messages), ("images", images)] {
                writer.object(name) { writer in
                    for (id, state) in states.sorted(by: { $0.key.text < $1.key.text }) {
                        writer.field(id.text, state.rawValue)
                    }
                }
            }
        }
    }
}

/// The reason why a file of an app cannot be used.
package enum RetentionFileError: Error, Equatable, Sendable {
    /// The system refuses to read this path: check its mode.
    case unreadable(String, String)
    /// The file is not JSON or has another format: delete it; `balloon retention status` writes a file of
    /// states again.
    case malformed(String)
    /// The system refuses to write this path: check the disk and the mode.
    case unwritable(String, String)
}
