import type { FleetQuery, VehicleText } from './fleet-query.ts';

/** States of a vehicle, in the order of their numbers in a batch. */
export const vehicleStates = ['moving', 'idle', 'stopped', 'offline', 'never_connected'] as const;
export type VehicleState = (typeof vehicleStates)[number];

/** Severities of open events, in the order of their numbers in a batch; 0 is none. */
export const openSeverities = [null, 'warning', 'critical'] as const;
export type OpenSeverity = (typeof openSeverities)[number];
export const criticalSeverity = openSeverities.indexOf('critical');

/** Numbers of one vehicle in a batch, in this order. */
export const rowLength = 10;
export const column = {
  slot: 0,
  longitude: 1,
  latitude: 2,
  /** Time of the terminal. */
  timeMs: 3,
  /** Time since which the vehicle has had its state; 0 if unknown. */
  sinceMs: 4,
  speed: 5,
  course: 6,
  state: 7,
  flags: 8,
  severity: 9,
} as const;

/** Bits of the flags of a vehicle. */
export const flag = {
  /** The slot has a vehicle. */
  isPresent: 1,
  hasPosition: 2,
  isValid: 4,
  isIgnitionOn: 8,
  isIgnitionKnown: 16,
  isConnected: 32,
} as const;

/** Fields of a location that the page shows. */
export interface LiveLocation {
  readonly vehicle_id: number | null;
  readonly latitude: number;
  readonly longitude: number;
  readonly speed: number;
  readonly course: number;
  readonly state: VehicleState;
  readonly state_since?: number | null;
  readonly ignition?: boolean | null;
  readonly timestamp: number;
  readonly gps_valid: boolean;
}

export type ConnectionState =
  | { readonly kind: 'connecting' }
  /** Connected; the vehicles are being read. */
  | { readonly kind: 'catchingUp' }
  | { readonly kind: 'live' }
  | { readonly kind: 'slow'; readonly delayMs: number }
  | { readonly kind: 'disconnected'; readonly sinceMs: number; readonly retryAtMs: number }
  | { readonly kind: 'tooManyWindows' };

/** Part of the map on screen. */
export interface Viewport {
  /** West, south, east and north in degrees. */
  readonly bounds: readonly [number, number, number, number];
  readonly zoom: number;
}

/** Numbers of one cluster, in this order. */
export const clusterLength = 8;
export const clusterColumn = {
  longitude: 0,
  latitude: 1,
  count: 2,
  moving: 3,
  idle: 4,
  stopped: 5,
  offline: 6,
  alarms: 7,
} as const;

/** Messages from the page to the worker. */
export type ToWorker =
  /** Headers of requests to the API. The worker reads the vehicles when it has the first ones. */
  | { readonly kind: 'headers'; readonly headers: Readonly<Record<string, string>> }
  | { readonly kind: 'token'; readonly wsUrl: string; readonly token: string }
  | { readonly kind: 'tokenFailed' }
  /** The page has processed the last batch. */
  | { readonly kind: 'batchDone' }
  | { readonly kind: 'viewDone' }
  | { readonly kind: 'marksDone' }
  | { readonly kind: 'query'; readonly query: FleetQuery }
  | { readonly kind: 'viewport'; readonly viewport: Viewport | null }
  | { readonly kind: 'visibility'; readonly isHidden: boolean }
  | { readonly kind: 'reconnect' }
  | { readonly kind: 'stop' };

/** A record event of the websocket, such as `notification` or `vehicle`. */
export interface RecordEvent {
  readonly type: string;
  readonly data: unknown;
}

/** Rows of the list, and the numbers of vehicles. */
export interface FleetView {
  /** Pairs: the slot of a vehicle, or the negative id of a group; and the level in the tree. */
  readonly rows: Int32Array;
  /** Vehicles in each state, in the order of `vehicleStates`, then those with an alarm. The state filter is ignored. */
  readonly counts: Int32Array;
  /** Pairs: id of a group, and its number of matching vehicles. */
  readonly groupCounts: Int32Array;
  /** Number of different vehicles in the list. */
  readonly matchedCount: number;
  /** Vehicles without any filter. */
  readonly totalCount: number;
}

/** What the map draws. */
export interface FleetMarks {
  /** 1 for each slot whose vehicle has a mark of its own. */
  readonly drawn: Uint8Array;
  readonly clusters: Float64Array;
}

/** Messages from the worker to the page. */
export type FromWorker =
  | { readonly kind: 'needsToken' }
  | { readonly kind: 'connection'; readonly state: ConnectionState }
  | { readonly kind: 'clock'; readonly offsetMs: number }
  /** Names of vehicles; they come before the first row of their slot. */
  | { readonly kind: 'texts'; readonly texts: readonly VehicleText[] }
  | { readonly kind: 'batch'; readonly rows: Float64Array }
  /** `hasLoaded` is false until the vehicles have been read for the first time. */
  | { readonly kind: 'view'; readonly view: FleetView; readonly hasLoaded: boolean }
  | { readonly kind: 'marks'; readonly marks: FleetMarks }
  | { readonly kind: 'events'; readonly events: readonly RecordEvent[] }
  /** Events were dropped; the page reads them by HTTP. */
  | { readonly kind: 'gap' };
