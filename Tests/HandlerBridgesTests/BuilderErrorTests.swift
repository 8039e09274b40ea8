import BalloonJSON
import BalloonPOSIX
import BalloonTransport
import BusinessMessages
import HandlerKit
import MessageStore
import ServerTestSupport
import Simulator
import TestSupport
import Testing

@testable import MessageServer

/// Tests that an error of a library's builder refuses the answer, with servers and libraries of both ages.
struct BuilderErrorTests {
    private static let python = """
        #!/usr/bin/env python3
        import sys
        sys.path.insert(0, "\(Fixture.sampleHandlers)/python")
        from balloon import Bot, quick_reply
        bot = Bot("wrong")

        """
    private static let node = """
        #!/usr/bin/env node
        import { Bot, quickReply } from "\(Fixture.sampleHandlers)/node/balloon.mjs";
        const bot = new Bot("wrong");

        """
    private static let shell = """
        #!/usr/bin/env bash
        while IFS= read -r call; do
            case $(jq -r .method <<<"$call") in
                initialize) answer='{"result": {"protocolVersion": "1", "events": ["text"]}}' ;;
                event) answer='ANSWER' ;;
                *) answer='{"result": {}}' ;;
            esac
            jq -c --argjson a "$answer" 'select(has("id")) | {jsonrpc: "2.0", id} + $a' <<<"$call"
        done

        """
    private static let summary = "/interactiveData/data/quick-reply/summaryText"

    private static let bots: [(file: String, code: String, pointers: [String])] = [
        (
            "bot.py",
            python + "bot.on.text(lambda event: quick_reply('', [('a', 'A'), ('b', 'B')]))\nbot.run()\n",
            [summary]
        ),
        (
            "bot.py", python + "@bot.on.text\nasync def text(event):\n    return 'ok'\nbot.run()\n",
            ["/replies/0"]
        ),
        (
            "bot.py",
            python + "bot.on.text(lambda event: event.state.update(price=float('nan')))\nbot.run()\n",
            ["/state/price"]
        ),
        (
            "bot.mjs", node + "bot.on.text(() => quickReply('', [['a', 'A'], ['b', 'B']]));\nbot.run();\n",
            [summary]
        ),
        (
            "bot.mjs", node + "bot.on.text((event) => { event.state.price = NaN; });\nbot.run();\n",
            ["/state/price"]
        ),
        (
            "bot.sh",
            shell.replacing(
                "ANSWER",
                with: #"""
                    {"error": {"code": -32002, "message": "wrong", "data": {"problems": [{"rule": "empty", "pointer": "/a"}, {}, 7]}}}
                    """#),
            ["/a", ""]
        ),
        ("bot.py", withoutLibrary, [""]),
    ]

    /// A program without a library whose answer to an event is not JSON, because Python writes NaN.
    private static let withoutLibrary = """
        #!/usr/bin/env python3
        import json, sys
        for line in sys.stdin.buffer:
            call = json.loads(line)
            results = {"initialize": {"protocolVersion": "1", "events": ["text"]}, "event": {"state": {"price": float("nan")}}}
            if "id" in call:
                print(json.dumps({"jsonrpc": "2.0", "id": call["id"], "result": results.get(call["method"], {})}), flush=True)

        """

    @Test(arguments: bots)
    func `a builder's error is one dead letter with problems, and the fallback answers`(
        _ file: String, _ code: String, _ pointers: [String]
    ) async throws {
        let (replies, dead, log) = try await send(file, code, answered: true)
        #expect(replies == ["An agent will reply."])
        #expect(dead.count == 1)
        let problems = dead.first?.problems?.elements.map(\.self) ?? []
        #expect(problems.map { $0["pointer"]?.string } == pointers)
        #expect(problems.allSatisfy { $0["passage"]?.string?.isEmpty == false })
        #expect(log.contains { $0.contains("handler answer refused") })
    }

    /// The answers of libraries and programs that know nothing of problems.
    private static let older = [
        #"{"result": {"outcome": "reject", "reason": "quickReplyCount at /a: found 1 item, allowed 2 to 5"}}"#,
        #"{"error": {"code": -32002, "message": "no"}}"#,
        #"{"error": {"code": -32002, "message": "no", "data": {"problems": []}}}"#,
    ]

    @Test(arguments: older)
    func `an answer without problems rejects the event as before`(_ answer: String) async throws {
        let code = Self.shell.replacing("ANSWER", with: answer)
        let (replies, dead, log) = try await send("bot.sh", code, answered: false)
        #expect(replies == [])
        #expect(dead.count == 1)
        #expect(dead.first?.problems == nil)
        #expect(!log.contains { $0.contains("handler answer refused") })
    }

    /// Sends a text to a bot with a fallback, and returns the replies, the dead letters and the log.
    private func send(_ file: String, _ code: String, answered: Bool) async throws -> (
        replies: [String?], dead: [JournalEvent], log: [String]
    ) {
        let directory = TemporaryDirectory()
        try AtomicFile.write(Array(code.utf8), to: directory.file(file))
        try Directory.makeExecutable(directory.file(file))
        let server = try await ServerUnderTest(
            bindings: [
                #"{"handler": {"exec": ["\#(directory.file(file))"]}, "fallback": {"text": "An agent will reply."}}"#
            ], directory: directory)
        let customer = server.customer()
        #expect(try await customer.post(customer.message(.text)).status == 200)
        let end = try #require(await server.stages.first { $0.stage == .finish })
        #expect(end.attempt == 1)
        if answered { _ = await server.gateway.waitForMessages(customer: customer.id) }
        let replies = server.gateway.messages(for: customer.id)
        let bodies = replies.map { $0.message.root["body"]?.string }
        await server.stop()
        let dead = try JournalFiles(dataDirectory: server.directory.file("data")).events {
            $0.isDeadLetter
        }
        return (bodies, dead, server.log.lines)
    }
}
