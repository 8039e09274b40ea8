import BalloonPOSIX
import TestSupport

/// Faults of a server's system calls, which `scripts/crash-test.d/faults.c` causes.
///
/// The library and the test share a file; a change in it takes effect at the server's next call.
final class Faults: Sendable {
    /// The library that `scripts/crash-test` compiled; nil in other test runs.
    static let library = ProcessEnvironment.variables()["CRASH_TEST_FAULTS"]

    /// A fault; changes are system calls that change a file or its name.
    enum Fault {
        case none
        /// The wall clock shows another time.
        case wallClock(ahead: Duration)
        /// The process is killed at this change, counted from 1; its monotonic clock is ahead by `intervalsAhead`.
        case kill(atChange: Int, intervalsAhead: Duration = .zero)
        /// Every change fails.
        case error(Int32)
        /// Every write is dropped and reported as successful.
        case drop
    }

    private let directory = TemporaryDirectory()
    private let file: File

    init() throws {
        file = try File(directory.file("faults"), for: .overwriting)
        try cause(.none)
    }

    /// The environment variables of a server process in which the faults take effect.
    var environment: [String: String] {
        ProcessEnvironment.variables().merging([
            "LD_PRELOAD": Self.library ?? "", "CRASH_TEST_CONTROL": directory.file("faults"),
        ]) { $1 }
    }

    /// Causes a fault in place of the previous one, at paths that contain `part`.
    func cause(_ fault: Fault, in part: String = "/data/") throws {
        var numbers = [Int64](repeating: 0, count: 6)
        switch fault {
        case .none: break
        case .wallClock(let time): numbers[0] = time.components.seconds
        case .kill(let change, let time): (numbers[2], numbers[1]) = (Int64(change), time.components.seconds)
        case .error(let code): numbers[4] = Int64(code)
        case .drop: numbers[5] = 1
        }
        let text = Array(part.utf8)
        // The path is written before the numbers, because the numbers start the fault.
        try file.write(text + [UInt8](repeating: 0, count: 80 - text.count), at: 6 * 8)
        try file.write(
            numbers.flatMap { number in (0..<8).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) } }, at: 0
        )
    }
}
