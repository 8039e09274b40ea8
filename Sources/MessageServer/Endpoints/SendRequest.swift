package import BalloonJSON
import BalloonPOSIX
package import BusinessMessages
package import MessageStore

/// What `balloon send` asks for: a message that a business sends of its own accord.
///
/// ```json
/// {"business": "5a6b…", "customer": "urn:mbid:AQAA…", "waitSeconds": 30,
///  "message": {"type": "text", "body": "Your bread is ready."},
///  "files": [{"path": "/srv/bread.jpg", "name": "bread.jpg", "mimeType": "image/jpeg"}]}
/// ```
/// `files` may be missing; they go with a text only. `"autoReply":true` says that a program wrote it. What the server adds to a message may be missing too.
package struct SendRequest: Sendable {
    /// Who sends.
    package let business: BusinessID
    /// Who gets it: an opaque identifier, or `tel:` and a number for an invitation.
    package let customer: CustomerID
    /// The message as Apple describes it, a JSON object.
    package let message: JSONDocument
    /// Files that go with it.
    package let files: [OutboundFile]
    /// How long the answer may be waited for.
    package let wait: Duration
    /// Whether a program wrote it, which Apple is told then; else a person did.
    package let isAutomatic: Bool

    /// Asks for a message.
    package init(
        business: BusinessID, customer: CustomerID, message: JSONDocument, files: [OutboundFile],
        wait: Duration, isAutomatic: Bool = false
    ) {
        self.business = business
        self.customer = customer
        self.message = message
        self.files = files
        self.wait = wait
        self.isAutomatic = isAutomatic
    }

    /// Reads a request; nil when it is none.
    init?(_ json: [UInt8]) {
        guard let root = (try? JSONDocument(json))?.root, let business = root["business"]?.string,
            let customer = root["customer"]?.string, let message = root["message"],
            // It was valid inside the request, so it is by itself.
            let document = try? JSONDocument(Array(message.text))
        else { return nil }
        self.init(
            business: BusinessID(business), customer: CustomerID(customer), message: document,
            files: root["files"]?.elements.compactMap { file -> OutboundFile? in
                guard let path = file["path"]?.string else { return nil }
                return OutboundFile(
                    path: path, name: file["name"]?.string,
                    mimeType: file["mimeType"]?.string ?? "application/octet-stream")
            } ?? [],
            wait: .seconds(min(max(root["waitSeconds"]?.int ?? 30, 0), 50)),
            isAutomatic: root["autoReply"]?.bool ?? false)
    }

    /// Writes what `init(_:)` reads.
    package var json: [UInt8] {
        JSONWriter.object(reservingCapacity: message.bytes.count + 512) { writer in
            writer.field("business", business.rawValue)
            writer.field("customer", customer.rawValue)
            writer.field("waitSeconds", Int(wait.components.seconds))
            writer.field("autoReply", isAutomatic)
            writer.key("files")
            writer.array { writer in
                for file in files {
                    writer.object { writer in
                        writer.field("path", file.path)
                        writer.field("name", file.name)
                        writer.field("mimeType", file.mimeType)
                    }
                }
            }
            writer.field("message", message.root)
        }
    }

    /// The message as it is sent, but for its files, which still have their paths.
    ///
    /// Refuses what Apple would refuse, whatever the customer's device can show.
    package func outbound(id: MessageID) throws(SendRefusal) -> DecidedReply {
        // It becomes a header of the request.
        let address = customer.rawValue.utf8
        guard (1...512).contains(address.count), address.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
            throw .customerMalformed
        }
        let outbound: OutboundMessage
        do { outbound = try OutboundMessage(json: message) } catch { throw .invalid(error.problems) }
        if !files.isEmpty { return try withFiles(id) }
        let body = outbound.encode(id: id, from: business, to: customer)
        let problems = OutboundMessage.problems(inJSON: body, needsEnvelope: true)
        guard !problems.hasErrors else { throw .invalid(problems) }
        return DecidedReply(id: id, kind: outbound.kind, message: body)
    }

    private func withFiles(_ id: MessageID) throws(SendRefusal) -> DecidedReply {
        let root = message.root
        guard root["type"]?.string == "text", root["attachments"] == nil else { throw .filesNotWithText }
        let text = OutboundMessage.text(root["body"]?.string ?? "", files: files)
        return DecidedReply(
            id: id, kind: .text, message: text.encode(id: id, from: business, to: customer))
    }
}
