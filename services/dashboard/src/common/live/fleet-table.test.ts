import { describe, expect, it } from '@jest/globals';
import { createMarks } from './fleet-clusters.ts';
import { FleetColumns } from './fleet-columns.ts';
import { everything, type FleetQuery } from './fleet-query.ts';
import { FleetTable } from './fleet-table.ts';
import { FleetViewBuilder } from './fleet-view.ts';
import { clusterColumn, clusterLength, flag, rowLength } from './protocol.ts';

const record = (id: number, more: Record<string, unknown> = {}) => ({
  vehicle_id: id,
  vehicle_no: `KL${id}`,
  name: `Truck ${id}`,
  imei: null,
  driver_id: null,
  driver_name: null,
  group_ids: [],
  channel_ids: [],
  permissions: ['view'],
  state: 'stopped',
  state_since: 500,
  connected: true,
  latitude: 10,
  longitude: 76,
  speed: 0,
  course: 0,
  ignition: false,
  gps_valid: true,
  timestamp: 1_000,
  open_severity: null,
  ...more,
});

const location = (id: number, more: Record<string, unknown> = {}) => ({
  vehicle_id: id,
  latitude: 11,
  longitude: 77,
  speed: 52,
  course: 90,
  state: 'moving' as const,
  state_since: 2_000,
  ignition: true,
  timestamp: 2_000,
  gps_valid: true,
  ...more,
});

function createTable(...records: readonly Record<string, unknown>[]): FleetTable {
  const table = new FleetTable();
  for (const each of records) table.setVehicle(each);
  return table;
}

/** Returns what a page knows after it has applied all changes. */
function applyChanges(table: FleetTable, page = new FleetColumns()): FleetColumns {
  const rows = table.takeChangedRows();
  for (let offset = 0; offset < rows.length; offset += rowLength) page.readRow(rows, offset);
  return page;
}

/** Returns the list as vehicle ids and `folder <id>`. */
function list(table: FleetTable, query: Partial<FleetQuery> = {}): (number | string)[] {
  const { rows } = new FleetViewBuilder(table).build({ ...everything, ...query }).view;
  return [...rows]
    .filter((_, at) => at % 2 === 0)
    .map((slot) => (slot < 0 ? `folder ${-slot}` : (table.texts[slot]?.id ?? 'none')));
}

describe('the vehicles in the worker', () => {
  it('reach the page as changed rows, once each', () => {
    const table = createTable(record(7), record(8));
    const page = applyChanges(table);
    expect(page.length).toBe(2);
    expect(table.changedCount).toBe(0);
    table.setLocation(location(8));
    table.setLocation(location(8, { speed: 60 }));
    expect(table.changedCount).toBe(1);
    applyChanges(table, page);
    const slot = table.findSlot(8) ?? -1;
    expect([page.longitude[slot], page.speed[slot], page.sinceMs[slot]]).toEqual([77, 60, 2_000]);
  });

  it('keep a live position that is newer than the list', () => {
    const table = createTable(record(7));
    table.setLocation(location(7));
    table.setVehicle(record(7, { name: 'New name', open_severity: 'critical' }));
    const page = applyChanges(table);
    expect([page.latitude[0], page.severity[0]]).toEqual([11, 2]);
    expect(table.texts[0]?.name).toBe('New name');
  });

  it('leave their slot when they are removed, and another vehicle takes it', () => {
    const table = createTable(record(7), record(8));
    const page = applyChanges(table);
    table.removeVehicle(7);
    applyChanges(table, page);
    expect(page.isPresent(0)).toBe(false);
    table.setVehicle(record(9));
    expect(table.findSlot(9)).toBe(0);
    table.keepOnly(new Set([9]));
    expect([table.findSlot(8), table.size]).toEqual([undefined, 1]);
  });

  it('have no position before the first report, and an unknown vehicle is not applied', () => {
    const table = createTable(record(7, { timestamp: null, latitude: null, longitude: null }));
    expect(table.columns.hasPosition(0)).toBe(false);
    expect(table.setLocation(location(99))).toBe(false);
  });

  it('change state and connection with a status event', () => {
    const table = createTable(record(7));
    table.setStatus({ vehicle_id: 7, state: 'offline', state_since: 900, connected: false });
    const { state, sinceMs, flags } = applyChanges(table);
    expect([state[0], sinceMs[0], (flags[0] ?? 0) & flag.isConnected]).toEqual([3, 900, 0]);
  });

  it('send their names only after a change', () => {
    const table = createTable(record(7), record(8));
    expect(table.takeChangedTexts().map(({ id }) => id)).toEqual([7, 8]);
    table.setVehicle(record(7));
    table.setVehicle(record(8, { driver_name: 'Asha Nair' }));
    expect(table.takeChangedTexts()).toMatchObject([{ id: 8, driverName: 'Asha Nair' }]);
  });

  it('grow beyond the first capacity', () => {
    const table = createTable(...Array.from({ length: 1_000 }, (_, index) => record(index + 1)));
    expect(applyChanges(table).length).toBe(1_000);
    expect(table.columns.latitude[999]).toBe(10);
  });
});

describe('the list', () => {
  const groups = [
    { id: 1, parentId: null, depth: 0 },
    { id: 2, parentId: 1, depth: 1 },
    { id: 3, parentId: null, depth: 0 },
  ];

  it('is sorted by alarm, state and number', () => {
    const table = createTable(
      record(10),
      record(9),
      record(8, { state: 'offline', open_severity: 'critical' }),
      record(7, { state: 'moving', open_severity: 'warning' }),
    );
    expect(list(table)).toEqual([8, 7, 9, 10]);
    expect(list(table, { sort: 'name' })).toEqual([7, 8, 9, 10]);
  });

  it('is sorted by the newest position', () => {
    expect(list(createTable(record(1, { timestamp: 5 }), record(2, { timestamp: 9 })), { sort: 'age' })).toEqual([
      2, 1,
    ]);
  });

  it('finds a part of number, name or driver, without regard to case and spaces', () => {
    const table = createTable(record(1, { vehicle_no: 'KL07CD1234' }), record(2, { driver_name: 'Asha Nair' }));
    expect(list(table, { text: 'kl07 cd' })).toEqual([1]);
    expect(list(table, { text: 'ASHA n' })).toEqual([2]);
    expect(list(table, { text: 'truck 2' })).toEqual([2]);
  });

  it('counts the states of the vehicles that match the other filters', () => {
    const table = createTable(record(1), record(2, { state: 'moving', open_severity: 'critical' }), record(3));
    const { view, matched } = new FleetViewBuilder(table).build({ ...everything, state: 'alarm', text: 'truck' });
    expect([...view.counts]).toEqual([1, 0, 2, 0, 0, 1]);
    expect([view.matchedCount, view.totalCount]).toEqual([1, 3]);
    expect([...matched.subarray(0, 3)]).toEqual([0, 1, 0]);
  });

  it('has folders with their vehicles, those below, and then the vehicles without a folder', () => {
    const table = createTable(record(1, { group_ids: [2] }), record(2, { group_ids: [1, 2] }), record(3));
    expect(list(table, { groups })).toEqual(['folder 1', 2, 'folder 2', 1, 2, 3]);
    const { view } = new FleetViewBuilder(table).build({ ...everything, groups });
    expect([...view.groupCounts]).toEqual([1, 2, 2, 2, 3, 0]);
    expect(view.matchedCount).toBe(3);
  });

  it('hides the content of a closed folder, and shows one group with those below', () => {
    const table = createTable(record(1, { group_ids: [2] }), record(2, { group_ids: [3] }), record(3));
    expect(list(table, { groups, collapsedIds: [1] })).toEqual(['folder 1', 'folder 3', 2, 3]);
    expect(list(table, { groups, groupId: 1 })).toEqual(['folder 1', 'folder 2', 1]);
  });
});

describe('the marks of the map', () => {
  const fleet = (count: number): FleetTable =>
    createTable(
      ...Array.from({ length: count }, (_, index) =>
        record(index + 1, {
          longitude: 76 + index / 10_000,
          state: index % 2 === 0 ? 'moving' : 'never_connected',
          open_severity: index === 0 ? 'critical' : null,
        }),
      ),
    );
  const viewport = { bounds: [75, 9, 78, 11], zoom: 5 } as const;
  const mark = (table: FleetTable, zoom: number = viewport.zoom) =>
    createMarks(table.columns, new FleetViewBuilder(table).build(everything).matched, { ...viewport, zoom });

  it('are single while few are on screen, or the map is near', () => {
    expect(mark(fleet(300)).clusters).toHaveLength(0);
    const near = mark(fleet(301), 13);
    expect(near.clusters).toHaveLength(0);
    expect(near.drawn.reduce((sum, each) => sum + each, 0)).toBe(301);
  });

  it('are clusters with their numbers by state otherwise', () => {
    const { drawn, clusters } = mark(fleet(400));
    expect(drawn.every((each) => each === 0)).toBe(true);
    expect(clusters).toHaveLength(clusterLength);
    const numbers = ['count', 'moving', 'stopped', 'offline', 'alarms'] as const;
    expect(numbers.map((name) => clusters[clusterColumn[name]])).toEqual([400, 200, 0, 200, 1]);
  });

  it('do not count vehicles outside the map', () => {
    const table = fleet(400);
    const { matched } = new FleetViewBuilder(table).build(everything);
    const elsewhere = createMarks(table.columns, matched, { bounds: [0, 0, 1, 1], zoom: 5 });
    expect(elsewhere.clusters).toHaveLength(0);
  });
});
