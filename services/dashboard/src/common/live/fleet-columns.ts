import { column, flag, rowLength } from './protocol.ts';

const firstCapacity = 256;

/** Holds the numbers of all vehicles, one slot each: the same columns in the worker and in the page. */
export class FleetColumns {
  longitude = new Float64Array(firstCapacity);
  latitude = new Float64Array(firstCapacity);
  timeMs = new Float64Array(firstCapacity);
  sinceMs = new Float64Array(firstCapacity);
  speed = new Float32Array(firstCapacity);
  course = new Float32Array(firstCapacity);
  state = new Uint8Array(firstCapacity);
  flags = new Uint8Array(firstCapacity);
  severity = new Uint8Array(firstCapacity);
  /** Number of slots in use, including free ones between them. */
  length = 0;

  get capacity(): number {
    return this.flags.length;
  }

  /** Makes room for a slot. */
  reserve(slot: number): void {
    this.length = Math.max(this.length, slot + 1);
    if (slot < this.capacity) return;
    let capacity = this.capacity;
    while (capacity <= slot) capacity *= 2;
    this.longitude = grow(this.longitude, new Float64Array(capacity));
    this.latitude = grow(this.latitude, new Float64Array(capacity));
    this.timeMs = grow(this.timeMs, new Float64Array(capacity));
    this.sinceMs = grow(this.sinceMs, new Float64Array(capacity));
    this.speed = grow(this.speed, new Float32Array(capacity));
    this.course = grow(this.course, new Float32Array(capacity));
    this.state = grow(this.state, new Uint8Array(capacity));
    this.flags = grow(this.flags, new Uint8Array(capacity));
    this.severity = grow(this.severity, new Uint8Array(capacity));
  }

  isPresent(slot: number): boolean {
    return hasFlag(this.flags[slot], flag.isPresent);
  }

  hasPosition(slot: number): boolean {
    return hasFlag(this.flags[slot], flag.hasPosition);
  }

  /** Copies the numbers of a slot into a batch. */
  writeRow(rows: Float64Array, offset: number, slot: number): void {
    rows[offset + column.slot] = slot;
    rows[offset + column.longitude] = this.longitude[slot] ?? 0;
    rows[offset + column.latitude] = this.latitude[slot] ?? 0;
    rows[offset + column.timeMs] = this.timeMs[slot] ?? 0;
    rows[offset + column.sinceMs] = this.sinceMs[slot] ?? 0;
    rows[offset + column.speed] = this.speed[slot] ?? 0;
    rows[offset + column.course] = this.course[slot] ?? 0;
    rows[offset + column.state] = this.state[slot] ?? 0;
    rows[offset + column.flags] = this.flags[slot] ?? 0;
    rows[offset + column.severity] = this.severity[slot] ?? 0;
  }

  /** Applies one row of a batch. Returns its slot. */
  readRow(rows: Float64Array, offset: number): number {
    const slot = rows[offset + column.slot] ?? 0;
    this.reserve(slot);
    this.longitude[slot] = rows[offset + column.longitude] ?? 0;
    this.latitude[slot] = rows[offset + column.latitude] ?? 0;
    this.timeMs[slot] = rows[offset + column.timeMs] ?? 0;
    this.sinceMs[slot] = rows[offset + column.sinceMs] ?? 0;
    this.speed[slot] = rows[offset + column.speed] ?? 0;
    this.course[slot] = rows[offset + column.course] ?? 0;
    this.state[slot] = rows[offset + column.state] ?? 0;
    this.flags[slot] = rows[offset + column.flags] ?? 0;
    this.severity[slot] = rows[offset + column.severity] ?? 0;
    return slot;
  }

  /** Returns the rows of slots as one array, which can be transferred. */
  toRows(slots: Iterable<number>, count: number): Float64Array<ArrayBuffer> {
    const rows = new Float64Array(count * rowLength);
    let offset = 0;
    for (const slot of slots) {
      this.writeRow(rows, offset, slot);
      offset += rowLength;
    }
    return rows;
  }
}

export const hasFlag = (flags: number | undefined, bit: number): boolean => ((flags ?? 0) & bit) !== 0;

function grow<T extends Float64Array | Float32Array | Uint8Array>(before: T, after: T): T {
  after.set(before);
  return after;
}
