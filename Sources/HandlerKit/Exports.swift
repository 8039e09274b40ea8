// A handler imports this module only.
@_exported public import BusinessMessages
