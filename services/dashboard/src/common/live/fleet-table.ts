import { FleetColumns } from './fleet-columns.ts';
import { normalizeText, type VehicleText } from './fleet-query.ts';
import {
  flag,
  type LiveLocation,
  type OpenSeverity,
  openSeverities,
  type VehicleState,
  vehicleStates,
} from './protocol.ts';

/** A row of `GET /api/fleet`, by column. */
export type FleetRecord = Readonly<Record<string, unknown>>;

/** A change of the state of a vehicle, as the event `status` contains it. */
export interface LiveStatus {
  readonly vehicle_id: number;
  readonly state: VehicleState;
  readonly state_since?: number | null;
  readonly connected?: boolean;
}

/** Holds all visible vehicles in the worker: one slot each. Remembers which slots the page does not have yet. */
export class FleetTable {
  readonly columns = new FleetColumns();
  readonly texts: (VehicleText | undefined)[] = [];
  /** Normalized text of each slot for searches. */
  readonly searchTexts: string[] = [];
  /** Changes with the vehicles and their names. */
  textVersion = 0;
  readonly #slots = new Map<number, number>();
  readonly #freeSlots: number[] = [];
  #changedSlots = new Set<number>();
  #changedTexts = new Set<number>();

  get size(): number {
    return this.#slots.size;
  }

  get changedCount(): number {
    return this.#changedSlots.size;
  }

  findSlot(vehicleId: number): number | undefined {
    return this.#slots.get(vehicleId);
  }

  /** Adds or replaces a vehicle. A newer live position stays. */
  setVehicle(record: FleetRecord): void {
    const id = Number(record['vehicle_id']);
    const slot = this.#slots.get(id) ?? this.#addSlot(id);
    this.#setText(slot, id, record);
    this.#setNumbers(slot, record);
    this.#changedSlots.add(slot);
  }

  /** Removes the vehicles that are not in a complete list. */
  keepOnly(vehicleIds: ReadonlySet<number>): void {
    for (const id of this.#slots.keys()) if (!vehicleIds.has(id)) this.removeVehicle(id);
  }

  removeVehicle(vehicleId: number): void {
    const slot = this.#slots.get(vehicleId);
    if (slot === undefined) return;
    this.#slots.delete(vehicleId);
    this.#freeSlots.push(slot);
    this.texts[slot] = undefined;
    this.searchTexts[slot] = '';
    this.columns.flags[slot] = 0;
    this.columns.severity[slot] = 0;
    this.#changedTexts.delete(slot);
    this.#changedSlots.add(slot);
    this.textVersion += 1;
  }

  /** Applies a live position. Returns false for a vehicle that is not known yet. */
  setLocation(location: LiveLocation): boolean {
    const slot = location.vehicle_id === null ? undefined : this.#slots.get(location.vehicle_id);
    if (slot === undefined) return false;
    const { columns } = this;
    columns.longitude[slot] = location.longitude;
    columns.latitude[slot] = location.latitude;
    columns.timeMs[slot] = location.timestamp;
    columns.sinceMs[slot] = location.state_since ?? 0;
    columns.speed[slot] = location.speed;
    columns.course[slot] = location.course;
    columns.state[slot] = vehicleStates.indexOf(location.state);
    columns.flags[slot] =
      flag.isPresent |
      ((columns.flags[slot] ?? 0) & flag.isConnected) |
      positionFlags(location.gps_valid, location.ignition ?? null);
    this.#changedSlots.add(slot);
    return true;
  }

  setStatus({ vehicle_id: id, state, state_since: sinceMs, connected }: LiveStatus): void {
    const slot = this.#slots.get(id);
    if (slot === undefined) return;
    const { columns } = this;
    columns.state[slot] = vehicleStates.indexOf(state);
    columns.sinceMs[slot] = sinceMs ?? 0;
    const others = (columns.flags[slot] ?? 0) & ~flag.isConnected;
    if (connected !== undefined) columns.flags[slot] = others | (connected ? flag.isConnected : 0);
    this.#changedSlots.add(slot);
  }

  /** Marks a vehicle with the severity of a new event. */
  raiseSeverity(vehicleId: number, severity: OpenSeverity): void {
    const slot = this.#slots.get(vehicleId);
    const value = openSeverities.indexOf(severity);
    if (slot === undefined || value <= (this.columns.severity[slot] ?? 0)) return;
    this.columns.severity[slot] = value;
    this.#changedSlots.add(slot);
  }

  /** Removes and returns the rows that the page does not have. */
  takeChangedRows(): Float64Array<ArrayBuffer> {
    const rows = this.columns.toRows(this.#changedSlots, this.#changedSlots.size);
    this.#changedSlots = new Set();
    return rows;
  }

  /** Removes and returns the names that the page does not have. */
  takeChangedTexts(): VehicleText[] {
    const texts = [...this.#changedTexts].flatMap((slot) => this.texts[slot] ?? []);
    this.#changedTexts = new Set();
    return texts;
  }

  #addSlot(id: number): number {
    const slot = this.#freeSlots.pop() ?? this.columns.length;
    this.columns.reserve(slot);
    this.#slots.set(id, slot);
    this.columns.timeMs[slot] = 0;
    this.columns.flags[slot] = 0;
    return slot;
  }

  #setText(slot: number, id: number, record: FleetRecord): void {
    const text: VehicleText = {
      slot,
      id,
      name: String(record['name']),
      vehicleNo: String(record['vehicle_no']),
      imei: record['imei'] as string | null,
      driverId: record['driver_id'] as number | null,
      driverName: record['driver_name'] as string | null,
      groupIds: record['group_ids'] as number[],
      channelIds: record['channel_ids'] as number[],
      permissions: record['permissions'] as string[],
    };
    if (isEqualText(this.texts[slot], text)) return;
    this.texts[slot] = text;
    this.searchTexts[slot] = normalizeText(
      `${text.vehicleNo} ${text.name} ${text.driverName ?? ''} ${text.imei ?? ''}`,
    );
    this.#changedTexts.add(slot);
    this.textVersion += 1;
  }

  #setNumbers(slot: number, record: FleetRecord): void {
    const { columns } = this;
    columns.severity[slot] = Math.max(0, openSeverities.indexOf(record['open_severity'] as OpenSeverity));
    const connected = record['connected'] === true ? flag.isConnected : 0;
    const timeMs = record['timestamp'] as number | null;
    // A position that arrived during the request is newer.
    if ((columns.timeMs[slot] ?? 0) > (timeMs ?? 0)) {
      columns.flags[slot] = ((columns.flags[slot] ?? 0) & ~flag.isConnected) | connected;
      return;
    }
    columns.longitude[slot] = Number(record['longitude'] ?? 0);
    columns.latitude[slot] = Number(record['latitude'] ?? 0);
    columns.timeMs[slot] = timeMs ?? 0;
    columns.sinceMs[slot] = Number(record['state_since'] ?? 0);
    columns.speed[slot] = Number(record['speed'] ?? 0);
    columns.course[slot] = Number(record['course'] ?? 0);
    columns.state[slot] = vehicleStates.indexOf(record['state'] as VehicleState);
    const position =
      timeMs === null ? 0 : positionFlags(record['gps_valid'] === true, record['ignition'] as boolean | null);
    columns.flags[slot] = flag.isPresent | connected | position;
  }
}

const positionFlags = (isValid: boolean, ignition: boolean | null): number =>
  flag.hasPosition |
  (isValid ? flag.isValid : 0) |
  (ignition === null ? 0 : flag.isIgnitionKnown) |
  (ignition === true ? flag.isIgnitionOn : 0);

const isEqualText = (before: VehicleText | undefined, after: VehicleText): boolean =>
  before !== undefined && JSON.stringify(before) === JSON.stringify(after);
