package import RetentionMessages

/// The calls that bring the App Store to the state of an app's folder.
///
/// Only messages and images whose identifiers are UUIDs of version 8 are deleted. These identifiers derive
/// from contents; a message or image with another identifier was uploaded by another program and stays.
package struct RetentionPlan: Sendable, Equatable {
    /// The images to upload.
    package private(set) var uploadedImages: [RetentionFolder.Image] = []
    /// The messages to upload.
    package private(set) var uploadedMessages: [RetentionFolder.Message] = []
    /// The messages to delete, because the folder does not contain them.
    package private(set) var deletedMessages: [RetentionID] = []
    /// The images to delete, because the folder does not contain them.
    package private(set) var deletedImages: [RetentionID] = []
    /// The names of the folder's messages and images that Apple is still checking.
    package private(set) var pending: [String] = []
    /// The names of the folder's messages and images that Apple refused.
    package private(set) var rejected: [String] = []

    /// Compares a folder with the states at the App Store.
    package init(_ folder: RetentionFolder, _ states: RetentionStates) {
        uploadedImages = folder.images.filter { states.images[$0.id] == nil }
        uploadedMessages = folder.messages.filter { states.messages[$0.id] == nil }
        let known =
            folder.images.map { (name: $0.name, state: states.images[$0.id]) }
            + folder.messages.map { (name: $0.name, state: states.messages[$0.id]) }
        pending = known.filter { $0.state == .pending }.map(\.name)
        rejected = known.filter { $0.state == .rejected }.map(\.name)
        let messages = Set(folder.messages.map(\.id))
        let images = Set(folder.images.map(\.id))
        deletedMessages = Self.old(states.messages, without: messages)
        deletedImages = Self.old(states.images, without: images)
    }

    private static func old(
        _ states: [RetentionID: RetentionState], without kept: Set<RetentionID>
    ) -> [RetentionID] {
        states.keys.filter { !kept.contains($0) && $0.isDerived }.sorted { $0.text < $1.text }
    }
}

extension RetentionID {
    /// Whether the identifier is a UUID of version 8, as are all identifiers that derive from contents.
    fileprivate var isDerived: Bool { text.utf8.dropFirst(14).first == UInt8(ascii: "8") }
}
