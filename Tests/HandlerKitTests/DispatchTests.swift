import BusinessMessages
import HandlerKit
import Testing

struct DispatchTests {
    private static let answers: [(Kind, String)] = [
        (.text, "text 49"), (.quickReply, "quickReply evening"), (.listPicker, "listPicker 3"),
        (.timePicker, "timePicker slot-2"), (.form, "form 6"), (.authentication, "authentication completed"),
        (.applePay, "applePay paid"), (.app, "app 1471612309"), (.invitation, "invitation true"),
        (.typingStart, "typingStart"), (.typingEnd, "typingEnd"), (.close, "close 0"),
        (.unrecognized, "unrecognized 3"),
    ]

    @Test(arguments: answers)
    func `an event of each kind reaches the handler's method for that kind with its typed payload`(
        kind: Kind, answer: String
    ) async throws {
        let outcome = try await dispatch(context(kind.rawValue), to: EveryKindHandler())
        #expect(outcome == .reply(answer))
    }

    @Test(arguments: Kind.allCases)
    func `a handler is not called for a kind that it does not conform to`(kind: Kind) async throws {
        #expect(Self.answers.contains { $0.0 == kind })
        #expect(try await dispatch(context(kind.rawValue), to: SilentHandler()) == nil)
        if kind != .text {
            #expect(try await dispatch(context(kind.rawValue), to: FailingHandler()) == nil)
        }
    }

    @Test func `an error of a handler is rethrown`() async throws {
        let context = try context("text", attempt: 3)
        await #expect(throws: Refusal(attempt: 3)) { try await dispatch(context, to: FailingHandler()) }
    }

    @Test func `a handler subscribes to the kinds whose protocols it conforms to`() {
        #expect(subscribedKinds(of: EveryKindHandler()) == Kind.allCases)
        #expect(subscribedKinds(of: FailingHandler()) == [.text])
        #expect(subscribedKinds(of: SilentHandler()).isEmpty)
        #expect(isSubscribed(FailingHandler(), to: .text))
        #expect(!isSubscribed(EveryKindHandler(), to: .replyFailed))
        #expect(subscriptions(of: FailingHandler()) == [.kind(.text)])
        #expect(!isSubscribed(FailingHandler(), to: .form))
    }
}
