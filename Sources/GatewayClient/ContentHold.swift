package import BusinessMessages
import Synchronization

/// Contents that one message of a business brings, until the record that names them is on disk.
///
/// Created by `AttachmentFiles.hold(for:)`, and alive until the message's record is durable. While a content is held, no
/// erasure of another customer deletes it, although no conversation names it for this message yet.
package final class ContentHold: Sendable {
    /// The business of the message.
    package let business: BusinessID
    let files: AttachmentFiles
    private let hashes = Mutex<[String]>([])

    init(_ business: BusinessID, _ files: AttachmentFiles) {
        self.business = business
        self.files = files
    }

    /// Holds a content; called before the content gets its name.
    func add(_ sha256: String) {
        hashes.withLock { $0.append(sha256) }
        files.changeHeld { $0[sha256, default: 0] += 1 }
    }

    deinit {
        let hashes = hashes.withLock { $0 }
        files.changeHeld { held in
            for sha256 in hashes {
                let count = held[sha256, default: 0] - 1
                held[sha256] = count > 0 ? count : nil
            }
        }
    }
}
