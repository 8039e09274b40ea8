// Exported, so that a handler needs to import only this module.
@_exported public import BusinessMessages
@_exported public import RetentionMessages
