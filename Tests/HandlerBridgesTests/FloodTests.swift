import BalloonPOSIX
import Dispatch
import Glibc
import Synchronization
import Testing

@testable import HandlerBridges

struct FloodTests {
    @Test func `a flood of lines is detected, and a slow stream of lines is not`() {
        let start = ContinuousClock.now
        var gauge = FloodGauge(at: start)
        #expect(!(0..<1000).contains { _ in gauge.add(at: start) })
        #expect((0..<2000).contains { _ in gauge.add(at: start + .milliseconds(900)) })
        var trickle = FloodGauge(at: start)
        #expect(!(0..<10_000).contains { trickle.add(at: start + .milliseconds($0)) })
    }

    @Test func `pausing a pipe's reader makes the writer wait, and loses no bytes`() async throws {
        var ends: [Int32] = [0, 0]
        #expect(pipe(&ends) == 0)
        for end in ends { _ = fcntl(end, F_SETFL, O_NONBLOCK) }
        let loop = try DescriptorLoop()
        let (pieces, piece) = AsyncStream.makeStream(of: [UInt8].self)
        let reader = try PipeReader(
            OwnedDescriptor(owning: ends[0]), queue: DispatchQueue(label: "test"), loop: loop
        ) { piece.yield($0) }
        let writer = Descriptor(owning: ends[1])
        let begun = ContinuousClock.now
        reader.pause(for: .milliseconds(100))
        try writer.writeAll([1])
        var bytes: [UInt8] = []
        var iterator = pieces.makeAsyncIterator()
        bytes += await iterator.next() ?? []
        try writer.writeAll([2])
        bytes += await iterator.next() ?? []
        #expect(bytes == [1, 2])
        #expect(ContinuousClock.now - begun >= .milliseconds(90))
        reader.finish()
    }
    @Test func `a pipe's writer knows whether everything was read`() throws {
        var ends: [Int32] = [0, 0]
        #expect(pipe(&ends) == 0)
        for end in ends { _ = fcntl(end, F_SETFL, O_NONBLOCK) }
        let reader = Descriptor(owning: ends[0])
        let writer = PipeWriter(
            owning: ends[1], queue: DispatchQueue(label: "test"), loop: try DescriptorLoop(),
            maximumPendingBytes: 100)
        #expect(writer.isDrained)
        #expect(writer.write([1, 2]))
        #expect(!writer.isDrained)
        var bytes: [UInt8] = []
        _ = try reader.read(onto: &bytes, maximumBytes: 1)
        #expect(!writer.isDrained)
        _ = try reader.read(onto: &bytes, maximumBytes: 10)
        #expect(writer.isDrained && bytes == [1, 2])
    }
}
