import Glibc

/// A directory of one test, removed with its content when the value is destroyed.
public final class TemporaryDirectory: Sendable {
    /// The absolute path, without a trailing slash.
    public let path: String

    /// Creates the directory under `/tmp`.
    public init() {
        var template = Array("/tmp/balloon-test-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { fatalError("mkdtemp failed: errno \(errno)") }
        path = String(decoding: template.dropLast().map(UInt8.init(truncatingIfNeeded:)), as: UTF8.self)
    }

    deinit { removeTree(path) }

    /// The path of `name` inside the directory.
    public func file(_ name: String) -> String { path + "/" + name }
}

private func removeTree(_ path: String) {
    if let stream = opendir(path) {
        while let entry = readdir(stream) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            guard name != ".", name != ".." else { continue }
            // A link is removed, never followed.
            if entry.pointee.d_type == UInt8(DT_DIR) {
                removeTree(path + "/" + name)
            } else {
                unlink(path + "/" + name)
            }
        }
        closedir(stream)
    }
    rmdir(path)
}
