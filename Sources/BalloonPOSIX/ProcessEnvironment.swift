import CLinux
import Glibc

/// The environment that this process was started with.
package enum ProcessEnvironment {
    /// Every variable; of a name that stands twice the first counts, as `getenv` has it.
    package static func variables() -> [String: String] {
        var variables: [String: String] = [:]
        // Sound: `environ` is an array of texts that ends with a null, and nothing here changes the environment.
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
