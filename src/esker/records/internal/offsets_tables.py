"""Records of `__consumer_offsets`: committed offsets, classic groups, groups of KIP-848.

Printed by tools/schemas.py from Kafka's own tables. The classes are made when they are first asked for; the stub beside
this file says what they are.
"""

from esker.schema import Library

TABLES = """
LegacyOffsetCommitKey 0 key 0
  group string 0
  topic string 0
  partition int32 0

LegacyOffsetCommitValue 0 key 0
  offset int64 0
  metadata string 0
  commit_timestamp int64 0

OffsetCommitKey 0 key 1
  group string 0
  topic string 0
  partition int32 0

OffsetCommitValue 0-4 flexible 4+ key 1
  offset int64 0+
  leader_epoch int32 3+ =-1 ignorable
  metadata string 0+
  commit_timestamp int64 0+
  expire_timestamp int64 1 =-1 ignorable
  topic_id uuid 4+ @0 ignorable

GroupMetadataKey 0 key 2
  group string 0

GroupMetadataValue 0-4 flexible 4+ key 2
  struct MemberMetadata
    member_id string 0+
    group_instance_id string? 3+ =null ignorable
    client_id string 0+
    client_host string 0+
    rebalance_timeout int32 1+ =-1 ignorable
    session_timeout int32 0+
    subscription bytes 0+
    assignment bytes 0+
  protocol_type string 0+
  generation int32 0+
  protocol string? 0+
  leader string? 0+
  current_state_timestamp int64 2+ =-1 ignorable
  members []MemberMetadata 0+

ConsumerGroupMetadataKey 0 key 3
  group_id string 0

ConsumerGroupMetadataValue 0 flexible 0+ key 3
  epoch int32 0+
  metadata_hash int64 0+ @0 =0

ConsumerGroupPartitionMetadataKey 0 key 4
  group_id string 0

ConsumerGroupPartitionMetadataValue 0 flexible 0+ key 4
  topics []TopicMetadata 0+
    topic_id uuid 0+
    topic_name string 0+
    num_partitions int32 0+
    partition_metadata []PartitionMetadata 0+
      partition int32 0+
      racks []string 0+

ConsumerGroupMemberMetadataKey 0 key 5
  group_id string 0
  member_id string 0

ConsumerGroupMemberMetadataValue 0 flexible 0+ key 5
  instance_id string? 0+
  rack_id string? 0+
  client_id string 0+
  client_host string 0+
  subscribed_topic_names []string 0+
  subscribed_topic_regex string? 0+
  rebalance_timeout_ms int32 0+ =-1
  server_assignor string? 0+
  classic_member_metadata ClassicMemberMetadata? 0+ @0
    session_timeout_ms int32 0+
    supported_protocols []ClassicProtocol 0+
      name string 0+
      metadata bytes 0+

ConsumerGroupTargetAssignmentMetadataKey 0 key 6
  group_id string 0

ConsumerGroupTargetAssignmentMetadataValue 0 flexible 0+ key 6
  assignment_epoch int32 0+
  assignment_timestamp int64 0+ @0 =0 ignorable

ConsumerGroupTargetAssignmentMemberKey 0 key 7
  group_id string 0
  member_id string 0

ConsumerGroupTargetAssignmentMemberValue 0 flexible 0+ key 7
  topic_partitions []TopicPartition 0+
    topic_id uuid 0+
    partitions []int32 0+

ConsumerGroupCurrentMemberAssignmentKey 0 key 8
  group_id string 0
  member_id string 0

ConsumerGroupCurrentMemberAssignmentValue 0 flexible 0+ key 8
  struct TopicPartitions
    topic_id uuid 0+
    partitions []int32 0+
    assignment_epochs []int32? 0+ @0
  member_epoch int32 0+
  previous_member_epoch int32 0+
  state int8 0+
  assigned_partitions []TopicPartitions 0+
  partitions_pending_revocation []TopicPartitions 0+

ConsumerGroupRegularExpressionKey 0 key 16
  group_id string 0
  regular_expression string 0

ConsumerGroupRegularExpressionValue 0 flexible 0+ key 16
  topics []string 0+
  version int64 0+
  timestamp int64 0+
"""

LIBRARY = Library(__name__, TABLES)
__getattr__ = LIBRARY.shape
