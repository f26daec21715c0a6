"""When the network is away: a state of the crawl, in which it waits, and for which no host and no page pays.

Many hosts that give no answer, and no answer in between, are not many broken hosts; one answer for many hosts is the
login page of a captive portal. So no result is final before a later request has shown that the network was there:
a failure waits for two different answers to requests that began after it, a page for one answer that differs from it.
While that does not come the crawl pauses, and probes: pages that were kept before, and some that failed just now.
Without a page that was there before, pages that are not found, and redirects without an end, are as many answers,
however alike they look: many hosts have them on their own, and no probe could tell them from a portal.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Set
from dataclasses import dataclass, field
from typing import Any, Literal

from builder.fetch.answer_sign import is_common_fault
from builder.fetch.sighting import Sighting
from edu_rag.errors import OutageError
from edu_rag.progress import note, say

MANY_HOSTS = 8
"""So many registered hosts in a row without an answer, or with one and the same, are hardly chance."""
FEW_HOSTS = 3
"""Fewer hosts than this say nothing about the network, unless this machine itself reports that it is away. So many in a
row may have met a short outage: each of their results is fetched once more.
"""
QUIET_S = 0.5
"""How long a run of hosts must have lasted: those that began to fail at one moment end at one moment too."""
SHORTEST_PORTAL_S = 2.0
"""A portal is there for longer, until its user has logged in: pages from so near before and after vouch for a page."""
FIRST_WAIT_S, MAX_WAIT_S = 1.0, 30.0
ANNOUNCED_AFTER_S = 5.0
"""A pause that is shorter is none to talk about: dead hosts that happen to come first, or a moment without network."""
MAX_AGAIN = 5
"""So many outages in a row without a final answer in between: a network that comes and goes keeps the crawl no longer.
So often is a URL fetched again at most where this machine alone says that the network was away.
"""
_N_LANDMARKS, _N_PROBES = 16, 3
_N_RECENT = 256
"""So many sightings are remembered, to see whether pages came at the moment when a host sent a URL away."""
_OF_CLOCK = ("certificate has expired", "certificate is not yet valid")
_GRACE_S = 1.0
"""So long do probes of what had failed have once the network is known to be there: if one answers, it was an outage."""

Monotonic = Callable[[], float]
Pause = Callable[[float], Awaitable[None]]
Verdict = Literal["genuine", "once_more", "again"]
History = list[tuple[Verdict, str]]
"""A URL's verdicts so far, each with the sign that it was given for."""


@dataclass(slots=True, eq=False)
class _Held:
    """A result that waits for its verdict. `run` are the hosts of the run that it is part of, later ones too."""

    seen: Sighting
    history: History
    verdict: asyncio.Future[Verdict]
    witnesses: tuple[set[str], set[str]] = field(default_factory=lambda: (set(), set()))
    """The signs of the answers after it that differ from it: of pages, and of robots.txt."""
    run: set[str] = field(default_factory=set)

    def has_witnesses(self) -> bool:
        """Whether other answers show that it is genuine: one of its own kind, or two of one kind.

        One answer to a failure may be the first of a captive portal, and a portal may have a robots.txt too.
        """
        most = max(map(len, self.witnesses))
        return most > 1 or (bool(self.seen.sign) and len(self.witnesses[self.seen.is_rules]) > 0)

    def may_come_again(self) -> bool:
        """Whether an outage may still send the URL back."""
        return sum(verdict == "again" for verdict, _ in self.history) < MAX_AGAIN


class OutageWatch:
    """Decides which results are genuine, and holds the crawl while the network is away.

    The crawl reports the beginning and the end of each visit and asks `verdict` for each result. `probe` fetches a URL
    and says how that ended; `recover` forgets failures that were learned since a time, of all registered hosts or of
    some. `room` is how many visits there can be; `widen` makes room for more of them. `proxies` names those that the
    crawl goes through.
    """

    def __init__(
        self,
        *,
        give_up_after_s: float,
        room: int,
        probe: Callable[[str], Awaitable[Sighting]],
        recover: Callable[[float, frozenset[str] | None], None],
        spawn: Callable[[Coroutine[Any, Any, None]], object],
        landmarks: Iterable[tuple[str, str]] = (),
        widen: Callable[[int], None],
        proxies: str = "",
        monotonic: Monotonic = time.monotonic,
        sleep: Pause = asyncio.sleep,
    ) -> None:
        self._give_up_after_s, self._room = give_up_after_s, room
        self._probe, self._recover, self._spawn, self._widen = probe, recover, spawn, widen
        self._proxies = proxies
        self.monotonic, self._sleep = monotonic, sleep
        self._landmarks: OrderedDict[str, tuple[str, str]] = OrderedDict((host, (url, "")) for host, url in landmarks)
        self._common_faults: OrderedDict[str, str] = OrderedDict()
        self._waiting: dict[str, str] = {}
        self._held: list[_Held] = []
        self._run_sign, self._run_hosts, self._run_began = "", set[str](), monotonic()
        self._retried: dict[tuple[str, str], tuple[float, int]] = {}
        self._portal_signs = frozenset[str]()
        self._seen_portals: set[str] = set()
        self._shown_anyway: set[tuple[str, str]] = set()
        self._recent: deque[Sighting] = deque(maxlen=_N_RECENT)
        self._vouched: set[tuple[str, str]] = set()
        self._unvouched = frozenset[str]()
        self._n_answers = self._n_answers_before = self._n_fruitless = self._n_outages = 0
        self._has_failed_answered = False
        self._n_active = self._n_begun = 0
        self._is_fed = False
        self._n_rounds = 0
        self._opened_at = monotonic()
        self._open = asyncio.Event()
        self._open.set()

    # ---- what the crawl reports

    def begin(self) -> None:
        """One more visit begins."""
        self._n_active += 1
        self._n_begun += 1

    def end(self) -> None:
        """A visit has ended."""
        self._n_active -= 1
        self._n_begun -= 1
        self._look_for_a_stall()

    def all_begun(self) -> None:
        """No more visits will begin."""
        self._is_fed = True
        self._look_for_a_stall()

    @property
    def is_paused(self) -> bool:
        """Whether nothing but probes may be requested now."""
        return not self._open.is_set()

    async def fair_weather(self, url: str, host: str) -> None:
        """Return when requests may be made. Meanwhile the URL of this registered host may be probed."""
        if self.is_paused:
            self._waiting[url] = host
            try:
                await self._open.wait()
            finally:
                self._waiting.pop(url, None)

    def is_tainted(self, started: float) -> bool:
        """Whether a failure of something that began then may be an outage's."""
        return self.is_paused or started < self._opened_at

    async def verdict(self, seen: Sighting, history: History) -> Verdict:
        """Whether a result is genuine; if not, fetch again: `once_more`, or as if it had never been asked for.

        It is added to the URL's history.
        """
        held = _Held(seen, history, asyncio.get_running_loop().create_future())
        self._recent.append(seen)
        self._n_active -= 1
        if self.is_paused:
            self._held.append(held)
        elif self.is_tainted(seen.started) and self._looks_away(seen) and self._n_fruitless < MAX_AGAIN:
            self._release(held, "again")
        else:
            self._weigh(held)
        return await held.verdict

    def answered(self, seen: Sighting) -> None:
        """Note an answer that waits for no verdict."""
        self._n_answers += 1
        self._recent.append(seen)
        if not self.is_paused:
            self._clear(seen)
            self._count(seen)

    # ---- how it decides

    def _has_pages(self) -> bool:
        """Whether a page was there: one that was kept, or one that waits for its verdict and is like no other one."""
        if self._landmarks:
            return True
        hosts: dict[str, set[str]] = {}
        for held in self._held:
            if held.seen.is_page:
                hosts.setdefault(held.seen.sign, set()).add(held.seen.host)
        return any(len(of) == 1 for of in hosts.values())

    def _signer(self) -> Callable[[Sighting], str]:
        """How answers are compared: by their signs; faults of many hosts also by their URLs, if no page was there."""
        if self._has_pages():
            return lambda seen: seen.sign
        return lambda seen: f"{seen.sign} {seen.url}" if is_common_fault(seen.sign) else seen.sign

    def _looks_away(self, seen: Sighting) -> bool:
        """Whether nothing came back, or an answer that was taken for a portal's."""
        return not seen.sign or self._signer()(seen) in self._portal_signs

    def _weigh(self, held: _Held) -> None:
        if held.seen.sign and held.seen.sign not in self._seen_portals:
            self._clear(held.seen)
        self._held.append(held)
        self._count(held.seen)
        held.run = self._run_hosts
        is_long = len(self._run_hosts) >= MANY_HOSTS and self.monotonic() - self._run_began >= QUIET_S
        is_plain = self._is_suspect(held) and (self._landmarks or held.seen.is_proxys)
        if is_long or (is_plain and held.may_come_again()):
            self._suspect()
        else:
            self._look_for_a_stall()

    def _is_suspect(self, held: _Held) -> bool:
        """Whether a single result shows an outage: this machine says so, or it is the page of a portal seen before."""
        return held.seen.is_local or held.seen.sign in self._seen_portals

    def _count(self, seen: Sighting) -> None:
        """The run of hosts without an answer, or with one and the same."""
        sign = self._signer()(seen)
        if sign and sign != self._run_sign:
            self._begin_run(sign)
        if seen.sign:
            self._retried.pop((seen.host, ""), None)
        self._run_hosts.add(seen.host)

    def _begin_run(self, sign: str = "") -> None:
        self._run_sign, self._run_hosts, self._run_began = sign, set(), self.monotonic()

    def _clear(self, seen: Sighting) -> None:
        """Release the results that this answer shows to be genuine: its request began after their end."""
        sign_of = self._signer()
        for held in [held for held in self._held if held.seen.ended <= seen.started]:
            if sign_of(held.seen) != sign_of(seen):
                held.witnesses[seen.is_rules].add(sign_of(seen))
                if held.has_witnesses():
                    self._held.remove(held)
                    if self._is_suspect(held) and held.may_come_again():
                        self._forget([held])
                        self._release(held, "again")
                    elif self._met_gap(held) or (self._may_be_short(held) and not self._was_retried(held)):
                        self._fetch_once_more([held])
                    else:
                        self._release(held, "genuine")

    def _may_be_short(self, held: _Held) -> bool:
        """Whether an outage too short to be seen may have been the cause; any failure where outages come and go."""
        return held.seen.was_there or _is_of_a_run(held) or (not held.seen.sign and self._n_outages > 1)

    def _may_be_sent_by_portal(self, held: _Held) -> bool:
        """Whether it was sent to another host, and no second fetch and no other page of its host has shown that."""
        is_new = (held.seen.host, held.seen.sign) not in self._vouched
        return held.seen.sent_away_at is not None and is_new and ("once_more", held.seen.sign) not in held.history

    def _met_gap(self, held: _Held) -> bool:
        """Whether a portal that few hosts met may have sent it away: no other page came shortly before and after.

        Its request began before it was sent away, and this program may be late to see either; so the page before must
        have come before that request, and the page after it must have been asked for after that.
        """
        seen, at = held.seen, held.seen.sent_away_at
        if at is None or not self._may_be_sent_by_portal(held):
            return False
        others = [other for other in self._recent if other.is_page and other.sign != seen.sign]
        before = max((other.started for other in others if other.ended <= seen.started), default=-math.inf)
        after = min((other.ended for other in others if other.started > at), default=math.inf)
        return after - before > SHORTEST_PORTAL_S

    def _was_retried(self, held: _Held) -> bool:
        """Whether the URL, or before its end another one of its host, was fetched once more after it had ended so.

        In a network that comes and goes it may meet that as often as it happened.
        """
        retried_at, n_of_host = self._retried.get((held.seen.host, held.seen.sign), (math.inf, 0))
        n_of_url = held.history.count(("once_more", held.seen.sign))
        most = max(1, min(self._n_outages, MAX_AGAIN))
        return n_of_url >= most or (retried_at < held.seen.ended and n_of_host >= most)

    def _fetch_once_more(self, doubtful: list[_Held]) -> None:
        if doubtful:
            self._forget(doubtful)
        now = self.monotonic()
        for held in doubtful:
            key = held.seen.host, held.seen.sign
            retried_at, n_times = self._retried.get(key, (-math.inf, 0))
            if retried_at < held.seen.ended:
                self._retried[key] = now, n_times + 1
        for held in doubtful:
            self._release(held, "once_more")

    def _release(self, held: _Held, verdict: Verdict) -> None:
        self._n_active += 1
        if verdict == "genuine" and held.seen.sent_away_at is not None:
            self._vouched.add((held.seen.host, held.seen.sign))
        if verdict == "genuine":
            # Pages that will be dropped, and hosts that have none, show as well that the line works.
            self._n_answers += held.seen.is_page or not self._looks_away(held.seen)
        if verdict == "genuine" and held.seen.is_page:
            self._remember(held.seen)
        elif verdict == "genuine" and is_common_fault(held.seen.sign):
            self._common_faults[held.seen.host] = held.seen.url
            if len(self._common_faults) > _N_LANDMARKS:
                self._common_faults.popitem(last=False)
        held.history.append((verdict, held.seen.sign))
        if not held.verdict.done():
            held.verdict.set_result(verdict)

    def _remember(self, seen: Sighting) -> None:
        """Keep a page as a landmark; not one that looks like another host's: it would prove nothing."""
        if seen.sign in self._portal_signs | self._seen_portals or any(
            sign == seen.sign for _, sign in self._landmarks.values()
        ):
            return
        self._landmarks[seen.host] = seen.url, seen.sign
        self._landmarks.move_to_end(seen.host)
        if len(self._landmarks) > _N_LANDMARKS:
            self._landmarks.popitem(last=False)

    def _shared_signs(self) -> set[str]:
        hosts, sign_of = dict[str, set[str]](), self._signer()
        for held in self._held:
            hosts.setdefault(sign_of(held.seen), set()).add(held.seen.host)
        alone = self._seen_portals | self._unvouched
        return {sign for sign, of in hosts.items() if sign and (len(of) > 1 or sign in alone)}

    def _doubtful(self) -> list[_Held]:
        shared, sign_of = self._shared_signs() | {""}, self._signer()
        return [held for held in self._held if sign_of(held.seen) in shared]

    def _look_for_a_stall(self) -> None:
        """Decide where no further answer can come: every visit waits, and no other can begin."""
        is_full = self._is_fed or self._n_begun >= self._room
        if self._n_active or self.is_paused or not self._held or not is_full:
            return
        self._unvouched = frozenset()
        self._unvouched = self._sent_away_signs()
        doubtful = self._doubtful()
        if len(doubtful) < len(self._held):
            self._let_go([held for held in self._held if held not in doubtful])
        elif self._landmarks or _shows_much(doubtful):
            self._suspect()
        else:
            self._let_go(doubtful)

    def _sent_away_signs(self) -> frozenset[str]:
        """The signs of single hosts that a portal may have sent away, if another host has a landmark."""
        if not self._landmarks.keys() - {held.seen.host for held in self._held}:
            return frozenset()
        shared = self._shared_signs()
        signs = (held.seen.sign for held in self._held if self._may_be_sent_by_portal(held))
        return frozenset(sign for sign in signs if sign not in shared)

    def _let_go(self, genuine: list[_Held]) -> None:
        self._held = [held for held in self._held if held not in genuine]
        for held in genuine:
            self._release(held, "genuine")

    # ---- the pause

    def _suspect(self) -> None:
        doubtful = self._doubtful()
        if not self._landmarks and _have_bad_certificates(doubtful):
            self._let_go(doubtful)
            doubtful = []
        if not doubtful:
            self._begin_run()  # only answers that wait for no verdict
            return
        self._open.clear()
        self._portal_signs = frozenset(self._shared_signs())
        self._spawn(self._wait_out())

    async def _wait_out(self) -> None:
        """Probe until the network answers. Raises OutageError when that takes too long."""
        began, wait_s, was_away, is_announced = self.monotonic(), FIRST_WAIT_S, False, False
        while not await self._is_up():
            if not was_away:  # a later visit to the portal may be too short to show it to many hosts
                self._seen_portals |= self._portal_signs & {held.seen.sign for held in self._held if held.seen.is_page}
            was_away = True
            if not self._landmarks and not self._is_fed:  # the hosts so far may be dead: the next ones are probed too
                self._room += _N_PROBES
                self._widen(_N_PROBES)
            waited_s = self.monotonic() - began
            left_s = self._give_up_after_s - waited_s
            if not is_announced and waited_s >= ANNOUNCED_AFTER_S:
                is_announced = True
                self._announce()
            if left_s <= 0:
                raise self._given_up()
            await self._sleep(min(wait_s, left_s))
            wait_s = min(2 * wait_s, MAX_WAIT_S)
        doubtful = self._doubtful()
        if is_announced:
            seconds = self.monotonic() - began
            note("outage_over", seconds=round(seconds, 1), urls=len(doubtful))
            say(f"fetch: the network is back after {seconds:,.0f} s; {len(doubtful):,} URLs are fetched again")
        self._go_on(doubtful, was_away)

    def _cause(self) -> str:
        doubtful = self._doubtful()
        n_hosts = len({held.seen.host for held in doubtful})
        hosts = f"{n_hosts:,} hosts" if n_hosts > 1 else doubtful[0].seen.host
        details = Counter(held.seen.detail for held in doubtful if held.seen.detail)
        reason = f", mostly: {details.most_common(1)[0][0]}" if details else ""
        if 2 * sum(bool(held.seen.sign) for held in doubtful) > len(doubtful):
            return f"{hosts} gave one and the same answer{reason or ', as a network does that wants a login'}"
        return f"{hosts} gave no answer{reason}"

    def _announce(self) -> None:
        cause = self._cause()
        note("outage", cause=cause, urls=len(self._held))
        say(f"fetch: the network is away ({cause}); the crawl waits for up to {self._give_up_after_s:,.0f} s")

    def _given_up(self) -> OutageError:
        what = f"the network was away for {self._give_up_after_s:,.0f} s ({self._cause()})"
        has_clock = any(part in what for part in _OF_CLOCK)
        check = f"{self._proxies} and " if self._proxies else ""
        check += f"this machine's {'clock and ' if has_clock else ''}network"
        return OutageError("fetch", what, f"check {check}, then run the same command to resume")

    def _targets(self) -> list[str]:
        """The pages of the next round of probes, others than in the last one."""
        doubtful = self._doubtful()
        others = [held.seen for held in self._held if held not in doubtful]
        answered = [seen.url for seen in others if seen.is_page]
        known = answered[-_N_PROBES:] + [url for url, _ in reversed(self._landmarks.values())]
        if not known:  # an answer, where the crawl has no better one
            known = [*self._common_faults.values(), *(seen.url for seen in others if is_common_fault(seen.sign))]
        # What may only have been sent away is fetched once more in any case.
        failed = {held.seen.host: held.seen.url for held in doubtful if held.seen.sign not in self._unvouched}
        # The dead hosts may be those that came first: the others, which wait for them, show that the network is there.
        untried = {host: url for url, host in reversed(self._waiting.items()) if host not in failed}
        start, self._n_rounds = self._n_rounds * _N_PROBES, self._n_rounds + 1
        lists = (known, list(failed.values()), list(untried.values()))
        turned = [[urls[(start + i) % len(urls)] for i in range(min(_N_PROBES, len(urls)))] for urls in lists]
        return list(dict.fromkeys(url for urls in turned for url in urls))

    def _forget(self, doubtful: list[_Held], *, also: Set[str] = frozenset(), all_hosts: bool = False) -> None:
        """Forget the failures that results may have met; of other hosts also, or of all if the network was away."""
        began = min((min(held.seen.begun, held.seen.started) for held in doubtful), default=self._opened_at)
        self._recover(began, None if all_hosts else frozenset(held.seen.host for held in doubtful) | also)

    async def _is_up(self) -> bool:
        # A probe that met a remembered failure, a known page's too, would never see that the network is back.
        self._forget(self._doubtful(), also=self._landmarks.keys())
        targets, failed = self._targets(), {held.seen.url for held in self._doubtful()}
        waits = {asyncio.ensure_future(self._probe(url)) for url in targets}
        probes, heard, is_up = list(waits), list[Sighting](), False
        self._has_failed_answered, still, shut = False, set[tuple[str, str]](), set[str]()
        try:
            while waits and not (is_up and self._has_failed_answered):
                done, waits = await asyncio.wait(
                    waits, timeout=_GRACE_S if is_up else None, return_when=asyncio.FIRST_COMPLETED
                )
                if not done:
                    break
                shut |= {seen.proxy for seen in (probe.result() for probe in done) if seen.is_proxys}
                heard += [seen for seen in (probe.result() for probe in done) if not self._looks_away(seen)]
                is_up = any(self._shows_network(seen) for seen in heard)
                self._has_failed_answered = any(seen.url in failed for seen in heard)
                if is_up:
                    still |= {(seen.sign, seen.host) for seen in (p.result() for p in done) if seen.url in failed}
        finally:
            for probe in probes:
                probe.cancel()
            await asyncio.gather(*probes, return_exceptions=True)
        if shut - {seen.proxy for seen in heard}:  # hosts that are asked without a proxy say nothing about it
            return False
        if is_up:
            self._clear_portals(still)
        return is_up or self._are_answers_enough(heard, targets)

    def _clear_portals(self, shown: set[tuple[str, str]]) -> None:
        """Forget the signs of portals that some hosts show while the network is there: that page is their own."""
        self._shown_anyway |= {(sign, host) for sign, host in shown if sign in self._seen_portals}
        n_hosts = Counter(sign for sign, _ in self._shown_anyway)
        self._seen_portals -= {sign for sign, n in n_hosts.items() if n >= FEW_HOSTS}

    def _shows_network(self, seen: Sighting) -> bool:
        """Whether one answer is enough: a page as it was before, or a page after a portal's."""
        _, known = self._landmarks.get(seen.host, ("", ""))
        return seen.sign == known or bool(self._portal_signs and not seen.is_rules)

    def _are_answers_enough(self, heard: list[Sighting], targets: list[str]) -> bool:
        # One answer may be a portal's that breaks all TLS; it shows the same to every host that it answers for.
        answers: dict[str, set[str]] = {}
        for seen in heard:
            answers.setdefault(self._signer()(seen), set()).add(seen.host)
        n_known = sum(url in targets for url, _ in self._landmarks.values())
        return sum(len(hosts) == 1 for hosts in answers.values()) >= min(2, max(1, n_known))

    def _go_on(self, doubtful: list[_Held], was_away: bool) -> None:
        held_back, self._held = self._held, []
        self._n_outages += was_away or self._has_failed_answered
        if was_away:
            self._forget(doubtful, all_hosts=True)
            self._retried.clear()
            self._n_fruitless = 0 if self._n_answers > self._n_answers_before else self._n_fruitless + 1
            self._n_answers_before = self._n_answers
        self._unvouched = frozenset()
        self._begin_run()
        self._opened_at = self.monotonic()
        self._open.set()
        # After an outage all in doubt is fetched again; after a false alarm once: it may have been a short outage.
        is_outage = was_away and self._n_fruitless < MAX_AGAIN
        again = [
            held
            for held in doubtful
            if is_outage or ((self._has_failed_answered or self._is_suspect(held)) and held.may_come_again())
        ]
        once_more = [held for held in doubtful if held not in again and not self._was_retried(held)]
        # It was on its way when the crawl paused: a portal that came after the outage may have sent it away.
        once_more += [held for held in held_back if held not in doubtful and self._may_be_sent_by_portal(held)]
        self._fetch_once_more(once_more)
        for held in held_back:
            if held not in once_more:
                self._release(held, "again" if held in again else "genuine")


def _is_of_a_run(held: _Held) -> bool:
    """Whether the result is one of so many in a row that a short outage may have been the cause."""
    n_hosts = len(held.run) - (not held.seen.sign)  # a run of failures holds the host of the last answer too
    return n_hosts >= FEW_HOSTS


def _have_bad_certificates(doubtful: list[_Held]) -> bool:
    """Whether the hosts are there, with bad certificates of their own: a portal's has one fault for all hosts."""
    faults = {held.seen.certificate for held in doubtful}
    return len(faults) > 1 and all(faults)


def _shows_much(doubtful: list[_Held]) -> bool:
    """Whether results in doubt alone, with no page that was ever kept, are enough to wait for the network."""
    return len({held.seen.host for held in doubtful}) >= FEW_HOSTS or all(held.seen.is_local for held in doubtful)
