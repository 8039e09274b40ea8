public import BalloonJSON

/// The error for a message in JSON that Apple would refuse; the author of the message must correct it.
public struct InvalidMessage: Error, Equatable, Sendable {
    /// All problems, including warnings; at least one is an error.
    public let problems: [MessageProblem]
}

extension OutboundMessage {
    /// Creates a message from Apple's JSON format, as written by a handler in another language.
    ///
    /// A message with the member `signIn` is a ``SignInRequest``, and one with the member `payment` a
    /// ``PaymentRequest``. The server sets `id`, `v`, `sourceId` and `destinationId`, does not send ``fallback`` and
    /// `reusable` and `purpose`, and writes an attachment's `size` as a string; all other members are sent unchanged. Throws when
    /// ``problems(in:needsEnvelope:for:now:)`` finds an error.
    public init(json document: JSONDocument) throws(InvalidMessage) {
        let root = document.root
        if root["signIn"] != nil || root["payment"] != nil {
            let message: OutboundMessage =
                root["signIn"] != nil
                ? .signIn(try SignInRequest(json: root)) : .payment(try PaymentRequest(json: root))
            self = message.labelled(
                locale: root["locale"]?.string, intent: root["intent"]?.string, group: root["group"]?.string)
            fallback = root["fallback"]?.string
            return
        }
        let document = Self.quotingSizes(in: document)
        let problems = Self.problems(in: document.root)
        guard !problems.hasErrors else { throw InvalidMessage(problems: problems) }
        var writer = JSONWriter(reservingCapacity: document.bytes.count)
        writer.object { writer in
            var members = document.root.members
            while let (name, value) = members.nextWithBytes() {
                if Self.serversMembers.contains(where: { $0.utf8.elementsEqual(name) }) { continue }
                writer.field(String(decoding: name, as: UTF8.self), value)
            }
        }
        self.init(
            .json(members: Array(writer.finish().dropFirst().dropLast()), kind: Self.kind(of: document.root)))
        fallback = document.root["fallback"]?.string
        isReusable = document.root["reusable"]?.bool ?? false
        purpose = document.root["purpose"]?.string
    }

    /// The message with each attachment's `size` as a string.
    ///
    /// Apple requires the string, although Apple's table shows a number.
    package static func quotingSizes(in document: JSONDocument) -> JSONDocument {
        let attachments = document.root["attachments"]?.elements.map(\.self) ?? []
        let sizes = attachments.compactMap { $0["size"] }.filter { $0.kind == .number }
        guard !sizes.isEmpty else { return document }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(document.bytes.count + 2 * sizes.count)
        var copied = 0
        for size in sizes {
            bytes += document.bytes[copied..<size.text.startIndex]
            bytes.append(UInt8(ascii: "\""))
            bytes += size.text
            bytes.append(UInt8(ascii: "\""))
            copied = size.text.endIndex
        }
        bytes += document.bytes[copied...]
        // Quotation marks around a number make a string, so the document is still valid and parsing does not fail.
        return (try? JSONDocument(bytes)) ?? document
    }

    private static let serversMembers = [
        "id", "v", "sourceId", "destinationId", "fallback", "reusable", "purpose",
    ]

    /// The kind of a business's message; `unrecognized` for a reference, whose content only Apple knows.
    package static func kind(of message: JSONValue) -> Kind {
        switch Checks.types.first(where: { message["type"]?.equals($0) ?? false }) {
        case "text", "richLink": return .text
        case "typing_start": return .typingStart
        case "typing_end": return .typingEnd
        default: break
        }
        guard let interactiveData = message["interactiveData"] else { return .unrecognized }
        guard let data = interactiveData["data"] else { return .app }
        return kinds.first { data[$0.member] != nil }?.kind ?? .unrecognized
    }

    private static let kinds: [(member: String, kind: Kind)] = [
        ("quick-reply", .quickReply), ("listPicker", .listPicker), ("event", .timePicker), ("dynamic", .form),
        ("payment", .applePay), ("authenticate", .authentication), ("notification", .invitation),
    ]
}
