import { FleetColumns, hasFlag } from './fleet-columns.ts';
import type { VehicleText } from './fleet-query.ts';
import {
  type ConnectionState,
  type FleetMarks,
  type FleetView,
  flag,
  type OpenSeverity,
  openSeverities,
  type RecordEvent,
  rowLength,
  type VehicleState,
  vehicleStates,
} from './protocol.ts';

/** Position and state of a vehicle, as the page shows it. */
export interface LivePosition {
  readonly latitude: number;
  readonly longitude: number;
  /** km/h. */
  readonly speed: number;
  /** Degrees, clockwise from north. */
  readonly course: number;
  readonly state: VehicleState;
  /** Milliseconds since the epoch. */
  readonly timestamp: number;
  readonly isValid: boolean;
}

/** A vehicle of the fleet with its current values. */
export interface LiveVehicle extends VehicleText {
  readonly state: VehicleState;
  /** Null if unknown. */
  readonly sinceMs: number | null;
  readonly isConnected: boolean;
  /** Null if the terminal does not report it. */
  readonly isIgnitionOn: boolean | null;
  readonly severity: OpenSeverity;
  readonly position: LivePosition | null;
}

type Listener = () => void;

/** Components render again at most this often, however many batches arrive. */
const notifyIntervalMs = 250;

const emptyView: FleetView = {
  rows: new Int32Array(0),
  counts: new Int32Array(vehicleStates.length + 1),
  groupCounts: new Int32Array(0),
  matchedCount: 0,
  totalCount: 0,
};

/**
 * Holds vehicles, list and connection of this page. Not part of the state of React: batches arrive ten times a second.
 */
export class LiveStore {
  readonly columns = new FleetColumns();
  readonly #texts: (VehicleText | undefined)[] = [];
  readonly #slots = new Map<number, number>();
  /** Objects of slots that components use, until the slot changes. */
  readonly #vehicles = new Map<number, LiveVehicle>();
  #view: FleetView = emptyView;
  #marks: FleetMarks = { drawn: new Uint8Array(0), clusters: new Float64Array(0) };
  #hasLoaded = false;
  #connection: ConnectionState = { kind: 'connecting' };
  #version = 0;
  #isNotifying = false;
  readonly #listeners = new Set<Listener>();
  readonly #batchListeners = new Set<(slots: readonly number[]) => void>();
  readonly #marksListeners = new Set<(marks: FleetMarks) => void>();
  readonly #eventListeners = new Set<(event: RecordEvent) => void>();

  /** Changes with every notification of the subscribers. */
  get version(): number {
    return this.#version;
  }

  get connection(): ConnectionState {
    return this.#connection;
  }

  /** False until the vehicles have been read for the first time. */
  get hasLoaded(): boolean {
    return this.#hasLoaded;
  }

  get view(): FleetView {
    return this.#view;
  }

  get marks(): FleetMarks {
    return this.#marks;
  }

  readonly positions = {
    get: (vehicleId: number): LivePosition | undefined => this.findVehicle(vehicleId)?.position ?? undefined,
  };

  findSlot(vehicleId: number): number | undefined {
    return this.#slots.get(vehicleId);
  }

  findVehicle(vehicleId: number): LiveVehicle | undefined {
    const slot = this.#slots.get(vehicleId);
    return slot === undefined ? undefined : this.vehicleAt(slot);
  }

  /** Returns the vehicle of a slot: the same object until it changes. */
  vehicleAt(slot: number): LiveVehicle | undefined {
    const known = this.#vehicles.get(slot);
    if (known !== undefined) return known;
    const text = this.#texts[slot];
    if (text === undefined || !this.columns.isPresent(slot)) return undefined;
    const vehicle = toVehicle(text, this.columns, slot);
    this.#vehicles.set(slot, vehicle);
    return vehicle;
  }

  readonly subscribe = (listener: Listener): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  /** Waits until the vehicles have been read for the first time, at most for a time. */
  waitUntilLoaded(timeoutMs: number): Promise<void> {
    if (this.#hasLoaded) return Promise.resolve();
    return new Promise((resolve) => {
      const finish = (): void => {
        clearTimeout(timer);
        stopListening();
        resolve();
      };
      const timer = setTimeout(finish, timeoutMs);
      const stopListening = this.subscribe(() => {
        if (this.#hasLoaded) finish();
      });
    });
  }

  /** Calls the listener with the changed slots of each batch. */
  onBatch(listener: (slots: readonly number[]) => void): () => void {
    this.#batchListeners.add(listener);
    return () => this.#batchListeners.delete(listener);
  }

  onMarks(listener: (marks: FleetMarks) => void): () => void {
    this.#marksListeners.add(listener);
    return () => this.#marksListeners.delete(listener);
  }

  /** Calls the listener with each record event. */
  onEvent(listener: (event: RecordEvent) => void): () => void {
    this.#eventListeners.add(listener);
    return () => this.#eventListeners.delete(listener);
  }

  setConnection(state: ConnectionState): void {
    this.#connection = state;
    this.#notify();
  }

  setTexts(texts: readonly VehicleText[]): void {
    for (const text of texts) {
      const before = this.#texts[text.slot];
      if (before !== undefined && before.id !== text.id) this.#slots.delete(before.id);
      this.#texts[text.slot] = text;
      this.#slots.set(text.id, text.slot);
      this.#vehicles.delete(text.slot);
    }
    this.#notifyLater();
  }

  applyBatch(rows: Float64Array): void {
    const slots: number[] = [];
    for (let offset = 0; offset < rows.length; offset += rowLength) {
      const slot = this.columns.readRow(rows, offset);
      slots.push(slot);
      this.#vehicles.delete(slot);
      if (!this.columns.isPresent(slot)) this.#removeText(slot);
    }
    for (const listener of this.#batchListeners) listener(slots);
    if (slots.length > 0) this.#notifyLater();
  }

  setView(view: FleetView, hasLoaded: boolean): void {
    const isFirst = hasLoaded && !this.#hasLoaded;
    this.#view = view;
    this.#hasLoaded = hasLoaded;
    // The first list appears at once.
    if (isFirst) this.#notify();
    else this.#notifyLater();
  }

  setMarks(marks: FleetMarks): void {
    this.#marks = marks;
    for (const listener of this.#marksListeners) listener(marks);
  }

  publish(event: RecordEvent): void {
    for (const listener of this.#eventListeners) listener(event);
  }

  #removeText(slot: number): void {
    const text = this.#texts[slot];
    if (text === undefined) return;
    this.#texts[slot] = undefined;
    if (this.#slots.get(text.id) === slot) this.#slots.delete(text.id);
  }

  #notifyLater(): void {
    if (this.#isNotifying) return;
    this.#isNotifying = true;
    setTimeout(() => {
      this.#isNotifying = false;
      this.#notify();
    }, notifyIntervalMs);
  }

  #notify(): void {
    this.#version += 1;
    for (const listener of this.#listeners) listener();
  }
}

function toVehicle(text: VehicleText, columns: FleetColumns, slot: number): LiveVehicle {
  const flags = columns.flags[slot];
  const state = vehicleStates[columns.state[slot] ?? 0] ?? 'offline';
  return {
    ...text,
    state,
    sinceMs: columns.sinceMs[slot] || null,
    isConnected: hasFlag(flags, flag.isConnected),
    isIgnitionOn: hasFlag(flags, flag.isIgnitionKnown) ? hasFlag(flags, flag.isIgnitionOn) : null,
    severity: openSeverities[columns.severity[slot] ?? 0] ?? null,
    position: hasFlag(flags, flag.hasPosition)
      ? {
          latitude: columns.latitude[slot] ?? 0,
          longitude: columns.longitude[slot] ?? 0,
          speed: columns.speed[slot] ?? 0,
          course: columns.course[slot] ?? 0,
          state,
          timestamp: columns.timeMs[slot] ?? 0,
          isValid: hasFlag(flags, flag.isValid),
        }
      : null,
  };
}
