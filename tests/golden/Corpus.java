// Does what a script says, line by line, with Kafka's own clients, and prints what they answer. A word of bytes is "-" for
// null or "x" and hex digits.
//   create TOPIC key=value...                 config TOPIC key=value...
//   producer NAME key=value...                init|begin|commit|abort|flush|close NAME
//   send NAME TOPIC TIMESTAMP KEY VALUE KEY:VALUE...      prints: sent OFFSET TIMESTAMP (all of them, in order, at the end)
//   end TOPIC OFFSET                          waits until the log's end is there
//   consume TOPIC ISOLATION                   prints: got TOPIC OFFSET TIMESTAMP TYPE KEY VALUE KEY:VALUE...
//   consume-all ISOLATION TOPIC...            the same of several topics, by turns
//   delete TOPIC OFFSET                       deletes the records before it
//   bounds TOPIC...                           prints for each: bounds TOPIC EARLIEST LATEST
//   producers TOPIC                           prints: producer TOPIC ID EPOCH COORDINATOR_EPOCH SEQUENCE TIMESTAMP OPEN_SINCE
//   group GROUP PROTOCOL TOPIC OFFSET METADATA      joins, reads, commits that offset
//   offsets NAME GROUP TOPIC OFFSET           adds a group's position to the open transaction
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.*;
import java.util.concurrent.Future;
import org.apache.kafka.clients.admin.*;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.serialization.*;

public class Corpus {
    static final long DEADLINE_MS = 60_000;
    static final Map<String, KafkaProducer<byte[], byte[]>> producers = new HashMap<>();
    static final List<Future<RecordMetadata>> sent = new ArrayList<>();
    static String bootstrap;
    static Admin admin;

    public static void main(String[] args) throws Exception {
        bootstrap = args[0];
        admin = Admin.create(Map.<String, Object>of("bootstrap.servers", bootstrap));
        for (String line : Files.readAllLines(Path.of(args[1]))) run(line.split(" "));
        for (KafkaProducer<byte[], byte[]> producer : producers.values()) producer.close();
        for (Future<RecordMetadata> one : sent)
            System.out.println("sent " + one.get().offset() + " " + one.get().timestamp());
        admin.close();
    }

    static void run(String[] w) throws Exception {
        KafkaProducer<byte[], byte[]> producer = producers.get(w[1]);
        switch (w[0]) {
            case "create" -> create(w[1], settings(w, 2));
            case "config" -> config(w[1], settings(w, 2));
            case "producer" -> producers.put(w[1], producer(settings(w, 2)));
            case "init" -> producer.initTransactions();
            case "begin" -> producer.beginTransaction();
            case "commit" -> producer.commitTransaction();
            case "abort" -> producer.abortTransaction();
            case "flush" -> producer.flush();
            case "close" -> producers.remove(w[1]).close();
            case "send" -> sent.add(producer.send(record(w)));
            case "end" -> awaitEnd(new TopicPartition(w[1], 0), Long.parseLong(w[2]));
            case "consume" -> consume(List.of(w[1]), w[2]);
            case "consume-all" -> consume(List.of(w).subList(2, w.length), w[1]);
            case "delete" -> admin.deleteRecords(Map.of(
                new TopicPartition(w[1], 0), RecordsToDelete.beforeOffset(Long.parseLong(w[2])))).all().get();
            case "bounds" -> bounds(List.of(w).subList(1, w.length));
            case "producers" -> producersOf(new TopicPartition(w[1], 0));
            case "group" -> group(w[1], w[2], w[3], Long.parseLong(w[4]), w[5]);
            case "offsets" -> producer.sendOffsetsToTransaction(
                Map.of(new TopicPartition(w[3], 0), new OffsetAndMetadata(Long.parseLong(w[4]))),
                new ConsumerGroupMetadata(w[2]));
            default -> throw new IllegalArgumentException(w[0]);
        }
    }

    static Map<String, String> settings(String[] w, int from) {
        Map<String, String> found = new HashMap<>();
        for (int i = from; i < w.length; i++) {
            int at = w[i].indexOf('=');
            found.put(w[i].substring(0, at), w[i].substring(at + 1));
        }
        return found;
    }

    static void create(String topic, Map<String, String> configs) throws Exception {
        admin.createTopics(List.of(new NewTopic(topic, 1, (short) 1).configs(configs))).all().get();
    }

    static void config(String topic, Map<String, String> configs) throws Exception {
        List<AlterConfigOp> ops = new ArrayList<>();
        configs.forEach((k, v) -> ops.add(new AlterConfigOp(new ConfigEntry(k, v), AlterConfigOp.OpType.SET)));
        admin.incrementalAlterConfigs(Map.of(new ConfigResource(ConfigResource.Type.TOPIC, topic), ops)).all().get();
    }

    static KafkaProducer<byte[], byte[]> producer(Map<String, String> settings) {
        Map<String, Object> all = new HashMap<>(settings);
        all.put("bootstrap.servers", bootstrap);
        return new KafkaProducer<>(all, new ByteArraySerializer(), new ByteArraySerializer());
    }

    static ProducerRecord<byte[], byte[]> record(String[] w) {
        ProducerRecord<byte[], byte[]> record =
            new ProducerRecord<>(w[2], 0, Long.parseLong(w[3]), bytes(w[4]), bytes(w[5]));
        for (int i = 6; i < w.length; i++) {
            String[] header = w[i].split(":");
            record.headers().add(new String(bytes(header[0]), StandardCharsets.UTF_8), bytes(header[1]));
        }
        return record;
    }

    static void awaitEnd(TopicPartition partition, long offset) throws Exception {
        long deadline = System.currentTimeMillis() + DEADLINE_MS;
        while (end(partition) < offset) {
            if (System.currentTimeMillis() > deadline) throw new IllegalStateException(partition + " ends at " + end(partition));
            Thread.sleep(20);
        }
    }

    static long end(TopicPartition partition) throws Exception {
        return offset(partition, OffsetSpec.latest());
    }

    static long offset(TopicPartition partition, OffsetSpec which) throws Exception {
        return admin.listOffsets(Map.of(partition, which)).partitionResult(partition).get().offset();
    }

    static void bounds(List<String> topics) throws Exception {
        for (String topic : topics) {
            TopicPartition partition = new TopicPartition(topic, 0);
            System.out.println("bounds " + topic + " " + offset(partition, OffsetSpec.earliest()) + " " + end(partition));
        }
    }

    static void producersOf(TopicPartition partition) throws Exception {
        for (ProducerState p : admin.describeProducers(List.of(partition)).partitionResult(partition).get().activeProducers())
            System.out.println("producer " + partition.topic() + " " + p.producerId() + " " + p.producerEpoch() + " "
                + p.coordinatorEpoch().orElse(-1) + " " + p.lastSequence() + " " + p.lastTimestamp() + " "
                + p.currentTransactionStartOffset().orElse(-1));
    }

    static KafkaConsumer<byte[], byte[]> consumer(Map<String, Object> more) {
        Map<String, Object> all = new HashMap<>(more);
        all.put("bootstrap.servers", bootstrap);
        all.put("auto.offset.reset", "earliest");
        all.put("enable.auto.commit", "false");
        return new KafkaConsumer<>(all, new ByteArrayDeserializer(), new ByteArrayDeserializer());
    }

    static void consume(List<String> topics, String isolation) throws Exception {
        Map<TopicPartition, Long> ends = new HashMap<>();
        for (String topic : topics) ends.put(new TopicPartition(topic, 0), end(new TopicPartition(topic, 0)));
        long deadline = System.currentTimeMillis() + DEADLINE_MS;
        try (KafkaConsumer<byte[], byte[]> in = consumer(Map.of("isolation.level", isolation))) {
            in.assign(ends.keySet());
            in.seekToBeginning(ends.keySet());
            while (!atEnd(in, ends)) {
                for (ConsumerRecord<byte[], byte[]> r : in.poll(Duration.ofMillis(100))) print(r);
                if (System.currentTimeMillis() > deadline) throw new IllegalStateException(topics + " cannot be read to their ends");
            }
        }
    }

    static boolean atEnd(KafkaConsumer<byte[], byte[]> in, Map<TopicPartition, Long> ends) {
        for (Map.Entry<TopicPartition, Long> end : ends.entrySet())
            if (in.position(end.getKey()) < end.getValue()) return false;
        return true;
    }

    static void print(ConsumerRecord<byte[], byte[]> r) {
        StringBuilder line = new StringBuilder("got " + r.topic() + " " + r.offset() + " " + r.timestamp());
        line.append(" ").append(r.timestampType()).append(" ").append(word(r.key())).append(" ").append(word(r.value()));
        for (Header h : r.headers())
            line.append(" ").append(word(h.key().getBytes(StandardCharsets.UTF_8))).append(":").append(word(h.value()));
        System.out.println(line);
    }

    static void group(String group, String protocol, String topic, long offset, String metadata) {
        long deadline = System.currentTimeMillis() + DEADLINE_MS;
        Map<String, Object> settings = Map.of("group.id", group, "client.id", "golden", "group.protocol", protocol);
        try (KafkaConsumer<byte[], byte[]> in = consumer(settings)) {
            in.subscribe(List.of(topic));
            while (in.poll(Duration.ofMillis(100)).isEmpty())
                if (System.currentTimeMillis() > deadline) throw new IllegalStateException(group + " got no record of " + topic);
            in.commitSync(Map.of(new TopicPartition(topic, 0), new OffsetAndMetadata(offset, metadata)));
        }
    }

    static byte[] bytes(String word) {
        return word.equals("-") ? null : HexFormat.of().parseHex(word.substring(1));
    }

    static String word(byte[] bytes) {
        return bytes == null ? "-" : "x" + HexFormat.of().formatHex(bytes);
    }
}
