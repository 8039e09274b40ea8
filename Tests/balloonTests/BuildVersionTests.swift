import TestSupport
import Testing

@testable import balloon

@Suite struct BuildVersionTests {
    @Test func `the version names the commit and its date`() {
        let version = BuildVersion(commit: "1a2b3c4d5e6f+changes 2026-11-22")
        #expect(version.text == "\(BuildVersion.number) (commit 1a2b3c4d5e6f+changes of 2026-11-22)")
    }

    @Test(arguments: ["", "1a2b3c4d5e6f", " ", "a b c"])
    func `the version of a build without a known commit shows that the commit is unknown`(commit: String) {
        #expect(BuildVersion(commit: commit).text == "\(BuildVersion.number) (commit unknown)")
    }

    @Test func `balloon --version prints the version and the commit of the build`() async throws {
        let directory = TemporaryDirectory()
        let result = try await Shell(directory: directory.path).run("balloon --version")
        #expect(result.status == 0)
        #expect(result.output.hasPrefix("\(BuildVersion.number) (commit "))
        #expect(result.output.hasSuffix("), data format 3\n"))
        #expect(!BuildVersion.commit.contains(" ") && !BuildVersion.commit.isEmpty)
    }
}
