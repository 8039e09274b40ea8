import BalloonPOSIX
import Glibc
import Testing

@Suite struct DescriptorTests {
    @Test func `bytes written to a pipe are read from it`() throws {
        var ends: [Int32] = [0, 0]
        try #require(pipe(&ends) == 0)
        let reading = Descriptor(owning: ends[0])
        let writing = Descriptor(owning: ends[1])
        try writing.writeAll(Array("hello".utf8))
        var bytes: [UInt8] = Array("> ".utf8)
        let count = try reading.read(onto: &bytes, maximumBytes: 100)
        #expect(count == 5)
        #expect(bytes == Array("> hello".utf8))
    }

    @Test func `a descriptor is closed when the value that owns it is destroyed`() throws {
        let raw = dup(0)
        do { _ = Descriptor(owning: raw) }
        #expect(fcntl(raw, F_GETFD) == -1)
    }

    @Test func `a system error contains its call and its reason`() {
        #expect(SystemError("open", code: ENOENT).description == "open: No such file or directory (2)")
    }
}
