"""What consumers tell each other through a group's leader: opaque bytes to a broker, shown by tools.

Printed by tools/schemas.py from Kafka's own tables. The classes are made when they are first asked for; the stub beside
this file says what they are.
"""

from esker.schema import Library

TABLES = """
ConsumerProtocolSubscription 0-3
  topics []string 0+
  user_data bytes? 0+ =null
  owned_partitions []TopicPartition 1+ ignorable
    topic string 1+
    partitions []int32 1+
  generation_id int32 2+ =-1 ignorable
  rack_id string? 3+ =null ignorable

ConsumerProtocolAssignment 0-3
  assigned_partitions []TopicPartition 0+
    topic string 0+
    partitions []int32 0+
  user_data bytes? 0+ =null
"""

LIBRARY = Library(__name__, TABLES)
__getattr__ = LIBRARY.shape
