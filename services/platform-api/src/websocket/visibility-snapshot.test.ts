import { describe, expect, it } from '@jest/globals';
import type { SharedVehicle } from '../domains/vehicle-shares/use-cases.ts';
import { shareChanges, type VisibilitySnapshot, visibilityOf } from './visibility-snapshot.ts';

const own = { audience: 'own', permissions: ['view', 'commands'] } as const;

function snapshotOf(more: Partial<VisibilitySnapshot>, shared: readonly SharedVehicle[] = []): VisibilitySnapshot {
  const caller = { accountId: 1, userId: 2, role: 'manager', canViewVideo: true } as const;
  const shares = new Map(shared.map((share) => [share.vehicleId, share]));
  return { caller, own, ownIds: null, shares, wants: () => true, key: null, ...more };
}

const share = (vehicleId: number, expiresAt: Date | null = null): SharedVehicle =>
  ({ accountId: 9, vehicleId, permissions: ['view'], expiresAt }) as unknown as SharedVehicle;

describe('visibilityOf', () => {
  it('grants users their permissions for every vehicle of their account', () => {
    expect(visibilityOf(snapshotOf({}), 1, 7)).toEqual(own);
    expect(visibilityOf(snapshotOf({}), 9, 7)).toBeNull();
  });

  it('limits drivers to their own vehicles', () => {
    const snapshot = snapshotOf({ ownIds: new Set([7]) });
    expect(visibilityOf(snapshot, 1, 7)).toEqual(own);
    expect(visibilityOf(snapshot, 1, 8)).toBeNull();
  });

  it('grants the permissions of a share for its vehicle until the share expires', () => {
    const snapshot = snapshotOf({}, [share(7), share(8, new Date(Date.now() - 1))]);
    expect(visibilityOf(snapshot, 9, 7)).toEqual({ audience: 'shared', permissions: ['view'] });
    expect(visibilityOf(snapshot, 9, 8)).toBeNull();
    expect(visibilityOf(snapshot, 10, 7)).toBeNull();
  });
});

it('lists the shares that began and ended between two snapshots', () => {
  const changes = shareChanges(snapshotOf({}, [share(1), share(2)]), snapshotOf({}, [share(2), share(3)]));
  expect(changes).toEqual({ shared: [3], unshared: [1] });
});
