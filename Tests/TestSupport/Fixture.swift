import BalloonPOSIX

/// A file under `Tests/TestSupport/Fixtures`, read as a whole.
public enum Fixture {
    /// The bytes of the fixture `name`, for example `messages/text.json`.
    public static func bytes(_ name: String) -> [UInt8] {
        let path = directory + "/" + name
        guard let bytes = try? File(path, for: .readingGiven).readAll() else {
            fatalError("no fixture at \(path)")
        }
        return bytes
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
        let names = (try? Directory.names(in: directory + "/" + folder)) ?? []
        return names.filter { !$0.hasPrefix(".") }
    }
}
