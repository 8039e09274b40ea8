import HandlerProtocol
import Testing

struct LineSplitterTests {
    private static let text = Array("one\r\n\ntwo\nlonger than ten\nthree".utf8)

    @Test(arguments: 1...text.count)
    func `lines are the same however the stream is cut`(_ size: Int) {
        var splitter = LineSplitter(maximumBytes: 10)
        var pieces: [LineSplitter.Piece] = []
        for start in stride(from: 0, to: Self.text.count, by: size) {
            pieces += splitter.take(Array(Self.text[start..<min(start + size, Self.text.count)]))
        }
        #expect(pieces.count == 4)
        #expect(Array(pieces.prefix(3)) == ["one", "", "two"].map { .line(Array($0.utf8)) })
        guard case .tooLong = pieces.last else {
            Issue.record("the long line was not detected")
            return
        }
    }

    @Test(arguments: [(10, true), (11, false)])
    func `a line of exactly the limit is accepted, a longer one is not`(_ count: Int, _ fits: Bool) {
        var splitter = LineSplitter(maximumBytes: 10)
        let line = [UInt8](repeating: UInt8(ascii: "x"), count: count)
        #expect((splitter.take(line + [UInt8(ascii: "\n")]) == [.line(line)]) == fits)
    }
}
