import BalloonPOSIX
import TestSupport
import Testing

struct MappedFileTests {
    private let directory = TemporaryDirectory()

    @Test(arguments: [0, 7, 65_530, 65_536, 131_060, 131_072, 200_000])
    func `bytes are in the file at once, also behind the mapped part`(_ offset: Int) throws {
        let path = directory.path + "/lines"
        let file = try File(path, for: .overwriting)
        try file.write(Array("first".utf8), at: 0)
        let mapped = MappedFile(file, maximumBytes: 128 << 10)
        try mapped.write(Array("twelve bytes".utf8), at: offset)
        #expect(try file.read(at: offset, count: 12) == Array("twelve bytes".utf8))
        if offset >= 5 { #expect(try file.read(at: 0, count: 5) == Array("first".utf8)) }
    }
}
