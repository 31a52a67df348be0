import { randomInt, randomUUID } from 'node:crypto';
import { type DeviceCommandServer, partitionOf } from '@fleet/bus';
import type { Edition, Frame } from '@fleet/jt808';
import type { Logger } from '@fleet/service-kit';
import { Device, type Devices, type Session } from '../domain/device.ts';
import type { GatewayMetrics } from '../metrics.ts';
import type { CloseReason, Connection } from '../net/connection.ts';
import type { CommandRecord } from '../store/command-records.ts';
import type { CommandRunner } from './command-runner.ts';
import type { Presence } from './presence.ts';

export interface SessionsOptions {
  readonly devices: Devices;
  readonly partitions: number;
  readonly presence: () => Presence;
  readonly runner: CommandRunner;
  readonly commandServer: DeviceCommandServer;
  readonly metrics: GatewayMetrics;
  readonly log: Logger;
}

/** What is known of a terminal when it authenticates. */
export interface Login {
  readonly imei: string;
  readonly edition: Edition;
  /** Header serial to go on with; null when unknown. */
  readonly serial: number | null;
  readonly records: readonly CommandRecord[];
}

/** Begins and ends sessions: at any time a terminal has one at most. */
export class Sessions {
  readonly #o: SessionsOptions;

  constructor(options: SessionsOptions) {
    this.#o = options;
  }

  /** Begins the session of a terminal that has just authenticated; null when its connection was lost or a later login overtook it. */
  async begin(connection: Connection, frame: Frame, login: Login): Promise<Session | null> {
    const device =
      this.#o.devices.get(login.imei) ??
      new Device(login.imei, partitionOf(login.imei, this.#o.partitions), login.serial ?? randomInt(0x1_0000));
    const session: Session = {
      id: randomUUID(),
      device,
      connection,
      onlineSinceMs: connection.receivedAtMs,
      generation: 0,
      address: frame.address(),
      phone: frame.phone,
      edition: login.edition,
      multimediaId: null,
      announcedAtMs: 0,
      savedSerial: device.serials.next,
      isLeaving: false,
    };
    await this.#o.presence().claim(session);
    if (!connection.isOpen) {
      this.#o.presence().release(session);
      return null;
    }
    return this.#install(session, login);
  }

  #install(made: Session, login: Login): Session | null {
    const { devices, runner, commandServer, log, metrics } = this.#o;
    const { connection } = made;
    // While Redis was asked, another connection may have made the terminal known here.
    const device = devices.get(login.imei) ?? made.device;
    const session = device === made.device ? made : { ...made, device };
    const old = device.session;
    if (old !== null && session.generation !== 0 && old.generation > session.generation) {
      connection.close('replaced');
      return null;
    }
    if (connection.session !== null && connection.session.device !== device) this.leave(connection);
    if (devices.get(login.imei) === undefined) runner.watch(device);
    devices.put(device);
    device.session = session;
    connection.session = session;
    if (old !== null && old.connection !== connection) {
      // From here on nothing that the old connection brings counts for the terminal.
      this.leave(old.connection);
      old.connection.end('replaced');
    }
    // Redis could not say who had the terminal: whoever it is hears it on the bus.
    if (session.generation === 0) commandServer.takeOver(device.imei);
    commandServer.open(device.imei);
    for (const record of login.records) runner.adopt(device, record);
    metrics.sessions.inc({ edition: session.edition });
    log.debug(
      { imei: device.imei, edition: session.edition, remoteAddress: connection.remoteAddress },
      'session began',
    );
    return session;
  }

  /** Ends the session of a connection, which stays or is closed already. */
  leave(connection: Connection): void {
    const { session } = connection;
    if (session === null) return;
    connection.session = null;
    connection.loginSinceMs = performance.now();
    const { device } = session;
    this.#o.metrics.sessions.dec({ edition: session.edition });
    if (device.session !== session) return;
    device.session = null;
    this.#o.commandServer.close(device.imei);
    device.pending.sessionLost();
    void this.#o.presence().saveSerial(session, true);
    this.#o.presence().release(session, { isReturning: isStopReason(connection.closeReason) });
    this.#o.devices.forgetIfIdle(device);
    this.#o.log.debug({ imei: device.imei, reason: connection.closeReason }, 'session ended');
  }

  /** Closes a session that a newer one elsewhere has replaced. */
  supersede(session: Session): void {
    this.#end(session, 'fenced');
  }

  /** Another pod has taken the terminal over while Redis was away. */
  takenOver(imei: string): void {
    const session = this.#o.devices.get(imei)?.session;
    if (session !== undefined && session !== null) this.#end(session, 'fenced');
  }

  /** Another pod says that it has the terminal now. */
  fence(imei: string, sessionId: string): void {
    const session = this.#o.devices.get(imei)?.session;
    if (session?.id === sessionId) this.#end(session, 'fenced');
  }

  #end(session: Session, reason: CloseReason): void {
    const { connection, device } = session;
    connection.close(reason);
    this.#o.runner.noteFenced(device.imei);
    this.leave(connection);
  }
}

const isStopReason = (reason: CloseReason): boolean => reason === 'drain' || reason === 'stop';
