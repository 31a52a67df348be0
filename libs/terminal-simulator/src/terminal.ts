import { type AdditionalItem, decodeBody, platformGeneralResponse, terminalLogout } from '@fleet/jt808';
import type { AlarmName } from './alarms.ts';
import { Attachments, type SafetyAlarmRecord } from './attachments/attachments.ts';
import type { SafetyAlarm } from './attachments/safety-alarms.ts';
import { type Behaviour, BehaviourTable } from './behaviour.ts';
import { BehaviourEngine } from './behaviour-engine.ts';
import { Cameras } from './cameras.ts';
import type { PlatformMessage } from './frame-log.ts';
import { createMessage, type HandlerContext } from './handlers/handler-context.ts';
import { InspectableTerminal } from './inspectable-terminal.ts';
import type { ReportRecord } from './location-journal.ts';
import { MessageEncoder, type OutgoingFrame } from './message-encoder.ts';
import { ParameterStore } from './parameter-store.ts';
import { Recorder } from './recorder.ts';
import { type Recording, type RecordingQuery, selectSegments } from './recordings.ts';
import { ReliableQueue } from './reliable-queue.ts';
import { Reporter } from './reporter.ts';
import { resolveOptions } from './resolve-options.ts';
import { Session, type TerminalState } from './session.ts';
import type { TerminalMessage, TerminalOptions } from './terminal-options.ts';
import { Timers } from './timers.ts';
import type { UploadFile } from './uploads/upload-files.ts';
import { Uploads } from './uploads/uploads.ts';
import { Vehicle } from './vehicle.ts';

/** Responses of the platform to the terminal's own messages, which are not commands. */
const platformResponseIds: ReadonlySet<number> = new Set([0x8001, 0x8004, 0x9212]);
const reportMessageIds: ReadonlySet<number> = new Set([0x0200, 0x0704]);

/**
 * Simulates a terminal with cameras that speaks JT/T 808 and JT/T 1078: for the demo, for tests, and for partners who
 * test their integration.
 */
export class SimulatedTerminal extends InspectableTerminal {
  readonly vehicle: Vehicle;
  readonly cameras: Cameras;
  readonly parameters: ParameterStore;
  readonly uploads: Uploads;
  readonly attachments: Attachments;
  readonly behaviours = new BehaviourTable();
  readonly #recordings: Recording[];
  readonly #recorder: Recorder | null;
  readonly #encoder: MessageEncoder;
  readonly #session: Session;
  readonly #reporter: Reporter;
  readonly #reliableQueue: ReliableQueue;
  readonly #behaviourEngine: BehaviourEngine;
  readonly #timers = new Timers();
  #multimediaId = 0;

  constructor(options: TerminalOptions) {
    const resolved = resolveOptions(options);
    super(resolved);
    this.#recordings = [...(resolved.recordings ?? [])];
    this.#recorder = resolved.recorder === undefined ? null : new Recorder(resolved.recorder);
    this.vehicle = new Vehicle(resolved);
    this.cameras = new Cameras(resolved);
    this.parameters = new ParameterStore(resolved);
    this.#encoder = new MessageEncoder(resolved.phone, resolved.edition);
    this.#session = this.#createSession();
    this.#reliableQueue = new ReliableQueue((message) => this.send(message), resolved.replyTimeoutMs);
    this.#reporter = new Reporter(resolved, this.vehicle, {
      isOnline: () => this.isOnline,
      transmit: (message) => this.send(message),
    });
    this.uploads = new Uploads(resolved, this.cameras, (message) => this.sendReliably(message));
    this.attachments = new Attachments(resolved, {
      location: () => this.vehicle.location(),
      report: (extras) => this.report(extras),
    });
    this.#behaviourEngine = this.#createBehaviourEngine();
  }

  get state(): TerminalState {
    return this.#session.state;
  }

  /** Recordings on the disk; may be changed at any time. */
  get recordings(): Recording[] {
    this.#recorder?.update(this.#recordings, Date.now());
    return this.#recordings;
  }

  /** All location reports with their transmissions and acknowledgements, oldest first (bounded by `logLimit`). */
  get reports(): readonly ReportRecord[] {
    return this.#reporter.journal.reports;
  }

  /** Auth code of the last registration. */
  get authCode(): string | null {
    return this.#session.authCode;
  }

  /** Connects, and reconnects whenever the connection is lost, until `stop`. */
  start(): void {
    if (this.state !== 'stopped') return;
    this.#session.start();
    this.#startTimers();
  }

  /** Disconnects (or does not connect, if it was never started) and sleeps until an SMS wakes the terminal. */
  hibernate(): void {
    if (this.state === 'stopped') this.#startTimers();
    this.vehicle.isAsleep = true;
    this.#session.hibernate();
  }

  /** Delivers an SMS, which wakes a sleeping terminal, with or without a connection. */
  receiveSms(text: string, { connectAfterMs = 0 } = {}): void {
    this.recordShortMessage(text);
    this.#timers.runAfter(connectAfterMs, () => {
      this.vehicle.isAsleep = false;
      if (this.behaviours.general.kind === 'sleeping') this.resetBehaviour();
      this.#session.wake();
    });
  }

  #startTimers(): void {
    this.#reporter.start();
    this.#timers.runPeriodically(Math.max(250, this.options.replyTimeoutMs / 3), () => {
      if (!this.isOnline) return;
      this.#reporter.resendOverdue();
      this.#reliableQueue.resend(false);
    });
  }

  /** Stops all activity and resolves when the connection is closed. */
  async stop(): Promise<void> {
    this.#timers.clear();
    this.#reporter.stop();
    this.#behaviourEngine.stop();
    this.uploads.close();
    this.attachments.close();
    this.cameras.closeAll('terminalStopped');
    await this.#session.stop();
  }

  /** Drops the connection and reconnects with the usual backoff, as after a short radio failure. */
  dropConnection(): void {
    this.#session.drop('dropped by the terminal');
  }

  /** Logs out (0x0003): the platform and the terminal both delete the registration. */
  logOut(): void {
    this.send(createMessage(terminalLogout, {}, this.options.edition));
    this.#session.clearRegistration();
  }

  /** Changes the behaviour of the whole terminal or of one message id, at any time. */
  setBehaviour(behaviour: Behaviour, messageId?: number): void {
    this.behaviours.set(behaviour, messageId);
    if (messageId !== undefined) return;
    this.vehicle.isAsleep = behaviour.kind === 'sleeping';
    this.#behaviourEngine.onBehaviourChanged();
    this.#applyToConnection();
  }

  /** Restores the normal behaviour. A half-open connection stays dead and is dropped. */
  resetBehaviour(messageId?: number): void {
    const wasHalfOpen = this.behaviours.general.kind === 'halfOpen';
    this.behaviours.clear(messageId);
    if (messageId !== undefined) return;
    this.vehicle.isAsleep = false;
    this.#behaviourEngine.onBehaviourChanged();
    if (wasHalfOpen) this.dropConnection();
    else this.#session.setReading(true);
  }

  /** Sends one message and returns its frames; none without a connection. */
  send(message: TerminalMessage): OutgoingFrame[] {
    return this.#session.transmit(message);
  }

  /** Sends a message until the platform acknowledges it with 0x8001, also over later connections. */
  sendReliably(message: TerminalMessage): void {
    this.#reliableQueue.add(message, this.isOnline);
  }

  /** Sends raw bytes: half frames, garbage, several frames in one write. */
  sendRaw(bytes: Buffer): void {
    this.#session.sendRaw(bytes);
  }

  /** Creates a location report; without a connection it is stored and sent later. */
  report(items: readonly AdditionalItem[] = []): ReportRecord {
    return this.#reporter.report(items);
  }

  /** Creates reports and sends them in batches (0x0704, normal; not in 2011), about 14 in each. */
  reportBatch(count: number): ReportRecord[] {
    return this.#reporter.reportBatch(count);
  }

  /**
   * Raises an alarm and reports immediately: by name, by bit number, or as an item such as 0x64 (driver assistance).
   */
  raiseAlarm(alarm: AlarmName | number | AdditionalItem): ReportRecord {
    if (typeof alarm === 'object') return this.report([alarm]);
    this.vehicle.alarms.raise(alarm);
    return this.report();
  }

  /** Raises an active-safety alarm with files that the terminal sends on request (0x9208), and reports immediately. */
  raiseSafetyAlarm(alarm: SafetyAlarm): SafetyAlarmRecord {
    return this.attachments.raise(alarm);
  }

  /** Clears an alarm whose condition lasts, and reports immediately. */
  clearAlarm(alarm: AlarmName | number): ReportRecord {
    this.vehicle.alarms.clear(alarm);
    return this.report();
  }

  /** Returns the files of an uploaded clip, in order: the same bytes that the platform must have at its end. */
  clipFiles(clip: Partial<RecordingQuery> & { channel: number }): Promise<UploadFile[]> {
    const any = { startTime: null, endTime: null, alarmFlags: 0n, mediaType: 3, streamType: 0, storageType: 0 };
    const segments = selectSegments(this.recordings, { ...any, ...clip }, this.options.zoneMinutes);
    return this.uploads.createFiles(clip.channel, segments);
  }

  /** Creates the access of handlers and events (`send-events.ts`) to this terminal. */
  createHandlerContext(): HandlerContext {
    const recordings = (): Recording[] => this.recordings;
    return {
      options: this.options,
      vehicle: this.vehicle,
      cameras: this.cameras,
      parameters: this.parameters,
      uploads: this.uploads,
      attachments: this.attachments,
      get recordings() {
        return recordings();
      },
      send: (message) => void this.send(message),
      resend: (frames) => void this.#session.transmitFrames(frames),
      findSentParts: (first, numbers) =>
        'serial' in first
          ? this.#encoder.findParts(first.serial, numbers)
          : this.#encoder.findLatestParts(first.messageId, numbers),
      dropAndReconnect: (options) => this.#session.disconnectTemporarily(options),
      startTemporaryTracking: (intervalMs, durationMs) => this.#reporter.startTemporaryTracking(intervalMs, durationMs),
      applyParameters: () => {
        const intervalS = this.parameters.readNumber(0x0029);
        if (intervalS !== undefined) this.#reporter.setInterval(intervalS * 1000);
      },
      nextMultimediaId: () => {
        this.#multimediaId += 1;
        return this.#multimediaId;
      },
    };
  }

  #createSession(): Session {
    return new Session(this.options, this.#encoder, {
      onState: (state, reason) => this.#onState(state, reason),
      onFrameIn: ({ messageId, serial, body, subpackage }, connection) =>
        this.recordFrame({ direction: 'in', messageId, serial, body: Buffer.from(body), subpackage, connection }),
      onFrameOut: ({ messageId, serial, body, subpackage }, connection) =>
        this.recordFrame({ direction: 'out', messageId, serial, body, subpackage, connection }),
      onMessage: (message) => this.#onMessage(message),
      onError: (error) =>
        this.options.onLog?.(`${this.phone} ${error instanceof Error ? error.message : String(error)}`),
    });
  }

  #createBehaviourEngine(): BehaviourEngine {
    return new BehaviourEngine(this.createHandlerContext(), this.behaviours, {
      encode: (message) => this.#encoder.encode(message),
      transmit: (frames) => void this.#session.transmitFrames(frames),
      sendRaw: (bytes) => this.#session.sendRaw(bytes),
      drop: (reason) => this.#session.drop(reason),
      onWake: () => this.resetBehaviour(),
      log: (line) => this.options.onLog?.(`${this.phone} ${line}`),
    });
  }

  #onState(state: TerminalState, reason: string): void {
    this.options.onLog?.(`${this.phone} ${state}${reason === '' ? '' : `: ${reason}`}`);
    if (state === 'waiting' || state === 'stopped' || state === 'asleep') {
      this.#reporter.journal.onConnectionLost();
      this.emit('offline', reason);
    }
    if (state === 'online') {
      this.#applyToConnection();
      this.#reporter.onOnline();
      this.#reliableQueue.resend(true);
      this.emit('online');
    }
    this.emit('state', state);
  }

  #onMessage(message: PlatformMessage): void {
    this.recordMessage(message);
    this.emit('message', message);
    if (message.messageId === platformGeneralResponse.id) this.#onAcknowledged(message);
    else if (!platformResponseIds.has(message.messageId)) this.#behaviourEngine.handle(message);
  }

  #onAcknowledged(message: PlatformMessage): void {
    const { replySerial, replyId, result } = decodeBody(platformGeneralResponse, message.body, this.options.edition);
    if (reportMessageIds.has(replyId)) this.#reporter.acknowledge(replySerial, result);
    else this.#reliableQueue.acknowledge(replySerial, replyId);
  }

  #applyToConnection(): void {
    const { kind } = this.behaviours.general;
    if (kind === 'halfOpen') this.#session.simulateHalfOpen();
    else this.#session.setReading(kind !== 'neverReading');
  }
}
