import BalloonPOSIX
import TestSupport
import Testing

@testable import balloon

/// Tests that `balloon simulate --wait` prints how each delivery ended, and exits with the matching status.
@Suite struct SimulateWaitTests {
    /// The script of a handler that chooses its answer by a word of the text; it never answers the word `never`.
    private static let handler = #"""
        #!/bin/sh
        while IFS= read -r line; do
            id=$(printf '%s' "$line" | sed -E 's/^\{"jsonrpc": ?"2\.0", ?"id": ?([0-9]+).*/\1/')
            case $line in
            *'"initialize"'*) result='{"protocolVersion":"1","handler":{"name":"test"},"events":["text"]}' ;;
            *never*) continue ;;
            *reject*) result='{"outcome":"reject","reason":"not for us"}' ;;
            *three*) result='{"replies":["one","two","tres"]}' ;;
            *'"event"'*) result='{"outcome":"handled"}' ;;
            *) continue ;;
            esac
            printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
        done
        """#

    private struct Case {
        let arguments: String
        let status: Int32
        /// The output after the line of the message.
        let end: String
    }

    private static let cases = [
        Case(arguments: "text --text silent", status: 0, end: "handled, no reply"),
        // The gateway answers the first two requests with 503, so sending the replies takes seconds.
        Case(
            arguments: "text --text three", status: 0,
            end: "business  text: one\nbusiness  text: two\nbusiness  text: tres"),
        Case(arguments: "text --text reject", status: 1, end: "dead letter NUMBER: not for us"),
        Case(arguments: "quickReply", status: 1, end: "no handler for this kind"),
        Case(arguments: "quickReply --allow-unhandled", status: 0, end: "no handler for this kind"),
        Case(
            arguments: "text --text never --timeout 1", status: 75,
            end: "not ended, 0 attempts; message NUMBER stays in the journal"),
    ]

    @Test func `simulate --wait shows by its output and its exit status how each delivery ended`()
        async throws
    {
        let directory = TemporaryDirectory()
        try AtomicFile.write(Array(Self.handler.utf8), to: directory.file("handler.sh"))
        let shell = Shell(directory: directory.path)
        _ = try await shell.run("chmod +x handler.sh")
        let server = try await ServingCommand.dev(
            "--handler ./handler.sh --misbehave message=503,times=2", in: directory)
        for (number, test) in Self.cases.enumerated() {
            let result = try await shell.run(
                "balloon simulate \(test.arguments) --wait --customer customer-\(number)")
            #expect(result.status == test.status, "\(test.arguments): \(result.errors)")
            let lines = result.output.split(separator: "\n", maxSplits: 1).map(String.init)
            let end = lines.last?.split(separator: "\n").map(Self.withoutNumber).joined(separator: "\n")
            #expect(end == test.end, "\(test.arguments)")
        }
        // One message that fails does not keep the others from being sent.
        let both = try await shell.run(
            "balloon simulate quickReply text --text silent --wait --json --customer dora")
        #expect(both.status == 1)
        #expect(both.lineCount == 4)
        #expect(both.output.contains(#""status":"unhandled","ended":true"#), "\(both.output)")
        await server.kill()
    }

    /// Replaces each number in a line with `NUMBER`, because the test cannot know the record numbers.
    private static func withoutNumber(_ line: Substring) -> String {
        line.split(separator: " ", omittingEmptySubsequences: false).map { word in
            let digits = word.prefix { $0.isNumber }
            return digits.count > 1 || (digits.count == 1 && word != "0")
                ? "NUMBER" + word.dropFirst(digits.count) : String(word)
        }.joined(separator: " ")
    }
}
