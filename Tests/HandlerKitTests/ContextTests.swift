import BalloonJSON
import BusinessMessages
import HandlerKit
import Synchronization
import Testing

struct ContextTests {
    @Test func `a context has the sender, the receiver and the attributes of its event`() throws {
        let context = try context("text", capabilities: [.quickReply, .form])
        #expect(context.business == context.event.business)
        #expect(context.customer == context.event.customer)
        #expect(context.capabilities == [.quickReply, .form])
        #expect(context.locale == "en_US")
        #expect(context.intent == "stock_question")
        #expect(context.group == "sales")
        #expect(context.deliveryID == DeliveryID("d-1"))
        #expect(context.attempt == 1)
        #expect(context.deadline > .now)
        #expect(context.conversation.entries.isEmpty)
    }

    @Test func `the conversation of a context has its entries in order, with their JSON`() throws {
        let message = try JSONDocument(Array(#"{"body":"Hello"}"#.utf8)).root
        let entries = (4...5).map { seq in
            Conversation.Entry(
                seq: seq, at: "2026-07-10T17:00:00.000Z", direction: seq == 4 ? .inbound : .outbound,
                kind: .text,
                id: MessageID("m-\(seq)"), message: message)
        }
        let context = try context("text", conversation: Conversation(entries: entries))
        #expect(context.conversation.entries.map(\.seq) == [4, 5])
        #expect(context.conversation.entries.map(\.direction) == [.inbound, .outbound])
        #expect(context.conversation.entries.last?.message["body"]?.string == "Hello")
        #expect(context.conversation.entries.last?.id == MessageID("m-5"))
    }

    @Test func `the conversation of a context is read only once, at the first access`() throws {
        let count = Mutex(0)
        let conversation = Conversation {
            count.withLock { $0 += 1 }
            return []
        }
        let context = try context("text", conversation: conversation)
        #expect(count.withLock { $0 } == 0)
        _ = context.conversation.entries
        _ = conversation.entries
        #expect(count.withLock { $0 } == 1)
        #expect(conversation.failure == nil)
    }

    @Test func `an unreadable conversation has no entries and a reason`() {
        struct Unreadable: Error {}
        let conversation = Conversation { throw Unreadable() }
        #expect(conversation.failure == nil)
        #expect(conversation.entries.isEmpty)
        #expect(conversation.failure is Unreadable)
        #expect(throws: Unreadable.self) { try conversation.read() }
    }

    @Test func `a reply becomes a text when the device cannot show it`() throws {
        let question = Reply.quickReply(
            try QuickReplyRequest(
                summary: "Which?", items: [.init("a", title: "Rye"), .init("b", title: "Wheat")]))
        let able = try context("text", capabilities: [.quickReply])
        #expect(able.canShow(question))
        #expect(able.reply(question) == .handled([question]))
        let unable = try context("text", capabilities: [.form])
        #expect(!unable.canShow(question))
        #expect(unable.canShow(.text("Hi")))
        #expect(unable.reply(question) == .reply("Which?\n- Rye\n- Wheat"))
        #expect(unable.reply(question, orText: "Rye or wheat?") == .reply("Rye or wheat?"))
        #expect(unable.showable(.text("Hi")) == .text("Hi"))
    }

    @Test func `the short forms of outcomes equal the long forms`() throws {
        #expect(Outcome.handled == .handled([]))
        #expect(Outcome.retry == .retry(after: nil))
        #expect(Outcome.reply("a") == .handled([.text("a")]))
        #expect(Outcome.reply(.typingStart, .text("a")) == .handled([.typingStart, .text("a")]))
        #expect(Outcome.retry(after: .seconds(1)) != .retry)
        #expect(Outcome.reject(reason: "a") != .handoff(reason: "a"))
    }
}
