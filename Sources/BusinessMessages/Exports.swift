// Handlers read the JSON of messages. Without this re-export they would need a second import for its type.
@_exported public import BalloonJSON
