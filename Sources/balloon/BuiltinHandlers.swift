import HandlerKit

/// The handlers that this program has: what `"handler": {"builtin": …}` can name besides `none`.
enum BuiltinHandlers {
    static let all: [any HandlerFactory] = [DemoHandlerFactory()]
}
