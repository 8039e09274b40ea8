import BalloonJSON
import BalloonPOSIX
import Dispatch
import Glibc
import HandlerKit
import HandlerProtocol
import TestSupport
import Testing

@testable import HandlerBridges

/// One child process without a server.
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

    @Test func `a child that writes no protocol messages is killed once`() async throws {
        let session = try await session("yes garbage")
        #expect(await session.waitForExit() == .signal(9))
        #expect(log.lines.count { $0.contains("but no protocol message") } == 1)
        #expect(await session.noiseCount == 51)
    }

    @Test(arguments: [
        "garbage", "", #"{"jsonrpc":"2.0","method":"log","params":{"message":"all is well"}}"#,
        #"{"jsonrpc":"2.0","method":"unheardOf"}"#, #"{"jsonrpc":"2.0","id":1,"method":"unheardOf"}"#,
        #"{"jsonrpc":"2.0","id":99999,"result":{}}"#,
        #"{"jsonrpc":"2.0","id":1,"method":"reply","params":{}}"#,
    ])
    func `a flood of lines from a child is read slowly`(_ line: String) async throws {
        // The output is endless, so that it is a flood even when the machine is busy. The child reports every 256 KiB.
        let lines = (256 << 10) / (line.utf8.count + 1)
        let session = try await session(
            "read go; while :; do yes '\(line)' | head -n \(lines); echo >>progress; done")
        await session.introduced()
        await session.notify(Array("go\n".utf8))
        await log.first { $0.contains("floods standard output") }
        let begun = ContinuousClock.now
        // The file is missing until the first report.
        func progress() -> Int {
            (try? Descriptor.open(reading: directory.file("progress")).readToEnd(maximumBytes: 100))?.count
                ?? 0
        }
        let before = progress()
        #expect(await eventually { progress() >= before + 2 })
        // At least 384 KiB were read, because a pipe has 64 KiB. Each read of at most 64 KiB is followed by a
        // pause of 100 ms, so it takes over 400 ms; `yes` alone writes it in milliseconds.
        #expect(ContinuousClock.now - begun >= .milliseconds(400))
        await session.kill()
        #expect(log.lines.count { $0.contains("floods standard output") } == 1)
    }

    @Test func `a child that will be restarted gets no call that may charge`() async throws {
        let session = try await session("while read line; do :; done")
        await session.endCharges()
        let answer = await session.call(within: .seconds(60), charges: true) {
            RPCLine.request(id: $0, method: "payment")
        }
        guard case .failure(let error) = answer else {
            Issue.record("\(answer)")
            return
        }
        #expect(error.callEnd == .neverLeft)
        await session.stop()
    }

    @Test func `awaited answers do not count as a flood`() async throws {
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

    @Test func `a child that is silent while an event is in flight is pinged`() async throws {
        var timings = ChildTimings.quick
        timings.silence = .milliseconds(100)
        timings.signOfLife = .milliseconds(100)
        // Another process, which is not killed with the child, reads the child's input.
        let session = try await session(
            "exec 3<&0; setsid sh -c 'echo ready; exec cat >lines' <&3 & exec sleep 1000", timings: timings)
        await log.first { $0.contains("not a protocol message") && $0.contains("ready") }
        let answer = await session.call(within: nil) { RPCLine.request(id: $0, method: Method.event) }
        guard case .failure(.ended) = answer else {
            Issue.record("\(answer)")
            return
        }
        #expect(await session.waitForExit() == .signal(9))
        func said() -> String {
            let file = directory.file("lines")
            let bytes = try? Descriptor.open(reading: file).readToEnd(maximumBytes: 1 << 20)
            return String(decoding: bytes ?? [], as: UTF8.self)
        }
        #expect(await eventually { said().contains(#""method":"ping""#) })
    }

    @Test func `a child has a group of its own, none of our descriptors and no blocked signal`()
        async throws
    {
        // A descriptor without close-on-exec, which a child would inherit if the start did not close it.
        let inheritable = open("/dev/null", O_RDONLY)
        defer { close(inheritable) }
        // The words are `pid (cat) state parent group …` and later `SigBlk:` and `SigIgn:` with their values.
        // `exec` replaces the shell, whose values may differ.
        let (process, words) = try await words(of: "exec cat /proc/self/stat /proc/self/status >words")
        #expect(words[4] == "\(process.id)")
        for name in ["SigIgn:", "SigBlk:"] {
            let index = try #require(words.firstIndex(of: name))
            let set = try #require(UInt64(words[index + 1], radix: 16))
            // Signals 32 and 33 are the C library's own (nptl(7)).
            #expect(set & ~0x1_8000_0000 == 0, "\(name) \(words[index + 1])")
        }
        // `ls` itself opens the fourth descriptor, for the folder that it lists.
        #expect(try await self.words(of: "exec ls /proc/self/fd >words").1 == ["0", "1", "2", "3"])
    }

    /// The words in the file `words`, written by a child that is started while a signal is blocked.
    private func words(of command: String) async throws -> (SpawnedProcess, [String]) {
        let (exits, exit) = AsyncStream.makeStream(of: SpawnedProcess.Exit.self)
        let program = SpawnedProcess.Program(
            ["sh", "-c", command], environment: ExecBinder.environment(for: "b"), directory: directory.path)
        let loop = try DescriptorLoop()
        var (signals, before) = (sigset_t(), sigset_t())
        sigemptyset(&signals)
        sigaddset(&signals, SIGUSR1)
        // A child inherits the thread's signal mask unless the spawn resets it. There is no `await` before
        // the start, which could change the thread.
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
        let bytes = try Descriptor.open(reading: directory.file("words")).readToEnd(maximumBytes: 1 << 20)
        let text = String(decoding: bytes, as: UTF8.self)
        return (process, text.split { $0 == " " || $0 == "\n" || $0 == "\t" }.map(String.init))
    }

    /// A process that ends only when it is killed, and its record.
    private func stubborn(_ loop: DescriptorLoop) async throws -> (
        SpawnedProcess, ProcessRecord, AsyncStream<SpawnedProcess.Exit>
    ) {
        let (exits, exit) = AsyncStream.makeStream(of: SpawnedProcess.Exit.self)
        let program = SpawnedProcess.Program(
            ["sh", "-c", "trap '' TERM; echo; exec sleep 1000"],
            environment: ExecBinder.environment(for: "b"), directory: directory.path)
        let (process, streams) = try SpawnedProcess.start(
            program, queue: DispatchQueue(label: "test"), loop: loop
        ) { exit.yield($0) }
        // Wait for the first output of the process; from then on it ignores SIGTERM.
        _ = fcntl(streams.output, F_SETFL, 0)
        var byte: UInt8 = 0
        #expect(read(streams.output, &byte, 1) == 1)
        for end in [streams.input, streams.output, streams.error] { close(end) }
        return (process, try #require(ProcessRecord(of: process.id)), exits)
    }

    @Test func `a process of an earlier server is ended before a handler starts`() async throws {
        let loop = try DescriptorLoop()
        let (_, record, exits) = try await stubborn(loop)
        try AtomicFile.write(Array(record.text.utf8), to: directory.file("process"))
        let session = ChildSession(
            label: "test", loop: loop, timings: .impatient, host: nil, tail: LogTail(),
            scratchDirectory: directory.path, logger: log.logger)
        let program = SpawnedProcess.Program(
            ["cat"], environment: ExecBinder.environment(for: "b"), directory: directory.path)
        #expect(try await session.start(program))
        var iterator = exits.makeAsyncIterator()
        #expect(await iterator.next() == .signal(9))
        #expect(log.lines.contains { $0.contains("of an earlier server") })
        let named = try Descriptor.open(reading: directory.file("process")).readToEnd(maximumBytes: 4096)
        let lines = String(decoding: named, as: UTF8.self).split(separator: "\n").map(String.init)
        let now = lines.first.flatMap { ProcessRecord($0) }
        #expect(lines.last == ProcessRecord(of: getpid())?.text)
        #expect(now?.id == (await session.processID))
        #expect(now?.isRunning ?? false)
        await session.stop()
        #expect(!Directory.exists(directory.file("process")))
    }

    @Test func `a process of an earlier server is ended only when it matches the record`() async throws {
        let loop = try DescriptorLoop()
        let (process, record, exits) = try await stubborn(loop)
        let words = record.text.split(separator: " ").map(String.init)
        #expect(ProcessRecord(record.text) == record)
        let others = [
            "\(words[0]) \((UInt64(words[1]) ?? 0) + 1) \(words[2])", "\(words[0]) \(words[1]) another",
            "0 0 \(words[2])", "-1 0 x", "", "no record at all",
        ]
        for text in others {
            try AtomicFile.write(Array(text.utf8), to: directory.file("process"))
            let orphan = OrphanProcessFile(directory: directory.path)
            #expect(!orphan.end(grace: .zero, queue: DispatchQueue(label: "test")), "\(text)")
        }
        #expect(record.isRunning)
        process.signalGroup(TerminationSignal.final)
        var iterator = exits.makeAsyncIterator()
        #expect(await iterator.next() == .signal(9))
        #expect(!record.isRunning)
        withExtendedLifetime(loop) {}
    }
}
