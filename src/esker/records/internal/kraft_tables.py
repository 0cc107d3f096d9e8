"""Records of KRaft's metadata log: those that topics, their settings and features are told by.

Printed by tools/schemas.py from Kafka's own tables. The classes are made when they are first asked for; the stub beside
this file says what they are.
"""

from esker.schema import Library

TABLES = """
TopicRecord 0 flexible 0+ key 2
  name string 0+
  topic_id uuid 0+

PartitionRecord 0-2 flexible 0+ key 3
  partition_id int32 0+ =-1
  topic_id uuid 0+
  replicas []int32 0+
  isr []int32 0+
  removing_replicas []int32 0+
  adding_replicas []int32 0+
  leader int32 0+ =-1
  leader_recovery_state int8 0+ @0 =0
  leader_epoch int32 0+ =-1
  partition_epoch int32 0+ =-1
  directories []uuid 1+
  eligible_leader_replicas []int32? 2+ @1 =null
  last_known_elr []int32? 2+ @2 =null

PartitionChangeRecord 0-2 flexible 0+ key 5
  partition_id int32 0+ =-1
  topic_id uuid 0+
  isr []int32? 0+ @0 =null
  leader int32 0+ @1 =-2
  replicas []int32? 0+ @2 =null
  removing_replicas []int32? 0+ @3 =null
  adding_replicas []int32? 0+ @4 =null
  leader_recovery_state int8 0+ @5 =-1
  directories []uuid? 1+ @8 =null
  eligible_leader_replicas []int32? 2+ @6 =null
  last_known_elr []int32? 2+ @7 =null

RemoveTopicRecord 0 flexible 0+ key 9
  topic_id uuid 0+

ConfigRecord 0 flexible 0+ key 4
  resource_type int8 0+
  resource_name string 0+
  name string 0+
  value string? 0+

FeatureLevelRecord 0 flexible 0+ key 12
  name string 0+
  feature_level int16 0+

BeginTransactionRecord 0 flexible 0+ key 23
  name string? 0+ @0 =null

EndTransactionRecord 0 flexible 0+ key 24

AbortTransactionRecord 0 flexible 0+ key 25
  reason string? 0+ @0 =null
"""

LIBRARY = Library(__name__, TABLES)
__getattr__ = LIBRARY.shape
