public import HandlerKit

/// A customer's message in a test, in Apple's format.
public struct TestMessage: Sendable {
    let json: [UInt8]

    /// Creates a message from custom JSON.
    public init(json: String) { self.json = Array(json.utf8) }

    private init(type: String, _ members: JSONObject = [:]) {
        json = JSONWriter.object { writer in
            writer.field("type", type)
            writer.fields(members)
        }
    }

    /// Creates an answer to an interactive message; `data` has the member that belongs to its kind.
    private init(data: JSONObject) {
        json = JSONWriter.object { writer in
            writer.field("type", "interactive")
            writer.object("interactiveData") { writer in
                writer.fields([
                    "bid": Interaction.businessExtension, "sessionIdentifier": MessageID.random().rawValue,
                ])
                writer.object("data") { writer in
                    writer.fields(["version": "1.0", "requestIdentifier": MessageID.random().rawValue])
                    writer.fields(data)
                }
            }
        }
    }

    /// Returns a text message.
    public static func text(_ text: String) -> TestMessage {
        TestMessage(type: "text", ["body": text])
    }

    /// Returns the choice of an item in a quick reply.
    public static func quickReply(_ identifier: String, title: String? = nil) -> TestMessage {
        let item = JSONObject(["identifier": identifier, "title": title ?? identifier])
        return TestMessage(data: [
            "quick-reply": JSONObject([
                "summaryText": "Which?", "selectedIdentifier": identifier, "selectedIndex": 0,
                "items": [item],
            ])
        ])
    }

    /// Returns the choice of items in a list picker, by their identifiers.
    public static func listPicker(_ identifiers: String...) -> TestMessage {
        let section = JSONObject([
            "title": "You Selected", "order": 0, "multipleSelection": identifiers.count > 1,
            "items": identifiers.enumerated().map { order, identifier in
                JSONObject(["identifier": identifier, "title": identifier, "order": order])
            },
        ])
        return TestMessage(data: ["listPicker": JSONObject(["sections": [section]])])
    }

    /// Returns the choice of a time slot; `startTime` has Apple's form, such as `2026-12-10T17:00+0000`.
    public static func timePicker(_ identifier: String, startTime: String = "2030-01-01T12:00+0000")
        -> TestMessage
    {
        let slot = JSONObject(["identifier": identifier, "startTime": startTime, "duration": 3600])
        return TestMessage(data: [
            "event": JSONObject(["identifier": "event", "title": "When?", "timeslots": [slot]])
        ])
    }

    /// Returns a submitted form: the identifier of each page with the values given on that page.
    public static func form(_ answers: KeyValuePairs<String, [String]>) -> TestMessage {
        let pages = answers.map { page, values in
            JSONObject([
                "pageIdentifier": page, "title": page, "subtitle": "",
                "items": values.map {
                    JSONObject(["identifier": $0, "type": "select", "title": $0, "value": $0])
                },
            ])
        }
        return TestMessage(data: [
            "dynamic": JSONObject(["template": "messageForms", "version": "1.2", "selections": pages])
        ])
    }

    /// Returns the result of a sign-in.
    public static func authentication(isSuccess: Bool = true) -> TestMessage {
        TestMessage(data: ["authenticate": JSONObject(["status": isSuccess ? "success" : "failure"])])
    }

    /// Returns the result of a payment.
    public static func applePay(_ state: ApplePay.State = .paid) -> TestMessage {
        TestMessage(data: ["payment": JSONObject(["state": state.rawValue])])
    }

    /// The customer begins to write.
    public static let typingStart = TestMessage(type: "typing_start")
    /// The customer stops writing.
    public static let typingEnd = TestMessage(type: "typing_end")
    /// The customer closes the conversation.
    public static let close = TestMessage(type: "close")
}
