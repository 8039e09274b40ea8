import HandlerBridges
import HandlerKit

/// The builtin handlers of this program, and the binders for handlers outside it.
///
/// `"handler": {"builtin": …}` can name the builtin ones, and `none`. The binders connect programs (`exec`) and
/// HTTP services (`http`).
enum BuiltinHandlers {
    static let all: [any HandlerFactory] = [DemoHandlerFactory(), ExecBinder(), HTTPBinder()]
}
