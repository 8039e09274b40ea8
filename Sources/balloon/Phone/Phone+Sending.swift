import BalloonHTTP
import BalloonTransport
import BusinessMessages
import MessageServer
import MessageStore
import Simulator

extension Phone {
    private static let maximumMessages = 20

    /// Composes the messages that a request describes, posts them, and returns the webhook's answers.
    ///
    /// A request with `messages` has several, each an object like a request with one.
    func send(_ request: InspectorRequest) async throws -> [UInt8] {
        let (_, customer) = try customer(request.path("id"))
        let object = try request.object()
        let levers = try PhoneLevers(object["levers"])
        guard let list = object["messages"] else {
            return try await post([try await message(object, of: customer)], by: customer, levers)
        }
        guard list.kind == .array, (1...Self.maximumMessages).contains(list.count) else {
            throw InspectorProblem("messages are a list of 1 to \(Self.maximumMessages)", at: list)
        }
        var messages: [[UInt8]] = []
        for element in list.elements { messages.append(try await message(element, of: customer)) }
        return try await post(messages, by: customer, levers)
    }

    /// Posts messages; the answer has one element for each request.
    func post(
        _ messages: [[UInt8]], by customer: SimulatedCustomer, _ levers: PhoneLevers
    ) async throws -> [UInt8] {
        Self.json(of: try await posted(messages, by: customer, levers))
    }

    /// Posts messages, and remembers the header fields for the deliveries' details.
    func posted(
        _ messages: [[UInt8]], by customer: SimulatedCustomer, _ levers: PhoneLevers
    ) async throws -> [PhonePost] {
        do {
            return try await customer.post(messages, levers) { posted.add($1, of: MessageID($0)) }
        } catch is TransportError {
            throw InspectorProblem(.badGateway, "the server did not answer the webhook's request")
        } catch let error as SimulatorError {
            throw InspectorProblem(.unprocessableContent, error.description)
        }
    }

    static func json(of posts: [PhonePost]) -> [UInt8] {
        JSONWriter.object([
            "posts": posts.map { post in
                JSONObject([
                    "id": post.id, "status": post.status, "milliseconds": post.milliseconds,
                    "body": post.body,
                ])
            }
        ])
    }

    private func message(_ object: JSONValue, of customer: SimulatedCustomer) async throws -> [UInt8] {
        if let raw = object["message"] {
            guard raw.kind == .object else { throw InspectorProblem("this must be an object", at: raw) }
            return try customer.message(completing: Array(raw.text))
        }
        if let kind: Kind = try object["kind"]?.word("the kind is unknown") {
            return customer.message(kind)
        }
        if let tapback = object["tapback"] { return try self.tapback(tapback, of: customer) }
        let attachments = try await attachments(object["attachments"], of: customer)
        guard let text = object["text"]?.string ?? (attachments.isEmpty ? nil : "") else {
            throw InspectorProblem(
                .badRequest, "the body needs one of: text, kind, tapback, message", pointer: "")
        }
        return try customer.message(try customer.message(completing: text.asTextMessage), with: attachments)
    }

    /// Encrypts and uploads the files of a message as a device does.
    private func attachments(_ list: JSONValue?, of customer: SimulatedCustomer) async throws -> [[UInt8]] {
        guard let list else { return [] }
        guard list.kind == .array, list.count <= 20 else {
            throw InspectorProblem("attachments are a list of at most 20", at: list)
        }
        var attached: [[UInt8]] = []
        for attachment in list.elements {
            guard let name = attachment["name"]?.string else {
                throw InspectorProblem("an attachment has the text name", at: attachment)
            }
            let mimeType = attachment["mimeType"]?.string ?? MediaType.ofFile(named: name)
            let file: String
            if let data = attachment["data"]?.string {
                guard let bytes = Base64.decode(data) else {
                    throw InspectorProblem("data is not Base64", at: attachment)
                }
                file = try files.store(bytes)
            } else {
                file = attachment["file"]?.string ?? ""
            }
            attached.append(try await customer.attach(try files.path(file), name: name, mimeType: mimeType))
        }
        return attached
    }

    /// A tapback as Apple sends it: a text in the device's language that quotes the message.
    private func tapback(_ object: JSONValue, of customer: SimulatedCustomer) throws -> [UInt8] {
        guard let value = object["type"], let name = value.string, let verb = Self.tapbacks[name] else {
            throw InspectorProblem(
                .badRequest, "the tapback is unknown", pointer: "/tapback/type",
                offered: Self.tapbacks.keys.sorted())
        }
        guard let id = object["to"]?.string,
            let quoted = try message(id, of: customer.id, customer.business)?.line
        else {
            throw InspectorProblem(.notFound, "the thread has no such message", pointer: "/tapback/to")
        }
        let text = quoted.message["body"]?.string ?? ""
        return try customer.message(completing: "\(verb) “\(text)”".asTextMessage)
    }

    private static let tapbacks = [
        "loved": "Loved", "liked": "Liked", "disliked": "Disliked", "laughed": "Laughed at",
        "emphasized": "Emphasized", "questioned": "Questioned",
    ]
}

extension String {
    /// This text as the JSON object of a text message, without the members that every message has.
    var asTextMessage: [UInt8] {
        JSONWriter.object(["v": 1, "type": "text", "body": self])
    }
}
