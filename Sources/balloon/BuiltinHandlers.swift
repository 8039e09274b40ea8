import HandlerBridges
import HandlerKit

/// The handlers that this program has: what `"handler": {"builtin": …}` can name besides `none`, and the other ways of
/// binding one.
enum BuiltinHandlers {
    static let all: [any HandlerFactory] = [DemoHandlerFactory(), ExecBinder(), HTTPBinder()]
}
