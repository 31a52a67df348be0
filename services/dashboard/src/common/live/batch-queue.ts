import { column, type LiveLocation, type RecordEvent, rowLength, vehicleStates } from './protocol.ts';

/** Above this number of waiting events the page reads them by HTTP instead. */
const maxWaitingEvents = 5_000;

/**
 * Collects what the page has not received yet: the newest row of each vehicle, and every record event in order. The
 * memory is bounded: one row per vehicle, and a bounded number of events.
 */
export class BatchQueue {
  readonly #rows = new Map<number, LiveLocation>();
  #events: RecordEvent[] = [];
  #hasGap = false;

  addLocation(location: LiveLocation): void {
    if (location.vehicle_id !== null) this.#rows.set(location.vehicle_id, location);
  }

  /** Changes the state of a waiting row; returns false if no row of the vehicle waits. */
  setState(vehicleId: number, state: LiveLocation['state']): boolean {
    const row = this.#rows.get(vehicleId);
    if (row === undefined) return false;
    this.#rows.set(vehicleId, { ...row, state });
    return true;
  }

  addEvent(event: RecordEvent): void {
    if (this.#events.length >= maxWaitingEvents) {
      this.#events = [];
      this.#hasGap = true;
    }
    this.#events.push(event);
  }

  get isEmpty(): boolean {
    return this.#rows.size === 0 && this.#events.length === 0 && !this.#hasGap;
  }

  /** Removes and returns everything that waits. */
  take(): { rows: Float64Array<ArrayBuffer>; events: readonly RecordEvent[]; hasGap: boolean } {
    const rows = new Float64Array(this.#rows.size * rowLength);
    let offset = 0;
    for (const location of this.#rows.values()) {
      writeRow(rows, offset, location);
      offset += rowLength;
    }
    this.#rows.clear();
    const taken = { rows, events: this.#events, hasGap: this.#hasGap };
    this.#events = [];
    this.#hasGap = false;
    return taken;
  }
}

function writeRow(rows: Float64Array, offset: number, location: LiveLocation): void {
  rows[offset + column.vehicleId] = location.vehicle_id ?? 0;
  rows[offset + column.latitude] = location.latitude;
  rows[offset + column.longitude] = location.longitude;
  rows[offset + column.speed] = location.speed;
  rows[offset + column.course] = location.course;
  rows[offset + column.state] = vehicleStates.indexOf(location.state);
  rows[offset + column.timestamp] = location.timestamp;
  rows[offset + column.isValid] = location.gps_valid ? 1 : 0;
}
