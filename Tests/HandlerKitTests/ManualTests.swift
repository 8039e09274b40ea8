import HandlerKit
import Testing

/// The handler of the manual's first page, word for word.
private struct Bakery: TextHandler, QuickReplyHandler {
    func text(_ text: Text, _ context: Context) async throws -> Outcome {
        guard context.capabilities.contains(.quickReply) else { return .reply("Do you like rye or wheat?") }
        return .reply(
            .quickReply(
                try QuickReplyRequest(
                    summary: "Rye or wheat?",
                    items: [.init("rye", title: "Rye"), .init("wheat", title: "Wheat")])))
    }

    func quickReply(_ quickReply: QuickReply, _ context: Context) async throws -> Outcome {
        guard let bread = quickReply.selectedItem?.title else { return .handoff(reason: "unknown choice") }
        return .reply("One \(bread) is waiting for you.")
    }
}

private struct BakeryFactory: HandlerFactory {
    let name = "bakery"

    func make(configuration: JSONValue?) throws -> any Handler { Bakery() }
}

struct ManualTests {
    @Test func `the manual's handler answers as the manual says`() async throws {
        let bakery = try BakeryFactory().make(configuration: nil)
        #expect(subscribedKinds(of: bakery) == [.text, .quickReply])
        #expect(try await dispatch(context("text"), to: bakery) == .reply("Do you like rye or wheat?"))
        let asked = try await dispatch(context("text", capabilities: [.quickReply]), to: bakery)
        guard case .handled(let replies) = asked else {
            Issue.record("not handled")
            return
        }
        #expect(replies.map(\.kind) == [.quickReply])
        let answer = try await dispatch(context("quickReply"), to: bakery)
        #expect(answer == .reply("One In the evening is waiting for you."))
        #expect(try await dispatch(context("form"), to: bakery) == nil)
    }
}
