import BalloonJSON
import BalloonPOSIX
import BalloonWire
import BusinessMessages
import MessageStore
import ServerTestSupport
import Simulator
import TestSupport
import Testing

extension RestartableServer {
    /// Waits until the gateway's request count shows the repeated reply.
    func waitForRepeat(of customer: SimulatedCustomer) async throws {
        _ = await eventually { gateway.messages(for: customer.id).first?.repeats == 1 }
    }

    /// Whether a message is leased, according to the file of calls.
    var isDelivering: Bool {
        // A file that does not exist yet names no message.
        let bytes = (try? File(data + "/calls", for: .reading).readAll()) ?? []
        return bytes.contains { (0x30...0x39).contains($0) }
    }

    /// Whether no line of a conversation's file is torn.
    func endsWithLineFeed(_ conversation: ConversationFiles.Summary) throws -> Bool {
        let name = Hex.encode(SHA256.hash(conversation.customer.rawValue.utf8))
        let path = "\(data)/conversations/\(conversation.business.rawValue)/\(name.prefix(2))/\(name).jsonl"
        return try File(path, for: .reading).readAll().last == UInt8(ascii: "\n")
    }

    /// Stops the process and the gateway; the conversation must have these lines, and one reply token.
    func finish(_ server: ServerProcess, _ customer: SimulatedCustomer, expected: [String]) async throws {
        await finish(server)
        let lines = try ConversationFiles(dataDirectory: data).lines(of: customer.business, customer.id)
        #expect(lines.map(\.direction.rawValue) == expected)
        #expect(lines.map(\.sequence) == Array(1...expected.count))
        let tokens = Set(gateway.messages(for: customer.id).compactMap { $0.message.root["body"]?.string })
        #expect(tokens.count == 1)
    }
}
