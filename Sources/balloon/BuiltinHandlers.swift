import HandlerBridges
import HandlerKit

/// The builtin handlers of this program, and the binders for handlers outside this program.
///
/// `"handler": {"builtin": …}` can name one of the builtin handlers, or `none`. The binders connect programs
/// (`exec`) and HTTP services (`http`).
enum BuiltinHandlers {
    static let all: [any HandlerFactory] = [DemoHandlerFactory(), ExecBinder(), HTTPBinder()]
}
