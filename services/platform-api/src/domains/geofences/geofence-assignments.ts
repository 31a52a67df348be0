import type { Filter, Scope } from '../../store/account-repository.ts';
import type { RecordStore } from '../../store/record-store.ts';
import { groupTree } from '../vehicle-groups/queries.ts';
import type { GroupTree } from '../vehicle-groups/rules.ts';
import type { VehicleGroup } from '../vehicle-groups/schema.ts';
import { type AccountVehicle, accountVehicles } from '../vehicles/assignments.ts';
import type { Geofence } from './schema.ts';

/**
 * Finds the vehicles of an account to which geofences apply. A geofence applies to the vehicles that it names, to its
 * groups and to the groups that name it, each with all groups below. A geofence that names no vehicle and no group
 * applies to all vehicles.
 */
export class GeofenceAssignments {
  readonly vehicles: readonly AccountVehicle[];
  readonly #tree: GroupTree<VehicleGroup>;
  /** Ids of the groups that name a geofence, by geofence. */
  readonly #groupIdsByGeofence: ReadonlyMap<number, readonly number[]>;
  /** True if the account has other vehicles, which results must not reveal. */
  readonly #isPartial: boolean;

  private constructor(vehicles: readonly AccountVehicle[], tree: GroupTree<VehicleGroup>, isPartial = false) {
    this.vehicles = vehicles;
    this.#tree = tree;
    this.#groupIdsByGeofence = groupIdsByGeofence(tree);
    this.#isPartial = isPartial;
  }

  static async read(deps: { readonly records: RecordStore }, scope: Scope): Promise<GeofenceAssignments> {
    const [vehicles, tree] = await Promise.all([accountVehicles(deps, scope), groupTree(deps, scope)]);
    return new GeofenceAssignments(vehicles, tree);
  }

  /** Returns the assignments of these vehicles only; results do not reveal the other vehicles. */
  restrictTo(vehicleIds: readonly number[]): GeofenceAssignments {
    const allowedIds = new Set(vehicleIds);
    return new GeofenceAssignments(
      this.vehicles.filter(({ _id }) => allowedIds.has(_id)),
      this.#tree,
      true,
    );
  }

  /**
   * Returns the vehicles and groups that a geofence names. Partial assignments contain only their own vehicles and the
   * groups that these are in.
   */
  visibleTargets({ vehicles, groups }: Pick<Geofence, 'vehicles' | 'groups'>): {
    vehicles: number[];
    groups: number[];
  } {
    if (!this.#isPartial) return { vehicles: [...vehicles], groups: [...groups] };
    const ids = new Set(this.vehicles.map(({ _id }) => _id));
    const groupIds = new Set(this.vehicles.flatMap((each) => each.groupIds));
    return { vehicles: vehicles.filter((id) => ids.has(id)), groups: groups.filter((id) => groupIds.has(id)) };
  }

  vehiclesOf(geofence: Pick<Geofence, '_id' | 'vehicles' | 'groups'>): AccountVehicle[] {
    const visibleTargets = new Set(geofence.vehicles);
    if (visibleTargets.size === 0 && geofence.groups.length === 0) return [...this.vehicles];
    const rootIds = [...geofence.groups, ...(this.#groupIdsByGeofence.get(geofence._id) ?? [])];
    const groups = new Set(rootIds.flatMap((id) => this.#tree.descendants(id).map((group) => group._id)));
    return this.vehicles.filter(
      ({ _id, groupIds }) => visibleTargets.has(_id) || groupIds.some((id) => groups.has(id)),
    );
  }

  /** Returns a filter for the geofences that apply to at least one of the vehicles. */
  filterFor(vehicleIds: readonly number[]): Filter {
    const wanted = new Set(vehicleIds);
    const found = this.vehicles.filter(({ _id }) => wanted.has(_id));
    if (found.length === 0) return { _id: { $in: [] } };
    const groups = this.#ancestors(found.flatMap(({ groupIds }) => groupIds));
    return {
      $or: [
        { vehicles: { $size: 0 }, groups: { $size: 0 } },
        { vehicles: { $in: found.map(({ _id }) => _id) } },
        { groups: { $in: groups.map(({ _id }) => _id) } },
        { _id: { $in: groups.flatMap(({ geofences }) => geofences) } },
      ],
    };
  }

  #ancestors(groupIds: readonly number[]): VehicleGroup[] {
    return [...new Set(groupIds.flatMap((id) => this.#tree.ancestors(id)))];
  }
}

function groupIdsByGeofence(tree: GroupTree<VehicleGroup>): Map<number, number[]> {
  const found = new Map<number, number[]>();
  for (const { _id, geofences } of tree.nodes)
    for (const geofence of geofences) {
      const groups = found.get(geofence);
      if (groups === undefined) found.set(geofence, [_id]);
      else groups.push(_id);
    }
  return found;
}
