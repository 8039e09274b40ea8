import TestSupport

/// A script of commands with their expected results.
///
/// A line that begins with `$` is a command, and the lines after it are its expected standard output, where `…` stands
/// for any text within a line. A line with `!` is a text that standard error must contain; the order of these lines
/// counts, and without one standard error must be empty. A line with `?` is the expected exit status, which is
/// otherwise 0. A line with `#` is a comment.
struct Script {
    struct Step {
        let line: Int
        let command: String
        var output: [String] = []
        var errors: [String] = []
        var status: Int32 = 0
    }

    let steps: [Step]

    init(fixture name: String) {
        let text = String(decoding: Fixture.bytes("scripts/\(name)"), as: UTF8.self)
        var steps: [Step] = []
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            switch line.prefix(2) {
            case "$ ": steps.append(Step(line: index + 1, command: String(line.dropFirst(2))))
            case "! ": steps[steps.count - 1].errors.append(String(line.dropFirst(2)))
            case "? ": steps[steps.count - 1].status = Int32(line.dropFirst(2)) ?? -1
            case "# ", "": continue
            default: steps[steps.count - 1].output.append(String(line))
            }
        }
        self.steps = steps
    }
}

extension Script.Step {
    /// Describes each difference between the result and what the script expects; empty when there is none.
    func differences(from result: Shell.Result) -> [String] {
        var differences: [String] = []
        if result.status != status { differences.append("status \(result.status), not \(status)") }
        let lines = result.output.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
        if lines.count != output.count || !zip(output, lines).allSatisfy({ matches($0, String($1)) }) {
            differences.append("output \(result.output)")
        }
        var rest = result.errors[...]
        for error in errors {
            guard let found = rest.firstRange(of: error) else {
                differences.append("no \"\(error)\" in \(result.errors)")
                break
            }
            rest = rest[found.upperBound...]
        }
        if errors.isEmpty, !result.errors.isEmpty { differences.append("errors \(result.errors)") }
        return differences
    }

    private func matches(_ pattern: String, _ line: String) -> Bool {
        let parts = pattern.split(separator: "…", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2 else { return pattern == line }
        return line.hasPrefix(parts[0]) && line.hasSuffix(parts[1])
            && line.utf8.count >= parts[0].utf8.count + parts[1].utf8.count
    }
}
