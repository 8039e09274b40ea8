import Dispatch
import Synchronization
import Testing

@testable import MessageServer

@Suite(.timeLimit(.minutes(10))) struct LogStreamTests {
    @Test func `lines are written completely and in order, several with each write`() {
        let written = Mutex<[[UInt8]]>([])
        let stream = LogStream { bytes in written.withLock { $0.append(bytes) } }
        for number in 0..<1000 { stream.write(Array("\(number)\n".utf8)) { _ in [] } }
        #expect(stream.flush(within: .seconds(60)))
        let text = String(decoding: written.withLock { $0.flatMap(\.self) }, as: UTF8.self)
        #expect(text == (0..<1000).map { "\($0)\n" }.joined())
    }

    @Test func `an urgent line is written at once with earlier ones, and the others are written together`()
        async
    {
        let (writes, write) = AsyncStream.makeStream(of: String.self)
        let stream = LogStream { write.yield(String(decoding: $0, as: UTF8.self)) }
        for number in 0..<100 { stream.write(Array("\(number)\n".utf8)) { _ in [] } }
        stream.write(Array("urgent\n".utf8), isUrgent: true) { _ in [] }
        var texts: [String] = []
        for await text in writes {
            texts.append(text)
            if text.hasSuffix("urgent\n") { break }
        }
        #expect(texts.joined() == (0..<100).map { "\($0)\n" }.joined() + "urgent\n")
        #expect(texts.count < 20)
        // Later lines are written without further calls.
        stream.write(Array("last\n".utf8)) { _ in [] }
        for await text in writes { if text == "last\n" { break } }
    }

    @Test func `a flush for a blocked reader ends at its time limit`() {
        let gate = DispatchSemaphore(value: 0)
        let stream = LogStream { _ in gate.wait() }
        stream.write(Array("line\n".utf8)) { _ in [] }
        #expect(!stream.flush(within: .milliseconds(20)))
        gate.signal()
        gate.signal()
        #expect(stream.flush(within: .seconds(60)))
    }

    @Test func `a slow reader loses lines, which are counted, and never delays the writer`() {
        let gate = DispatchSemaphore(value: 0)
        let hasBegun = DispatchSemaphore(value: 0)
        let written = Mutex<[UInt8]>([])
        let stream = LogStream(maximumPendingBytes: 10) { bytes in
            hasBegun.signal()
            gate.wait()
            written.withLock { $0 += bytes }
        }
        let write = { (text: String) in stream.write(Array(text.utf8)) { Array("lost \($0)\n".utf8) } }
        write("first\n")
        hasBegun.wait()
        // The reader holds the first line; ten more bytes fit into the buffer.
        write("12345678\n")
        write("too much\n")
        write("again\n")
        gate.signal()
        hasBegun.wait()
        write("last\n")
        gate.signal()
        hasBegun.wait()
        gate.signal()
        #expect(stream.flush(within: .seconds(60)))
        #expect(String(decoding: written.withLock { $0 }, as: UTF8.self) == "first\n12345678\nlost 2\nlast\n")
    }
}
