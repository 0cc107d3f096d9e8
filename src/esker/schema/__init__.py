"""From tables of fields to flat functions: Kafka's message format, for the wire and for records alike. Pure.

`table` reads the text, `decoder` and `encoder` write the source of one function for a message, version and direction,
`library` compiles it when it is first asked for. The surprise: nothing here runs per field. What a message costs is
what its generated function costs, and `Schema.source` shows that function.
"""

from esker.schema.errors import BadMessage, CannotEncode, UnknownVersion
from esker.schema.library import Library, Schema

__all__ = ["BadMessage", "CannotEncode", "Library", "Schema", "UnknownVersion"]
