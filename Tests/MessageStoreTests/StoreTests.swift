import BalloonJSON
import BalloonPOSIX
import BusinessMessages
import MessageStore
import Testing

struct MessageStoreTests {
    let directory = StoreDirectory()

    @Test func `a message is stored, delivered, recorded, answered and finished`() async throws {
        let store = try directory.open()
        #expect(await store.append(message("m1")) == .stored)
        let delivery = try await store.lease()
        #expect(delivery.record == 2)
        #expect(delivery.business == business)
        #expect(delivery.customer == customer)
        #expect(delivery.id == MessageID("m1"))
        #expect(delivery.text == #"{"id":"m1","type":"text","body":"hello"}"#)
        #expect(delivery.attributes == ReceivedAttributes(capabilityList: "QUICK,LIST", locale: "en_US"))
        #expect(delivery.referenceFailure == nil)
        #expect(delivery.attempt == 1)
        #expect(delivery.decided == nil)
        #expect(!delivery.isRecovered)

        let reply = DecidedReply(id: MessageID("r1"), kind: .text, message: Array(#"{"id":"r1"}"#.utf8))
        try await store.decide(delivery, DecidedOutcome(.handled, replies: [reply]))
        try await store.settleReply(0, of: delivery, .accepted(status: 200))
        try await store.finish(delivery, result: .handled)
        await store.close()

        let types = try directory.records().compactMap { $0["type"]?.string }
        #expect(types == ["segment", "message", "outcome", "reply", "finished", "checkpoint"])
        let lines = try ConversationFiles(dataDirectory: directory.path).lines(of: business, customer)
        #expect(lines.map(\.sequence) == [1, 2])
        #expect(lines.map(\.direction) == [.inbound, .outbound])
        #expect(lines.map(\.id) == [MessageID("m1"), MessageID("r1")])
        #expect(lines.map(\.record) == [2, 2])
        #expect(lines.map(\.outcome) == [nil, "accepted"])
        #expect(lines.map(\.status) == [nil, 200])
    }

    @Test func `a finished message is not delivered again after a restart`() async throws {
        let store = try directory.open()
        _ = await store.append(message("m1"))
        _ = await store.append(message("m2"))
        try await store.finish(store.lease(), result: .unhandled)
        await store.close()

        let reopened = try directory.open()
        #expect(reopened.statistics.pendingDeliveries == 1)
        #expect(reopened.statistics.indexedMessages == 2)
        let delivery = try await reopened.lease()
        #expect(delivery.id == MessageID("m2"))
        #expect(delivery.isRecovered)
        #expect(await reopened.append(message("m1")) == .duplicate)
        #expect(await reopened.append(message("m2")) == .duplicate)
    }

    @Test func `a killed process loses no acknowledged message`() async throws {
        let store = try directory.open()
        for number in 1...20 { #expect(await store.append(message("m\(number)")) == .stored) }
        let copy = try directory.copy()
        let reopened = try copy.open()
        for number in 1...20 {
            let delivery = try await reopened.lease()
            #expect(delivery.id == MessageID("m\(number)"))
            try await reopened.finish(delivery, result: .handled)
        }
        #expect(reopened.statistics.pendingDeliveries == 0)
    }
}
