import HandlerKit
import HandlerTestKit
import Testing

/// Tests HandlerTestKit by using it as the author of a handler would.
struct TestConversationTests {
    private struct Counter: TextHandler, QuickReplyHandler, ListPickerHandler, TimePickerHandler, FormHandler,
        AuthenticationHandler, ApplePayHandler, CloseHandler, TypingStartHandler
    {
        func text(_ text: Text, _ context: Context) throws -> Outcome {
            switch text.plainBody {
            case "retry": return .retry
            case "picker":
                return .reply(
                    .quickReply(
                        try QuickReplyRequest(
                            summary: "Which?", items: [.init("a", title: "A"), .init("b", title: "B")])))
            case "empty": return .reply("")
            case "large": context.state["all"] = String(repeating: "x", count: 40_000)
            default: break
            }
            let count = (context.state["count"].flatMap { Int($0) } ?? 0) + 1
            context.state["count"] = "\(count)"
            return .reply("\(count) of \(context.conversation.entries.count)")
        }
        func quickReply(_ quickReply: QuickReply, _ context: Context) -> Outcome {
            .reply(quickReply.selectedIdentifier ?? "none")
        }
        func listPicker(_ listPicker: ListPicker, _ context: Context) -> Outcome {
            .reply(listPicker.selectedItems.compactMap(\.identifier).joined(separator: ","))
        }
        func timePicker(_ timePicker: TimePicker, _ context: Context) -> Outcome {
            .reply(timePicker.selectedTimeslot?.identifier ?? "none")
        }
        func form(_ form: Form, _ context: Context) -> Outcome {
            .reply(form.selections.flatMap(\.items).compactMap(\.value).joined(separator: ","))
        }
        func authentication(_ authentication: Authentication, _ context: Context) -> Outcome {
            .reply(authentication.status ?? "none")
        }
        func applePay(_ applePay: ApplePay, _ context: Context) -> Outcome {
            .reply(applePay.state?.rawValue ?? "none")
        }
        func close(_ close: Close, _ context: Context) -> Outcome { .handoff(reason: "closed") }
        func typingStart(_ typingStart: TypingStart, _ context: Context) -> Outcome { .handled }
    }

    @Test func `a test conversation keeps its messages and its state between messages`() async throws {
        let customer = TestConversation(with: Counter())
        #expect(try await customer.says("Hi") == [.text("1 of 0")])
        #expect(try await customer.says("Hi again") == [.text("2 of 2")])
        #expect(customer.state["count"] == "2")
        #expect(customer.entries.map(\.direction) == [.inbound, .outbound, .inbound, .outbound])
        #expect(customer.entries.map(\.seq) == [1, 2, 3, 4])
    }

    private struct Apologetic: TextHandler, ReplyFailedHandler {
        func text(_ text: Text, _ context: Context) -> Outcome { .reply("first") }

        func replyFailed(_ failure: ReplyFailure, _ context: Context) -> Outcome {
            let failed = context.conversation.entries.last { $0.id == failure.reply }
            return .reply("\(failure.status) \(failure.httpStatus ?? 0) \(failed?.outcome ?? "")")
        }
    }

    @Test func `lastReplyFails calls the handler with the failed reply`() async throws {
        let customer = TestConversation(with: Apologetic())
        await #expect(throws: TestConversationError.noReply) { try await customer.lastReplyFails() }
        try await customer.says("Hi")
        #expect(try await customer.lastReplyFails() == [.text("refused 400 refused")])
        #expect(try await customer.lastReplyFails(.expired) == [.text("expired 0 expired")])
        #expect(customer.entries.map(\.outcome) == [nil, "refused", "expired", "accepted"])
        let other = TestConversation(with: Counter())
        try await other.says("Hi")
        await #expect(throws: TestConversationError.notSubscribed) { try await other.lastReplyFails() }
    }

    @Test func `an event whose handler asks for a retry changes neither the state nor the conversation`()
        async throws
    {
        let customer = TestConversation(with: Counter())
        #expect(try await customer.outcome(of: .text("retry")) == .retry)
        #expect(customer.entries.isEmpty)
        await #expect(throws: TestConversationError.notHandled(.retry)) { try await customer.says("retry") }
    }

    private static let answers: [(TestMessage, String)] = [
        (.quickReply("collect"), "collect"), (.listPicker("rye", "wheat"), "rye,wheat"),
        (.timePicker("morning"), "morning"),
        (.form(["name": ["Ada"], "when": ["now", "later"]]), "Ada,now,later"),
        (.authentication(), "success"), (.applePay(.declined), "declined"),
    ]

    @Test(arguments: answers)
    func `a test message of each kind reaches the handler in Apple's format`(
        _ message: TestMessage, _ answer: String
    ) async throws {
        #expect(try await TestConversation(with: Counter()).says(message) == [.text(answer)])
    }

    @Test func `a reply that the device cannot show or Apple would refuse is an error`() async throws {
        #expect(try await TestConversation(with: Counter()).says("picker").map(\.kind) == [.quickReply])
        let old = TestConversation(with: Counter(), capabilities: [.form])
        for text in ["picker", "empty"] {
            do {
                try await old.says(text)
                Issue.record("\(text) was accepted")
            } catch TestConversationError.unusableReply(let index, let problems) {
                #expect(index == 0)
                #expect(problems.hasErrors)
            }
        }
        await #expect(throws: TestConversationError.stateTooLarge) { try await old.says("large") }
        await #expect(throws: TestConversationError.notSubscribed) { try await old.says(.typingEnd) }
        #expect(try await old.outcome(of: .close) == .handoff(reason: "closed"))
        #expect(try await old.says(.typingStart) == [])
        #expect(try await old.outcome(of: TestMessage(json: #"{"type":"unheardOf"}"#)) == nil)
    }

    @Test func `the replies of a hand-off are checked, and are in the conversation`() async throws {
        struct Tired: TextHandler {
            func text(_ text: Text, _ context: Context) -> Outcome {
                .handoff(reason: "asked", replies: [.text(text.plainBody == "go" ? "Sam answers soon." : "")])
            }
        }
        let conversation = TestConversation(with: Tired())
        let outcome = try await conversation.outcome(of: .text("go"))
        #expect(outcome == .handoff(reason: "asked", replies: [.text("Sam answers soon.")]))
        #expect(conversation.entries.map(\.direction) == [.inbound, .outbound])
        await #expect(throws: TestConversationError.self) {
            try await conversation.outcome(of: .text("stay"))
        }
    }

    @Test
    func `a test host records each message that a handler sends without an event, and each key only once`()
        async throws
    {
        let host = TestHost()
        let customer = CustomerID("c")
        for key in ["a", "a", "b"] { try await host.host.send(.text("Ready"), to: customer, key: key) }
        #expect(host.sent.map(\.key) == ["a", "b"])
        await #expect(throws: HandlerHostError.unusableKey) {
            try await host.host.send(.text("Ready"), to: customer, key: "")
        }
        await #expect(throws: HandlerHostError.self) {
            try await host.host.send(.text(""), to: customer, key: "c")
        }
    }

    @Test func `a test host records each withdrawn payment request once`() async throws {
        let host = TestHost()
        #expect(try await host.host.withdrawPayment("a"))
        #expect(try await !host.host.withdrawPayment("a"))
        #expect(try await host.host.withdrawPayment("b"))
        #expect(host.withdrawnPayments == ["a", "b"])
    }
}
