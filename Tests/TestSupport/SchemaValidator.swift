import BalloonPOSIX
import Glibc

/// A public JSON Schema validator, python3's package `jsonschema`, to compare our schemas with our code.
public enum SchemaValidator {
    /// Whether the validator is installed; `scripts/test` installs it where it can.
    public static let isInstalled = system("python3 -c 'import jsonschema' >/dev/null 2>&1") == 0

    /// The reason that a skipped test gives.
    public static let absence: String = "python3 with the package jsonschema is not installed"

    /// Returns one line for each message whose validation has another result than expected.
    ///
    /// `schema` names a file of `config/schemas`. Each of `lines` has the expected result, a tab and a
    /// message; see `Fixtures/schemas/compare.py`.
    public static func differences(_ schema: String, _ lines: [String]) async throws -> [String] {
        let directory = TemporaryDirectory()
        let root = String(Fixture.directory.dropLast("Tests/TestSupport/Fixtures".count))
        let input = directory.file("lines")
        try AtomicFile.write(Array(lines.map { $0 + "\n" }.joined().utf8), to: input)
        let process = try ChildProcess(
            "/usr/bin/env",
            [
                "timeout", "600", "python3", "\(Fixture.directory)/schemas/compare.py",
                "\(root)config/schemas/\(schema).schema.json", input,
            ])
        let differences = await process.allLines()
        guard await process.status() == 0 else { throw ChildProcess.Failure.ended(output: differences) }
        return differences
    }
}
