"""Tables for tests: one with everything that a table can say, and some of Kafka's own."""

from esker.schema import Library

TEXT = """
Everything 0-3 flexible 2+ key 7
  struct Shared
    number int32 0+
    tail int16 1+ @0:2+ =7 ignorable
  yes bool 0+
  tiny int8 0+
  short int16 0+ =-1
  unsigned uint16 0+
  whole int32 0+
  wide uint32 0+
  long int64 1+ =-1 ignorable
  real float64 0+
  id uuid 0+
  text string 0+ =none
  old string? 0+ =null inflexible
  maybe string?1+ 0+
  raw bytes 0+
  maybe_raw bytes? 0+ =null
  records records? 0+
  ints []int32? 0+
  shorts []int16 0+
  names []string 0+
  ids []uuid 0+
  structs []Shared 0+
  one Shared 0+
  optional Shared? 1+ =null ignorable
  nested []Nested? 0+
    inner []Inner 0+
      value int64 0+
      label string 0+
  late string 3+
  tagged string? 2+ @1 =null ignorable
  tagged_struct Shared 2+ @0 ignorable
  tagged_optional Shared? 2+ @3 =null ignorable
  tagged_structs []Shared 2+ @2 ignorable
  tagged_number int64 2+ @300 =5 ignorable
  tagged_bytes bytes 2+ @4 ignorable

Nothing 0-1 flexible 1+

Header 1-2 flexible 2+
  key int16 0+
  client_id string? 1+ inflexible

Produce 3-13 flexible 9+ key 0
  transactional_id string? 3+ =null
  acks int16 0+
  topics []Topic 0+
    name string 0-12 ignorable
    topic_id uuid 13+ ignorable
    partitions []Partition 0+
      index int32 0+
      records records? 0+

Commit 0-4 flexible 4+
  offset int64 0+
  leader_epoch int32 3+ =-1 ignorable
  metadata string 0+
  expire int64 1 =-1
  topic_id uuid 4+ @0 ignorable

Numbers 0-1 flexible 1+
  numbers []int32 0+

Small 0-1 flexible 1+
  smalls []Each 0+
    text string 0+
    raw bytes 0+
    ints []int32 0+
    optional Optional? 0+ =null
      tiny int8 0+
    one One 0+
      texts []string 0+
      flag bool 0+
"""

LIBRARY = Library(__name__, TEXT)
__getattr__ = LIBRARY.shape
