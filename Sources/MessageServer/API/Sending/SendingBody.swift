import BalloonPOSIX
import BusinessMessages
import MessageStore

/// The body of a request to send a message.
///
/// ```json
/// {"text": "Your bread is ready.", "attachments": [{"id": "…", "name": "bread.jpg", "mimeType": "image/jpeg"}],
///  "person": {"id": "ana", "name": "Ana"}, "take": true}
/// {"message": {"type": "interactive", "interactiveData": {…}}, "autoReply": true}
/// ```
struct SendingBody {
    private let root: JSONValue
    /// The message in Apple's format.
    private let message: JSONDocument
    private let attachments: [Attachment]
    private let person: Person?
    private let isAutomatic: Bool
    private let takes: Bool

    struct Attachment {
        let id: String
        let name: String
        let mimeType: String
        let value: JSONValue
    }

    static let maximumAttachments = 20
    private static let maximumNameBytes = 255
    private static let members = ["message", "text", "attachments", "person", "autoReply", "take", "purpose"]

    /// Parses the body of a request; `namesCustomer` also allows the member `customer`, when the path names no
    /// customer.
    init(_ request: APIRequest, namesCustomer: Bool) throws(APIProblem) {
        root = try request.object(Self.members + (namesCustomer ? ["customer"] : []))
        attachments = try Self.attachments(root)
        message = try Self.message(root, hasAttachments: !attachments.isEmpty)
        isAutomatic = try root.flag("autoReply")
        takes = try root.flag("take")
        person = try request.person(in: root)
        if isAutomatic, person != nil, let value = root["autoReply"] {
            throw APIProblem(.badMember, "a message with autoReply must not have a person", at: value)
        }
        if takes { try request.requireSupervision() }
        if takes, person == nil, let value = root["take"] {
            throw APIProblem(.badMember, "take requires the member person", at: value)
        }
    }

    /// The telephone number to invite: `tel:+` and 5 to 15 digits; throws `bad-member` otherwise.
    var invited: CustomerID {
        get throws(APIProblem) {
            try root.needed("customer", "must be tel:+ and 5 to 15 digits") { value in
                guard let text = value.string, text.utf8.starts(with: "tel:+".utf8),
                    (5...15).contains(text.utf8.count - 5),
                    text.utf8.dropFirst(5).allSatisfy({ (0x30...0x39).contains($0) })
                else { return nil }
                return CustomerID(text)
            }
        }
    }

    /// The identifiers of the attachments.
    var attachmentIDs: [String] { attachments.map(\.id) }

    /// The message for the server's send path; throws `unprocessable` for an attachment that the business does not have.
    func request(
        from business: BusinessID, to customer: CustomerID, wait: Duration, _ uploads: UploadedFiles
    ) throws(APIProblem) -> SendRequest {
        let files = try attachments.map { attachment throws(APIProblem) in
            guard let path = uploads.path(of: attachment.id, for: business) else {
                throw Self.unknown(attachment)
            }
            return OutboundFile(path: path, name: attachment.name, mimeType: attachment.mimeType)
        }
        return SendRequest(
            business: business, customer: customer, message: message, files: files, wait: wait,
            isAutomatic: isAutomatic, person: person, takes: takes)
    }

    /// The problem that answers a refused message.
    func problem(_ refusal: SendRefusal) -> APIProblem {
        switch refusal {
        case .invalid(let problems): problem(problems)
        case .unsupported(let message):
            APIProblem(.notShowable, "the device lacks \(message.missing.rawValue)")
                .member("fallback", JSONForm.text.json(message.fallback))
        case .keyReused: APIProblem(.keyReused)
        case .assignment(let refusal): refusal.problem
        case .noConsent(let refusal): APIProblem(.noConsent, refusal.reason)
        case .fileUnreadable(let error, let index):
            if error.isMissing, attachments.indices.contains(index) {
                Self.unknown(attachments[index])
            } else if error.code == SystemError.fileTooLarge.code {
                APIProblem(.tooLarge, "an attachment is too large")
            } else {
                APIProblem(.unavailable, "the disk cannot be used")
            }
        case .customerMalformed: APIProblem(.notFound)
        case .businessUnknown: APIProblem(.notFound)
        case .malformed, .filesNotWithText, .storedFileNamed: APIProblem(.badRequest, refusal.reason)
        }
    }

    private func problem(_ problems: [MessageProblem]) -> APIProblem {
        // Lines and columns fit the request's body only for problems of the member `message` as the client
        // sent it.
        let hasPlaces = root["message"] != nil && OutboundMessage.problems(in: message.root).hasErrors
        let start = hasPlaces ? root["message"]?.position : nil
        return APIProblem(.unprocessable, "Apple would refuse the message")
            .member("problems", list(problems, from: start))
    }

    /// The problems as a JSON array, with their places in the request's body when `start` is the place of the message in it.
    func list(_ problems: [MessageProblem], from start: (line: Int, column: Int)? = nil) -> [UInt8] {
        Self.problems.json(problems.map { ($0, pointer($0.pointer), start) })
    }

    private typealias Shown = (problem: MessageProblem, pointer: String, start: (line: Int, column: Int)?)
    private static let problems = JSONForm.list(
        JSONObjectForm<Shown>(written: [
            JSONField("rule", .text) { $0.problem.rule.rawValue },
            JSONField("severity", .choice(["error", "warning"])) { $0.problem.severity.rawValue },
            JSONField("pointer", .text) { $0.pointer },
            // The line and column are relative to the beginning of the message.
            JSONField("line", optional: .integer) { shown in
                shown.start.map { $0.line + shown.problem.line - 1 }
            },
            JSONField("column", optional: .integer) { shown in
                let column = shown.problem.column
                return shown.start.map { shown.problem.line == 1 ? $0.column + column - 1 : column }
            },
            JSONField("found", .text) { $0.problem.found },
            JSONField("allowed", .text) { $0.problem.allowed },
            JSONField("passage", .text) { $0.problem.passage },
        ]).form(named: "MessageProblem"))
    /// The schema of a list of problems.
    static let problemsSchema = problems.schema

    private func pointer(_ pointer: String) -> String {
        if root["message"] != nil { return "/message" + pointer }
        return pointer == "/body" ? "/text" : pointer
    }

    static func unknown(_ attachment: Attachment) -> APIProblem {
        APIProblem(
            .unprocessable, "the business has no uploaded attachment with this id",
            at: attachment.value["id"] ?? attachment.value)
    }

    private static func message(
        _ root: JSONValue, hasAttachments: Bool
    ) throws(APIProblem) -> JSONDocument {
        let purpose = try root.given("purpose", "must be a text", \.string)
        guard let message = root["message"] else {
            let text = try root.given("text", "must be a string", \.string)
            guard text != nil || hasAttachments else {
                throw APIProblem(.badMember, "message or text is missing", at: root)
            }
            return try document(
                JSONWriter.object(["type": "text", "body": text ?? "", "purpose": purpose]), root)
        }
        for name in ["text", "attachments", "purpose"] {
            if let value = root[name] {
                throw APIProblem(.badMember, "put \(name) into message", at: value)
            }
        }
        guard message.kind == .object else {
            throw APIProblem(.badMember, "message must be an object", at: message)
        }
        if let type = message["type"], type.textBytes?.starts(with: "typing_".utf8) ?? false {
            throw APIProblem(.badMember, "a typing indicator is sent with POST …/typing", at: type)
        }
        // These members name files of the server; only messages that the server creates may have them.
        for attachment in message["attachments"]?.elements.map(\.self) ?? [] {
            for name in ["file", "path"] {
                if let value = attachment[name] { throw APIProblem(.unknownMember, at: value) }
            }
        }
        return try document(Array(message.text), message)
    }

    private static func document(_ json: [UInt8], _ value: JSONValue) throws(APIProblem) -> JSONDocument {
        // A value inside valid JSON is valid JSON.
        guard let document = try? JSONDocument(json, limits: APIRequest.bodyLimits) else {
            throw APIProblem(.badJSON, at: value)
        }
        return document
    }

    /// The attachments that a body names; throws `bad-member` for another form.
    static func attachments(_ root: JSONValue) throws(APIProblem) -> [Attachment] {
        guard let list = root["attachments"] else { return [] }
        guard list.kind == .array, (1...maximumAttachments).contains(list.count) else {
            throw APIProblem(
                .badMember, "attachments must be a list of 1 to \(maximumAttachments) objects", at: list)
        }
        return try list.elements.map(\.self).map { value throws(APIProblem) in
            guard value.kind == .object else {
                throw APIProblem(.badMember, "an attachment must be an object", at: value)
            }
            try APIRequest.check(value, ["id", "name", "mimeType"])
            let id = try value.needed("id", "must be the identifier of an uploaded attachment") {
                $0.string.flatMap { UploadedFiles.isIdentifier($0) ? $0 : nil }
            }
            let name = try value.needed(
                "name", "must have 1 to \(maximumNameBytes) bytes without control characters"
            ) { name in
                name.string.flatMap { text in
                    (1...maximumNameBytes).contains(text.utf8.count)
                        && text.unicodeScalars.allSatisfy({ $0.value >= 0x20 && $0.value != 0x7F })
                        ? text : nil
                }
            }
            let type = try value.needed("mimeType", "must be a media type such as image/jpeg") {
                $0.string.flatMap { AttachmentAnswer.isMediaType($0) ? $0 : nil }
            }
            return Attachment(id: id, name: name, mimeType: type, value: value)
        }
    }
}

extension Person {
    /// The person in a request's body.
    init(api value: JSONValue) throws(APIProblem) {
        guard value.kind == .object else {
            throw APIProblem(.badMember, "person must be an object", at: value)
        }
        try APIRequest.check(value, ["id", "name"])
        for name in ["id", "name"] where name == "id" || value[name] != nil {
            _ = try value.needed(
                name, "must have 1 to \(Person.maximumBytes) bytes without control characters"
            ) { $0.string.flatMap { Person(id: $0) } }
        }
        guard let person = Person(value) else { throw APIProblem(.badMember, at: value) }
        self = person
    }
}
