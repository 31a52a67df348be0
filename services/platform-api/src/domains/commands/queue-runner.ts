import { randomBytes } from 'node:crypto';
import { readDevices } from '@fleet/storage';
import { mayStillSend } from '../partners/command-level.ts';
import { vehicleByImei } from '../vehicles/use-cases.ts';
import type { AttemptDeps, AttemptRunner } from './attempt-runner.ts';
import type { Attempt, Command } from './schema.ts';
import type { CommandQueue } from './store.ts';

/** Timings of a queue runner, and what it needs of its worker. */
interface QueueRunnerOptions {
  /** Time that a terminal has to respond. */
  readonly replyTimeoutMs: number;
  /** Time without a renewal after which the owner of a queue counts as dead. */
  readonly leaseTtlMs: number;
  readonly stopped: AbortSignal;
  /** Returns true while other queues wait for this one to end. */
  readonly mustYield: () => boolean;
}

/** Slightly less than the 150 s for which gateways cache the outcome of a command. */
const gatewayMemoryMs = 120_000;

/** Processes the queue of one terminal under its lease: sends the next command, records the result, and so on. */
export class QueueRunner {
  readonly #deps: AttemptDeps;
  readonly #queue: CommandQueue;
  readonly #attempts: AttemptRunner;
  readonly #options: QueueRunnerOptions;
  readonly #owner = randomBytes(8).toString('hex');

  constructor(deps: AttemptDeps, queue: CommandQueue, attempts: AttemptRunner, options: QueueRunnerOptions) {
    this.#deps = deps;
    this.#queue = queue;
    this.#attempts = attempts;
    this.#options = options;
  }

  /** Processes a queue until there is nothing to do for now. Does nothing if another replica holds the lease. */
  async run(imei: string, wasConnected: boolean): Promise<void> {
    const { leaseTtlMs, stopped, mustYield } = this.#options;
    const lease = { isHeld: await this.#renewLease(imei) };
    if (!lease.isHeld) return;
    const renewal = setInterval(() => {
      this.#renewLease(imei).then(
        (isHeld) => {
          lease.isHeld = isHeld;
        },
        (error: unknown) => this.#deps.log.warn({ err: error }, 'could not renew a lease'),
      );
    }, leaseTtlMs / 3);
    try {
      let isConnected = wasConnected;
      // Without the lease, another replica owns the queue.
      while (!stopped.aborted && (await this.#processNext(imei, isConnected)) && lease.isHeld && !mustYield())
        isConnected = (await readDevices(this.#deps.redis, [imei])).has(imei);
    } finally {
      clearInterval(renewal);
      // A stopped worker releases the leases of all its queues.
      if (!stopped.aborted) await this.releaseLease(imei);
    }
  }

  /** Releases the lease of a queue, so that another replica need not wait until it expires. */
  releaseLease(imei: string): Promise<void> {
    return this.#queue.releaseLease(imei, this.#owner);
  }

  #renewLease(imei: string): Promise<boolean> {
    return this.#queue.acquireLease(imei, this.#owner, this.#options.leaseTtlMs);
  }

  /** Makes one attempt. Returns false if there is nothing to do for now. */
  async #processNext(imei: string, wasConnected: boolean): Promise<boolean> {
    const inFlight = await this.#queue.findInFlight(imei);
    if (inFlight?.flight != null) return this.#resumeAttempt(inFlight, inFlight.flight);
    // A message published without a connection would only seem to be in flight.
    if (!this.#deps.bus.isUp()) return false;
    const isConnected = wasConnected || (await readDevices(this.#deps.redis, [imei])).has(imei);
    const isReachable = isConnected || (await this.#deps.partnerChannels.filterReachable([imei])).has(imei);
    const command = await this.#queue.next(imei, new Date(), isReachable ? undefined : ['wakeup']);
    if (command === null) return false;
    if ((await this.#isForPreviousVehicle(command)) || !(await mayStillSend(this.#deps.records, command))) {
      if (await this.#queue.cancel(command, command._id)) this.#attempts.publishUpdate(command._id);
      return true;
    }
    const attempt: Attempt = { name: randomBytes(16).toString('hex'), startedAt: new Date() };
    if (!(await this.#queue.beginAttempt(command._id, attempt))) return true;
    const options = { name: attempt.name, isRepeated: false, timeoutMs: this.#options.replyTimeoutMs };
    return this.#attempts.run(command, options, isReachable && !isConnected);
  }

  /**
   * Resumes an earlier attempt. Sends the command again under the same name while gateways cache the outcome;
   * afterwards, the attempt counts as unanswered.
   */
  async #resumeAttempt(command: Command, { name, startedAt }: Attempt): Promise<boolean> {
    const ageMs = Date.now() - startedAt.getTime();
    if (command.notBefore !== null && command.notBefore.getTime() > Date.now()) return false;
    if (await this.#isForPreviousVehicle(command)) return this.#abandonAttempt(command, name);
    if (ageMs > gatewayMemoryMs) return this.#attempts.recordResult(command, name, { kind: 'unanswered' });
    const { replyTimeoutMs } = this.#options;
    const timeoutMs = Math.max(Math.min(5_000, replyTimeoutMs), replyTimeoutMs - ageMs);
    return this.#attempts.run(command, { name, isRepeated: true, timeoutMs });
  }

  /** Ends an attempt whose terminal has left the vehicle. A command that the socket accepted cannot be canceled. */
  async #abandonAttempt(command: Command, name: string): Promise<boolean> {
    if (command.status === 'sent') return this.#attempts.recordResult(command, name, { kind: 'unanswered' });
    const canceled = { status: 'canceled', flight: null, notBefore: null, completedAt: new Date() } as const;
    if (await this.#queue.updateAttempt(command._id, name, canceled)) this.#attempts.publishUpdate(command._id);
    return true;
  }

  /**
   * Returns whether the terminal has left the vehicle of the command. It may be in a vehicle of another account now.
   */
  async #isForPreviousVehicle({ imei, vehicleId }: Command): Promise<boolean> {
    return (await vehicleByImei(this.#deps.records, imei))?._id !== vehicleId;
  }
}
