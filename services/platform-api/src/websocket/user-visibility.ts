import { isIpAllowed } from '@fleet/service-kit';
import type { Scope as KeyScope } from '../domains/api-keys/schema.ts';
import type { TokenHolder } from '../domains/last-positions/websocket-tokens.ts';
import type { SharedVehicle } from '../domains/vehicle-shares/use-cases.ts';
import type { Viewer } from '../domains/vehicles/visibility.ts';
import type { BoundApiKey } from './api-key-monitor.ts';
import {
  type EventAccess,
  isLive,
  type ShareChanges,
  shareChanges,
  type VisibilitySnapshot,
  visibilityOf,
} from './visibility-snapshot.ts';

/** Receiver of changes. */
export interface VisibilityListener {
  /** The visibility was read again. */
  visibilityChanged(changes: ShareChanges): void;
  // The user lost access, or the visibility cannot be read.
  visibilityEnded(why: 'refused' | 'unknown'): void;
}

/** A read of a visibility, by its order and start. */
interface Read {
  readonly number: number;
  readonly atMs: number;
}

/**
 * Holds the visibility of a token's user, kept current while it has listeners; shared by the connections of a session
 * with the same key.
 */
export class UserVisibility {
  readonly holder: TokenHolder;
  readonly listeners = new Set<VisibilityListener>();
  /** Start of the last read. */
  readAtMs = performance.now();
  /** Start of the read that is in use: it includes earlier changes. */
  currentAsOfMs: number;
  #snapshot: VisibilitySnapshot;
  #reads = 0;
  #appliedRead = 0;

  constructor(holder: TokenHolder, snapshot: VisibilitySnapshot, currentAsOfMs: number) {
    this.holder = holder;
    this.#snapshot = snapshot;
    this.currentAsOfMs = currentAsOfMs;
  }

  get caller(): Viewer {
    return this.#snapshot.caller;
  }

  get ownIds(): ReadonlySet<number> | null {
    return this.#snapshot.ownIds;
  }

  /** Those that have not ended. */
  get shares(): SharedVehicle[] {
    return [...this.#snapshot.shares.values()].filter(isLive);
  }

  /** The API key on which all this depends. */
  get key(): BoundApiKey | null {
    return this.#snapshot.key;
  }

  /** Returns whether the API key is valid at an address. */
  isOpenFrom(address: string): boolean {
    return isIpAllowed(this.#snapshot.key?.addresses ?? [], address);
  }

  /** Returns whether the token's API key has one of these scopes. */
  hasScope(oneOf: readonly KeyScope[]): boolean {
    return oneOf.some((scope) => this.holder.scopes.includes(scope));
  }

  /** Returns what the user may see of a vehicle, null for an invisible one. */
  accessTo(accountId: number, vehicleId: number): EventAccess | null {
    return visibilityOf(this.#snapshot, accountId, vehicleId);
  }

  /** Returns whether the user selected a type of notification. */
  wants(vehicleId: number, type: string): boolean {
    return this.#snapshot.wants(vehicleId, type);
  }

  /** Numbers a read that starts now. */
  beginRead(): Read {
    this.#reads += 1;
    return { number: this.#reads, atMs: performance.now() };
  }

  /** Applies the result of a read, unless a later read has ended before it. */
  update(snapshot: VisibilitySnapshot, { number, atMs }: Read): void {
    if (number < this.#appliedRead) return;
    this.#appliedRead = number;
    this.currentAsOfMs = atMs;
    const changes = shareChanges(this.#snapshot, snapshot);
    this.#snapshot = snapshot;
    for (const listener of this.listeners) listener.visibilityChanged(changes);
  }

  /** Notifies the listeners. Their connections may take their time to close. */
  end(why: Parameters<VisibilityListener['visibilityEnded']>[0]): void {
    for (const listener of this.listeners) listener.visibilityEnded(why);
  }
}
