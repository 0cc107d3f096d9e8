// Does what a script says, line by line, with the producer of an old Kafka, which knows no headers (see Corpus.java).
//   producer NAME key=value...        flush|close NAME
//   send NAME TOPIC TIMESTAMP KEY VALUE       prints: sent OFFSET TIMESTAMP (all of them, in order, at the end)
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.*;
import java.util.concurrent.Future;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.serialization.ByteArraySerializer;

public class LegacyCorpus {
    static final Map<String, KafkaProducer<byte[], byte[]>> producers = new HashMap<>();
    static final List<Future<RecordMetadata>> sent = new ArrayList<>();
    static String bootstrap;

    public static void main(String[] args) throws Exception {
        bootstrap = args[0];
        for (String line : Files.readAllLines(Path.of(args[1]))) run(line.split(" "));
        for (KafkaProducer<byte[], byte[]> producer : producers.values()) producer.close();
        for (Future<RecordMetadata> one : sent)
            System.out.println("sent " + one.get().offset() + " " + one.get().timestamp());
    }

    static void run(String[] w) {
        switch (w[0]) {
            case "producer" -> producers.put(w[1], producer(w));
            case "flush" -> producers.get(w[1]).flush();
            case "close" -> producers.remove(w[1]).close();
            case "send" -> sent.add(producers.get(w[1]).send(record(w)));
            default -> throw new IllegalArgumentException(w[0]);
        }
    }

    static KafkaProducer<byte[], byte[]> producer(String[] w) {
        Map<String, Object> all = new HashMap<>();
        for (int i = 2; i < w.length; i++) all.put(w[i].split("=")[0], w[i].split("=")[1]);
        all.put("bootstrap.servers", bootstrap);
        return new KafkaProducer<>(all, new ByteArraySerializer(), new ByteArraySerializer());
    }

    static ProducerRecord<byte[], byte[]> record(String[] w) {
        return new ProducerRecord<>(w[2], 0, Long.parseLong(w[3]), bytes(w[4]), bytes(w[5]));
    }

    static byte[] bytes(String word) {
        return word.equals("-") ? null : HexFormat.of().parseHex(word.substring(1));
    }
}
