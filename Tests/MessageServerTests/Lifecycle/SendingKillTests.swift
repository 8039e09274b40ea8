import BalloonHTTP
import BalloonJSON
import BalloonPOSIX
import BalloonTransport
import BalloonWire
import BusinessMessages
import MessageStore
import ServerTestSupport
import Simulator
import TestSupport
import Testing

/// `kill -9` between requests with the same idempotency key.
@Suite struct SendingKillTests {
    private static let token = "bln_sender"

    private func post(
        _ address: String, _ path: String, _ restartable: RestartableServer, wait: Int
    ) async throws -> JSONValue {
        var request = TransportRequest(
            method: "POST", url: "http://\(address)\(path)/messages",
            headers: [
                ("Authorization", "Bearer \(Self.token)"), ("Idempotency-Key", "order-4711"),
                ("Prefer", "wait=\(wait)"),
            ], body: Array(#"{"text":"your bread"}"#.utf8), allowsPlainHTTP: true)
        request.timeout = .seconds(120)
        let answer = try await restartable.transport.send(request)
        #expect(answer.status == 201)
        return try JSONDocument(answer.body).root
    }

    @Test func `100 requests with one key over a kill send one message with one id`() async throws {
        let restartable = try await RestartableServer(
            apiToken: Hex.encode(SHA256.hash(Array(Self.token.utf8))))
        let first = try restartable.launch()
        try await first.waitForListening()
        let customer = restartable.customer(first)
        #expect(try await customer.post(customer.message(.text, text: "hello")).status == 200)
        _ = await restartable.gateway.waitForMessages(customer: customer.id)
        let conversations = ConversationFiles(dataDirectory: restartable.data)
        #expect(
            try await eventually { try conversations.lines(of: customer.business, customer.id).count == 2 })
        let path = "/v1/businesses/one/conversations/" + ConversationFiles.name(of: customer.id)
        // No message leaves before the kill.
        restartable.gateway.misbehave(at: .message, .answer(.serviceUnavailable), times: .max)
        let address = try #require(try await first.adminAddress())
        let (answers, continuation) = AsyncStream.makeStream(of: String?.self)
        let early = Task {
            await withTaskGroup { group in
                for _ in 0..<50 {
                    group.addTask {
                        // The killed process answers some of them only.
                        let answer = try? await post(address, path, restartable, wait: 0)
                        if let answer { continuation.yield(answer["id"]?.string) }
                    }
                }
            }
            continuation.finish()
        }
        var ids: Set<String?> = []
        for await id in answers {
            // The others are on their way.
            if ids.isEmpty { await first.kill() }
            ids.insert(id)
        }
        await early.value
        let second = try restartable.launch()
        try await second.waitForListening()
        restartable.gateway.behave()
        let next = try #require(try await second.adminAddress())
        try await withThrowingTaskGroup { group in
            for _ in 0..<50 {
                group.addTask { try await post(next, path, restartable, wait: 50) }
            }
            for try await answer in group {
                ids.insert(answer["id"]?.string)
                #expect(answer["outcome"]?.string == "accepted")
            }
        }
        #expect(ids.count == 1)
        let sent = restartable.gateway.messages(for: customer.id).filter {
            $0.message.root["body"]?.string == "your bread"
        }
        #expect(sent.count == 1 && [sent.first?.id.rawValue] == Array(ids))
        await restartable.finish(second)
        let lines = try conversations.lines(of: customer.business, customer.id)
        #expect(lines.count { $0.message["body"]?.string == "your bread" } == 1)
    }
}
