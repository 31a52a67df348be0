import { callUseCase, expectAttachments, type Outcome, sessionChanged, subscribe } from '@fleet/bus';
import { readDevice } from '@fleet/storage';
import { findVehicleByImei } from '../domains/vehicles/queries.ts';
import type { Deps } from '../platform/deps.ts';
import type { AttachmentRequest, AttachmentRequestStore } from './attachment-request-store.ts';
import type { AttachmentTimings } from './attachment-settings.ts';

/** Dependencies of the attachment requests. */
type RequesterDeps = Pick<Deps, 'commandClient' | 'bus' | 'limits' | 'log' | 'notifications' | 'records' | 'redis'> & {
  readonly store: AttachmentRequestStore;
  readonly timings: AttachmentTimings;
  /** Called with the result of each request. */
  readonly countResult: (result: RequestResult) => void;
};

/** Result of a request; `asked` for each request that the terminal accepted. */
type RequestResult = 'asked' | 'received' | 'refused' | 'incomplete' | 'unreached' | 'moved';

const commandTimeoutMs = 20_000;
const expectTimeoutMs = 5_000;
/** Longest duration of a request; a replica that takes longer is dead. */
const claimTtlMs = 60_000;
const pollBatchSize = 100;
const maxConcurrentRequests = 32;

/** Result of a request at the terminal. */
type SendOutcome = 'accepted' | 'refused' | 'missed';

/**
 * Requests the files of alarms from terminals while some are missing. Any number of replicas share the work; its state
 * is in MongoDB.
 */
export class AttachmentRequester {
  readonly #deps: RequesterDeps;
  readonly #running = new Map<string, Promise<void>>();
  readonly #subscription: { stop(): void };
  #timer: NodeJS.Timeout | undefined;
  #polling: Promise<void> | undefined;
  #isPollRequested = false;
  readonly #abortCallbacks = new Set<() => void>();
  #isStopped = false;

  constructor(deps: RequesterDeps) {
    this.#deps = deps;
    const onError = (error: unknown): void =>
      deps.log.warn({ err: error }, 'could not request attachments from a reconnected terminal yet');
    this.#subscription = subscribe(
      deps.bus,
      sessionChanged,
      onError,
      ({ imei, isOnline }) => {
        if (isOnline) this.#onReconnected(imei).catch(onError);
      },
      sessionChanged.subject,
      'platform-attachments',
    );
    this.poll();
  }

  /** Checks for due requests now. */
  poll(): void {
    this.#isPollRequested = true;
    this.#polling ??= this.#pollWhileRequested().finally(() => {
      this.#polling = undefined;
    });
  }

  /** Adds a request. It is durable once this resolves, and sent immediately unless too many are pending. */
  async add(requested: Omit<AttachmentRequest, 'nextAtMs' | 'isHeld'>): Promise<void> {
    const nowMs = Date.now();
    const isHeld = this.#running.size < maxConcurrentRequests && !this.#isStopped;
    const request = { ...requested, isHeld, nextAtMs: isHeld ? nowMs + claimTtlMs : nowMs };
    if ((await this.#deps.store.add(request)) && isHeld) this.#run(request, () => this.#processClaimed(request));
  }

  /** Records a received file of an alarm. */
  async onFileReceived(requestId: string, fileId: string): Promise<void> {
    const files = await this.#deps.store.addReceivedFile(requestId, fileId);
    const request = await this.#deps.store.find(requestId);
    if (request !== null && files >= request.count) await this.#finish(request, 'received');
  }

  /** Finishes pending requests; the rest is for another replica, or the next start. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    this.#subscription.stop();
    await this.#polling;
    for (const abort of this.#abortCallbacks) abort();
    await Promise.all(this.#running.values());
  }

  async #onReconnected(imei: string): Promise<void> {
    if (await this.#deps.store.markReconnected(imei)) this.poll();
  }

  async #pollWhileRequested(): Promise<void> {
    clearTimeout(this.#timer);
    while (this.#isPollRequested && !this.#isStopped) {
      this.#isPollRequested = false;
      try {
        await this.#startDue();
      } catch (error) {
        this.#deps.log.warn({ err: error }, 'could not read due attachment requests');
      }
    }
    if (this.#isStopped) return;
    this.#timer = setTimeout(() => this.poll(), this.#deps.timings.pollMs);
  }

  async #startDue(): Promise<void> {
    const due = await this.#deps.store.findDue(Date.now(), pollBatchSize);
    for (const request of due) {
      // The others are still due when one of these has ended.
      if (this.#running.size >= maxConcurrentRequests || this.#isStopped) return;
      this.#run(request, async () => {
        if (await this.#deps.store.claim(request, Date.now() + claimTtlMs)) await this.#processClaimed(request);
      });
    }
  }

  #run({ _id, imei }: AttachmentRequest, begin: () => Promise<void>): void {
    if (this.#running.has(_id)) return;
    const work = begin()
      .catch((error: unknown) => this.#deps.log.warn({ err: error, imei }, 'could not request attachments'))
      .finally(() => {
        this.#running.delete(_id);
        if (this.#running.size === maxConcurrentRequests - 1) this.poll();
      });
    this.#running.set(_id, work);
  }

  async #processClaimed(request: AttachmentRequest): Promise<void> {
    const { store, timings } = this.#deps;
    const nowMs = Date.now();
    if ((await store.countReceivedFiles(request._id)) >= request.count) return this.#finish(request, 'received');
    if (request.asked > timings.resendIntervalsMs.length) return this.#finish(request, 'incomplete');
    if (nowMs - request.atMs > timings.timeoutMs)
      return this.#finish(request, request.asked > 0 ? 'incomplete' : 'unreached');
    if (!(await this.#isInVehicle(request))) return this.#finish(request, 'moved');
    const untilMs = nowMs + timings.slotTtlMs;
    if (!(await store.claimSlot(request, untilMs, timings.concurrency)))
      return store.release(request, { nextAtMs: nowMs + timings.slotRetryMs });
    await this.#sendRequest(request);
  }

  async #sendRequest(request: AttachmentRequest): Promise<void> {
    const { store, timings, countResult, redis } = this.#deps;
    const before = await readDevice(redis, request.imei);
    const response = await this.#sendUntilStopped(request);
    if (response === 'refused') return this.#finish(request, 'refused');
    if (response === 'missed') return this.#scheduleRetry(request, before?.sessionId);
    countResult('asked');
    const againMs = timings.resendIntervalsMs[request.asked] ?? timings.resendIntervalsMs.at(-1) ?? timings.lifetimeMs;
    await store.release(request, { asked: request.asked + 1, missed: 0, nextAtMs: Date.now() + againMs });
    // All files may have arrived before the terminal's acknowledgement.
    if ((await store.countReceivedFiles(request._id)) >= request.count) await this.#finish(request, 'received');
  }

  // A stopping process does not wait for a terminal: the next replica repeats the same request.
  #sendUntilStopped(request: AttachmentRequest): Promise<SendOutcome> {
    return new Promise((resolve, reject) => {
      const abort = (): void => resolve('missed');
      this.#abortCallbacks.add(abort);
      this.#send(request)
        .then(resolve, reject)
        .finally(() => this.#abortCallbacks.delete(abort));
      if (this.#isStopped) abort();
    });
  }

  /** Waits for the next attempt, or for a session other than the one of the failed attempt. */
  async #scheduleRetry(request: AttachmentRequest, failedSessionId: string | undefined): Promise<void> {
    const { store, timings, redis } = this.#deps;
    const { imei, missed } = request;
    await store.releaseSlot(request);
    const waitMs = Math.min(timings.maxRetryMs, timings.retryMs * 2 ** Math.min(missed, 10));
    await store.release(request, { missed: missed + 1, nextAtMs: Date.now() + waitMs });
    // Also if it is online: its session may end before the next attempt.
    await store.markReconnectAwaited(imei);
    // It may have connected since the attempt began, when no reconnection was awaited yet.
    const device = await readDevice(redis, imei);
    if (device !== null && device.sessionId !== failedSessionId) await this.#onReconnected(imei);
  }

  /** Terminals move between vehicles and accounts. */
  async #isInVehicle({ imei, vehicleId, accountId }: AttachmentRequest): Promise<boolean> {
    const vehicle = await findVehicleByImei(this.#deps.records, imei);
    return vehicle?._id === vehicleId && vehicle.accountId === accountId;
  }

  async #send(request: AttachmentRequest): Promise<SendOutcome> {
    const { commandClient, bus, limits, log, redis, timings } = this.#deps;
    const { _id, imei, accountId, vehicleId, notificationId, count, tagHex } = request;
    const alarmNo = _id.slice(imei.length + 1);
    const correlationId = `attachments-${notificationId}`;
    try {
      await limits.consume('command', imei);
      const expected = { alarmNo, imei, accountId, vehicleId, notificationId, count, lifetimeMs: timings.lifetimeMs };
      const server = await callUseCase(bus, expectAttachments, expected, { timeoutMs: expectTimeoutMs, correlationId });
      const outcome = await commandClient.send({
        imei,
        command: {
          kind: 'requestAttachments',
          server: server.host,
          tcpPort: server.tcpPort,
          udpPort: 0,
          tagHex,
          alarmNo,
        },
        correlationId,
        timeoutMs: commandTimeoutMs,
        isClaimed: async (each) => (await readDevice(redis, each)) !== null,
      });
      return this.#toSendOutcome(request, outcome);
    } catch (error) {
      // The terminal is busy, or a service is unavailable: retry later.
      log.info({ err: error, imei, notificationId }, 'could not request attachments, retrying');
      return 'missed';
    }
  }

  #toSendOutcome({ imei, notificationId }: AttachmentRequest, outcome: Outcome): SendOutcome {
    const { log } = this.#deps;
    switch (outcome.kind) {
      case 'answered':
        if (outcome.answer.result === 0) return 'accepted';
        log.info({ imei, notificationId, result: outcome.answer.result }, 'a terminal refused to send attachments');
        return 'refused';
      case 'refused':
        log.warn({ imei, notificationId, detail: outcome.detail }, 'an attachment request cannot be sent');
        return outcome.isOurFault === true ? 'missed' : 'refused';
      case 'notConnected':
      case 'timedOut':
      case 'unreadable':
      case 'busy':
      case 'brokerAway':
        return 'missed';
    }
  }

  async #finish(request: AttachmentRequest, result: RequestResult): Promise<void> {
    const { store, notifications, log, countResult } = this.#deps;
    const { dedupeKey, imei, notificationId } = request;
    if (result !== 'received') {
      log.info({ imei, notificationId, result }, 'gave up the attachments of an alarm');
      // Before the request is deleted: users see why files are missing.
      if (result !== 'moved') await notifications.update([{ dedupeKey, attributes: { attachments: result } }]);
    }
    // The last file may be noticed by its consumer and by the request.
    if (await store.remove(request)) countResult(result);
    this.poll();
  }
}
