/// The customer began to write: `{"type": "typing_start"}`.
public struct TypingStart: Equatable, Sendable {}

/// The customer cleared what was being written: `{"type": "typing_end"}`.
public struct TypingEnd: Equatable, Sendable {}
