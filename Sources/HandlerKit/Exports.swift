// A handler's file needs one import.
@_exported public import BusinessMessages
