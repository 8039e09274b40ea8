import BalloonJSON
import BalloonPOSIX
import Dispatch
import Glibc
import HandlerKit
import HandlerProtocol
import TestSupport
import Testing

@testable import HandlerBridges

/// One life of a child, with nothing around it.
struct ChildSessionTests {
    private let directory = TemporaryDirectory()
    private let log = LogCollector()

    /// A session whose child is `command`, run by a shell.
    private func session(_ command: String, timings: ChildTimings = .quick) async throws -> ChildSession {
        let session = ChildSession(
            label: "test", loop: try DescriptorLoop(), timings: timings, host: nil, tail: LogTail(),
            logger: log.logger)
        let program = SpawnedProcess.Program(
            ["sh", "-c", command], environment: ExecBinder.environment(for: "b"), directory: directory.path)
        #expect(try await session.start(program))
        return session
    }

    @Test func `who writes nothing but noise is given up once`() async throws {
        let session = try await session("yes garbage")
        #expect(await session.waitForExit() == .signal(9))
        #expect(log.lines.count { $0.contains("nothing but noise") } == 1)
        #expect(await session.noiseCount == 51)
    }

    @Test(arguments: [
        "garbage", "", #"{"jsonrpc":"2.0","method":"log","params":{"message":"all is well"}}"#,
        #"{"jsonrpc":"2.0","method":"unheardOf"}"#, #"{"jsonrpc":"2.0","id":1,"method":"unheardOf"}"#,
        #"{"jsonrpc":"2.0","id":99999,"result":{}}"#,
        #"{"jsonrpc":"2.0","id":1,"method":"reply","params":{}}"#,
    ])
    func `a flood is read slowly, whatever it says`(_ line: String) async throws {
        let session = try await session("read go; yes '\(line)' | head -n 6000; cat >/dev/null")
        await session.introduced()
        await session.notify(Array("go\n".utf8))
        await log.first { $0.contains("floods standard output") }
        await session.kill()
        #expect(log.lines.count { $0.contains("floods standard output") } == 1)
    }

    @Test func `answers that somebody waits for are no flood`() async throws {
        let answer = #"{"jsonrpc":"2.0","id":%d,"result":{}}\n"#
        let session = try await session(
            "n=0; while read line; do n=$((n+1)); printf '\(answer)' $n; done")
        for _ in 0..<300 {
            let answer = await session.call(within: .seconds(30)) { RPCLine.request(id: $0, method: "event") }
            guard case .success = answer else {
                Issue.record("\(answer)")
                break
            }
        }
        await session.stop()
        #expect(!log.lines.contains { $0.contains("floods") })
    }

    @Test func `who says nothing while an event is under way is asked for a sign of life`() async throws {
        var timings = ChildTimings.quick
        timings.silence = .milliseconds(100)
        timings.signOfLife = .milliseconds(100)
        let session = try await session("cat >lines", timings: timings)
        let answer = await session.call(within: nil) { RPCLine.request(id: $0, method: Method.event) }
        guard case .failure(.ended) = answer else {
            Issue.record("\(answer)")
            return
        }
        #expect(await session.waitForExit() == .signal(9))
        let said = try Descriptor.open(reading: directory.file("lines")).readToEnd(maximumBytes: 1 << 20)
        #expect(String(decoding: said, as: UTF8.self).contains(#""method":"ping""#))
    }

    @Test func `a child has a group of its own, none of our descriptors and no signal that is off`()
        async throws
    {
        // One that a child would inherit, if it could.
        let inheritable = open("/dev/null", O_RDONLY)
        defer { close(inheritable) }
        let (exits, exit) = AsyncStream.makeStream(of: SpawnedProcess.Exit.self)
        // The shell's own words alone: while it starts a program all its signals are blocked.
        let script = """
            while read -r line; do echo "$line"; done </proc/self/stat >stat
            while read -r line; do echo "$line"; done </proc/self/status >status
            exec ls /proc/self/fd >fds
            """
        let program = SpawnedProcess.Program(
            ["sh", "-c", script],
            environment: ExecBinder.environment(for: "b"), directory: directory.path)
        let loop = try DescriptorLoop()
        var (signals, before) = (sigset_t(), sigset_t())
        sigemptyset(&signals)
        sigaddset(&signals, SIGUSR1)
        // A thread's mask is its child's, unless somebody sees to it; nothing waits before the start.
        pthread_sigmask(SIG_BLOCK, &signals, &before)
        let started = Result {
            try SpawnedProcess.start(program, queue: DispatchQueue(label: "test"), loop: loop) {
                exit.yield($0)
            }
        }
        pthread_sigmask(SIG_SETMASK, &before, nil)
        let (process, streams) = try started.get()
        defer { for end in [streams.input, streams.output, streams.error] { close(end) } }
        var iterator = exits.makeAsyncIterator()
        #expect(await iterator.next() == .status(0))
        func words(_ name: String) throws -> [Substring] {
            let bytes = try Descriptor.open(reading: directory.file(name)).readToEnd(maximumBytes: 1 << 20)
            return String(decoding: bytes, as: UTF8.self).split { $0 == " " || $0 == "\n" || $0 == "\t" }
        }
        // `pid (sh) state parent group …`
        #expect(try words("stat")[4] == "\(process.id)")
        let status = try words("status")
        for name in ["SigIgn:", "SigBlk:"] {
            let index = try #require(status.firstIndex(of: Substring(name)))
            let set = try #require(UInt64(status[index + 1], radix: 16))
            // Signals 32 and 33 are the C library's own (nptl(7)).
            #expect(set & ~0x1_8000_0000 == 0, "\(name) \(status[index + 1])")
        }
        // The fourth is that of the folder which is listed.
        let descriptors = try words("fds")
        #expect(descriptors == ["0", "1", "2", "3"])
    }
}
