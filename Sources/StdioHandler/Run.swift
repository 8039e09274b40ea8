import BalloonPOSIX
public import HandlerKit
import Logging

/// Runs `handler` as a child process of the server, until the server closes its standard input.
///
/// ```swift
/// await StdioHandler.run(Bakery())
/// ```
/// Standard input and output carry the protocol. Text that the handler prints is redirected to standard error,
/// which the server logs, and programs that the handler starts read nothing from standard input.
public func run(_ handler: any Handler) async {
    await run(FixedFactory(handler: handler))
}

/// Runs a handler that is created from the business's configuration.
///
/// When `factory` refuses the configuration, the program logs the error and ends with status 78.
public func run(_ factory: any HandlerFactory) async {
    guard ProcessEnvironment.variables()["BALLOON_HANDLER_PROTOCOL"] != nil else {
        StandardStream.error.write(
            "This program is a handler: a business's file names it with \"handler\": {\"exec\": […]}.\n")
        ProcessEnd.exit(ProcessEnd.configuration)
    }
    let (lines, input) = AsyncStream.makeStream(of: [UInt8].self)
    let output: Output
    do {
        output = Output(try StandardStream.takeOutput())
        StandardStream.readInput(try StandardStream.takeInput()) { bytes in
            if bytes.isEmpty { input.finish() } else { input.yield(bytes) }
        }
    } catch {
        StandardStream.error.write("[error] \(error)\n")
        ProcessEnd.exit(ProcessEnd.configuration)
    }
    await Session(factory: factory, output: output).run(lines)
}

private struct FixedFactory: HandlerFactory {
    let handler: any Handler
    var name: String { "\(type(of: handler))" }
    func make(configuration: JSONValue?) -> any Handler { handler }
}
