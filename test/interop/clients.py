"""confluent-kafka and kafka-python against a broker: what an application does on its first day. Prints one JSON object."""

import json
import sys
import time

import confluent_kafka as ck
from confluent_kafka import admin as ckadmin
import kafka
from kafka.admin import KafkaAdminClient, NewTopic

BOOTSTRAP = sys.argv[1]
CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]


def confluent(result):
    conf = {"bootstrap.servers": BOOTSTRAP}
    admin = ckadmin.AdminClient(conf)
    futures = admin.create_topics([ckadmin.NewTopic("ck-" + c, 2, 1) for c in CODECS])
    for future in futures.values():
        future.result(20)
    counts = {}
    for codec in CODECS:
        producer = ck.Producer({**conf, "compression.type": codec, "enable.idempotence": True, "linger.ms": 50})
        acked = []
        for i in range(500):
            producer.produce(
                "ck-" + codec, key=f"k{i}", value=f"v{i}" * 20, headers=[("h", b"\x00\xff"), ("n", None)],
                on_delivery=lambda err, msg: acked.append(err),
            )
        producer.flush(30)
        consumer = ck.Consumer({**conf, "group.id": "ck-group-" + codec, "auto.offset.reset": "earliest"})
        consumer.subscribe(["ck-" + codec])
        got = {}
        deadline = time.monotonic() + 30
        while len(got) < 500 and time.monotonic() < deadline:
            message = consumer.poll(0.2)
            if message is not None and message.error() is None:
                got[message.key().decode()] = (message.value().decode(), message.headers())
        consumer.commit(asynchronous=False)
        right = all(got.get(f"k{i}") == (f"v{i}" * 20, [("h", b"\x00\xff"), ("n", None)]) for i in range(500))
        committed = sum(p.offset for p in consumer.committed([ck.TopicPartition("ck-" + codec, p) for p in (0, 1)], 10))
        consumer.close()
        counts[codec] = [len(acked), sum(1 for e in acked if e is not None), len(got), right, committed]
    result["confluent"] = counts
    low_high = ck.Consumer({**conf, "group.id": "w"}).get_watermark_offsets(ck.TopicPartition("ck-none", 0), 10)
    futures = admin.delete_records([ck.TopicPartition("ck-none", 0, 10)])
    low = list(futures.values())[0].result(10).low_watermark
    described = admin.describe_configs([ckadmin.ConfigResource(ckadmin.RESOURCE_TOPIC, "ck-none")])
    retention = list(described.values())[0].result(10)["retention.ms"].value
    groups = sorted(g.group_id for g in admin.list_consumer_groups().result(10).valid)
    latest = list(admin.list_offsets({ck.TopicPartition("ck-none", 0): ckadmin.OffsetSpec.latest()}).values())[0]
    by_time = ck.Consumer({**conf, "group.id": "w"}).offsets_for_times([ck.TopicPartition("ck-none", 0, 0)], 10)
    result["confluentAdmin"] = {
        "watermarks": list(low_high), "low": low, "retention": retention, "groups": groups,
        "latest": latest.result(10).offset, "byTime": by_time[0].offset,
        "controller": admin.describe_cluster().result(10).controller.id,
    }


def kafka_python(result):
    admin = KafkaAdminClient(bootstrap_servers=BOOTSTRAP)
    admin.create_topics([NewTopic(name="kp", num_partitions=1, replication_factor=1)])
    producer = kafka.KafkaProducer(bootstrap_servers=BOOTSTRAP, acks="all", compression_type="gzip", linger_ms=50)
    futures = [producer.send("kp", key=b"k%d" % i, value=b"v%d" % i, headers=[("h", b"x")]) for i in range(300)]
    offsets = [future.get(30).offset for future in futures]
    consumer = kafka.KafkaConsumer(
        "kp", bootstrap_servers=BOOTSTRAP, group_id="kp-group", auto_offset_reset="earliest", consumer_timeout_ms=8000)
    got = []
    for message in consumer:
        got.append(message.value)
        if len(got) == 300:
            break
    consumer.commit()
    committed = consumer.committed(kafka.TopicPartition("kp", 0))
    end = consumer.end_offsets([kafka.TopicPartition("kp", 0)])[kafka.TopicPartition("kp", 0)]
    times = consumer.offsets_for_times({kafka.TopicPartition("kp", 0): 0})[kafka.TopicPartition("kp", 0)].offset
    consumer.close()
    result["kafkaPython"] = [offsets == list(range(300)), got == [b"v%d" % i for i in range(300)], committed, end, times]
    admin.close()


def old_clients(result):
    """As clients of 2014 to 2017 speak: message formats 0 and 1, Produce 0 to 2, Fetch 0 to 3."""
    expected = [b"v%d" % i * 30 for i in range(200)]
    result["oldKafkaPython"] = {}
    for version in [(0, 8, 2), (0, 9), (0, 10), (0, 10, 1), (0, 11)]:
        name = ".".join(map(str, version))
        topic = "old-kp-" + name
        conf = {"bootstrap_servers": BOOTSTRAP, "api_version": version}
        producer = kafka.KafkaProducer(**conf, compression_type="gzip", acks="all", linger_ms=20)
        offsets = [f.get(30).offset for f in [producer.send(topic, key=b"k", value=value) for value in expected]]
        consumer = kafka.KafkaConsumer(
            topic, **conf, auto_offset_reset="earliest", consumer_timeout_ms=8000, group_id=None)
        got = []
        for message in consumer:
            got.append(message.value)
            if len(got) == 200:
                break
        result["oldKafkaPython"][name] = [offsets == list(range(200)), got == expected]
    result["oldLibrdkafka"] = {}
    for version in ["0.8.2", "0.9.0"]:
        conf = {
            "bootstrap.servers": BOOTSTRAP, "api.version.request": False, "broker.version.fallback": version,
            "log_level": 0,
        }
        topic = "old-ck-" + version
        producer = ck.Producer({**conf, "compression.type": "snappy", "linger.ms": 20})
        errors = []
        for value in expected:
            producer.produce(topic, key=b"k", value=value, on_delivery=lambda err, msg: errors.append(err))
        producer.flush(30)
        consumer = ck.Consumer({**conf, "group.id": "old-" + version})
        consumer.assign([ck.TopicPartition(topic, 0, 0)])
        got = []
        deadline = time.monotonic() + 30
        while len(got) < 200 and time.monotonic() < deadline:
            message = consumer.poll(0.2)
            if message is not None and message.error() is None:
                got.append(message.value())
        consumer.close()
        result["oldLibrdkafka"][version] = [errors == [None] * 200, got == expected]


result = {}
confluent(result)
kafka_python(result)
old_clients(result)
print(json.dumps(result))
