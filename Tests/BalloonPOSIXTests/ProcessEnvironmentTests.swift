import BalloonPOSIX
import Glibc
import TestSupport
import Testing

@Suite struct ProcessEnvironmentTests {
    @Test func `the environment has the variables that getenv finds`() {
        let variables = ProcessEnvironment.variables()
        #expect(variables["PATH"] == getenv("PATH").map { String(cString: $0) })
        #expect(variables["PATH"]?.isEmpty == false)
    }

    @Test func `a file is read to its end, and refused when it exceeds the limit`() throws {
        let directory = TemporaryDirectory()
        let path = directory.file("text")
        let file = try #require(fopen(path, "w"))
        fputs("12345", file)
        fclose(file)
        #expect(try Descriptor.open(reading: path).readToEnd(maximumBytes: 5) == Array("12345".utf8))
        #expect(throws: SystemError("read", code: EFBIG)) {
            try Descriptor.open(reading: path).readToEnd(maximumBytes: 4)
        }
        #expect(throws: SystemError("open", code: ENOENT)) {
            _ = try Descriptor.open(reading: directory.file("absent")).readToEnd(maximumBytes: 5)
        }
    }
}

@Suite struct ProcessPathsTests {
    @Test func `the program and the working directory exist under absolute paths`() throws {
        let program = try ProcessPaths.executable()
        #expect(program.hasPrefix("/"))
        #expect(Directory.exists(program))
        #expect(Directory.isDirectory(try ProcessPaths.workingDirectory()))
        #expect(try ProcessPaths.resolved(".") == ProcessPaths.workingDirectory())
    }

    @Test func `a path is resolved through links, and is nil when the file does not exist`() throws {
        let directory = TemporaryDirectory()
        #expect(symlink("/", directory.file("root")) == 0)
        #expect(ProcessPaths.resolved(directory.file("root/tmp/../")) == "/")
        #expect(ProcessPaths.resolved(directory.file("absent")) == nil)
    }
}
