import type { LocationResponse } from '../domains/last-positions/responses.ts';
import { findAccountPositions } from '../domains/vehicles/account-positions.ts';
import type { Deps } from '../platform/deps.ts';
import type { Selection } from './client-messages.ts';
import { encodeMessage } from './outgoing-event.ts';
import { SingleFlight } from './single-flight.ts';
import type { UserVisibility } from './user-visibility.ts';

/** Positions in one message. */
const positionsPerMessage = 200;

/** Returns the newest positions as messages; the last one is marked as final. */
export function snapshotMessages(locations: readonly object[]): Buffer[] {
  const messages: Buffer[] = [];
  for (let at = 0; at === 0 || at < locations.length; at += positionsPerMessage) {
    const final = at + positionsPerMessage >= locations.length;
    messages.push(encodeMessage('snapshot', { locations: locations.slice(at, at + positionsPerMessage), final }));
  }
  return messages;
}

/** Positions of an account, with the messages that most of its users share. */
class AccountSnapshot {
  readonly locations: readonly LocationResponse[];
  #messages: readonly Buffer[] | undefined;

  constructor(locations: readonly LocationResponse[]) {
    this.locations = locations;
  }

  get messages(): readonly Buffer[] {
    return (this.#messages ??= snapshotMessages(this.locations));
  }
}

/** Creates snapshots; concurrent clients share few reads. */
export class Snapshots {
  readonly #deps: Pick<Deps, 'records' | 'redis' | 'config' | 'log' | 'thresholds'>;
  readonly #accounts: SingleFlight<number, AccountSnapshot>;

  constructor(deps: Pick<Deps, 'records' | 'redis' | 'config' | 'log' | 'thresholds'>) {
    this.#deps = deps;
    this.#accounts = new SingleFlight(
      async (accountId) => new AccountSnapshot(await findAccountPositions(deps, accountId)),
    );
  }

  /** Returns the newest positions of the vehicles that a user may see. */
  async messagesFor(visibility: UserVisibility, vehicles: Selection['vehicles']): Promise<readonly Buffer[]> {
    const { caller, ownIds, shares } = visibility;
    const requested = vehicles === 'all' ? null : new Set(vehicles);
    if (requested === null && ownIds === null && shares.length === 0)
      return (await this.#accounts.get(caller.accountId)).messages;
    const isRequested = (id: number): boolean => requested === null || requested.has(id);
    const own = await this.#ownLocations(visibility, vehicles);
    const shared = await this.#sharedLocations(visibility, isRequested);
    return snapshotMessages([...own, ...shared]);
  }

  async #ownLocations(
    { caller, ownIds }: UserVisibility,
    vehicles: Selection['vehicles'],
  ): Promise<readonly LocationResponse[]> {
    const { accountId } = caller;
    if (vehicles === 'all' && ownIds === null) return (await this.#accounts.get(accountId)).locations;
    const ids = vehicles === 'all' ? [...(ownIds ?? [])] : vehicles.filter((id) => ownIds === null || ownIds.has(id));
    return ids.length === 0 ? [] : findAccountPositions(this.#deps, accountId, ids);
  }

  async #sharedLocations(
    visibility: UserVisibility,
    isRequested: (id: number) => boolean,
  ): Promise<LocationResponse[]> {
    const idsByAccount = new Map<number, number[]>();
    for (const { accountId, vehicleId } of visibility.shares)
      if (isRequested(vehicleId) && visibility.accessTo(accountId, vehicleId)?.audience === 'shared')
        idsByAccount.set(accountId, [...(idsByAccount.get(accountId) ?? []), vehicleId]);
    const found: LocationResponse[] = [];
    for (const [accountId, ids] of idsByAccount)
      for (const location of await findAccountPositions(this.#deps, accountId, ids))
        found.push({ ...location, driver_id: null });
    return found;
  }
}
