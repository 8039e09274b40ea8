import BalloonPOSIX
import Dispatch
package import HandlerKit
import Logging

/// Where a server's configuration is read from, when it starts and again.
package struct ConfigurationSource: Sendable {
    private let file: String
    private let handlers: [any HandlerFactory]
    private let adjust: @Sendable (inout ServerConfiguration) -> Void

    /// Names the server's file; `adjust` changes what was read, as a command's options do.
    package init(
        file: String, handlers: [any HandlerFactory],
        adjust: @escaping @Sendable (inout ServerConfiguration) -> Void = { _ in }
    ) {
        self.file = file
        self.handlers = handlers
        self.adjust = adjust
    }

    /// Reads everything, or throws everything that is wrong with it.
    package func load() throws(ConfigurationError) -> ServerConfiguration {
        var configuration = try ConfigurationLoader.load(
            file: file, environment: ProcessEnvironment.variables(), handlers: handlers)
        adjust(&configuration)
        return configuration
    }

    /// Watches the `.json` files beside the server's and those of the businesses; nil, and a warning, when it cannot.
    func watch(_ logger: Logger, changed: @escaping @Sendable () -> Void) -> DirectoryWatch? {
        let folder = ConfigurationFile.folder(of: file)
        let queue = DispatchQueue(label: "balloon.configuration")
        do throws(SystemError) {
            return try DirectoryWatch(
                [folder.isEmpty ? "." : folder, folder + "businesses"], queue: queue,
                // A volume of Kubernetes changes by renaming `..data`, to which all of its names lead.
                wanted: { $0.hasSuffix(".json") || $0.hasPrefix("..") }, changed: changed)
        } catch {
            logger.warning(
                "changes of the configuration are not noticed; SIGHUP reads it again",
                metadata: ["error": "\(error)"])
            return nil
        }
    }
}
