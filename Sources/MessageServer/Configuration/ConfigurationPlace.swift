/// The place in a file, or the environment variable, from which a setting was read.
package enum ConfigurationPlace: Sendable, Equatable, CustomStringConvertible {
    /// A value inside a file: line and column count from 1, the pointer is a JSON pointer (RFC 6901).
    case value(file: String, line: Int, column: Int, pointer: String)
    /// A file as a whole.
    case file(String)
    /// An environment variable.
    case variable(String)

    /// `config/server.json:3:13: /listen`, the file's path, or the variable's name.
    package var description: String {
        switch self {
        case .value(let file, let line, let column, ""): "\(file):\(line):\(column)"
        case .value(let file, let line, let column, let pointer): "\(file):\(line):\(column): \(pointer)"
        case .file(let path): path
        case .variable(let name): name
        }
    }
}
