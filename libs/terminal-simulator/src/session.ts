import {
  decodeBody,
  type Frame,
  platformGeneralResponse,
  registrationResponse,
  terminalAuthentication,
  terminalHeartbeat,
  terminalRegistration,
} from '@fleet/jt808';
import type { PlatformMessage } from './frame-log.ts';
import { createMessage } from './handlers/handler-context.ts';
import type { MessageEncoder, OutgoingFrame } from './message-encoder.ts';
import { SubpackageReassembler } from './subpackage-reassembler.ts';
import { TerminalLink } from './terminal-link.ts';
import type { ResolvedOptions, TerminalMessage } from './terminal-options.ts';
import { Timers } from './timers.ts';

/**
 * State of a terminal. `waiting` is the delay before the next connection attempt; `asleep` lasts until an SMS arrives.
 */
export type TerminalState =
  | 'stopped'
  | 'connecting'
  | 'registering'
  | 'authenticating'
  | 'online'
  | 'waiting'
  | 'asleep';

/** Callbacks of a session. */
interface SessionHandlers {
  onState: (state: TerminalState, reason: string) => void;
  onFrameIn: (frame: Frame, connection: number) => void;
  onFrameOut: (frame: OutgoingFrame, connection: number) => void;
  /** Receives every whole message except the responses to registration and authentication. */
  onMessage: (message: PlatformMessage) => void;
  /** Receives unexpected errors, which lose the message but never end the process. */
  onError: (error: unknown) => void;
}

/** Options of a temporary disconnection (0x8105). */
interface DisconnectOptions {
  downtimeMs: number;
  clearRegistration?: boolean;
  server?: { host: string; port: number };
}

/** Unacknowledged heartbeats after which the connection counts as dead. */
const maxMissedHeartbeats = 3;

/** Manages connection, registration, authentication, heartbeat and reconnection of one terminal. */
export class Session {
  readonly #options: ResolvedOptions;
  readonly #encoder: MessageEncoder;
  readonly #handlers: SessionHandlers;
  /** Timers of one connection; the delays between connections have their own. */
  readonly #timers = new Timers();
  readonly #reconnectTimers = new Timers();
  #reassembler = new SubpackageReassembler();
  #link: TerminalLink | null = null;
  #state: TerminalState = 'stopped';
  #connection = 0;
  #failures = 0;
  #isReading = true;
  #unansweredHeartbeats = 0;
  #authCode: string | null;
  #authSerial = -1;
  #server: { host: string; port: number };
  #downtimeMs: number | null = null;
  #onClosed: (() => void) | null = null;

  constructor(options: ResolvedOptions, encoder: MessageEncoder, handlers: SessionHandlers) {
    this.#options = options;
    this.#encoder = encoder;
    this.#handlers = handlers;
    this.#authCode = options.authCode ?? null;
    this.#server = { host: options.host, port: options.port };
  }

  get state(): TerminalState {
    return this.#state;
  }

  get authCode(): string | null {
    return this.#authCode;
  }

  /** Number of the connection, counted up. */
  get connection(): number {
    return this.#connection;
  }

  start(): void {
    if (this.#state === 'stopped') this.#connect();
  }

  /** Ends the session and resolves when its connection is closed. */
  async stop(): Promise<void> {
    this.#reconnectTimers.clear();
    this.#timers.clear();
    const link = this.#link;
    this.#setState('stopped', 'terminal stopped');
    if (link === null) return;
    await new Promise<void>((resolve) => {
      this.#onClosed = resolve;
      link.setReading(true);
      link.end('terminal stopped');
    });
  }

  /** Disconnects and stays offline until `wake`. */
  hibernate(): void {
    this.#reconnectTimers.clear();
    this.#timers.clear();
    this.#setState('asleep', 'deep sleep');
    this.#link?.end('deep sleep');
  }

  /** Connects again after `hibernate`. */
  wake(): void {
    if (this.#state !== 'asleep') return;
    this.#link?.destroy('deep sleep');
    this.#link = null;
    this.#connect();
  }

  /** Drops the connection immediately and reconnects with the usual backoff. */
  drop(reason: string): void {
    this.#link?.destroy(reason);
  }

  /** Disconnects after the written data and reconnects after the given downtime. */
  disconnectTemporarily(options: DisconnectOptions): void {
    this.#downtimeMs = this.#link === null ? null : options.downtimeMs;
    if (options.server) this.#server = options.server;
    if (options.clearRegistration === true) this.clearRegistration();
    this.#link?.end('restarting');
  }

  clearRegistration(): void {
    this.#authCode = null;
  }

  /** Sends a message; returns its frames, or none without a connection. */
  transmit(message: TerminalMessage): OutgoingFrame[] {
    if (this.#link === null) return [];
    const { lostParts = [] } = message;
    const frames = this.#encoder.encode(message);
    const sent =
      lostParts.length === 0 ? frames : frames.filter(({ subpackage }) => !lostParts.includes(subpackage?.no ?? 0));
    return this.transmitFrames(sent) ? frames : [];
  }

  /** Sends frames unchanged; returns false without a connection. */
  transmitFrames(frames: readonly OutgoingFrame[]): boolean {
    for (const frame of frames) {
      if (this.#link?.write(frame.wire) !== true) return false;
      this.#handlers.onFrameOut(frame, this.#connection);
    }
    return true;
  }

  /** Sends bytes that need not be a frame. */
  sendRaw(bytes: Buffer): void {
    this.#link?.write(bytes);
  }

  /** Resumes reading, or leaves received data in the socket. */
  setReading(isReading: boolean): void {
    this.#isReading = isReading;
    this.#link?.setReading(isReading);
  }

  /** Simulates a lost radio link: neither reads, writes nor closes. */
  simulateHalfOpen(): void {
    this.#timers.clear();
    this.#link?.simulateHalfOpen();
  }

  #setState(state: TerminalState, reason = ''): void {
    if (this.#state === state) return;
    this.#state = state;
    this.#handlers.onState(state, reason);
  }

  #connect(): void {
    this.#setState('connecting');
    this.#connection += 1;
    this.#reassembler = new SubpackageReassembler();
    const link = new TerminalLink(this.#server, {
      onOpen: () => this.#identify(),
      onFrame: (frame) => this.#onFrame(frame),
      onClose: (reason) => this.#onClose(link, reason),
    });
    this.#link = link;
  }

  #onClose(link: TerminalLink, reason: string): void {
    if (this.#link !== link) return;
    this.#link = null;
    this.#timers.clear();
    this.#onClosed?.();
    this.#onClosed = null;
    if (this.#state === 'stopped' || this.#state === 'asleep') return;
    const waitMs = this.#downtimeMs ?? this.#nextBackoffMs();
    this.#downtimeMs = null;
    if (waitMs === null) {
      this.#setState('stopped', reason);
      return;
    }
    this.#setState('waiting', reason);
    this.#reconnectTimers.runAfter(waitMs, () => this.#connect());
  }

  /**
   * Returns a delay that doubles with every failure. Up to half of it is random, so that the terminals of a fleet do
   * not reconnect simultaneously.
   */
  #nextBackoffMs(): number | null {
    const waits = this.#options.reconnectWaits;
    if (waits === null) return null;
    const maxDelayMs = Math.min(waits.maxMs, waits.minMs * 2 ** Math.min(this.#failures, 20));
    this.#failures += 1;
    return maxDelayMs * (1 - Math.random() / 2);
  }

  #identify(): void {
    this.#timers.runAfter(this.#options.replyTimeoutMs, () => {
      if (this.#state !== 'online') this.drop('no response to registration or authentication');
    });
    if (this.#authCode === null) this.#register();
    else this.#authenticate(this.#authCode);
  }

  #register(): void {
    const options = this.#options;
    this.#setState('registering');
    const body = {
      provinceId: 44,
      cityId: 300,
      manufacturerId: options.manufacturerId ?? 'SIMUL',
      terminalModel: options.terminalModel ?? 'SIM-1078',
      terminalId: options.terminalId ?? options.phone.slice(-7),
      plateColor: options.plateColor ?? 1,
      plateNo: options.plateNo ?? `粤B${options.phone.slice(-5)}`,
    };
    this.transmit(createMessage(terminalRegistration, body, options.edition));
  }

  #authenticate(authCode: string): void {
    const { edition, phone } = this.#options;
    this.#setState('authenticating');
    const fields2019 =
      edition === '2019' ? { imei: phone.slice(-15).padStart(15, '0'), softwareVersion: 'SIM-FW-1.0.0' } : {};
    const [frame] = this.transmit(createMessage(terminalAuthentication, { authCode, ...fields2019 }, edition));
    this.#authSerial = frame?.serial ?? -1;
  }

  #onFrame(frame: Frame): void {
    this.#unansweredHeartbeats = 0;
    this.#handlers.onFrameIn(frame, this.#connection);
    const message = this.#reassembler.push(frame, Date.now());
    if (message === null) return;
    try {
      this.#onMessage(message);
    } catch (error) {
      this.#handlers.onError(error);
    }
  }

  #onMessage(message: PlatformMessage): void {
    if (message.messageId === registrationResponse.id) this.#onRegistered(message);
    else if (!this.#isAuthenticationReply(message)) this.#handlers.onMessage(message);
  }

  #onRegistered(message: PlatformMessage): void {
    if (this.#state !== 'registering') return;
    const body = decodeBody(registrationResponse, message.body, this.#options.edition);
    if (body.result !== 0) {
      this.#link?.end(`registration refused with result ${body.result}`);
      return;
    }
    this.#authCode = body.authCode ?? '';
    this.#authenticate(this.#authCode);
  }

  #isAuthenticationReply(message: PlatformMessage): boolean {
    if (message.messageId !== platformGeneralResponse.id) return false;
    const body = decodeBody(platformGeneralResponse, message.body, this.#options.edition);
    if (body.replyId !== terminalAuthentication.id) return false;
    if (this.#state !== 'authenticating' || body.replySerial !== this.#authSerial) return true;
    if (body.result === 0) this.#goOnline();
    else {
      // Wrong auth code: registers again, as the standard requires.
      this.#authCode = null;
      this.#register();
    }
    return true;
  }

  #goOnline(): void {
    const { heartbeatMs, edition } = this.#options;
    this.#failures = 0;
    this.#timers.clear();
    if (heartbeatMs > 0) {
      this.#timers.runPeriodically(heartbeatMs, () => {
        if (this.#isReading && this.#unansweredHeartbeats >= maxMissedHeartbeats) {
          this.drop('no data from the platform');
          return;
        }
        this.#unansweredHeartbeats += 1;
        this.transmit(createMessage(terminalHeartbeat, {}, edition));
      });
    }
    this.#setState('online');
  }
}
