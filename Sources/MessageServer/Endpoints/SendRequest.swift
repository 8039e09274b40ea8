import BalloonPOSIX
package import BusinessMessages
package import MessageStore

/// The request of `balloon send`: a message that a business sends without an event.
///
/// ```json
/// {"business": "5a6b…", "customer": "urn:mbid:AQAA…", "waitSeconds": 30,
///  "message": {"type": "text", "body": "Your bread is ready."},
///  "files": [{"path": "/srv/bread.jpg", "name": "bread.jpg", "mimeType": "image/jpeg"}]}
/// ```
/// `files` may be missing; they are allowed with a text only. `"autoReply":true` means that a program wrote
/// the message. `"person":{"id":"ana","name":"Ana"}` means that this person wrote the message and claims the
/// conversation; with `"take":true` also when another person has it. Members that the server adds to a
/// message may be missing too.
package struct SendRequest: Sendable {
    /// The sender.
    package let business: BusinessID
    /// The receiver: an opaque identifier, or `tel:` and a number for an invitation.
    package let customer: CustomerID
    /// The message in Apple's format, a JSON object.
    package let message: JSONDocument
    /// The files of the message.
    package let files: [OutboundFile]
    /// The maximum wait for the outcome.
    package let wait: Duration
    /// Whether a program wrote the message, not a person; a header reports it to Apple.
    package let isAutomatic: Bool
    /// The person who wrote the message and claims the conversation with it.
    package let person: Person?
    /// Whether the person claims the conversation also from another person.
    package let takes: Bool

    /// Creates a request.
    package init(
        business: BusinessID, customer: CustomerID, message: JSONDocument, files: [OutboundFile],
        wait: Duration, isAutomatic: Bool = false, person: Person? = nil, takes: Bool = false
    ) {
        self.business = business
        self.customer = customer
        self.message = message
        self.files = files
        self.wait = wait
        self.isAutomatic = isAutomatic
        self.person = person
        self.takes = takes
    }

    /// Reads a request; nil when it is invalid.
    init?(_ root: JSONValue) {
        guard let business = root["business"]?.string,
            let customer = root["customer"]?.string, let message = root["message"],
            // A value inside valid JSON is valid JSON.
            let document = try? JSONDocument(Array(message.text), limits: APIRequest.bodyLimits)
        else { return nil }
        let person = Person(root["person"])
        let isAutomatic = root["autoReply"]?.bool ?? false
        guard root["person"] == nil || (person != nil && !isAutomatic) else { return nil }
        self.init(
            business: BusinessID(business), customer: CustomerID(customer), message: document,
            files: root["files"]?.elements.compactMap { file -> OutboundFile? in
                guard let path = file["path"]?.string else { return nil }
                return OutboundFile(
                    path: path, name: file["name"]?.string,
                    mimeType: file["mimeType"]?.string ?? "application/octet-stream")
            } ?? [],
            wait: .seconds(min(max(root["waitSeconds"]?.int ?? 30, 0), 50)),
            isAutomatic: isAutomatic, person: person, takes: root["take"]?.bool ?? false)
    }

    /// The request as a JSON object.
    package var json: [UInt8] { ControlOperations.send.request.json(self) }

    /// Writes the members of the request, as `init(_:)` reads them.
    func write(to writer: inout JSONWriter) {
        writer.fields([
            "business": business.rawValue, "customer": customer.rawValue,
            "waitSeconds": Int(wait.components.seconds), "autoReply": isAutomatic, "person": person,
            "take": person == nil ? nil : takes,
            "files": files.map { JSONObject(["path": $0.path, "name": $0.name, "mimeType": $0.mimeType]) },
            "message": message.root,
        ])
    }

    /// Returns the message to send; its attachments are still paths of local files, which are uploaded later.
    ///
    /// Refuses messages that Apple would refuse. With `capabilities`, it also refuses messages that the
    /// customer's device cannot show, unless they have a fallback. `allowsClassicSignIn` is true when the
    /// server can open the token of a device that signs in with version 1 only.
    package func outbound(
        id: MessageID, for capabilities: Capabilities? = nil, allowsClassicSignIn: Bool = false
    ) throws(SendRefusal) -> DecidedReply {
        guard customer.fitsHeader else { throw .customerMalformed }
        var outbound: OutboundMessage
        do { outbound = try OutboundMessage(json: message) } catch { throw .invalid(error.problems) }
        if !files.isEmpty { return try withFiles(id) }
        if let capabilities {
            do throws(UnsupportedMessage) {
                outbound = try outbound.showable(on: capabilities, allowsClassicSignIn: allowsClassicSignIn)
            } catch {
                throw .unsupported(error)
            }
        }
        let body = outbound.encodeToSend(id: id, from: business, to: customer)
        let problems = OutboundMessage.problems(
            inJSON: body, needsEnvelope: true, for: capabilities, now: SystemClock.secondsSince1970())
        guard !problems.hasErrors else { throw .invalid(problems) }
        do throws(StoredFileNamed) { try ReplyFiles.checkNoStoredFile(body) } catch {
            throw .storedFileNamed(attachment: error.attachment)
        }
        return DecidedReply(id: id, kind: outbound.kind, message: body)
    }

    private func withFiles(_ id: MessageID) throws(SendRefusal) -> DecidedReply {
        let root = message.root
        guard root["type"]?.equals("text") ?? false, root["attachments"] == nil else {
            throw .filesNotWithText
        }
        let text = OutboundMessage.text(root["body"]?.string ?? "", files: files)
        return DecidedReply(
            id: id, kind: .text, message: text.encode(id: id, from: business, to: customer))
    }
}
