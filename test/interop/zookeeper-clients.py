"""kazoo's recipes against a ZooKeeper server, several clients each. `recipes HOST:PORT` prints one JSON object. `restart HOST:PORT` keeps
two clients busy while the server is killed and started again: prints `ready`, goes on until stdin ends, then prints what it counted."""

import json
import logging
import sys
import threading
import time

from kazoo.client import KazooClient
from kazoo.exceptions import LockTimeout, NodeExistsError
from kazoo.retry import KazooRetry

logging.disable(logging.CRITICAL)
MODE, HOSTS = sys.argv[1:3]
WAIT = 30


def client(timeout=10):
    made = KazooClient(hosts=HOSTS, timeout=timeout)
    made.start(WAIT)
    return made


def threads(jobs):
    """Runs all at once; an exception of one is the exception of all."""
    wrong = []

    def guarded(job):
        try:
            job()
        except BaseException as error:
            wrong.append(error)

    running = [threading.Thread(target=guarded, args=(job,)) for job in jobs]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join(WAIT)
    assert not any(thread.is_alive() for thread in running), "a client hangs"
    if wrong:
        raise wrong[0]


def poll(what, probe):
    deadline = time.monotonic() + WAIT
    while not probe():
        assert time.monotonic() < deadline, what
        threading.Event().wait(0.01)


def election(clients):
    """Each leads once, never two at a time."""
    leading, most, order = [], [], []

    def lead(name):
        leading.append(name)
        most.append(len(leading))
        order.append(name)
        clients[0].sync("/")
        leading.remove(name)

    threads([lambda c=c, i=i: c.Election("/election", str(i)).run(lead, i) for i, c in enumerate(clients)])
    return [sorted(order), max(most)]


def lock(clients):
    """Ten rounds each of read, add, write that only a lock keeps right."""
    clients[0].create("/lock-count", b"0")

    def add(c):
        for _ in range(10):
            with c.Lock("/lock"):
                value = int(c.get("/lock-count")[0])
                c.set("/lock-count", str(value + 1).encode())

    threads([lambda c=c: add(c) for c in clients])
    held = clients[0].Lock("/lock", "holder")
    held.acquire()
    contenders = clients[1].Lock("/lock").contenders()
    refused = clients[1].Lock("/lock").acquire(blocking=False)
    try:
        clients[1].Lock("/lock").acquire(timeout=0.2)
        late = "acquired"
    except LockTimeout:
        late = "timeout"
    held.release()
    return [int(clients[0].get("/lock-count")[0]), contenders, refused, late]


def read_write_lock(clients):
    a, b, c = clients[:3]
    first, second = a.ReadLock("/rw"), b.ReadLock("/rw")
    readers = [first.acquire(timeout=WAIT), second.acquire(timeout=WAIT)]
    write = c.WriteLock("/rw")
    shut_out = write.acquire(blocking=False)
    first.release()
    second.release()
    writer = write.acquire(timeout=WAIT)
    reader = a.ReadLock("/rw").acquire(blocking=False)
    write.release()
    return [readers, shut_out, writer, reader]


def barrier(clients):
    gate = clients[0].Barrier("/barrier")
    gate.create()
    passed = []
    early = clients[1].Barrier("/barrier").wait(0.1)
    waiting = [threading.Thread(target=lambda c=c: passed.append(c.Barrier("/barrier").wait(WAIT))) for c in clients[1:]]
    for thread in waiting:
        thread.start()
    before = len(passed)
    gate.remove()
    for thread in waiting:
        thread.join(WAIT)
    return [early, before, passed]


def double_barrier(clients):
    inside, seen = [], []

    def enter(c):
        gate = c.DoubleBarrier("/double", len(clients))
        gate.enter()
        inside.append(1)
        poll("all are in", lambda: len(inside) == len(clients))
        seen.append(len(inside))
        gate.leave()

    threads([lambda c=c: enter(c) for c in clients])
    return [len(seen), clients[0].get_children("/double")]


def queue(clients):
    plain = clients[0].Queue("/queue")
    for i in range(30):
        plain.put(b"%02d" % i, priority=90 if i % 2 else 10)
    taken = []
    threads([lambda c=c: [taken.append(c.Queue("/queue").get()) for _ in range(10)] for c in clients[:3]])
    locking = clients[0].LockingQueue("/locking")
    locking.put_all([b"a", b"b"])
    one = clients[1].LockingQueue("/locking")
    first = one.get(timeout=WAIT)
    other = clients[2].LockingQueue("/locking")
    second = other.get(timeout=WAIT)
    held = [one.holds_lock(), one.consume(), other.consume(), len(clients[0].LockingQueue("/locking"))]
    return [sorted(x.decode() for x in taken), len(plain), first.decode(), second.decode(), held]


def counter(clients):
    clients[0].ensure_path("/counter")

    def add(c):
        mine = c.Counter("/counter")
        # Its own retries give up under contention, after a number of rounds.
        again = KazooRetry(max_tries=-1, delay=0.01, max_delay=0.1)
        for _ in range(10):
            again(lambda: mine.__add__(1))

    threads([lambda c=c: add(c) for c in clients])
    typed = clients[0].Counter("/typed", default=1.5)
    typed += 2.0
    typed -= 0.5
    return [clients[0].Counter("/counter").value, typed.value]


def party(clients):
    members = [c.Party("/party", str(i)) for i, c in enumerate(clients)]
    for member in members:
        member.join()
    full = sorted(members[0])
    members[0].leave()
    shallow = clients[1].ShallowParty("/shallow", "me")
    shallow.join()
    return [full, len(members[1]), list(shallow)]


def semaphore(clients):
    inside, most = [], []

    def enter(c):
        for _ in range(5):
            with c.Semaphore("/semaphore", max_leases=2):
                inside.append(1)
                most.append(len(inside))
                c.sync("/")
                inside.pop()

    threads([lambda c=c: enter(c) for c in clients])
    return [len(most), max(most) <= 2, clients[0].Semaphore("/semaphore", max_leases=2).lease_holders()]


def watchers(clients):
    """DataWatch, ChildrenWatch, transactions, an ACL of the creator, ephemeral nodes of a client that ends."""
    a, b = clients[:2]
    a.create("/watched", b"0")
    values, children = [], []
    b.DataWatch("/watched", lambda data, stat: values.append(data and data.decode()))
    b.ChildrenWatch("/watched", lambda names: children.append(sorted(names)))
    a.set("/watched", b"1")
    poll("the value", lambda: values[-1] == "1")
    gone = client()
    gone.create("/watched/e", ephemeral=True)
    poll("the child", lambda: children[-1] == ["e"])
    gone.stop()
    gone.close()
    poll("its end", lambda: children[-1] == [])
    tx = a.transaction()
    tx.check("/watched", 1)
    tx.create("/watched/t", b"x", sequence=True)
    tx.set_data("/watched", b"2")
    results = tx.commit()
    poll("the transaction's value", lambda: values[-1] == "2")
    failed = a.transaction()
    failed.create("/watched/u")
    failed.check("/watched", 99)
    errors = [type(r).__name__ for r in failed.commit()]
    return [values, results[1], errors]


def recipes():
    clients = [client() for _ in range(4)]
    result = {}
    for recipe in (
        election, lock, read_write_lock, barrier, double_barrier, queue, counter, party, semaphore, watchers
    ):
        result[recipe.__name__] = recipe(clients)
    for c in clients:
        c.stop()
        c.close()
    print(json.dumps(result), flush=True)


def restart():
    """Every acknowledged node must be there in the end, the session too, its ephemeral node, and its watches."""
    a, b = client(30), client(30)
    session = a.client_id
    a.create("/restart", b"")
    a.create("/mine", b"", ephemeral=True)
    seen = []
    b.ChildrenWatch("/restart", lambda names: seen.append(len(names)))
    retry = KazooRetry(max_tries=-1, delay=0.02, max_delay=0.2)
    print("ready", flush=True)
    over = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), over.set()), daemon=True).start()
    acknowledged = []
    while not over.is_set():
        path = "/restart/n%06d" % len(acknowledged)
        try:
            retry(lambda: a.create(path))
        except NodeExistsError:
            pass  # Done before the connection broke.
        acknowledged.append(path)
        print(len(acknowledged), flush=True)
    there = {"/restart/" + name for name in retry(lambda: a.get_children("/restart"))}
    poll("the watch", lambda: seen[-1] == len(there))
    print(json.dumps({
        "acknowledged": len(acknowledged), "missing": sorted(set(acknowledged) - there),
        "isSameSession": a.client_id == session, "owner": a.exists("/mine").ephemeralOwner == session[0],
    }), flush=True)
    for c in (a, b):
        c.stop()
        c.close()


(recipes if MODE == "recipes" else restart)()
