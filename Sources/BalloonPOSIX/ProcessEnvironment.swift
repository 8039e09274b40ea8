import CLinux
import Glibc

/// The environment variables that this process was started with.
package enum ProcessEnvironment {
    /// Returns all variables; the first value of a repeated name is used, as `getenv` does.
    package static func variables() -> [String: String] {
        var variables: [String: String] = [:]
        // Sound: `environ` is a null-terminated array of texts, and no code here changes the environment.
        var entry = unsafe environ
        while let text = unsafe entry.pointee {
            let line = unsafe String(cString: text)
            if let equals = line.firstIndex(of: "=") {
                let name = String(line[..<equals])
                if variables[name] == nil { variables[name] = String(line[line.index(after: equals)...]) }
            }
            unsafe entry += 1
        }
        return variables
    }
}
