// Exported, so that a handler needs to import only this module.
@_exported public import BusinessMessages
