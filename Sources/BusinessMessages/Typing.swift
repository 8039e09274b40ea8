/// The customer began to write: `{"type": "typing_start"}`.
public struct TypingStart: Equatable, Sendable {}

/// The customer deleted the unsent text: `{"type": "typing_end"}`.
public struct TypingEnd: Equatable, Sendable {}
