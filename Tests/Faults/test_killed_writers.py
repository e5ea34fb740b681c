"""Four processes change one store and are killed at random moments; every acknowledged change is kept."""
import random
import threading

from place import about_files
from stores import ROUNDS, Einlass, Ended, Home, Refused, pause

WRITERS = 4


class Writer(threading.Thread):
    """A process that changes its own accounts, and their expected state."""

    def __init__(self, home, number):
        super().__init__(daemon=True)
        self.process = Einlass(home)
        self.prefix = f"w{number}-"
        # Display names by username: after the last answer, and after the pending change, if any.
        self.known, self.next, self.ids = {}, {}, {}
        self.acknowledged = 0
        self.is_under_way = threading.Event()
        self.fault = None

    def run(self):
        try:
            while True:
                self.change()
                self.acknowledged += 1
                if self.acknowledged == 3:
                    self.is_under_way.set()
        except Ended:
            pass
        except Exception as fault:  # checked by the round, because an exception in a thread would be lost
            self.fault = fault
        self.is_under_way.set()

    def change(self):
        self.next = dict(self.known)
        kind = random.random()
        name = random.choice(list(self.known)) if self.known else None
        if name is None or kind < 0.7:
            name = f"{self.prefix}{self.acknowledged}"
            self.next[name] = None
            self.ids[name] = self.process.add(name)
        elif kind < 0.85:
            self.next[name] = f"changed {self.acknowledged}"
            self.process.call("accounts.update", account=self.ids[name], displayName=self.next[name])
        else:
            del self.next[name]
            self.process.call("accounts.remove", account=self.ids[name])
        self.known = self.next

    def lost(self, found):
        """Returns the number of this writer's accounts that match neither the last answer nor the pending change."""
        mine = {name: shown for name, shown in found.items() if name.startswith(self.prefix)}
        if mine in (self.known, self.next):
            return 0
        names = set(mine) | set(self.known)
        return max(1, sum(1 for name in names if mine.get(name, "-") != self.known.get(name, "-")))


def kill_round(spoil=lambda home: None):
    """Returns the numbers of acknowledged and of lost changes."""
    with Home() as home:
        writers = [Writer(home, number) for number in range(WRITERS)]
        for writer in writers:
            writer.start()
        for writer in writers:
            writer.is_under_way.wait()
        pause(0.3)
        for writer in writers:
            writer.process.process.kill()
        for writer in writers:
            writer.join()
            writer.process.kill()
            assert writer.fault is None, writer.fault
        spoil(home)
        found = home.accounts()
        return sum(w.acknowledged for w in writers), sum(w.lost(found) for w in writers)


def test_no_kill_loses_an_acknowledged_change(report):
    rounds = [kill_round() for _ in range(2 * ROUNDS)]
    lost = sum(lost for _, lost in rounds)
    report(rounds=len(rounds), acknowledged=sum(count for count, _ in rounds), lost=lost)
    assert lost == 0


@about_files("the journal is the server's")
def test_the_negative_control_a_journal_thrown_away_is_found(report):
    def throw_away(home):
        for suffix in ("-wal", "-shm"):
            home.database.with_name("store.db" + suffix).unlink(missing_ok=True)

    lost, unsound = 0, 0
    for _ in range(3):
        try:
            lost += kill_round(throw_away)[1]
        except (AssertionError, Refused):
            # The kill fell into a checkpoint, with half of the journal in the database: `store.check` or a read
            # notices it.
            unsound += 1
    report(lost=lost, unsound=unsound)
    assert lost + unsound > 0
