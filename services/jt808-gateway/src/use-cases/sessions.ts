import { randomInt, randomUUID } from 'node:crypto';
import { type DeviceCommandServer, telemetryPartition } from '@fleet/bus';
import type { Edition, Frame } from '@fleet/jt808';
import type { Logger } from '@fleet/service-kit';
import { Device, type Devices, type Session } from '../domain/device.ts';
import type { GatewayMetrics } from '../metrics.ts';
import type { CloseReason, Connection } from '../net/connection.ts';
import type { CommandRecord } from '../store/command-records.ts';
import type { CommandRunner } from './command-runner.ts';
import type { SessionPublisher } from './session-publisher.ts';

interface SessionsOptions {
  readonly devices: Devices;
  readonly partitions: number;
  readonly sessionPublisher: SessionPublisher;
  readonly runner: CommandRunner;
  readonly commandServer: DeviceCommandServer;
  readonly metrics: GatewayMetrics;
  readonly log: Logger;
}

/** Known state of a terminal when it authenticates. */
interface Login {
  readonly imei: string;
  readonly edition: Edition;
  /** Next header serial; null when unknown. */
  readonly serial: number | null;
  readonly records: readonly CommandRecord[];
}

/** Begins and ends sessions. A terminal has at most one at any time. */
export class Sessions {
  readonly #options: SessionsOptions;

  constructor(options: SessionsOptions) {
    this.#options = options;
  }

  /**
   * Begins the session of a terminal that has just authenticated. Returns null when its connection was lost or a later
   * login replaced it.
   */
  async begin(connection: Connection, frame: Frame, login: Login): Promise<Session | null> {
    const device =
      this.#options.devices.get(login.imei) ??
      new Device(
        login.imei,
        telemetryPartition(login.imei, this.#options.partitions),
        login.serial ?? randomInt(0x1_0000),
      );
    const session: Session = {
      id: randomUUID(),
      device,
      connection,
      onlineSinceMs: connection.receivedAtMs,
      generation: 0,
      address: frame.toAddress(),
      phone: frame.phone,
      edition: login.edition,
      multimediaId: null,
      savedLastSeenMs: 0,
      savedSerial: device.serials.peek,
      isLeaving: false,
    };
    await this.#options.sessionPublisher.claim(session);
    if (!connection.isOpen) {
      this.#options.sessionPublisher.release(session);
      return null;
    }
    return this.#install(session, login);
  }

  #install(candidate: Session, login: Login): Session | null {
    const { devices, runner, commandServer, log, metrics } = this.#options;
    const { connection } = candidate;
    // While the claim was written, another connection may have added the terminal.
    const device = devices.get(login.imei) ?? candidate.device;
    const session = device === candidate.device ? candidate : { ...candidate, device };
    const previous = device.session;
    if (previous !== null && session.generation !== 0 && previous.generation > session.generation) {
      connection.close('replaced');
      return null;
    }
    if (connection.session !== null && connection.session.device !== device) this.end(connection);
    if (devices.get(login.imei) === undefined) runner.observe(device);
    devices.add(device);
    device.session = session;
    connection.session = session;
    if (previous !== null && previous.connection !== connection) {
      // From here on, frames of the old connection do not count for the terminal.
      this.end(previous.connection);
      previous.connection.end('replaced');
    }
    // Redis could not identify the previous pod, which is therefore notified through the bus.
    if (session.generation === 0) commandServer.takeOver(device.imei);
    commandServer.subscribe(device.imei);
    for (const record of login.records) runner.adopt(device, record);
    metrics.sessions.inc({ edition: session.edition });
    log.debug(
      { imei: device.imei, edition: session.edition, remoteAddress: connection.remoteAddress },
      'session began',
    );
    return session;
  }

  /** Ends the session of a connection, which may stay open. */
  end(connection: Connection): void {
    const { session } = connection;
    if (session === null) return;
    connection.session = null;
    connection.loginSinceMs = performance.now();
    const { device } = session;
    this.#options.metrics.sessions.dec({ edition: session.edition });
    if (device.session !== session) return;
    device.session = null;
    this.#options.commandServer.unsubscribe(device.imei);
    device.pending.onSessionLost();
    void this.#options.sessionPublisher.saveSerial(session, true);
    this.#options.sessionPublisher.release(session, { isReturning: isStopReason(connection.closeReason) });
    this.#options.devices.deleteIfIdle(device);
    this.#options.log.debug({ imei: device.imei, reason: connection.closeReason }, 'session ended');
  }

  /** Closes a session that was replaced by a newer one on another pod. */
  onSuperseded(session: Session): void {
    this.#fence(session, 'fenced');
  }

  /** Handles a takeover of the terminal by another pod while Redis was unavailable. */
  onTakenOver(imei: string): void {
    const session = this.#options.devices.get(imei)?.session;
    if (session !== undefined && session !== null) this.#fence(session, 'fenced');
  }

  /** Handles a fence event: another pod has the terminal. */
  onFence(imei: string, sessionId: string): void {
    const session = this.#options.devices.get(imei)?.session;
    if (session?.id === sessionId) this.#fence(session, 'fenced');
  }

  #fence(session: Session, reason: CloseReason): void {
    const { connection, device } = session;
    connection.close(reason);
    this.#options.runner.markFenced(device.imei);
    this.end(connection);
  }
}

const isStopReason = (reason: CloseReason): boolean => reason === 'drain' || reason === 'stop';
