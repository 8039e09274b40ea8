import BalloonJSON
import BalloonPOSIX
import BalloonTransport
import BusinessMessages
import Glibc
import ServerTestSupport
import Simulator
import TestSupport
import Testing

/// Runs the programs printed in the manuals for other languages.
struct ManualTests {
    private static let pages = [
        ("InPython", "python", "cake.py", ["python/balloon.py"]),
        ("InNode", "js", "cake.mjs", ["node/balloon.mjs"]), ("InShell", "bash", "cake.sh", []),
    ]

    @Test(arguments: pages)
    func `the program of the manual takes an order`(
        _ page: String, _ language: String, _ name: String, _ libraries: [String]
    ) async throws {
        let directory = TemporaryDirectory()
        for library in libraries {
            let bytes = try File(Fixture.sampleHandlers + "/" + library, for: .reading).readAll()
            let name = library.split(separator: "/").last.map(String.init) ?? library
            try AtomicFile.write(Array(bytes), to: directory.file(name))
        }
        let folder = Fixture.directory.dropLast("Tests/TestSupport/Fixtures".count)
        let text = String(
            decoding: try File(
                folder + "Sources/HandlerProtocol/HandlerProtocol.docc/\(page).md", for: .reading
            ).readAll(), as: UTF8.self)
        let start = try #require(text.firstRange(of: "```\(language)\n")?.upperBound)
        let end = try #require(text[start...].firstRange(of: "```")?.lowerBound)
        try AtomicFile.write(Array(text[start..<end].utf8), to: directory.file(name))
        #expect(chmod(directory.file(name), 0o755) == 0)
        let server = try await ServerUnderTest(bindings: [#"{"exec": ["./\#(name)"]}"#], directory: directory)
        let customer = server.customer()
        let answers = [
            ("Hello", "We bake cakes. Ask for a size."), ("Which size is there?", "Small, or large?"),
            ("large", "One cake: large. Thank you!"), ("large", "We bake cakes. Ask for a size."),
        ]
        for (count, (said, answer)) in answers.enumerated() {
            let message = #"{"type": "text", "body": "\#(said)"}"#
            #expect(try await customer.post(customer.message(completing: Array(message.utf8))).status == 200)
            let replies = await server.gateway.waitForMessages(count: count + 1, customer: customer.id)
            #expect(replies.last?.message.root["body"]?.string == answer)
        }
        await server.stop()
    }
}
