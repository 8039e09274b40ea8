import BalloonPOSIX
import TestSupport
import Testing

@testable import balloon

/// The scenarios of the example handlers; `scripts/test authors` plays all of them.
@Suite struct ExampleScenarioTests {
    private static let examples =
        (Fixture.directory.split(separator: "/Tests/").first.map(String.init) ?? "") + "/config/handlers"

    @Test(arguments: ["node", "python", "shell", "swift"])
    func `each example handler has a scenario with an answer to every question`(_ language: String) throws {
        let scenario = try Scenario(file: "\(Self.examples)/\(language)/shop.scenario.json")
        var counts = (sent: 0, expected: 0)
        for step in scenario.steps {
            switch step.action {
            case .send, .answer: counts.sent += 1
            case .expect(let patterns, _): counts.expected += patterns.count
            case .none: break
            }
        }
        #expect(counts == (5, 6))
    }

    @Test func `the example in Python passes its scenario, and fails it with a wrong reply`() async throws {
        let directory = TemporaryDirectory()
        let shell = Shell(directory: directory.path)
        _ = try await shell.run("cp \(Self.examples)/python/*.py \(Self.examples)/python/*.json .")
        let play = "balloon scenario run shop.scenario.json --handler ./shop.py"
        let passed = try await shell.run(play)
        #expect(passed.status == 0, "\(passed.output)\(passed.errors)")
        _ = try await shell.run("sed -i 's/Thank you!/Sorry!/' shop.py")
        let failed = try await shell.run(play)
        #expect(failed.status == 1)
        #expect(failed.output.contains("FAILED   shop.scenario.json: 10 the shop thanks"))
        #expect(failed.output.contains(#"/body: expected "Thank you! Your rye will be ready.""#))
    }

    private static let programs = [
        ("python", "\(examples)/python/shop.py"), ("node", "\(examples)/node/shop.mjs"),
        ("shell", "\(examples)/shell/shop.sh"), ("swift", buildDirectory + "/ShopExample"),
    ]

    @Test(arguments: programs, ["mac", "old-iphone"])
    func `a device that cannot show every question buys bread in words`(
        _ example: (language: String, program: String), device: String
    ) async throws {
        let question =
            device == "mac"
            ? #"{"type": "interactive"}"# : #"{"type": "text", "body": {"$match": "order.*person"}}"#
        let directory = TemporaryDirectory()
        try AtomicFile.write(
            Array(
                """
                {"format": 1, "customer": {"device": "\(device)"}, "steps": [
                 {"send": "hi"}, {"expect": [{"type": "text", "body": "What can we do for you?"}, \(question)], "withinSeconds": 60},
                 {"send": "Order"}, {"expect": [{"type": "interactive"}], "withinSeconds": 60},
                 {"send": "rye"}, {"expect": [{"type": "interactive"}], "withinSeconds": 60},
                 {"send": "morning"}, {"expect": [{"type": "text", "body": {"$match": "name"}}], "withinSeconds": 60},
                 {"send": "Ana"}, {"expect": [{"type": "text", "body": {"$match": "^Thank you! Your (rye|bread)"}}], "withinSeconds": 60}]}
                """.utf8), to: directory.file("words.json"))
        let played = try await Shell(directory: directory.path).run(
            "balloon scenario run words.json --handler \(example.program)")
        #expect(played.status == 0, "\(played.output)\(played.errors)")
    }
}
