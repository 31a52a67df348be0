import { paginationQuery, sortParameter } from '@fleet/service-kit';
import { type Static, Type } from 'typebox';
import { color, nullableField, searchText, stringEnum, trimmedText } from '../../platform/fields.ts';
import { nullable, recordId, recordProperties } from '../../platform/schemas.ts';
import type { AccountRecord } from '../../store/account-repository.ts';
import { locationResponseSchema } from '../last-positions/responses.ts';
import { vehicleStates } from '../last-positions/schema.ts';

/** A stored folder of vehicles. The vehicles' own records say which group they are in (`vehicles/assignments.ts`). */
export interface VehicleGroup extends AccountRecord {
  readonly name: string;
  readonly description: string | null;
  readonly color: string | null;
  readonly parentGroup: number | null;
  readonly geofences: readonly number[];
  readonly drivers: readonly number[];
  /** Parent and name: siblings have different names. */
  readonly siblingKey: string;
}

/** An id, or an object with one. */
const item = Type.Union([recordId, Type.Object({ id: recordId })]);
const items = Type.Array(item, { maxItems: 10_000, description: 'Ids; an item may also be { "id": n }.' });

const details = {
  description: Type.Optional(nullableField(trimmedText(0, 1000))),
  color: Type.Optional(nullableField(color)),
  parent_group: Type.Optional(nullableField(recordId)),
  vehicles: Type.Optional(items),
  geofences: Type.Optional(items),
  drivers: Type.Optional(items),
};
const name = trimmedText(1, 100, { description: 'Unique among the groups of the same parent.' });

export const createGroupBody = Type.Object({ name, ...details });
export const updateGroupBody = Type.Object({
  name: Type.Optional(name),
  ...details,
  add_vehicles: Type.Optional(items),
  remove_vehicles: Type.Optional(items),
});
export type GroupBody = Static<typeof updateGroupBody>;

/** Returns the schema of a parameter that is true if it is present without a value. */
const flag = (description: string, alias?: string) =>
  Type.Optional(
    Type.Unsafe<'' | 'true' | 'false'>({
      type: 'string',
      enum: ['true', 'false', ''],
      description,
      ...(alias === undefined ? {} : { alias }),
    }),
  );

export const isOn = (value: '' | 'true' | 'false' | undefined): boolean => value === '' || value === 'true';

const sortable = ['id', 'name', 'created_at', 'updated_at'] as const;

const paged = { ...paginationQuery, sort: sortParameter(sortable) };

export const listGroupsQuery = Type.Object({
  ...paged,
  query: searchText('name'),
  populateVehicles: flag('Returns vehicles as objects instead of ids; an empty value is true.', 'populate_vehicles'),
  folderView: flag('Returns the whole tree instead of a page; an empty value is true.', 'folder_view'),
});
export type ListGroupsQuery = Static<typeof listGroupsQuery>;

export const subGroupsQuery = Type.Object({
  ...paged,
  recursive: flag('Returns all groups below instead of the direct children.'),
});
export type SubGroupsQuery = Static<typeof subGroupsQuery>;

export const deleteGroupQuery = Type.Object({
  cascade: flag('Also deletes the groups below. By default they move to the parent.'),
});

const groupedVehicle = Type.Object(
  {
    id: recordId,
    vehicle_no: Type.String(),
    name: Type.String(),
    imei: nullable(Type.String()),
    state: stringEnum(vehicleStates),
    location: nullable(locationResponseSchema),
  },
  { title: 'GroupedVehicle' },
);
export type GroupedVehicle = Static<typeof groupedVehicle>;

const vehiclesResponseSchema = Type.Array(Type.Union([recordId, groupedVehicle]), {
  description: 'Vehicles of the group itself: ids, or objects with populateVehicles.',
});

const fields = {
  ...recordProperties,
  name: Type.String(),
  description: nullable(Type.String()),
  color: nullable(Type.String()),
  parent_group: nullable(recordId),
  vehicles: vehiclesResponseSchema,
  geofences: Type.Array(recordId),
  drivers: Type.Array(recordId),
  vehicle_count: Type.Integer({
    minimum: 0,
    description: 'Number of vehicles in the group and the groups below, each counted once.',
  }),
};

export const groupResponseSchema = Type.Object(fields, { title: 'VehicleGroup' });
export type GroupResponse = Static<typeof groupResponseSchema>;

export const groupWithSubGroups = Type.Object(
  { ...fields, sub_groups: Type.Array(recordId, { description: 'Direct children.' }) },
  { title: 'VehicleGroupWithSubGroups' },
);

/** A folder with its children, which have the same shape. */
export interface Folder {
  readonly id: number;
  readonly name: string;
  readonly color: string | null;
  readonly vehicle_count: number;
  readonly vehicles: GroupResponse['vehicles'];
  readonly children: readonly Folder[];
}

export const folderResponseSchema = Type.Object(
  {
    id: recordId,
    name: Type.String(),
    color: nullable(Type.String()),
    vehicle_count: Type.Integer({ minimum: 0 }),
    vehicles: vehiclesResponseSchema,
    children: Type.Array(Type.Object({ id: recordId }), { description: 'Folders of the same shape.' }),
  },
  { title: 'VehicleFolder' },
);
