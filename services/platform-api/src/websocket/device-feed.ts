import { subscribe, unassignedDeviceSeen } from '@fleet/bus';
import type { Role } from '../access/roles.ts';
import { mayListUnassigned } from '../domains/unassigned-devices/use-cases.ts';
import type { Deps } from '../platform/deps.ts';
import { encodeMessage } from './outgoing-event.ts';

/** Receiver of `device` events. */
interface DeviceViewer {
  readonly role: Role;
  /** Whether the client subscribed to `device`. */
  readonly wantsDevices: boolean;
  offerDevice(message: Buffer): void;
}

/** Sends terminals without a vehicle that were seen to the users who may list them, as `GET /api/unassigned-devices`. */
export class DeviceFeed {
  readonly #deps: Pick<Deps, 'log' | 'records'>;
  readonly #viewers: () => Iterable<DeviceViewer>;
  readonly #subscription: { stop(): void };

  constructor({ bus, log, records }: Pick<Deps, 'bus' | 'log' | 'records'>, viewers: () => Iterable<DeviceViewer>) {
    this.#deps = { log, records };
    this.#viewers = viewers;
    const onError = (error: unknown): void => log.warn({ err: error }, 'invalid event of an unassigned terminal');
    this.#subscription = subscribe(bus, unassignedDeviceSeen, onError, ({ imei, atMs }) => {
      void this.#send(encodeMessage('device', { imei, action: 'seen' }, atMs));
    });
  }

  stop(): void {
    this.#subscription.stop();
  }

  async #send(message: Buffer): Promise<void> {
    const wanting = [...this.#viewers()].filter(({ wantsDevices }) => wantsDevices);
    const permitted = new Map<Role, boolean>();
    try {
      for (const role of new Set(wanting.map((viewer) => viewer.role)))
        permitted.set(role, await mayListUnassigned(this.#deps, role));
    } catch (error) {
      this.#deps.log.warn({ err: error }, 'could not read who may see an unassigned terminal');
    }
    for (const viewer of wanting) if (permitted.get(viewer.role) === true) viewer.offerDevice(message);
  }
}
