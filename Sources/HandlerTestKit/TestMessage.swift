public import HandlerKit

/// A customer's message in a test, in Apple's format.
public struct TestMessage: Sendable {
    let json: [UInt8]

    /// Creates a message from custom JSON.
    public init(json: String) { self.json = Array(json.utf8) }

    private init(type: String, _ members: (inout JSONWriter) -> Void = { _ in }) {
        json = JSONWriter.object(reservingCapacity: 512) { writer in
            writer.field("type", type)
            members(&writer)
        }
    }

    /// Creates an answer to an interactive message; `data` writes the member that belongs to its kind.
    private init(data: @escaping (inout JSONWriter) -> Void) {
        self.init(type: "interactive") { writer in
            writer.object("interactiveData") { writer in
                writer.field(
                    "bid",
                    "com.apple.messages.MSMessageExtensionBalloonPlugin:0000000000:com.apple.icloud.apps.messages.business.extension"
                )
                writer.field("sessionIdentifier", MessageID.random().rawValue)
                writer.object("data") { writer in
                    writer.fields(["version": "1.0", "requestIdentifier": MessageID.random().rawValue])
                    data(&writer)
                }
            }
        }
    }

    /// Returns a text message.
    public static func text(_ text: String) -> TestMessage {
        TestMessage(type: "text") { $0.field("body", text) }
    }

    /// Returns the choice of an item in a quick reply.
    public static func quickReply(_ identifier: String, title: String? = nil) -> TestMessage {
        TestMessage { writer in
            writer.object("quick-reply") { writer in
                writer.fields(["summaryText": "Which?", "selectedIdentifier": identifier, "selectedIndex": 0])
                writer.array("items") { $0.item(identifier, title) }
            }
        }
    }

    /// Returns the choice of items in a list picker, by their identifiers.
    public static func listPicker(_ identifiers: String...) -> TestMessage {
        TestMessage { writer in
            writer.object("listPicker") { writer in
                writer.array("sections") { writer in
                    writer.object { writer in
                        writer.field("title", "You Selected")
                        writer.field("order", 0)
                        writer.field("multipleSelection", identifiers.count > 1)
                        writer.array("items") { writer in
                            for (order, identifier) in identifiers.enumerated() {
                                writer.item(identifier, nil, order: order)
                            }
                        }
                    }
                }
            }
        }
    }

    /// Returns the choice of a time slot; `startTime` has Apple's form, such as `2026-12-10T17:00+0000`.
    public static func timePicker(_ identifier: String, startTime: String = "2030-01-01T12:00+0000")
        -> TestMessage
    {
        TestMessage { writer in
            writer.object("event") { writer in
                writer.fields(["identifier": "event", "title": "When?"])
                writer.array("timeslots") { writer in
                    writer.object { writer in
                        writer.fields(["identifier": identifier, "startTime": startTime, "duration": 3600])
                    }
                }
            }
        }
    }

    /// Returns a submitted form: the identifier of each page with the values given on that page.
    public static func form(_ answers: KeyValuePairs<String, [String]>) -> TestMessage {
        TestMessage { writer in
            writer.object("dynamic") { writer in
                writer.fields(["template": "messageForms", "version": "1.2"])
                writer.array("selections") { writer in
                    for (page, values) in answers { writer.page(page, values) }
                }
            }
        }
    }

    /// Returns the result of a sign-in.
    public static func authentication(isSuccess: Bool = true) -> TestMessage {
        TestMessage { writer in
            writer.object("authenticate") { $0.field("status", isSuccess ? "success" : "failure") }
        }
    }

    /// Returns the result of a payment.
    public static func applePay(_ state: ApplePay.State = .paid) -> TestMessage {
        TestMessage { writer in
            writer.object("payment") { $0.field("state", state.rawValue) }
        }
    }

    /// The customer begins to write.
    public static let typingStart = TestMessage(type: "typing_start")
    /// The customer stops writing.
    public static let typingEnd = TestMessage(type: "typing_end")
    /// The customer closes the conversation.
    public static let close = TestMessage(type: "close")
}

extension JSONWriter {
    fileprivate mutating func item(_ identifier: String, _ title: String?, order: Int? = nil) {
        object { writer in
            writer.fields(["identifier": identifier, "title": title ?? identifier, "order": order])
        }
    }

    fileprivate mutating func page(_ identifier: String, _ values: [String]) {
        object { writer in
            writer.fields(["pageIdentifier": identifier, "title": identifier, "subtitle": ""])
            writer.objects("items", values) { value, writer in
                writer.fields(["identifier": value, "type": "select", "title": value, "value": value])
            }
        }
    }
}
