import BalloonPOSIX
import Glibc
import Testing

/// Tests of the standard streams, each in a process of its own.
@Suite struct StandardStreamTests {
    @Test func `standard input is empty after it was taken, and child processes do not inherit it`() async {
        await #expect(processExitsWith: .success) {
            var ends: [Int32] = [0, 0]
            try #require(pipe(&ends) == 0)
            try #require(write(ends[1], "call", 4) == 4)
            try #require(dup2(ends[0], 0) == 0)
            let input = try StandardStream.takeInput()
            var left: [UInt8] = [0]
            #expect(read(0, &left, 1) == 0)
            #expect(fcntl(0, F_GETFD) & FD_CLOEXEC == 0)
            let flags = fcntl(input.raw, F_GETFD)
            #expect(flags & FD_CLOEXEC != 0)
            var bytes: [UInt8] = []
            let count = try input.read(onto: &bytes, maximumBytes: 10)
            #expect(count == 4)
        }
    }

    @Test func `a printed line is in the log at once after standard output was taken`() async {
        await #expect(processExitsWith: .success) {
            var ends: [Int32] = [0, 0]
            try #require(pipe(&ends) == 0)
            try #require(dup2(ends[1], 2) == 2)
            let output = try StandardStream.takeOutput()
            print("hello")
            try #require(fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0)
            var buffer = [UInt8](repeating: 0, count: 1000)
            let count = read(ends[0], &buffer, buffer.count)
            let bytes = buffer.prefix(max(0, count))
            #expect(bytes.suffix(6).elementsEqual("hello\n".utf8))
            let number = output.raw
            #expect(number > 2)
        }
    }
}
