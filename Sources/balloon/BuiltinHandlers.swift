import HandlerBridges
import HandlerKit

/// The builtin handlers of this program, which `"handler": {"builtin": …}` can name besides `none`, and the
/// binders of other handlers.
enum BuiltinHandlers {
    static let all: [any HandlerFactory] = [DemoHandlerFactory(), ExecBinder(), HTTPBinder()]
}
