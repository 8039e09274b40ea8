import BalloonPOSIX
import Testing

/// Memory that is returned to the system.
@Suite struct FreeMemoryTests {
    @Test func `unmapped code is no longer resident, and runs again`() throws {
        let before = try residentFileBytes()
        let size = FreeMemory.unmapCode()
        let after = try residentFileBytes()
        #expect(size > 1 << 20)
        #expect(after < before)
        #expect(FreeMemory.unmapCode() == size)
    }

    /// The resident bytes of mapped files, in KiB (proc_pid_status(5), `RssFile`).
    private func residentFileBytes() throws -> Int {
        let status = String(
            decoding: try File("/proc/self/status", for: .reading).read(at: 0, count: 1 << 14), as: UTF8.self)
        let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("RssFile:") })
        return try #require(Int(line.filter(\.isNumber)))
    }
}
