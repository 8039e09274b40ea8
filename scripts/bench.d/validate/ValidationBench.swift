// Measures the check of one message: `ValidationBench check FILE` prints the milliseconds, the peak of the resident memory in
// kilobytes, and the number of problems. `ValidationBench read FILE` prints the same without a check.
import BalloonPOSIX
import BusinessMessages

/// The peak of the resident memory in kilobytes (proc(5), `VmHWM`).
func peak() throws -> Int {
    let status = try Descriptor.open(reading: "/proc/self/status").readToEnd(maximumBytes: 1 << 16)
    let lines = String(decoding: status, as: UTF8.self).split(separator: "\n")
    let line = lines.first { $0.hasPrefix("VmHWM:") }?.split { !$0.isNumber }
    return line?.first.flatMap { Int($0) } ?? 0
}

@main struct ValidationBench {
    static func main() throws {
        let bytes = try File(CommandLine.arguments[2], for: .reading).readAll()
        // The first check creates the tables of the rules.
        _ = OutboundMessage.problems(
            inJSON: Array(#"{"type":"interactive","interactiveData":{"data":{}}}"#.utf8))
        var count = 0
        let time = ContinuousClock().measure {
            if CommandLine.arguments[1] == "check" {
                count = OutboundMessage.problems(inJSON: bytes, now: 0).count
            }
        }
        let (seconds, attoseconds) = time.components
        print(seconds * 1000 + attoseconds / 1_000_000_000_000_000, try peak(), count)
    }
}
