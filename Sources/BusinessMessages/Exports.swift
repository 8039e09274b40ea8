// Handlers see a message's raw JSON, so users of this module need its type.
@_exported public import BalloonJSON
