import { propertySettings } from '@fleet/testing';
import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { QueueScheduler } from './queue-scheduler.ts';

fc.configureGlobal(propertySettings);

interface ModelCommand {
  /** Polls until the terminal has responded. */
  readonly durationPolls: number;
  /** Polls for which the device is unavailable once, before it accepts the command. */
  readonly unavailablePolls: number;
}

interface ModelQueue {
  readonly arrivesAt: number;
  readonly commands: readonly ModelCommand[];
}

interface Entry {
  readonly poll: number;
  readonly imei: string;
  /** Position of the command in its queue. */
  readonly command: number;
}

interface RunningQueue {
  /** Commands attempted since the scheduler started the queue. */
  attempted: number;
  busyUntil: number;
}

/** Drives a scheduler as the worker does, with polls as the unit of time. */
class Simulation {
  readonly scheduler: QueueScheduler;
  /** Starts of queues. */
  readonly started: Entry[] = [];
  /** Commands that have begun. */
  readonly begun: Entry[] = [];
  readonly completed: Entry[] = [];
  /** Queues that could have been started at the last poll, had there been room. */
  refused = new Set<string>();
  /** Largest number of concurrently running queues. */
  maxRunning = 0;
  readonly #queues: ReadonlyMap<string, ModelQueue>;
  readonly #running = new Map<string, RunningQueue>();
  readonly #next = new Map<string, number>();
  readonly #cooldowns = new Map<string, number>();
  readonly #wasUnavailable = new Set<string>();
  readonly #pageSize: number;
  #firstOfPage = 0;
  #poll = 0;

  constructor(queues: readonly ModelQueue[], concurrency: number, pageSize = queues.length) {
    this.scheduler = new QueueScheduler({ concurrency });
    this.#queues = new Map(queues.map((queue, no) => [`queue ${no}`, queue]));
    this.#pageSize = pageSize;
  }

  get now(): number {
    return this.#poll;
  }

  get isDone(): boolean {
    return [...this.#queues.keys()].every((imei) => !this.#hasCommand(imei));
  }

  /** Returns true if a queue waits for the scheduler, and has a command that its terminal would accept now. */
  isWaiting(imei: string): boolean {
    const hasArrived = (this.#queues.get(imei)?.arrivesAt ?? 0) <= this.#poll;
    const isCoolingDown = (this.#cooldowns.get(imei) ?? 0) > this.#poll;
    return hasArrived && this.#hasCommand(imei) && !this.#running.has(imei) && !isCoolingDown;
  }

  /** Ends attempts that are due, then polls a page of the waiting queues. */
  poll(): void {
    this.#poll += 1;
    for (const [imei, queue] of this.#running) if (queue.busyUntil <= this.#poll) this.#endAttempt(imei, queue);
    const waiting = [...this.#queues.keys()].filter(
      (imei) => this.#hasCommand(imei) && (this.#queues.get(imei)?.arrivesAt ?? 0) <= this.#poll,
    );
    const page = waiting.slice(this.#firstOfPage, this.#firstOfPage + this.#pageSize);
    const isLast = this.#firstOfPage + this.#pageSize >= waiting.length;
    const isComplete = this.#firstOfPage === 0 && isLast;
    this.#firstOfPage = isLast ? 0 : this.#firstOfPage + this.#pageSize;
    this.scheduler.evictStale(isComplete ? new Set(waiting) : null, this.#poll);
    this.refused = new Set();
    for (const imei of this.scheduler.leastRecentlyServed(this.scheduler.withoutCooldown(page, this.#poll)))
      if (this.scheduler.tryStart(imei, this.#poll)) this.#start(imei);
      else if (!this.#running.has(imei)) this.refused.add(imei);
    if (isLast) this.scheduler.endScan();
    this.maxRunning = Math.max(this.maxRunning, this.#running.size);
  }

  #start(imei: string): void {
    if (this.#running.has(imei)) throw new Error(`${imei} is already running`);
    this.started.push(this.#entry(imei));
    const queue = { attempted: 0, busyUntil: 0 };
    this.#running.set(imei, queue);
    this.#beginAttempt(imei, queue);
  }

  #beginAttempt(imei: string, queue: RunningQueue): void {
    const { command } = this.#entry(imei);
    const { durationPolls = 0, unavailablePolls = 0 } = this.#queues.get(imei)?.commands[command] ?? {};
    const key = `${imei} ${command}`;
    if (unavailablePolls > 0 && !this.#wasUnavailable.has(key)) {
      this.#wasUnavailable.add(key);
      this.#cooldowns.set(imei, this.#poll + unavailablePolls);
      this.scheduler.coolDown(imei, this.#poll + unavailablePolls);
      this.#finish(imei);
      return;
    }
    this.begun.push(this.#entry(imei));
    queue.attempted += 1;
    queue.busyUntil = this.#poll + durationPolls;
  }

  #endAttempt(imei: string, queue: RunningQueue): void {
    const entry = this.#entry(imei);
    this.completed.push(entry);
    this.#next.set(imei, entry.command + 1);
    if (this.#hasCommand(imei) && !this.scheduler.isSaturated) this.#beginAttempt(imei, queue);
    else this.#finish(imei);
  }

  #finish(imei: string): void {
    this.#running.delete(imei);
    this.scheduler.finish(imei);
  }

  #hasCommand(imei: string): boolean {
    return this.#entry(imei).command < (this.#queues.get(imei)?.commands.length ?? 0);
  }

  #entry(imei: string): Entry {
    return { poll: this.#poll, imei, command: this.#next.get(imei) ?? 0 };
  }
}

const command = fc.record({
  durationPolls: fc.integer({ min: 1, max: 6 }),
  unavailablePolls: fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, fc.integer({ min: 1, max: 5 })),
});
const queue = fc.record({
  arrivesAt: fc.integer({ min: 0, max: 10 }),
  commands: fc.array(command, { minLength: 1, maxLength: 5 }),
});
const queues = fc.array(queue, { minLength: 1, maxLength: 8 });
const concurrency = fc.integer({ min: 1, max: 4 });
/** More polls than all commands take one after another, with an empty poll between them. */
const maxPolls = 10 + 8 * 5 * (6 + 5 + 2);

function run(simulation: Simulation, afterPoll: () => void = () => undefined): void {
  while (!simulation.isDone) {
    if (simulation.now > maxPolls) throw new Error('a command was never attempted');
    simulation.poll();
    afterPoll();
  }
}

describe('QueueScheduler', () => {
  it('runs each queue once at a time, and no more queues than permitted', () => {
    fc.assert(
      fc.property(queues, concurrency, fc.integer({ min: 1, max: 8 }), (all, limit, pageSize) => {
        // The simulation throws if a running queue is started.
        const simulation = new Simulation(all, limit, pageSize);
        run(simulation);
        expect(simulation.maxRunning).toBeLessThanOrEqual(limit);
      }),
    );
  });

  it('attempts every command, and those of a queue in order and one after another', () => {
    fc.assert(
      fc.property(queues, concurrency, fc.integer({ min: 1, max: 8 }), (all, limit, pageSize) => {
        const simulation = new Simulation(all, limit, pageSize);
        run(simulation);
        for (const [no, { commands }] of all.entries()) {
          const ofQueue = (entries: readonly Entry[]): Entry[] => entries.filter(({ imei }) => imei === `queue ${no}`);
          const [begun, completed] = [ofQueue(simulation.begun), ofQueue(simulation.completed)];
          expect(begun.map((entry) => entry.command)).toEqual(commands.map((_command, at) => at));
          expect(completed.map((entry) => entry.command)).toEqual(commands.map((_command, at) => at));
          for (const [at, entry] of completed.entries())
            expect(begun[at + 1]?.poll ?? entry.poll).toBeGreaterThanOrEqual(entry.poll);
        }
      }),
    );
  });

  it('starts no queue twice while another one waits', () => {
    fc.assert(
      fc.property(queues, concurrency, (all, limit) => {
        const simulation = new Simulation(all, limit);
        const imeis = all.map((_queue, no) => `queue ${no}`);
        /** For each waiting queue, the queues that were started since it waits. */
        const overtakenBy = new Map<string, Set<string>>();
        let seen = 0;
        run(simulation, () => {
          for (const { imei } of simulation.started.slice(seen)) {
            overtakenBy.delete(imei);
            for (const others of overtakenBy.values()) {
              expect(others.has(imei)).toBe(false);
              others.add(imei);
            }
          }
          seen = simulation.started.length;
          for (const imei of imeis)
            if (!simulation.isWaiting(imei)) overtakenBy.delete(imei);
            else if (!overtakenBy.has(imei)) overtakenBy.set(imei, new Set());
        });
      }),
    );
  });

  it('lets a queue begin one command at a time while another one waits', () => {
    fc.assert(
      fc.property(queues, concurrency, (all, limit) => {
        const simulation = new Simulation(all, limit);
        const continued: string[] = [];
        let [seenBegun, seenStarted] = [0, 0];
        let mustYield = false;
        run(simulation, () => {
          const started = new Set(simulation.started.slice(seenStarted).map(({ imei }) => imei));
          const begun = simulation.begun.slice(seenBegun).map(({ imei }) => imei);
          // A queue was refused at the previous poll, so every queue had to yield instead of continuing.
          if (mustYield) continued.push(...begun.filter((imei) => !started.has(imei)));
          mustYield = simulation.refused.size > 0;
          [seenBegun, seenStarted] = [simulation.begun.length, simulation.started.length];
        });
        expect(continued).toEqual([]);
      }),
    );
  });

  it('keeps the order of queues that were never served', () => {
    const scheduler = new QueueScheduler({ concurrency: 2 });
    expect(scheduler.leastRecentlyServed(['b', 'a', 'c'])).toEqual(['b', 'a', 'c']);
    scheduler.tryStart('b', 0);
    scheduler.finish('b');
    expect(scheduler.leastRecentlyServed(['b', 'a', 'c'])).toEqual(['a', 'c', 'b']);
  });

  it('skips the queue of an unavailable device until its cooldown ends', () => {
    const scheduler = new QueueScheduler({ concurrency: 2 });
    scheduler.coolDown('a', 100);
    expect([scheduler.withoutCooldown(['a', 'b', 'b'], 99), scheduler.tryStart('a', 99)]).toEqual([['b'], false]);
    expect(scheduler.isSaturated).toBe(false);
    expect([scheduler.withoutCooldown(['a'], 100), scheduler.tryStart('a', 100)]).toEqual([['a'], true]);
    expect(scheduler.running).toEqual(['a']);
  });

  it('stays saturated for a scan after the one in which a queue could not be started', () => {
    const scheduler = new QueueScheduler({ concurrency: 1 });
    scheduler.tryStart('a', 0);
    expect(scheduler.isSaturated).toBe(false);
    expect(scheduler.tryStart('b', 0)).toBe(false);
    expect(scheduler.isSaturated).toBe(true);
    scheduler.endScan();
    expect(scheduler.isSaturated).toBe(true);
    scheduler.endScan();
    expect(scheduler.isSaturated).toBe(false);
  });

  it('evicts queues without waiting commands, and starts over above the limit of tracked queues', () => {
    const scheduler = new QueueScheduler({ concurrency: 10, maxTracked: 2 });
    const serve = (imei: string): void => {
      scheduler.tryStart(imei, 0);
      scheduler.finish(imei);
    };
    serve('a');
    serve('b');
    scheduler.evictStale(new Set(['b']), 0);
    expect(scheduler.leastRecentlyServed(['b', 'a'])).toEqual(['a', 'b']);
    scheduler.evictStale(null, 0);
    expect(scheduler.leastRecentlyServed(['b', 'a'])).toEqual(['a', 'b']);
    for (const imei of ['c', 'd', 'e']) serve(imei);
    expect(scheduler.leastRecentlyServed(['c', 'b', 'e', 'd'])).toEqual(['c', 'b', 'd', 'e']);
  });
});
