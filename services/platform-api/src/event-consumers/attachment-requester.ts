import { callUseCase, expectAttachments, type Outcome, sessionChanged, subscribe } from '@fleet/bus';
import { readDevice } from '@fleet/storage';
import { findVehicleByImei } from '../domains/vehicles/queries.ts';
import type { Deps } from '../platform/deps.ts';
import type { AttachmentRequest, AttachmentRequests } from './attachment-requests.ts';
import type { AttachmentTimes } from './attachment-settings.ts';

/** Dependencies of the attachment requests. */
export type RequesterDeps = Pick<
  Deps,
  'commandClient' | 'bus' | 'limits' | 'log' | 'notifications' | 'records' | 'redis'
> & {
  readonly requests: AttachmentRequests;
  readonly times: AttachmentTimes;
  /** Called with the result of each request. */
  readonly count: (result: RequestResult) => void;
};

/** Handles the end of a request. */
export type RequestResult = 'asked' | 'received' | 'refused' | 'incomplete' | 'unreached' | 'moved';

const askMs = 20_000;
const expectMs = 5_000;
/** Longest duration of a request; a replica that takes longer is dead. */
const holdMs = 60_000;
const atOnce = 100;
const maxWorking = 32;

/** Result of a request at the terminal. */
type Answer = 'agreed' | 'refused' | 'missed';

/**
 * Requests the files of alarms from terminals while some are missing. Any number of replicas share the work; its state
 * is in MongoDB.
 */
export class AttachmentRequester {
  readonly #parts: RequesterDeps;
  readonly #working = new Map<string, Promise<void>>();
  readonly #listener: { stop(): void };
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> | undefined;
  #isLookAsked = false;
  readonly #enders = new Set<() => void>();
  #isStopped = false;

  constructor(parts: RequesterDeps) {
    this.#parts = parts;
    const onError = (error: unknown): void =>
      parts.log.warn({ err: error }, 'could not request attachments from a reconnected terminal yet');
    this.#listener = subscribe(
      parts.bus,
      sessionChanged,
      onError,
      ({ imei, isOnline }) => {
        if (isOnline) this.#back(imei).catch(onError);
      },
      sessionChanged.subject,
      'platform-attachments',
    );
    this.look();
  }

  /** Checks for due requests now. */
  look(): void {
    this.#isLookAsked = true;
    this.#looking ??= this.#lookAll().finally(() => {
      this.#looking = undefined;
    });
  }

  /** Adds a request. It is durable once this resolves, and sent immediately unless too many are pending. */
  async take(wanted: Omit<AttachmentRequest, 'nextAtMs' | 'isHeld'>): Promise<void> {
    const nowMs = Date.now();
    const isHeld = this.#working.size < maxWorking && !this.#isStopped;
    const request = { ...wanted, isHeld, nextAtMs: isHeld ? nowMs + holdMs : nowMs };
    if ((await this.#parts.requests.add(request)) && isHeld) this.#begin(request, () => this.#workHeld(request));
  }

  /** Records a received file of an alarm. */
  async arrived(requestId: string, fileId: string): Promise<void> {
    const files = await this.#parts.requests.arrived(requestId, fileId);
    const request = await this.#parts.requests.find(requestId);
    if (request !== null && files >= request.count) await this.#finish(request, 'received');
  }

  /** Finishes pending requests; the rest is for another replica, or the next start. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    this.#listener.stop();
    await this.#looking;
    for (const end of this.#enders) end();
    await Promise.all(this.#working.values());
  }

  async #back(imei: string): Promise<void> {
    if (await this.#parts.requests.noteBack(imei)) this.look();
  }

  async #lookAll(): Promise<void> {
    clearTimeout(this.#timer);
    while (this.#isLookAsked && !this.#isStopped) {
      this.#isLookAsked = false;
      try {
        await this.#lookOnce();
      } catch (error) {
        this.#parts.log.warn({ err: error }, 'could not read due attachment requests');
      }
    }
    if (this.#isStopped) return;
    this.#timer = setTimeout(() => this.look(), this.#parts.times.pollMs);
  }

  async #lookOnce(): Promise<void> {
    const due = await this.#parts.requests.due(Date.now(), atOnce);
    for (const request of due) {
      // The others are still due when one of these has ended.
      if (this.#working.size >= maxWorking || this.#isStopped) return;
      this.#begin(request, async () => {
        if (await this.#parts.requests.hold(request, Date.now() + holdMs)) await this.#workHeld(request);
      });
    }
  }

  #begin({ _id, imei }: AttachmentRequest, begin: () => Promise<void>): void {
    if (this.#working.has(_id)) return;
    const work = begin()
      .catch((error: unknown) => this.#parts.log.warn({ err: error, imei }, 'could not request attachments'))
      .finally(() => {
        this.#working.delete(_id);
        if (this.#working.size === maxWorking - 1) this.look();
      });
    this.#working.set(_id, work);
  }

  async #workHeld(request: AttachmentRequest): Promise<void> {
    const { requests, times } = this.#parts;
    const nowMs = Date.now();
    if ((await requests.arrivedFiles(request._id)) >= request.count) return this.#finish(request, 'received');
    if (request.asked > times.againMs.length) return this.#finish(request, 'incomplete');
    if (nowMs - request.atMs > times.giveUpMs)
      return this.#finish(request, request.asked > 0 ? 'incomplete' : 'unreached');
    if (!(await this.#isInVehicle(request))) return this.#finish(request, 'moved');
    const untilMs = nowMs + times.longestTurnMs;
    if (!(await requests.takeTurn(request, untilMs, times.parallel)))
      return requests.release(request, { nextAtMs: nowMs + times.turnMs });
    await this.#ask(request);
  }

  async #ask(request: AttachmentRequest): Promise<void> {
    const { requests, times, count } = this.#parts;
    const response = await this.#answerOrStop(request);
    if (response === 'refused') return this.#finish(request, 'refused');
    if (response === 'missed') return this.#missed(request);
    count('asked');
    const againMs = times.againMs[request.asked] ?? times.againMs.at(-1) ?? times.lifetimeMs;
    await requests.release(request, { asked: request.asked + 1, missed: 0, nextAtMs: Date.now() + againMs });
    // All files may have arrived before the terminal's acknowledgement.
    if ((await requests.arrivedFiles(request._id)) >= request.count) await this.#finish(request, 'received');
  }

  /** A stopping process does not wait for a terminal: the next replica repeats the same request. */
  #answerOrStop(request: AttachmentRequest): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const end = (): void => resolve('missed');
      this.#enders.add(end);
      this.#answerOf(request)
        .then(resolve, reject)
        .finally(() => this.#enders.delete(end));
      if (this.#isStopped) end();
    });
  }

  async #missed(request: AttachmentRequest): Promise<void> {
    const { requests, times, redis } = this.#parts;
    const { imei, missed } = request;
    await requests.endTurn(request);
    const waitMs = Math.min(times.longestRetryMs, times.retryMs * 2 ** Math.min(missed, 10));
    await requests.release(request, { missed: missed + 1, nextAtMs: Date.now() + waitMs });
    if ((await readDevice(redis, imei)) !== null) return;
    await requests.noteAway(imei);
    // It may have arrived in between.
    if ((await readDevice(redis, imei)) !== null) await this.#back(imei);
  }

  /** Terminals move between vehicles and accounts. */
  async #isInVehicle({ imei, vehicleId, accountId }: AttachmentRequest): Promise<boolean> {
    const vehicle = await findVehicleByImei(this.#parts.records, imei);
    return vehicle?._id === vehicleId && vehicle.accountId === accountId;
  }

  async #answerOf(request: AttachmentRequest): Promise<Answer> {
    const { commandClient, bus, limits, log, redis, times } = this.#parts;
    const { _id, imei, accountId, vehicleId, notificationId, count, tagHex } = request;
    const alarmNo = _id.slice(imei.length + 1);
    const correlationId = `attachments-${notificationId}`;
    try {
      await limits.consume('command', imei);
      const expected = { alarmNo, imei, accountId, vehicleId, notificationId, count, lifetimeMs: times.lifetimeMs };
      const server = await callUseCase(bus, expectAttachments, expected, { timeoutMs: expectMs, correlationId });
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
        timeoutMs: askMs,
        isClaimed: async (each) => (await readDevice(redis, each)) !== null,
      });
      return this.#read(request, outcome);
    } catch (error) {
      // The terminal is busy, or a service is unavailable: retry later.
      log.info({ err: error, imei, notificationId }, 'attachment request deferred');
      return 'missed';
    }
  }

  #read({ imei, notificationId }: AttachmentRequest, outcome: Outcome): Answer {
    const { log } = this.#parts;
    switch (outcome.kind) {
      case 'answered':
        if (outcome.answer.result === 0) return 'agreed';
        log.info({ imei, notificationId, result: outcome.answer.result }, 'terminal refused to send attachments');
        return 'refused';
      case 'refused':
        log.warn({ imei, notificationId, detail: outcome.detail }, 'attachment request cannot be sent');
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
    const { requests, notifications, log, count } = this.#parts;
    const { dedupeKey, imei, notificationId } = request;
    if (result !== 'received') {
      log.info({ imei, notificationId, result }, 'gave up the attachments of an alarm');
      // Before the request is deleted: users see why files are missing.
      if (result !== 'moved') await notifications.update([{ dedupeKey, attributes: { attachments: result } }]);
    }
    // The last file may be noticed by its consumer and by the request.
    if (await requests.remove(request)) count(result);
    this.look();
  }
}
