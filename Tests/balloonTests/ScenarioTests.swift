import BalloonPOSIX
import TestSupport
import Testing

@testable import balloon

@Suite struct ScenarioTests {
    private static func write(_ text: String, to name: String, in directory: TemporaryDirectory) throws {
        try AtomicFile.write(Array(text.utf8), to: directory.file(name))
    }

    @Test func `a scenario passes against the demo, and a wrong expectation fails it with the difference`()
        async throws
    {
        let directory = TemporaryDirectory()
        let good = """
            {"format": 1, "customer": {"device": "mac"}, "steps": [{"send": "hello"},
             {"expect": [{"type": "interactive", "sourceId": {"$any": true}}], "withinSeconds": 20},
             {"answer": {"choice": {"items": ["2"]}}},
             {"expect": [{"type": "text", "body": {"$match": "^You chose: Track"}}], "withinSeconds": 20}, {"none": 0.1}]}
            """
        try Self.write(good, to: "good.json", in: directory)
        try Self.write(
            good.replacing("^You chose: Track", with: "^<Pizza>"), to: "bad.json", in: directory)
        let shell = Shell(directory: directory.path)
        let passed = try await shell.run("balloon scenario run good.json --junit out.xml")
        #expect(passed.status == 0, "\(passed.output)\(passed.errors)")
        let failed = try await shell.run("balloon scenario run good.json bad.json --junit out.xml")
        #expect(failed.status == 1)
        #expect(failed.output.contains("FAILED   bad.json: 4 expect"))
        let xml = String(
            decoding: try File(directory.file("out.xml"), for: .reading).readAll(), as: UTF8.self)
        #expect(xml.contains("classname=\"bad.json\" name=\"4 expect\""))
        #expect(xml.contains("message 1 /body: expected a text like ^&lt;Pizza&gt;"))
        #expect(xml.contains("<skipped/>"))
    }

    @Test func `an invalid scenario exits with 65, and a handler that does not start with 69`() async throws {
        let directory = TemporaryDirectory()
        try Self.write(#"{"format": 1, "steps": [{"sing": "hello"}]}"#, to: "bad.json", in: directory)
        try Self.write(#"{"format": 1, "steps": [{"send": "hello"}]}"#, to: "good.json", in: directory)
        let shell = Shell(directory: directory.path)
        let invalid = try await shell.run("balloon scenario run bad.json")
        #expect(invalid.status == 65)
        #expect(invalid.errors.contains("bad.json:1:25: a step has one of"))
        let absent = try await shell.run("balloon scenario run good.json --handler ./nothing.py")
        #expect(absent.status == 69)
        let ending = try await shell.run("balloon scenario run good.json --handler /bin/false")
        #expect(ending.status == 69)
    }
}
