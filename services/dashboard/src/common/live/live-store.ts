import {
  type ConnectionState,
  column,
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

type Listener = () => void;

/** Components render again at most this often, however many batches arrive. */
const notifyIntervalMs = 250;

/** Positions, states and connection of this page. Not part of the state of React: batches arrive ten times a second. */
export class LiveStore {
  readonly #positions = new Map<number, LivePosition>();
  #connection: ConnectionState = { kind: 'connecting' };
  #version = 0;
  #isNotifying = false;
  readonly #listeners = new Set<Listener>();
  readonly #eventListeners = new Set<(event: RecordEvent) => void>();

  /** Changes with every notification of the subscribers. */
  get version(): number {
    return this.#version;
  }

  get connection(): ConnectionState {
    return this.#connection;
  }

  get positions(): ReadonlyMap<number, LivePosition> {
    return this.#positions;
  }

  readonly subscribe = (listener: Listener): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  /** Calls the listener with each record event. */
  onEvent(listener: (event: RecordEvent) => void): () => void {
    this.#eventListeners.add(listener);
    return () => this.#eventListeners.delete(listener);
  }

  setConnection(state: ConnectionState): void {
    this.#connection = state;
    this.#notify();
  }

  applyBatch(rows: Float64Array): void {
    for (let offset = 0; offset < rows.length; offset += rowLength) {
      this.#positions.set(rows[offset + column.vehicleId] ?? 0, readRow(rows, offset));
    }
    this.#notifyLater();
  }

  publish(event: RecordEvent): void {
    if (event.type === 'status') this.#onStatus(event.data as { vehicle_id: number; state: VehicleState });
    for (const listener of this.#eventListeners) listener(event);
  }

  #onStatus({ vehicle_id: id, state }: { vehicle_id: number; state: VehicleState }): void {
    const position = this.#positions.get(id);
    if (position === undefined) return;
    this.#positions.set(id, { ...position, state });
    this.#notifyLater();
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

const readRow = (rows: Float64Array, offset: number): LivePosition => ({
  latitude: rows[offset + column.latitude] ?? 0,
  longitude: rows[offset + column.longitude] ?? 0,
  speed: rows[offset + column.speed] ?? 0,
  course: rows[offset + column.course] ?? 0,
  state: vehicleStates[rows[offset + column.state] ?? 0] ?? 'offline',
  timestamp: rows[offset + column.timestamp] ?? 0,
  isValid: rows[offset + column.isValid] === 1,
});
