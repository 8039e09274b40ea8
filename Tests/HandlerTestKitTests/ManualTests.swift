import HandlerKit
import HandlerTestKit
import TestSupport
import Testing

/// Tests the Swift code on the page WriteAHandler of the manual, which `Manual.swift` repeats.
struct ManualTests {
    private static func text(_ path: String) -> String {
        String(decoding: Fixture.bytes("../../../" + path), as: UTF8.self)
    }

    @Test func `every handler and test of the manual is in Manual.swift, word for word`() {
        let page = Self.text("Sources/HandlerKit/HandlerKit.docc/WriteAHandler.md")
        let here = Self.text("Tests/HandlerTestKitTests/Manual.swift")
        // Code with Server.run is left out, because it serves until it is stopped and so cannot run as a test.
        let blocks = page.split(separator: "```swift\n").dropFirst()
            .compactMap { $0.split(separator: "```").first }
            .filter { !$0.contains("Server.run") }
        #expect(blocks.count >= 5)
        for block in blocks {
            let code = block.split(separator: "\n", omittingEmptySubsequences: false)
                .filter { !$0.hasPrefix("import ") }.joined(separator: "\n")
            let lines = code.drop { $0 == "\n" }
            #expect(here.contains(lines), "\(lines)")
        }
    }

    @Test func `the manual's factory makes the manual's handler`() async throws {
        let handler = try FishmongerFactory().make(configuration: nil)
        let customer = TestConversation(with: handler)
        #expect(try await customer.says("Is there cod?").map(\.kind) == [.text, .quickReply])
    }
}
