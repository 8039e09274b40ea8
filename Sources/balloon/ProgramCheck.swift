import BalloonPOSIX
import HandlerBridges
import HandlerKit
import MessageServer
import Synchronization

/// Creates handlers that are programs, and collects those that cannot be started.
final class ProgramCheck: HandlerBinder {
    /// A program that cannot be started.
    struct Obstacle {
        let request: HandlerBindingRequest
        let program: String
        let error: SystemError
        let advice: String
    }

    private let binder = ExecBinder()
    private let obstacles = Mutex<[Obstacle]>([])

    var name: String { binder.name }
    var found: [Obstacle] { obstacles.withLock { $0 } }

    /// All handlers, with this check instead of the programs.
    var handlers: [any HandlerFactory] { [self] + BuiltinHandlers.all.filter { $0.name != name } }

    func make(_ request: HandlerBindingRequest) throws -> any Handler {
        if let (program, error, advice) = ExecBinder.obstacle(of: request.binding, in: request.directory) {
            obstacles.withLock {
                $0.append(Obstacle(request: request, program: program, error: error, advice: advice))
            }
        }
        return try binder.make(request)
    }
}
