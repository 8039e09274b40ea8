import BalloonPOSIX
import Glibc
import TestSupport
import Testing

@testable import BalloonHTTP

@Suite struct DescriptorShortageTests {
    @Test func `accepting pauses when no descriptors are left, and resumes when some are free`() async {
        // Run in a separate process, because the limit of descriptors applies to the whole process.
        await #expect(processExitsWith: .success) {
            let server = try await HTTPServerUnderTest(sampleRoutes)
            try await server.withConnection { first in
                try first.send(get("/"))
                try #require(try first.answer()?.status == 200)
                var fillers = try fillDescriptors(leaving: 1)
                let second = try RawConnection(server.address)
                try second.send(get("/"))
                while !server.log.lines.contains(where: { $0.contains("listener paused") }) {
                    sched_yield()
                }
                // While accepting is paused, open connections are served.
                for _ in 0..<100 {
                    try first.send(get("/"))
                    try #require(try first.answer()?.status == 200)
                }
                fillers = []
                try #require(try second.answer()?.status == 200)
                try #require(fillers.isEmpty)
                try #require(server.log.lines.filter { $0.contains("paused") }.count == 1)
            }
            await server.stop()
        }
    }
}

/// Lowers the limit and opens descriptors until only `spare` are left.
private func fillDescriptors(leaving spare: Int) throws -> [OpenDescriptor] {
    var limit = rlimit(rlim_cur: 200, rlim_max: 200)
    try #require(setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0)
    var fillers: [OpenDescriptor] = []
    while true {
        let raw = dup(0)
        guard raw >= 0 else { break }
        fillers.append(OpenDescriptor(raw))
    }
    fillers.removeLast(spare)
    return fillers
}

/// A descriptor that can be stored in an array.
private final class OpenDescriptor {
    private let raw: Int32

    init(_ raw: Int32) { self.raw = raw }

    deinit { close(raw) }
}
