import type { Notification } from '../domains/notifications/schema.ts';
import { recordTestNotification } from './notifications.ts';
import { type ApiResponse, type Client, PlatformHarness, type TestUser } from './platform-harness.ts';

/** A platform with two accounts, and a new vehicle of the first one for each test. */
export class NotificationHarness {
  readonly platform: PlatformHarness;
  readonly owner: Client;
  /** Owner of the other account. */
  readonly stranger: Client;
  /** The vehicle of the current test. */
  vehicleId = 0;
  #vehicleCount = 0;
  #recordCount = 0;

  private constructor(platform: PlatformHarness) {
    this.platform = platform;
    this.owner = platform.as(platform.ours.owner);
    this.stranger = platform.as(platform.theirs.owner);
  }

  static async open(): Promise<NotificationHarness> {
    return new NotificationHarness(await PlatformHarness.open());
  }

  async createVehicle(client: Client = this.owner, more: object = {}): Promise<number> {
    this.#vehicleCount += 1;
    const body = { vehicle_no: `N ${this.#vehicleCount}`, timezone: middayZone(), ...more };
    const { status, data } = await client.post('/api/vehicles', body);
    if (status !== 201) throw new Error(`the vehicle was not created: ${status}`);
    return data.id;
  }

  /** Records a notification of the current vehicle as the event rules do, and returns its id. */
  async record(
    type: string,
    timestamp: number,
    of: Partial<Notification> = {},
    accountId = this.platform.ours.accountId,
  ): Promise<number> {
    this.#recordCount += 1;
    const fields = {
      type,
      vehicleId: this.vehicleId,
      vehicleNo: 'N',
      driverId: null,
      attributes: '{"count":2}',
      timestamp,
      serverTimestamp: timestamp + this.#recordCount,
      ...of,
    };
    const { _id } = await recordTestNotification(this.platform.deps, accountId, fields);
    return _id;
  }

  /** Shares the current vehicle with a user. */
  share(user: TestUser, permissions: string[]): Promise<ApiResponse> {
    const body = { secondaryUser: user.id, vehicles: [this.vehicleId], permissions };
    return this.owner.post('/api/vehicle/share-vehicles', body);
  }

  close(): Promise<void> {
    return this.platform.close();
  }
}

/** Returns a time zone in which the current day began long ago and ends in hours. */
function middayZone(): string {
  const ahead = 12 - new Date().getUTCHours();
  // The sign of these names is inverted: it is the offset to Greenwich.
  return ahead === 0 ? 'UTC' : `Etc/GMT${ahead > 0 ? '-' : '+'}${Math.abs(ahead)}`;
}
