package import HandlerKit
package import Logging

extension EventCall {
    /// Parses the `params` of `event`; `file` must return the bytes of the file that `messagePath` names.
    package static func context(
        _ params: JSONValue, logger: Logger, file: (String) throws -> [UInt8]
    ) throws -> Context {
        guard let delivery = params["deliveryId"]?.string else {
            throw HandlerProtocolError.malformed("deliveryId")
        }
        guard let event = params["event"], event.kind == .object else {
            throw HandlerProtocolError.malformed("event")
        }
        let message = try message(of: event, file: file)
        let failure =
            event["kind"]?.string == Subscription.replyFailed.name ? ReplyFailure(message.root) : nil
        var context = Context(
            event: InboundEvent.decode(
                message: message,
                id: event["id"]?.string.map { MessageID($0) },
                business: event["business"]?.string.map { BusinessID($0) },
                customer: event["customer"]?.string.map { CustomerID($0) },
                attributes: attributes(of: event)),
            replyFailure: failure,
            conversation: Conversation(
                entries: try params["history"]?.elements.map(entry) ?? [],
                isNew: params["conversation"]?["isNew"]?.bool ?? false,
                lastContact: params["conversation"]?["lastContact"]?.string),
            state: ConversationState(params["state"]),
            files: params["files"]?.elements.map(self.file) ?? [],
            deliveryID: DeliveryID(delivery),
            attempt: params["attempt"]?.int ?? 1,
            isAfterGap: params["afterGap"]?.bool ?? false,
            afterPerson: params["afterPerson"]?.int,
            isReplay: event["replay"]?.bool ?? false,
            receivedAt: event["receivedAt"]?.string,
            unrecognizedReason: event["unrecognizedReason"]?.string.flatMap(UnrecognizedReason.init),
            signIn: event["signIn"].flatMap { SignInResult($0) },
            deadline: .now + .milliseconds(min(max(0, params["deadlineMs"]?.int ?? 30000), 86_400_000)),
            logger: logger)
        if event["kind"]?.string == Subscription.consent.name {
            context.consent = ConsentChange(message.root)
        }
        context.payment = event["paymentRecord"].flatMap { PaymentResult($0) }
        context.traceparent = params["traceparent"]?.string
        context.receivedSeq = event["seq"]?.int
        return context
    }

    private static func file(_ value: JSONValue) -> AttachmentFile {
        guard let path = value["path"]?.string, let size = value["size"]?.int,
            let sha256 = value["sha256"]?.string
        else { return .missing(reason: value["failure"]?.string ?? "") }
        return .stored(path: path, sizeBytes: size, sha256: sha256)
    }

    private static func message(
        of event: JSONValue, file: (String) throws -> [UInt8]
    ) throws -> JSONDocument {
        if let path = event["messagePath"]?.string {
            return try JSONDocument(try file(path), limits: JSONLimits(maximumBytes: 128 << 20))
        }
        guard let message = event["message"] else { throw HandlerProtocolError.malformed("message") }
        return try JSONDocument(Array(message.text))
    }

    private static func attributes(of event: JSONValue) -> MessageAttributes {
        let tokens = event["capabilities"]?.elements.compactMap { $0.string } ?? []
        return MessageAttributes(
            capabilities: Capabilities(tokens.map { Capability(rawValue: $0) }),
            locale: event["locale"]?.string, intent: event["intent"]?.string, group: event["group"]?.string)
    }

    private static func entry(_ value: JSONValue) throws -> Conversation.Entry {
        guard let at = value["at"]?.string,
            let direction = value["direction"]?.string.flatMap({ Direction(rawValue: $0) }),
            let kind = value["kind"]?.string.flatMap({ Kind(rawValue: $0) }),
            let id = value["id"]?.string, let message = value["message"]
        else { throw HandlerProtocolError.malformed("history") }
        return Conversation.Entry(
            seq: value["seq"]?.int, at: at, direction: direction, kind: kind, id: MessageID(id),
            outcome: value["outcome"]?.string, message: message)
    }
}
