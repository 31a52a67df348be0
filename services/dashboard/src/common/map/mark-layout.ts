import { vehicleStates } from '../live/protocol.ts';

/** Kinds of a mark, after the states of vehicles. */
export const clusterKind = vehicleStates.length;

/** Bits of the look of a mark. */
export const look = { alarm: 1, unsure: 2, selected: 4, followed: 8 } as const;

/** Floats of one mark: start, end, start time, courses, kind, look, size, parts of the ring. */
export const markFloats = 14;

/** Pixels of one shape in the atlas. */
export const cellSize = 64;
/** Distance at which the field of a shape ends, in pixels. */
export const fieldRange = 8;
