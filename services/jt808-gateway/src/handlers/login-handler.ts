import {
  type Edition,
  encodeMessage,
  type Frame,
  registrationEdition,
  registrationResponse,
  serverTimeResponse,
  type TerminalAddress,
} from '@fleet/jt808';
import type { Logger } from '@fleet/service-kit';
import { type AuthCodes, parseCandidateCodes } from '../domain/auth-codes.ts';
import type { Session } from '../domain/device.ts';
import type { GatewayMetrics } from '../metrics.ts';
import type { Connection } from '../net/connection.ts';
import type { CommandRecord, CommandRecords } from '../store/command-records.ts';
import type { Registration, Registrations } from '../store/registrations.ts';
import type { TerminalProfiles } from '../store/terminal-profiles.ts';
import type { EventWriter } from '../telemetry/event-writer.ts';
import type { DeviceAllowlist } from '../use-cases/device-allowlist.ts';
import type { Sessions } from '../use-cases/sessions.ts';

/** Result of 0x8100 for a terminal that is not in the database. */
const unknownTerminalResult = 4;
const maxAttemptsPerConnection = 10;

interface LoginHandlerOptions {
  readonly codes: AuthCodes;
  readonly allowlist: DeviceAllowlist;
  /** Terminals without a stored registration need no valid code. */
  readonly acceptUnregistered: boolean;
  readonly registrations: Registrations;
  readonly records: CommandRecords;
  readonly profiles: TerminalProfiles;
  readonly sessions: Sessions;
  readonly events: EventWriter;
  readonly metrics: GatewayMetrics;
  readonly log: Logger;
}

/** Acknowledgements and log-outs do not need a session. */
const canBeginSession = (messageId: number): boolean => messageId !== 0x0001 && messageId !== 0x0003;

/** Handles registration, authentication, log-out and server time: the messages allowed before a session. */
export class LoginHandler {
  readonly #options: LoginHandlerOptions;

  constructor(options: LoginHandlerOptions) {
    this.#options = options;
  }

  /** Handles a message of the kind `login`; `imei` is null if the frame has the number 0. */
  handle(connection: Connection, frame: Frame, imei: string | null): void {
    if (frame.messageId === 0x0100) this.#register(connection, frame, imei);
    else if (frame.messageId === 0x0102) this.#authenticate(connection, frame, imei);
    else this.#sendServerTime(connection, frame);
  }

  /** Handles 0x0100 and sends 0x8100. Its content is never a reason for a refusal. */
  #register(connection: Connection, frame: Frame, imei: string | null): void {
    const edition: Edition = frame.header === '2019' ? '2019' : registrationEdition(frame.body, '2013');
    if (imei === null) {
      this.#refuseRegistration(connection, frame, edition);
      return;
    }
    this.#runPaused(connection, async () => {
      if (!(await this.#options.allowlist.isAllowed(imei))) {
        this.#refuseRegistration(connection, frame, edition);
        return;
      }
      connection.registeredEdition = edition;
      connection.registration = Buffer.from(frame.body);
      connection.isUnregistered = false;
      if (connection.session?.device.imei === imei) connection.session.edition = edition;
      const epoch = await this.#options.registrations.register(imei, edition).catch((error: unknown) => {
        // Degraded mode: issues a code of the first epoch. Where that epoch is outdated, the code is refused and the
        // terminal registers again.
        this.#onRedisFailure('register', error);
        return 0;
      });
      this.#options.metrics.logins.inc({ message: 'registration', result: 'accepted' });
      this.#sendRegistrationResponse(connection, frame, edition, 0, this.#options.codes.createCode(imei, epoch));
    });
  }

  /** Handles 0x0102 and sends 0x8001. */
  #authenticate(connection: Connection, frame: Frame, imei: string | null): void {
    if (imei === null) {
      this.#refuseAuthentication(connection, frame, 'number');
      return;
    }
    this.#runPaused(connection, async () => {
      const [isAllowed, state] = await Promise.all([this.#options.allowlist.isAllowed(imei), this.#readState(imei)]);
      if (!isAllowed) {
        this.#refuseAuthentication(connection, frame, 'unknown');
        return;
      }
      const epoch = this.#findValidEpoch(frame, imei, state.registration?.epoch ?? null);
      connection.isUnregistered = epoch === null && this.#isUnregistered(state.registration);
      if (epoch === null && !connection.isUnregistered) {
        this.#refuseAuthentication(connection, frame, 'code');
        return;
      }
      if (epoch !== null && state.registration !== null && state.registration.epoch === null)
        this.#restoreEpoch(imei, epoch);
      if (!(await this.#accept(connection, frame, imei, state))) return;
      connection.reply(frame.toAddress(), frame.serial, frame.messageId, 0);
      if (connection.session !== null) this.#storeRegistration(connection.session);
    });
  }

  /** Returns true when a message may begin a session without authentication. */
  canBeginUnregistered(connection: Connection, frame: Frame): boolean {
    return this.#options.acceptUnregistered && !connection.mustAuthenticate && canBeginSession(frame.messageId);
  }

  /** Begins the session of a terminal that reports without registration and authentication. */
  beginUnregistered(
    connection: Connection,
    frame: Frame,
    imei: string,
    callbacks: { onAccepted: () => void; onRefused: () => void },
  ): void {
    this.#runPaused(connection, async () => {
      const [isAllowed, state] = await Promise.all([this.#options.allowlist.isAllowed(imei), this.#readState(imei)]);
      connection.isUnregistered = isAllowed && this.#isUnregistered(state.registration);
      if (!connection.isUnregistered) {
        // Until the terminal authenticates, further reports are refused without reading the registration.
        connection.mustAuthenticate = true;
        callbacks.onRefused();
        return;
      }
      if (await this.#accept(connection, frame, imei, state)) callbacks.onAccepted();
    });
  }

  // A terminal that has a code must send it. While Redis is unavailable that is unknown, so the terminal is refused and
  // retries.
  #isUnregistered(registration: Registration | null): boolean {
    return this.#options.acceptUnregistered && registration !== null && registration.epoch === null;
  }

  /** Handles 0x0003 and sends 0x8001: voids the code and ends the session. The connection may register again. */
  logOut(connection: Connection, frame: Frame, imei: string, address: TerminalAddress): void {
    this.#runPaused(connection, async () => {
      let result = 0;
      try {
        // Without a registration there is no code to void, and a stored epoch would require one at the next connection.
        if (!connection.isUnregistered) await this.#options.registrations.incrementEpoch(imei);
      } catch (error) {
        // The code is still valid, so the log-out must not be confirmed.
        this.#onRedisFailure('logOut', error);
        result = 1;
      }
      connection.reply(address, frame.serial, frame.messageId, result);
      if (result === 0) this.#options.sessions.end(connection);
    });
  }

  /** Handles 0x0004 and sends 0x8004, in UTC. */
  #sendServerTime(connection: Connection, frame: Frame): void {
    const timeUtc = new Date(connection.receivedAtMs).toISOString().slice(0, 19);
    const header = { edition: '2019', phone: frame.toAddress(), serial: connection.nextSerial() } as const;
    for (const bytes of encodeMessage(serverTimeResponse, { timeUtc }, header)) connection.send(bytes);
  }

  /** Publishes the registration body after the login, which has already acknowledged it. */
  #storeRegistration(session: Session): void {
    const { connection } = session;
    const { registration, registeredEdition } = connection;
    if (registration === null) return;
    connection.registration = null;
    const event = { messageId: 0x0100, serialNo: 0, edition: registeredEdition ?? session.edition };
    void this.#options.profiles.saveRegistration(session.device.imei, registration, event.edition);
    this.#options.events.write(session, event, registration);
  }

  /** Returns false when the connection was lost or replaced concurrently. */
  async #accept(
    connection: Connection,
    frame: Frame,
    imei: string,
    state: { registration: Registration | null; records: readonly CommandRecord[] },
  ): Promise<boolean> {
    const edition = this.#resolveEdition(connection, frame, state.registration);
    const current = connection.session;
    if (current?.device.imei === imei) {
      current.address = frame.toAddress();
      current.phone = frame.phone;
    } else {
      const serial = state.registration?.serial ?? null;
      const session = await this.#options.sessions.begin(connection, frame, {
        imei,
        edition,
        serial,
        records: state.records,
      });
      if (session === null) return false;
    }
    connection.failedLogins = 0;
    const message = connection.isUnregistered ? 'unregistered' : 'authentication';
    this.#options.metrics.logins.inc({ message, result: 'accepted' });
    return true;
  }

  #resolveEdition(connection: Connection, frame: Frame, registration: Registration | null): Edition {
    if (frame.header === '2019') return '2019';
    const reportedEdition = connection.registeredEdition ?? registration?.edition ?? '2013';
    return reportedEdition === '2019' ? '2013' : reportedEdition;
  }

  /** Returns the epoch of the valid code in the body, or null when there is none. */
  #findValidEpoch(frame: Frame, imei: string, epoch: number | null): number | null {
    for (const code of parseCandidateCodes(frame.body, frame.header === '2019')) {
      const check = this.#options.codes.check(imei, code, epoch);
      if (check.kind === 'valid') return check.epoch;
    }
    return null;
  }

  async #readState(imei: string): Promise<{ registration: Registration | null; records: readonly CommandRecord[] }> {
    try {
      const [registration, records] = await Promise.all([
        this.#options.registrations.read(imei),
        this.#options.records.readAll(imei),
      ]);
      return { registration, records };
    } catch (error) {
      this.#onRedisFailure('readRegistration', error);
      return { registration: null, records: [] };
    }
  }

  #restoreEpoch(imei: string, epoch: number): void {
    this.#options.registrations
      .restoreEpoch(imei, epoch)
      .catch((error: unknown) => this.#onRedisFailure('restoreEpoch', error));
  }

  #refuseRegistration(connection: Connection, frame: Frame, edition: Edition): void {
    this.#options.metrics.logins.inc({ message: 'registration', result: 'refused' });
    this.#sendRegistrationResponse(connection, frame, edition, unknownTerminalResult, undefined);
    this.#countFailure(connection);
  }

  #refuseAuthentication(connection: Connection, frame: Frame, reason: string): void {
    this.#options.metrics.logins.inc({ message: 'authentication', result: 'refused' });
    this.#options.metrics.refused.inc({ reason });
    connection.reply(frame.toAddress(), frame.serial, frame.messageId, 1);
    this.#countFailure(connection);
  }

  #countFailure(connection: Connection): void {
    connection.failedLogins += 1;
    if (connection.failedLogins >= maxAttemptsPerConnection) connection.end('tooManyAttempts');
  }

  #sendRegistrationResponse(
    connection: Connection,
    frame: Frame,
    edition: Edition,
    result: number,
    authCode: string | undefined,
  ): void {
    const body = { replySerial: frame.serial, result, authCode };
    const header = { edition, phone: frame.toAddress(), serial: connection.nextSerial() };
    for (const bytes of encodeMessage(registrationResponse, body, header)) connection.send(bytes);
  }

  /**
   * Runs a task while later frames of the connection wait. A terminal may send reports right after its authentication.
   */
  #runPaused(connection: Connection, task: () => Promise<void>): void {
    connection.pause();
    task()
      .catch((error: unknown) => this.#options.log.error({ err: error }, 'login failed'))
      .finally(() => connection.resume())
      .catch((error: unknown) => this.#options.log.error({ err: error }, 'could not handle the frames after a login'));
  }

  #onRedisFailure(operation: string, error: unknown): void {
    this.#options.metrics.redisFailures.inc({ operation });
    this.#options.log.debug({ err: error, operation }, 'Redis operation failed');
  }
}
