/// The results of scenarios as JUnit's XML, which CI servers read.
struct JUnitReport {
    private var suites = ""
    private(set) var failures = 0

    /// Adds the results of one file.
    mutating func add(_ file: String, _ results: [ScenarioRun.Result]) {
        var cases = ""
        var (failed, skipped) = (0, 0)
        for result in results {
            let head =
                "    <testcase classname=\"\(Self.escaped(file))\" name=\"\(Self.escaped(result.name))\" time=\"\(Self.time(result.seconds))\""
            switch result.verdict {
            case .passed: cases += head + "/>\n"
            case .skipped:
                skipped += 1
                cases += head + "><skipped/></testcase>\n"
            case .failed(let reasons):
                failed += 1
                let text = Self.escaped(reasons.joined(separator: "\n"))
                cases +=
                    head
                    + ">\n      <failure message=\"\(Self.escaped(reasons.first ?? ""))\">\(text)</failure>\n    </testcase>\n"
            }
        }
        failures += failed
        let time = Self.time(results.reduce(0) { $0 + $1.seconds })
        suites +=
            "  <testsuite name=\"\(Self.escaped(file))\" tests=\"\(results.count)\" failures=\"\(failed)\" errors=\"0\" skipped=\"\(skipped)\" time=\"\(time)\">\n\(cases)  </testsuite>\n"
    }

    /// The document.
    var text: String { "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n\(suites)</testsuites>\n" }

    private static func time(_ seconds: Double) -> String { "\((seconds * 1000).rounded() / 1000)" }

    /// The text for XML 1.0, without the characters that it does not allow.
    private static func escaped(_ text: String) -> String {
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case "\"": escaped += "&quot;"
            case "\n", "\t": escaped += "&#\(scalar.value);"
            case _ where scalar.value < 0x20 || scalar.value == 0xFFFE || scalar.value == 0xFFFF:
                escaped += "\u{FFFD}"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }
}
