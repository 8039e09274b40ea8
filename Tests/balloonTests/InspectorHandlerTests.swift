import BalloonJSON
import BalloonPOSIX
import TestSupport
import Testing

@testable import balloon

/// A handler that counts the texts of a conversation in its state, and writes to standard error.
///
/// At the text "crash" its first process ends without an answer.
private let countingHandler = #"""
    #!/bin/sh
    while IFS= read -r line; do
        id=$(printf '%s' "$line" | sed -E 's/^\{"jsonrpc": ?"2\.0", ?"id": ?([0-9]+).*/\1/')
        count=$(printf '%s' "$line" | grep -o '"count":[0-9]*' | head -1 | cut -d: -f2)
        count=$((${count:-0} + 1))
        text=$(printf '%s' "$line" | grep -o '"summary":"[^"]*"' | head -1 | cut -d'"' -f4)
        case $line in
        *'"initialize"'*) result='{"protocolVersion":"1","handler":{"name":"test"},"events":["text"]}' ;;
        *'"method":"event"'*)
            echo "saw $text as number $count" >&2
            if [ "$text" = crash ] && [ ! -e crashed ]; then
                : >crashed
                echo "about to crash" >&2
                exit 1
            fi
            result="{\"replies\":[\"number $count: $text\"],\"state\":{\"count\":$count}}" ;;
        *) continue ;;
        esac
        printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
    done
    """#

@Suite struct InspectorHandlerTests {
    private static func inspector(
        _ directory: TemporaryDirectory, _ arguments: String = ""
    ) async throws -> InspectorClient {
        try AtomicFile.write(Array(countingHandler.utf8), to: directory.file("count.sh"))
        _ = try await Shell(directory: directory.path).run("chmod +x count.sh")
        return try await InspectorClient("--handler ./count.sh --no-reload \(arguments)", in: directory)
    }

    private static func reply(
        _ text: String, _ inspector: InspectorClient, _ customer: String
    ) async throws -> JSONValue {
        try await inspector.entry(customer) { $0["line"]?["message"]?["body"]?.string == text }
    }

    @Test func `each attempt has the state before and after, and its own lines of standard error`()
        async throws
    {
        let directory = TemporaryDirectory()
        let inspector = try await Self.inspector(directory)
        let customer = try await inspector.customer()
        try await inspector.json("POST", "\(customer)/messages", #"{"text":"first"}"#)
        _ = try await Self.reply("number 1: first", inspector, customer)
        try await inspector.json("POST", "\(customer)/messages", #"{"text":"crash"}"#)
        let reply = try await Self.reply("number 2: crash", inspector, customer)
        let record = try #require(reply["record"]?.int)
        let delivery = try await inspector.json("GET", "/dev/v1/deliveries/\(record)")
        let attempts = delivery["attempts"].map { Array($0.elements) } ?? []
        let (failed, done) = (try #require(attempts.first), try #require(attempts.last))
        #expect(attempts.count == 2)
        #expect(failed["state"]?["before"]?["count"]?.int == 1)
        #expect(failed["state"]?["after"]?["count"]?.int == 1)
        #expect(
            failed["stderr"]?.elements.map(\.string) == ["saw crash as number 2", "about to crash"])
        #expect(done["result"]?.string == "done")
        #expect(done["state"]?["before"]?["count"]?.int == 1)
        #expect(done["state"]?["after"]?["count"]?.int == 2)
        #expect(done["stderr"]?.elements.map(\.string) == ["saw crash as number 2"])
        let milliseconds = delivery["replies"]?.firstElement?["gateway"]?.firstElement?["ms"]?.double
        #expect((milliseconds ?? -1) >= 0)
        await inspector.server.stop()
    }

    @Test func `a gateway that answers late is shown with its milliseconds`() async throws {
        let inspector = try await InspectorClient(in: TemporaryDirectory())
        let customer = try await inspector.customer()
        try await inspector.json(
            "PUT", "/dev/v1/misbehaviour", #"{"rules":["message=delay/120,times=1"]}"#)
        try await inspector.json("POST", "\(customer)/messages", #"{"text":"hello"}"#)
        let reply = try await inspector.entry(customer) { $0["direction"]?.string == "outbound" }
        let record = try #require(reply["record"]?.int)
        let delivery = try await inspector.json("GET", "/dev/v1/deliveries/\(record)")
        let exchange = delivery["replies"]?.firstElement?["gateway"]?.firstElement
        #expect((exchange?["ms"]?.double ?? 0) >= 100)
        await inspector.server.stop()
    }

    @Test func `a queued reply is in the thread as pending, also after a kill and a restart`() async throws {
        let directory = TemporaryDirectory()
        let first = try await InspectorClient("--misbehave message=503", in: directory)
        let customer = try await first.customer()
        try await first.json("POST", "\(customer)/messages", #"{"text":"hello"}"#)
        func pending(_ inspector: InspectorClient) async throws -> [JSONValue] {
            var found: [JSONValue] = []
            _ = try await eventually {
                found =
                    try await inspector.json("GET", "\(customer)/phone")["pending"]
                    .map { Array($0.elements) } ?? []
                return !found.isEmpty
            }
            return found
        }
        let queued = try #require(try await pending(first).first)
        #expect(queued["status"]?.string == "queued")
        #expect(queued["line"]?["message"]?["sourceId"]?.string != nil)
        await first.server.kill()
        let second = try await InspectorClient("--misbehave message=503", in: directory)
        #expect(try await pending(second).first?["id"]?.string == queued["id"]?.string)
        try await second.json("PUT", "/dev/v1/misbehaviour", #"{"rules":[]}"#)
        let sent = try await second.entry(customer) { $0["direction"]?.string == "outbound" }
        #expect(sent["id"]?.string == queued["id"]?.string)
        let isEmpty = try await eventually {
            try await second.json("GET", "\(customer)/phone")["pending"]?.count == 0
        }
        #expect(isEmpty)
        await second.server.stop()
    }

    @Test func `a stopped handler gets its events after the start, and a killed one is restarted`()
        async throws
    {
        let directory = TemporaryDirectory()
        let inspector = try await Self.inspector(directory)
        let customer = try await inspector.customer()
        let stopped = try await inspector.json("POST", "/dev/v1/handler", #"{"do":"stop"}"#)
        #expect(stopped["stopped"]?.bool == true)
        try await inspector.json("POST", "\(customer)/messages", #"{"text":"one"}"#)
        let page = try await inspector.json("GET", "\(customer)/phone?after=1&wait=0")
        #expect(page["thread"]?.count == 0)
        let started = try await inspector.json("POST", "/dev/v1/handler", #"{"do":"start"}"#)
        #expect(started["stopped"]?.bool == false)
        let reply = try await Self.reply("number 1: one", inspector, customer)
        let record = try #require(reply["record"]?.int)
        let delivery = try await inspector.json("GET", "/dev/v1/deliveries/\(record)")
        #expect(delivery["attempts"]?.count == 1)
        try await inspector.json("POST", "/dev/v1/handler", #"{"do":"kill"}"#)
        let isRestarted = try await eventually {
            let list = try await inspector.json("GET", "/dev/v1/handlers")
            let handler = list["handlers"]?.firstElement
            return handler?["restarts"]?.int == 1 && handler?["health"]?.string == "ready"
        }
        #expect(isRestarted)
        // An event that waits for a stopped handler does not delay the stop of the server.
        try await inspector.json("POST", "/dev/v1/handler", #"{"do":"stop"}"#)
        try await inspector.json("POST", "\(customer)/messages", #"{"text":"two"}"#)
        await inspector.server.stop()
    }

    @Test func `a delay is part of the attempt, and a request that a handler cannot do is refused`()
        async throws
    {
        let inspector = try await InspectorClient(in: TemporaryDirectory())
        let customer = try await inspector.customer()
        let slowed = try await inspector.json("POST", "/dev/v1/handler", #"{"delaySeconds":0.15}"#)
        #expect(slowed["delaySeconds"]?.double == 0.15)
        try await inspector.json("POST", "\(customer)/messages", #"{"text":"hello"}"#)
        let reply = try await inspector.entry(customer) { $0["direction"]?.string == "outbound" }
        let record = try #require(reply["record"]?.int)
        let delivery = try await inspector.json("GET", "/dev/v1/deliveries/\(record)")
        #expect((delivery["attempts"]?.firstElement?["ms"]?.double ?? 0) >= 150)
        let refusals = [
            (#"{}"#, 400), (#"{"do":"sing"}"#, 400), (#"{"delaySeconds":601}"#, 400),
            (#"{"delaySeconds":-1}"#, 400), (#"{"business":"other","do":"stop"}"#, 400),
            // The demo runs inside the server.
            (#"{"do":"kill"}"#, 409), (#"{"do":"restart"}"#, 409),
        ]
        for (body, status) in refusals {
            try await inspector.json("POST", "/dev/v1/handler", body, status: status)
        }
        await inspector.server.stop()
    }

    @Test func `several messages are posted in another order when the order is shuffled`() async throws {
        let inspector = try await InspectorClient(in: TemporaryDirectory())
        let customer = try await inspector.customer()
        func posted(_ levers: String) async throws -> [String] {
            let body = #"{"messages":[{"text":"a"},{"text":"b"},{"text":"c"}],"levers":\#(levers)}"#
            let answer = try await inspector.json("POST", "\(customer)/messages", body)
            let ids = answer["posts"]?.elements.compactMap { $0["id"]?.string } ?? []
            var texts: [String] = []
            for id in ids {
                let entry = try await inspector.entry(customer) { $0["id"]?.string == id }
                texts.append(entry["line"]?["message"]?["body"]?.string ?? "")
            }
            return texts
        }
        #expect(try await posted("{}") == ["a", "b", "c"])
        let shuffled = try await posted(#"{"order":"shuffled"}"#)
        #expect(shuffled != ["a", "b", "c"])
        #expect(shuffled.sorted() == ["a", "b", "c"])
        let path = "\(customer)/messages"
        try await inspector.json("POST", path, #"{"messages":[]}"#, status: 400)
        try await inspector.json("POST", path, #"{"messages":[{"text":1}]}"#, status: 400)
        try await inspector.json("POST", path, #"{"text":"a","levers":{"order":"up"}}"#, status: 400)
        await inspector.server.stop()
    }
}
