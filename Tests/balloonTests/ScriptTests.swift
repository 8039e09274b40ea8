import TestSupport
import Testing

@Suite struct ScriptTests {
    @Test(arguments: Fixture.names(in: "scripts"))
    func `every command of a script has the result that the script expects`(name: String) async throws {
        let script = Script(fixture: name)
        #expect(!script.steps.isEmpty)
        let directory = TemporaryDirectory()
        for step in script.steps {
            let result = try await Shell(directory: directory.path).run(step.command)
            let differences = step.differences(from: result)
            #expect(differences == [], "\(name):\(step.line): \(step.command)")
        }
    }

    @Test func `every exit code of the program is expected by some script`() {
        let scripts = Fixture.names(in: "scripts").map { Script(fixture: $0) }
        let statuses = Set(scripts.flatMap(\.steps).map(\.status))
        #expect(statuses == [0, 1, 64, 65, 69, 78])
    }

    @Test func `a step of a script reports each difference in status, output and errors`() {
        let step = Script.Step(line: 1, command: "", output: ["a…c"], errors: ["x", "y"], status: 1)
        #expect(step.differences(from: Shell.Result(status: 1, output: "abc\n", errors: "x\ny\n")) == [])
        #expect(step.differences(from: Shell.Result(status: 0, output: "ab\n", errors: "y\nx\n")).count == 3)
        #expect(step.differences(from: Shell.Result(status: 1, output: "", errors: "xy")).count == 1)
    }
}
