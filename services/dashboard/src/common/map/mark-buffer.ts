import type { FleetColumns } from '../live/fleet-columns.ts';
import { hasFlag } from '../live/fleet-columns.ts';
import { clusterColumn, clusterLength, criticalSeverity, type FleetMarks, flag } from '../live/protocol.ts';
import { clusterKind, look, markFloats } from './mark-layout.ts';
import { toMercatorX, toMercatorY } from './mercator.ts';

/** Diameters of marks in pixels. */
const plainSize = 30;
const ringedSize = 52;
const hidden = -1;

/** Offsets of the floats of one mark. */
const at = {
  fromX: 0,
  fromY: 1,
  toX: 2,
  toY: 3,
  startTime: 4,
  fromCourse: 5,
  toCourse: 6,
  kind: 7,
  look: 8,
  size: 9,
  ring: 10,
};

/** The part of the world on the screen: its centre relative to the origin, and half of its size, in widths of the world. */
export interface MarkWindow {
  readonly centerX: number;
  readonly centerY: number;
  readonly halfWidth: number;
  readonly halfHeight: number;
}

/** Which vehicle is emphasized. */
export interface Emphasis {
  readonly selectedSlot: number | undefined;
  readonly isFollowing: boolean;
}

/**
 * Holds the numbers of all marks for the graphics card: one for each slot, then the clusters. Positions are relative to
 * a moving origin, because 32 bits of the whole world have steps of 2.4 m.
 */
export class MarkBuffer {
  floats = new Float32Array(markFloats * 256);
  #visible = new Float32Array(markFloats * 256);
  #slotCount = 0;
  #clusterCount = 0;
  #origin: readonly [number, number] = [0.5, 0.5];

  get origin(): readonly [number, number] {
    return this.#origin;
  }

  /** Number of marks, including hidden ones. */
  get length(): number {
    return this.#slotCount + this.#clusterCount;
  }

  /** Returns the numbers of the marks in a window, which begin or end their way there. */
  readVisible(window: MarkWindow): Float32Array {
    if (this.#visible.length < this.floats.length) this.#visible = new Float32Array(this.floats.length);
    const { floats } = this;
    const visible = this.#visible;
    let end = 0;
    for (let base = 0; base < this.length * markFloats; base += markFloats) {
      if ((floats[base + at.kind] ?? hidden) < 0) continue;
      if (!this.#isInside(base + at.toX, window) && !this.#isInside(base + at.fromX, window)) continue;
      for (let part = 0; part < markFloats; part += 1) visible[end + part] = floats[base + part] ?? 0;
      end += markFloats;
    }
    return visible.subarray(0, end);
  }

  /** Returns whether the nearest copy of a position is inside a window. */
  #isInside(offset: number, { centerX, centerY, halfWidth, halfHeight }: MarkWindow): boolean {
    const x = (this.floats[offset] ?? 0) - centerX;
    const y = (this.floats[offset + 1] ?? 0) - centerY;
    return Math.abs(x - Math.round(x)) <= halfWidth && Math.abs(y) <= halfHeight;
  }

  /** Moves the origin, and writes every mark again without a motion. */
  moveOrigin(origin: readonly [number, number], columns: FleetColumns, marks: FleetMarks, emphasis: Emphasis): void {
    this.#origin = origin;
    this.writeAll(columns, marks, emphasis);
    for (let slot = 0; slot < this.#slotCount; slot += 1) this.#endMotion(slot);
  }

  /** Writes all marks. Those that are in motion stay so. */
  writeAll(columns: FleetColumns, marks: FleetMarks, emphasis: Emphasis): void {
    const clusterCount = marks.clusters.length / clusterLength;
    this.#reserve(columns.length + clusterCount);
    for (let slot = 0; slot < columns.length; slot += 1) this.#writeSlot(slot, columns, marks, emphasis);
    this.#slotCount = columns.length;
    this.#clusterCount = clusterCount;
    for (let index = 0; index < clusterCount; index += 1)
      this.#writeCluster(this.#slotCount + index, marks.clusters, index * clusterLength);
  }

  /**
   * Lets vehicles glide from where they are drawn to their new positions. Returns the longest way of a visible one, as a
   * part of the width of the world; undefined if none is visible.
   */
  moveVehicles(
    slots: readonly number[],
    columns: FleetColumns,
    marks: FleetMarks,
    emphasis: Emphasis,
    { timeS, glideS }: { readonly timeS: number; readonly glideS: number },
  ): number | undefined {
    let longestWay: number | undefined;
    for (const slot of slots) {
      if (slot >= this.#slotCount) continue;
      const base = slot * markFloats;
      const { floats } = this;
      const wasHidden = (floats[base + at.kind] ?? hidden) < 0;
      const progress =
        glideS <= 0 ? 1 : Math.max(0, Math.min(1, (timeS - (floats[base + at.startTime] ?? 0)) / glideS));
      const x = mix(floats[base + at.fromX] ?? 0, floats[base + at.toX] ?? 0, progress);
      const y = mix(floats[base + at.fromY] ?? 0, floats[base + at.toY] ?? 0, progress);
      const course = floats[base + at.toCourse] ?? 0;
      this.#writeSlot(slot, columns, marks, emphasis);
      const isHidden = (floats[base + at.kind] ?? hidden) < 0;
      if (isHidden) continue;
      longestWay ??= 0;
      if (wasHidden) continue;
      floats[base + at.fromX] = x;
      floats[base + at.fromY] = y;
      floats[base + at.fromCourse] = course;
      floats[base + at.startTime] = timeS;
      const way = Math.max(Math.abs((floats[base + at.toX] ?? 0) - x), Math.abs((floats[base + at.toY] ?? 0) - y));
      if (way > longestWay) longestWay = way;
    }
    return longestWay;
  }

  #writeSlot(slot: number, columns: FleetColumns, { drawn }: FleetMarks, emphasis: Emphasis): void {
    const { floats } = this;
    const base = slot * markFloats;
    const isSelected = emphasis.selectedSlot === slot;
    const flags = columns.flags[slot];
    const isDrawn = (drawn[slot] === 1 || isSelected) && hasFlag(flags, flag.hasPosition);
    const wasDrawn = (floats[base + at.kind] ?? hidden) >= 0 && slot < this.#slotCount;
    floats[base + at.kind] = isDrawn ? (columns.state[slot] ?? 0) : hidden;
    if (!isDrawn) return;
    const x = toMercatorX(columns.longitude[slot] ?? 0) - this.#origin[0];
    const y = toMercatorY(columns.latitude[slot] ?? 0) - this.#origin[1];
    const course = columns.course[slot] ?? 0;
    if (!wasDrawn) {
      floats[base + at.fromX] = x;
      floats[base + at.fromY] = y;
      floats[base + at.fromCourse] = course;
    }
    floats[base + at.toX] = x;
    floats[base + at.toY] = y;
    floats[base + at.toCourse] = course;
    const looks =
      (columns.severity[slot] === criticalSeverity ? look.alarm : 0) |
      (hasFlag(flags, flag.isValid) ? 0 : look.unsure) |
      (isSelected ? look.selected : 0) |
      (isSelected && emphasis.isFollowing ? look.followed : 0);
    floats[base + at.look] = looks;
    floats[base + at.size] = looks === 0 ? plainSize : ringedSize;
  }

  #writeCluster(index: number, clusters: Float64Array, offset: number): void {
    const { floats } = this;
    const base = index * markFloats;
    const x = toMercatorX(clusters[offset + clusterColumn.longitude] ?? 0) - this.#origin[0];
    const y = toMercatorY(clusters[offset + clusterColumn.latitude] ?? 0) - this.#origin[1];
    const count = clusters[offset + clusterColumn.count] ?? 1;
    floats.set([x, y, x, y, 0, 0, 0, clusterKind], base);
    floats[base + at.look] = (clusters[offset + clusterColumn.alarms] ?? 0) > 0 ? look.alarm : 0;
    floats[base + at.size] = toClusterSize(count);
    for (let part = 0; part < 4; part += 1)
      floats[base + at.ring + part] = (clusters[offset + clusterColumn.moving + part] ?? 0) / count;
  }

  #endMotion(slot: number): void {
    const base = slot * markFloats;
    this.floats.copyWithin(base + at.fromX, base + at.toX, base + at.toX + 2);
    this.floats[base + at.fromCourse] = this.floats[base + at.toCourse] ?? 0;
  }

  #reserve(count: number): void {
    if (this.floats.length >= count * markFloats) return;
    const grown = new Float32Array(Math.max(count, (this.floats.length / markFloats) * 2) * markFloats);
    grown.set(this.floats);
    this.floats = grown;
  }
}

/** Returns the diameter of a cluster in pixels. */
export const toClusterSize = (count: number): number => (count < 10 ? 32 : count < 100 ? 38 : count < 1_000 ? 46 : 56);

const mix = (from: number, to: number, part: number): number => from + (to - from) * part;
