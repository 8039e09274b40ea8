import HandlerKit
import HandlerTestKit
import Testing

struct Fishmonger: TextHandler, QuickReplyHandler {
    func text(_ text: Text, _ context: Context) async throws -> Outcome {
        guard context.capabilities.contains(.quickReply) else {
            return .reply("Will you collect it, or shall we deliver it?")
        }
        let choices = try QuickReplyRequest(
            summary: "Collect or deliver?",
            items: [.init("collect", title: "I collect it"), .init("deliver", title: "Deliver it")])
        return .reply(.text("The cod is fresh today."), .quickReply(choices))
    }

    func quickReply(_ quickReply: QuickReply, _ context: Context) async throws -> Outcome {
        switch quickReply.selectedIdentifier {
        case "collect": .reply("We are open until six.")
        case "deliver": .handoff(reason: "a person plans deliveries")
        default: .reply("Sorry, we do not offer that any more.")
        }
    }
}

struct Purser: TextHandler, ReplyFailedHandler {
    func text(_ text: Text, _ context: Context) async throws -> Outcome {
        let ferries = try QuickReplyRequest(
            summary: "Please choose", items: [.init("noon", title: "Noon"), .init("six", title: "Six")])
        return .reply(
            .text("Which ferry?"), .quickReply(ferries).orText("Please write noon or six."))
    }

    func replyFailed(_ failure: ReplyFailure, _ context: Context) async throws -> Outcome {
        failure.status == .refused ? .reply("Which ferry: at noon, or at six?") : .handled
    }
}

struct Clerk: TextHandler {
    func text(_ text: Text, _ context: Context) async throws -> Outcome {
        var receivedBytes = 0
        for case .stored(_, let sizeBytes, _) in context.files { receivedBytes += sizeBytes }
        let offer = OutboundFile(path: "/srv/offer.pdf", mimeType: "application/pdf")
        return .handled([.text("We have your \(receivedBytes) bytes. Our offer:", files: [offer])])
    }
}

struct Ferryman: TextHandler {
    func text(_ text: Text, _ context: Context) async throws -> Outcome {
        guard let from = context.state["from"] else {
            context.state["from"] = text.plainBody
            return .reply("And where to?")
        }
        context.state.clear()
        return .reply("From \(from) to \(text.plainBody): the ferry leaves at noon.")
    }
}

@Test func `a device without quick replies is asked in words`() async throws {
    let customer = TestConversation(with: Fishmonger(), capabilities: [])
    let asked = try await customer.says("Is there cod?")
    #expect(asked == [.text("Will you collect it, or shall we deliver it?")])
}

@Test func `the ferryman remembers where from`() async throws {
    let customer = TestConversation(with: Ferryman())
    try await customer.says("Helgoland")
    let told = try await customer.says("Hamburg")
    #expect(told == [.text("From Helgoland to Hamburg: the ferry leaves at noon.")])
}

struct FishmongerFactory: HandlerFactory {
    let name = "fishmonger"

    func make(configuration: JSONValue?) throws -> any Handler { Fishmonger() }
}

struct Lighthouse: TextHandler, ConfigurableHandler, LifecycleHandler {
    struct Configuration: Decodable {
        var keeper: String
    }

    let configuration: Configuration

    func provision(_ host: HandlerHost) async throws {
        let keeper = CustomerID(configuration.keeper)
        try await host.send(.text("The light is lit."), to: keeper, key: "lit-2026-11-21")
    }

    func text(_ text: Text, _ context: Context) async throws -> Outcome { .reply("The light is lit.") }
}

let lighthouse = HandlerMaker<Lighthouse>("lighthouse")
