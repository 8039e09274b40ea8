import Glibc

/// A file under `Tests/TestSupport/Fixtures`, read as a whole.
public enum Fixture {
    /// The bytes of the fixture `name`, for example `messages/text.json`.
    public static func bytes(_ name: String) -> [UInt8] {
        let path = directory + "/" + name
        guard let file = fopen(path, "rb") else { fatalError("no fixture at \(path)") }
        defer { fclose(file) }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65536)
        while true {
            let count = fread(&chunk, 1, chunk.count, file)
            guard count > 0 else { return bytes }
            bytes.append(contentsOf: chunk[..<count])
        }
    }

    /// The folder that holds every fixture.
    public static var directory: String {
        String(#filePath.dropLast("Fixture.swift".count)) + "Fixtures"
    }

    /// The folder of the sample handlers that ship with the project.
    public static var sampleHandlers: String {
        String(directory.dropLast("Tests/TestSupport/Fixtures".count)) + "config/handlers"
    }

    /// The names of the fixtures in `folder`, sorted.
    public static func names(in folder: String) -> [String] {
        guard let stream = opendir(directory + "/" + folder) else { return [] }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if !name.hasPrefix(".") { names.append(name) }
        }
        return names.sorted()
    }
}
