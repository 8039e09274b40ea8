// Exported, so that a handler needs to import only HandlerKit.
@_exported public import BusinessMessages
@_exported public import RetentionMessages
