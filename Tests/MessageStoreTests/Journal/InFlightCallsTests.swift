import BalloonPOSIX
import TestSupport
import Testing

@testable import MessageStore

/// The file of calls as a killed process leaves it.
struct InFlightCallsTests {
    let directory = TemporaryDirectory()

    @Test(arguments: [
        (lines: [], left: []),
        (lines: ["0000000000000000007", "!000000000000000008"], left: [7, 8]),
        // The first place is reserved, but its owner has not written it yet.
        (lines: [nil, "0000000000000000007"], left: [7]),
        (lines: ["0000000000000000007", nil, nil, "R000000000000000009"], left: [7, 9]),
        (lines: ["                   ", "r000000000000000007"], left: [7]),
        (lines: ["x000000000000000007", "r00000000000000000x"], left: []),
    ])
    func `every written place of a file of calls is read`(_ lines: [String?], _ left: [UInt64]) throws {
        let path = directory.path + "/calls"
        let file = try File(path, for: .overwriting)
        for (place, line) in lines.enumerated() {
            if let line { try file.write(Array("\(line)\n".utf8), at: place * 20) }
        }
        #expect(Set(try InFlightCalls.open(path).left.keys) == Set(left))
    }

    @Test func `a line that was cut off counts no crash`() throws {
        let path = directory.path + "/calls"
        try AtomicFile.write(Array("0000000000000000007\n00000000000".utf8), to: path)
        #expect(Set(try InFlightCalls.open(path).left.keys) == [7])
    }
}
